/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Data-parallel training in plain MPI: a language model of characters, with two layers of
 * attention.
 *
 * Each character of a window is told from those before it. Every layer adds to a stream of values
 * what it reads in them: attention, then a perceptron, both of normalised values (Zhang and
 * Sennrich: "Root mean square layer normalization", 2019). */
#include "attention.h"
#include "data.h"
#include "dense.h"
#include "matrix.h"
#include <stdio.h>
#include <stdlib.h>

enum { LAYERS = 2, HEADS = 2, WIDTH = 48, UNITS = 2 * WIDTH, STREAMS = 2 * LAYERS + 1 };

static const float EPSILON = 1e-5f;

struct layer {
    struct dense heads, join, up, down; /* heads: to queries, keys and values, above each other */
    float *head_values, *weights, *attended, *units;
};

struct language {
    struct model model;
    struct layer layer[LAYERS];
    struct dense output;
    float *symbols, *symbol_gradients; /* WIDTH x SYMBOLS: where the stream begins */
    float *places, *place_gradients;   /* WIDTH x WINDOW: added to it */
    float *stream[STREAMS], *normal[STREAMS], *inverse[STREAMS]; /* inverse: of a column's length */
    float *errors, *below, *unit_errors, *head_errors, *scratch;
    int *read; /* the symbol of each column */
};

static void fill(struct model *model, const int *samples, int count)
{
    struct language *network = (struct language *)model;

    for (int j = 0; j < model->columns; j++) {
        int sample = j / WINDOW, place = j % WINDOW;
        const unsigned char *window = text_window(sample < count ? samples[sample] : 0);

        network->read[j] = window[place];
        model->labels[j] = sample < count ? window[place + 1] : -1;
    }
}

/* ---- normalisation ---- */

static void normalise(const struct language *network, int s)
{
    const float *values = network->stream[s];
    float *normal = network->normal[s], *inverse = network->inverse[s];
    int columns = network->model.columns;

    memset(inverse, 0, sizeof *inverse * (size_t)columns);
    for (int i = 0; i < WIDTH; i++)
        for (int j = 0; j < columns; j++)
            inverse[j] += values[i * columns + j] * values[i * columns + j];
    for (int j = 0; j < columns; j++)
        inverse[j] = 1.0f / sqrtf(inverse[j] / WIDTH + EPSILON);
    for (int i = 0; i < WIDTH; i++)
        for (int j = 0; j < columns; j++)
            normal[i * columns + j] = values[i * columns + j] * inverse[j];
}

/* The errors of the stream get those that BELOW, of the normalised values, makes. */
static void normalise_backward(const struct language *network, int s)
{
    const float *below = network->below, *normal = network->normal[s];
    int columns = network->model.columns;
    float along[columns];

    memset(along, 0, sizeof along);
    for (int i = 0; i < WIDTH; i++)
        for (int j = 0; j < columns; j++)
            along[j] += below[i * columns + j] * normal[i * columns + j] / WIDTH;
    for (int i = 0; i < WIDTH; i++)
        for (int j = 0; j < columns; j++)
            network->errors[i * columns + j] +=
                network->inverse[s][j] *
                (below[i * columns + j] - along[j] * normal[i * columns + j]);
}

/* ---- a layer ---- */

/* One head of one sample, in VALUES, which are what layer.heads makes or their errors. */
static struct head head_of(float *values, int columns, int head, int sample)
{
    float *first = values + head * (WIDTH / HEADS) * columns + sample * WINDOW;

    return (struct head){.rows = WIDTH / HEADS,
                         .stride = columns,
                         .query = first,
                         .key = first + WIDTH * columns,
                         .value = first + 2 * WIDTH * columns};
}

static void forward_layer(const struct language *network, int l)
{
    const struct layer *layer = &network->layer[l];
    float *const *stream = network->stream + 2 * l, *const *normal = network->normal + 2 * l;
    int columns = network->model.columns;

    normalise(network, 2 * l);
    dense_forward(&layer->heads, columns, normal[0], layer->head_values);
    for (int n = 0; n < network->model.samples * HEADS; n++) {
        struct head head = head_of(layer->head_values, columns, n % HEADS, n / HEADS);

        attention_forward(&head, layer->weights + n * WINDOW * WINDOW,
                          layer->attended + (head.query - layer->head_values));
    }
    dense_forward(&layer->join, columns, layer->attended, stream[1]);
    for (int i = 0; i < WIDTH * columns; i++)
        stream[1][i] += stream[0][i];
    normalise(network, 2 * l + 1);
    dense_forward(&layer->up, columns, normal[1], layer->units);
    rectify(layer->units, UNITS * columns);
    dense_forward(&layer->down, columns, layer->units, stream[2]);
    for (int i = 0; i < WIDTH * columns; i++)
        stream[2][i] += stream[1][i];
}

