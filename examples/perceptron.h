/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The serial half of train_digits: a multi-layer perceptron with ReLU, softmax and cross-entropy,
 * trained by gradient descent with momentum. No MPI in here.
 *
 * It works on several samples at once. Matrices of values and errors have a row for each unit and a
 * column for each sample; columns without a sample have the label -1 and add nothing to loss and
 * gradients. All parameters lie in one array, and so do the gradients: each layer's weights, then
 * its biases. */
#ifndef PERCEPTRON_H
#define PERCEPTRON_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 4, CLASSES = 10 };
enum { TILE_ROWS = 2, TILE_VECTORS = 4, TILE_COLUMNS = 16, TILE_DEPTH = 256 };

/* Four floats in a SIMD register: an extension of gcc and clang, the same on every processor. */
typedef float vector __attribute__((vector_size(16), aligned(4), may_alias));

struct layer {
    int in, out;
    float *weights, *weight_gradients; /* out x in */
    float *biases, *bias_gradients;    /* out */
};

struct network {
    struct layer layer[LAYERS];
    int columns;                            /* samples at once, a multiple of TILE_COLUMNS */
    int *labels;                            /* of the columns; -1: there is no sample */
    size_t parameters;                      /* elements of each of the next three */
    float *parameter, *gradient, *velocity; /* of all layers, in order */
    float *values[LAYERS + 1];              /* of the input and of each layer */
    float *errors[LAYERS + 1];              /* derivatives of the loss by what enters the ReLU */
    float *transposed;                      /* scratch for the values that enter a layer */
};

/* SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014). */
static uint64_t random_bits(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* ---- matrices ---- */

/* c += a * b for one tile; see multiply. Unrolled, so that the tile stays in registers. */
static void multiply_tile(int depth, int columns, const float *a, int a_row, int a_column,
                          const float *b, float *c)
{
    vector *upper = (vector *)c, *lower = (vector *)(c + columns);
    vector tile[TILE_ROWS][TILE_VECTORS] = {{{0}}};

    for (int k = 0; k < depth; k++, a += a_column, b += columns) {
        const vector *row = (const vector *)b;

#pragma GCC unroll 4
        for (int j = 0; j < TILE_VECTORS; j++) {
            tile[0][j] += a[0] * row[j];
            tile[1][j] += a[a_row] * row[j];
        }
    }
#pragma GCC unroll 4
    for (int j = 0; j < TILE_VECTORS; j++) {
        upper[j] += tile[0][j];
        lower[j] += tile[1][j];
    }
}

/* c = a * b. a is rows x depth with its rows and columns a_row and a_column elements apart, which
 * serves for its transpose too; b and c are stored row by row. Rows and columns fill whole tiles;
 * the depth is cut so that the part of b in use stays in cache. */
static void multiply(int rows, int depth, int columns, const float *a, int a_row, int a_column,
                     const float *b, float *c)
{
    memset(c, 0, sizeof *c * (size_t)(rows * columns));
    for (int k = 0; k < depth; k += TILE_DEPTH) {
        int part = depth - k < TILE_DEPTH ? depth - k : TILE_DEPTH;

        for (int i = 0; i < rows; i += TILE_ROWS)
            for (int j = 0; j < columns; j += TILE_COLUMNS)
                multiply_tile(part, columns, a + i * a_row + k * a_column, a_row, a_column,
                              b + k * columns + j, c + i * columns + j);
    }
}

static void transpose(int rows, int columns, const float *from, float *to)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            to[j * rows + i] = from[i * columns + j];
}

/* ---- life of a network ---- */

static float *carve(float **memory, size_t count)
{
    float *piece = *memory;

    *memory += count;
    return piece;
}

/* The pieces that the layers own of the network's memory, and their first weights: uniform with
 * variance 2 / in (He et al.: "Delving deep into rectifiers", 2015). Biases start at 0. */
static void network_set_layers(struct network *network, uint64_t *random)
{
    float *parameter = network->parameter, *gradient = network->gradient;

    for (int l = 0; l < LAYERS; l++) {
        struct layer *layer = &network->layer[l];
        size_t weights = (size_t)layer->in * (size_t)layer->out;
        float limit = sqrtf(6.0f / (float)layer->in);

        layer->weights = carve(&parameter, weights);
        layer->biases = carve(&parameter, (size_t)layer->out);
        layer->weight_gradients = carve(&gradient, weights);
        layer->bias_gradients = carve(&gradient, (size_t)layer->out);
        for (size_t i = 0; i < weights; i++)
            layer->weights[i] = limit * ((float)(random_bits(random) >> 40) * 0x1p-23f - 1.0f);
    }
}

/* SIZE: units of the input and of each layer, the input's and those between multiples of
 * TILE_COLUMNS, the last CLASSES. SAMPLES: how many are wanted at once, at least. Everything lies
 * in one piece of memory; false if it cannot be had. */
static bool network_create(struct network *network, const int size[LAYERS + 1], int samples,
                           uint64_t *random)
{
    size_t columns = (size_t)(samples + TILE_COLUMNS - 1) / TILE_COLUMNS * TILE_COLUMNS;
    size_t parameters = 0, units = 0;
    float *memory;

    for (int l = 0; l <= LAYERS; l++)
        units += (size_t)size[l];
    for (int l = 0; l < LAYERS; l++) {
        network->layer[l].in = size[l];
        network->layer[l].out = size[l + 1];
        parameters += (size_t)((size[l] + 1) * size[l + 1]);
    }
    network->columns = (int)columns;
    network->parameters = parameters;
    network->labels = calloc(columns, sizeof *network->labels);
    memory = calloc(3 * parameters + 3 * columns * units, sizeof *memory);
    if (network->labels == NULL || memory == NULL) {
        free(network->labels);
        free(memory);
        return false;
    }
    network->parameter = carve(&memory, parameters);
    network->gradient = carve(&memory, parameters);
    network->velocity = carve(&memory, parameters);
    for (int l = 0; l <= LAYERS; l++) {
        network->values[l] = carve(&memory, columns * (size_t)size[l]);
        network->errors[l] = carve(&memory, columns * (size_t)size[l]);
    }
    network->transposed = memory;
    network_set_layers(network, random);
    return true;
}

static void network_free(struct network *network)
{
    free(network->labels);
    free(network->parameter);
}

/* ---- training ---- */

/* From values[0] to the values of all layers. */
static void network_forward(struct network *network)
{
    int columns = network->columns;

    for (int l = 0; l < LAYERS; l++) {
        const struct layer *layer = &network->layer[l];
        float *values = network->values[l + 1];

        multiply(layer->out, layer->in, columns, layer->weights, layer->in, 1, network->values[l],
                 values);
        for (int i = 0; i < layer->out * columns; i++) {
            float value = values[i] + layer->biases[i / columns];

            values[i] = l < LAYERS - 1 && value < 0.0f ? 0.0f : value;
        }
    }
}

/* The loss, summed over the samples, and its derivative into the last layer's errors. */
static double network_loss(struct network *network)
{
    int columns = network->columns;
    double loss = 0.0;

    for (int j = 0; j < columns; j++) {
        const float *value = network->values[LAYERS] + j;
        float *error = network->errors[LAYERS] + j;
        float most = value[0], sum = 0.0f;
        int label = network->labels[j];

        for (int i = 1; i < CLASSES; i++)
            most = fmaxf(most, value[i * columns]);
        for (int i = 0; i < CLASSES; i++)
            sum += expf(value[i * columns] - most);
        for (int i = 0; i < CLASSES; i++)
            error[i * columns] =
                label < 0 ? 0.0f
                          : expf(value[i * columns] - most) / sum - (i == label ? 1.0f : 0.0f);
        if (label >= 0)
            loss += log((double)sum) + (double)(most - value[label * columns]);
    }
    return loss;
}

/* How many samples the last layer puts into their class. */
static int network_count_right(const struct network *network)
{
    int columns = network->columns, right = 0;

    for (int j = 0; j < columns; j++) {
        const float *value = network->values[LAYERS] + j;
        int best = 0;

        for (int i = 1; i < CLASSES; i++)
            best = value[i * columns] > value[best * columns] ? i : best;
        right += best == network->labels[j];
    }
    return right;
}

/* The gradients of layer L, summed over the samples, and the errors of the layer below it. */
static void network_backward(struct network *network, int l)
{
    const struct layer *layer = &network->layer[l];
    const float *errors = network->errors[l + 1];
    float *below = network->errors[l];
    int columns = network->columns;

    transpose(layer->in, columns, network->values[l], network->transposed);
    multiply(layer->out, columns, layer->in, errors, columns, 1, network->transposed,
             layer->weight_gradients);
    memset(layer->bias_gradients, 0, sizeof(float) * (size_t)layer->out);
    for (int i = 0; i < layer->out * columns; i++)
        layer->bias_gradients[i / columns] += errors[i];
    if (l == 0)
        return;
    multiply(layer->in, layer->out, columns, layer->weights, 1, layer->in, errors, below);
    for (int i = 0; i < layer->in * columns; i++)
        below[i] = network->values[l][i] > 0.0f ? below[i] : 0.0f;
}

/* One step down the gradient of the loss of SAMPLES samples. */
static void network_descend(struct network *network, int samples, float rate, float momentum,
                            float decay)
{
    float scale = 1.0f / (float)samples;

    for (size_t i = 0; i < network->parameters; i++) {
        network->velocity[i] = momentum * network->velocity[i] + scale * network->gradient[i] +
                               decay * network->parameter[i];
        network->parameter[i] -= rate * network->velocity[i];
    }
}

#endif