static void backward_layer(const struct language *network, int l,
                           void (*ready)(float *gradient, int count))
{
    const struct layer *layer = &network->layer[l];
    int columns = network->model.columns;

    dense_backward(&layer->down, columns, layer->units, network->errors, network->scratch,
                   network->unit_errors);
    dense_ready(&layer->down, ready);
    rectify_backward(layer->units, network->unit_errors, UNITS * columns);
    dense_backward(&layer->up, columns, network->normal[2 * l + 1], network->unit_errors,
                   network->scratch, network->below);
    dense_ready(&layer->up, ready);
    normalise_backward(network, 2 * l + 1);
    dense_backward(&layer->join, columns, layer->attended, network->errors, network->scratch,
                   network->below);
    dense_ready(&layer->join, ready);
    for (int n = 0; n < network->model.samples * HEADS; n++) {
        struct head head = head_of(layer->head_values, columns, n % HEADS, n / HEADS);
        struct head errors = head_of(network->head_errors, columns, n % HEADS, n / HEADS);

        attention_backward(&head, layer->weights + n * WINDOW * WINDOW,
                           network->below + (head.query - layer->head_values), &errors);
    }
    dense_backward(&layer->heads, columns, network->normal[2 * l], network->head_errors,
                   network->scratch, network->below);
    dense_ready(&layer->heads, ready);
    normalise_backward(network, 2 * l);
}

/* ---- the network ---- */

static void forward(struct model *model)
{
    struct language *network = (struct language *)model;
    int columns = model->columns;

    for (int i = 0; i < WIDTH; i++)
        for (int j = 0; j < columns; j++)
            network->stream[0][i * columns + j] = network->symbols[i * SYMBOLS + network->read[j]] +
                                                  network->places[i * WINDOW + j % WINDOW];
    for (int l = 0; l < LAYERS; l++)
        forward_layer(network, l);
    normalise(network, STREAMS - 1);
    dense_forward(&network->output, columns, network->normal[STREAMS - 1], model->output);
}

static void backward(struct model *model, void (*ready)(float *gradient, int count))
{
    struct language *network = (struct language *)model;
    int columns = model->columns;

    dense_backward(&network->output, columns, network->normal[STREAMS - 1], model->output_errors,
                   network->scratch, network->below);
    dense_ready(&network->output, ready);
    memset(network->errors, 0, sizeof(float) * (size_t)(WIDTH * columns));
    normalise_backward(network, STREAMS - 1);
    for (int l = LAYERS - 1; l >= 0; l--)
        backward_layer(network, l, ready);
    memset(network->symbol_gradients, 0, sizeof(float) * WIDTH * SYMBOLS);
    memset(network->place_gradients, 0, sizeof(float) * WIDTH * WINDOW);
    for (int i = 0; i < WIDTH; i++)
        for (int j = 0; j < columns; j++) {
            float error = network->errors[i * columns + j];

            network->symbol_gradients[i * SYMBOLS + network->read[j]] += error;
            network->place_gradients[i * WINDOW + j % WINDOW] += error;
        }
    ready(network->place_gradients, WIDTH * WINDOW);
    ready(network->symbol_gradients, WIDTH * SYMBOLS);
}

static bool load(const char *file, int batch, struct samples *samples)
{
    return text_load(file, WINDOW + 1, WINDOW, batch, samples);
}

/* In the order of backward. */
static void share_parameters(struct language *network)
{
    float *parameter = network->model.parameter, *gradient = network->model.gradient;

    network->output = dense_carve(WIDTH, SYMBOLS, true, &parameter, &gradient);
    for (int l = LAYERS - 1; l >= 0; l--) {
        struct layer *layer = &network->layer[l];

        layer->down = dense_carve(UNITS, WIDTH, true, &parameter, &gradient);
        layer->up = dense_carve(WIDTH, UNITS, true, &parameter, &gradient);
        layer->join = dense_carve(WIDTH, WIDTH, false, &parameter, &gradient);
        layer->heads = dense_carve(WIDTH, 3 * WIDTH, false, &parameter, &gradient);
    }
    network->places = carve(&parameter, (size_t)WIDTH * WINDOW);
    network->place_gradients = carve(&gradient, (size_t)WIDTH * WINDOW);
    network->symbols = carve(&parameter, (size_t)WIDTH * SYMBOLS);
    network->symbol_gradients = carve(&gradient, (size_t)WIDTH * SYMBOLS);
}

static void share_memory(struct language *network, float *memory)
{
    struct model *model = &network->model;
    size_t columns = (size_t)model->columns, stream = WIDTH * columns;

    model->parameter = carve(&memory, model->parameters);
    model->gradient = carve(&memory, model->parameters);
    share_parameters(network);
    for (int s = 0; s < STREAMS; s++) {
        network->stream[s] = carve(&memory, stream);
        network->normal[s] = carve(&memory, stream);
        network->inverse[s] = carve(&memory, columns);
    }
    for (int l = 0; l < LAYERS; l++) {
        struct layer *layer = &network->layer[l];

        layer->head_values = carve(&memory, 3 * stream);
        layer->weights = carve(&memory, (size_t)HEADS * WINDOW * columns);
        layer->attended = carve(&memory, stream);
        layer->units = carve(&memory, UNITS * columns);
    }
    network->errors = carve(&memory, stream);
    network->below = carve(&memory, stream);
    network->head_errors = carve(&memory, 3 * stream);
    network->unit_errors = carve(&memory, UNITS * columns);
    network->scratch = carve(&memory, UNITS * columns);
    model->output = carve(&memory, SYMBOLS * columns);
    model->output_errors = carve(&memory, SYMBOLS * columns);
    model->labels = (int *)carve(&memory, columns);
    network->read = (int *)memory;
}

/* What adds to the stream begins small. */
static void set_weights(struct language *network, uint64_t *random)
{
    random_weights(network->symbols, (size_t)WIDTH * SYMBOLS, 8, random);
    random_weights(network->places, (size_t)WIDTH * WINDOW, 32, random);
    for (int l = 0; l < LAYERS; l++) {
        const struct layer *layer = &network->layer[l];

        random_weights(layer->heads.weights, (size_t)3 * WIDTH * WIDTH, 2 * WIDTH, random);
        random_weights(layer->join.weights, (size_t)WIDTH * WIDTH, 16 * WIDTH, random);
        random_weights(layer->up.weights, (size_t)WIDTH * UNITS, WIDTH, random);
        random_weights(layer->down.weights, (size_t)WIDTH * UNITS, 16 * UNITS, random);
    }
    random_weights(network->output.weights, (size_t)WIDTH * SYMBOLS, 2 * WIDTH, random);
}

static struct model *create(struct size size, int samples, uint64_t *random)
{
    size_t columns = (size_t)samples * WINDOW;
    size_t parameters = dense_size(WIDTH, SYMBOLS, true) + (size_t)WIDTH * (WINDOW + SYMBOLS) +
                        LAYERS * (dense_size(UNITS, WIDTH, true) + dense_size(WIDTH, UNITS, true) +
                                  dense_size(WIDTH, 4 * WIDTH, false));
    size_t values = STREAMS * (2 * WIDTH + 1) + LAYERS * (4 * WIDTH + HEADS * WINDOW + UNITS) +
                    5 * WIDTH + 2 * UNITS + 2 * SYMBOLS + 2; /* of a column */
    struct language *network =
        calloc(1, sizeof *network + (2 * parameters + values * columns) * sizeof(float));

    (void)size; /* there is one size */
    if (network == NULL)
        return NULL;
    network->model = (struct model){.samples = samples,
                                    .places = WINDOW,
                                    .columns = (int)columns,
                                    .classes = SYMBOLS,
                                    .parameters = parameters,
                                    .fill = fill,
                                    .forward = forward,
                                    .backward = backward};
    snprintf(network->model.description, sizeof network->model.description,
             "%d layers of attention, %d wide, %d heads", LAYERS, WIDTH, HEADS);
    share_memory(network, (float *)(network + 1));
    set_weights(network, random);
    return &network->model;
}

int main(int argc, char **argv)
{
    static const struct example example = {.name = "train_attention",
                                           .data = "../README.md",
                                           .batch = 16,
                                           .epochs = 2,
                                           .quick_epochs = 1,
                                           .rate = {[SGD] = 0.2f, [ADAM] = 6e-3f, [ADAMW] = 6e-3f},
                                           .momentum = 0.9f,
                                           .load = load,
                                           .create = create};

    return training_main(argc, argv, &example);
}
