/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Data-parallel training in plain MPI: a residual convolutional network learns 8x8 pictures of
 * digits (He et al.: "Deep residual learning for image recognition", 2016; group normalisation of
 * Wu and He, 2018, which needs no sums over the ranks).
 *
 * Like train_digits, but with gradients as deep networks have them: many tensors of different sizes
 * and scales, from 16 biases to convolutions of 331776 weights, summed from the last layer to
 * the first as the backward pass finishes them, or with --fuse several at once. */
#include "data.h"
#include "matrix.h"
#include "training.h"
#include <stdio.h>
#include <stdlib.h>

enum { UNITS = 11, GROUPS = 4, IMAGE = -1, NONE = -2 };
enum { OUTPUTS = 16 }; /* a whole tile; those from CLASSES on belong to no class */

static const float EPSILON = 1e-5f;

/* A convolution, what is added to it, normalisation or a bias, and ReLU. A dense layer is a
 * convolution whose kernel covers its input. */
struct shape {
    int kernel, stride, padding; /* padding: before the first pixel */
    int from, plus;              /* units whose values are convolved, and added after normalising */
    bool normalised, rectified;
    int side, channels; /* of the values; QUICK has a third of the channels */
};

static const struct shape shapes[UNITS] = {
    {4, 1, 1, IMAGE, NONE, true, true, 8, 48},    {3, 1, 1, 0, NONE, true, true, 8, 48},
    {3, 1, 1, 1, 0, true, true, 8, 48},           {1, 2, 0, 2, NONE, true, false, 4, 96},
    {3, 2, 1, 2, NONE, true, true, 4, 96},        {3, 1, 1, 4, 3, true, true, 4, 96},
    {1, 2, 0, 5, NONE, true, false, 2, 192},      {3, 2, 1, 5, NONE, true, true, 2, 192},
    {3, 1, 1, 7, 6, true, true, 2, 192},          {2, 1, 0, 8, NONE, false, true, 1, 192},
    {1, 1, 0, 9, NONE, false, false, 1, OUTPUTS},
};

/* Values and errors have a row for each channel and pixel and a column for each sample, so that a
 * row of a convolution's product is a channel. Weights are (input channel, kernel) x channel. */
struct unit {
    struct shape shape;
    int in, in_side, depth, pixels; /* depth: rows of the weights; pixels: side x side */
    float *weights, *shift, *scale; /* no scale without normalisation */
    float *weight_gradients, *shift_gradients, *scale_gradients;
    float *normal, *deviation; /* normalised values; 1 / standard deviation by group and sample */
    float *values, *errors;
};

struct residual {
    struct model model;
    struct unit unit[UNITS];
    float *patches;    /* scratch: depth x (pixels x columns) */
    float *transposed; /* scratch: errors as (pixels x columns) x channels */
};

/* ---- convolution ---- */

/* Walks over the kernel's places on the input: a row of the patches for each weight of a channel
 * and pixel of the output. If GATHER, pixels of the input are copied there, zeros beyond its edge;
 * else the patches are added to the pixels that they come from. */
static void walk_patches(const struct unit *unit, int columns, float *input, float *patches,
                         bool gather)
{
    const struct shape *shape = &unit->shape;
    int kernel = shape->kernel, taps = kernel * kernel;

    for (int k = 0; k < unit->depth; k++) {
        const int up = k % taps / kernel - shape->padding, left = k % kernel - shape->padding;
        float *channel = input + (k / taps) * unit->in_side * unit->in_side * columns;

        for (int pixel = 0; pixel < unit->pixels; pixel++, patches += columns) {
            int y = pixel / shape->side * shape->stride + up;
            int x = pixel % shape->side * shape->stride + left;
            bool inside = y >= 0 && y < unit->in_side && x >= 0 && x < unit->in_side;
            float *row = inside ? channel + (y * unit->in_side + x) * columns : NULL;

            if (gather && inside)
                memcpy(patches, row, sizeof *row * (size_t)columns);
            else if (gather)
                memset(patches, 0, sizeof *row * (size_t)columns);
            for (int j = 0; !gather && inside && j < columns; j++)
                row[j] += patches[j];
        }
    }
}

static float *values_of(struct residual *network, int unit)
{
    return unit == IMAGE ? network->model.input : network->unit[unit].values;
}

static void convolve(struct residual *network, const struct unit *unit)
{
    int columns = network->model.columns, channels = unit->shape.channels;

    walk_patches(unit, columns, values_of(network, unit->shape.from), network->patches, true);
    multiply(channels, unit->depth, unit->pixels * columns, unit->weights, 1, channels,
             network->patches, unit->values);
}

/* The gradients of the weights, and the errors of what was convolved. */
static void convolve_backward(struct residual *network, const struct unit *unit)
{
    int columns = network->model.columns, channels = unit->shape.channels;
    int width = unit->pixels * columns, from = unit->shape.from;

    walk_patches(unit, columns, values_of(network, from), network->patches, true);
    transpose(channels, width, unit->errors, network->transposed);
    multiply(unit->depth, width, channels, network->patches, width, 1, network->transposed,
             unit->weight_gradients);
    if (from == IMAGE)
        return;
    multiply(unit->depth, channels, width, unit->weights, channels, 1, unit->errors,
             network->patches);
    walk_patches(unit, columns, network->unit[from].errors, network->patches, false);
}

/* ---- normalisation ---- */

/* The rows of a group's channels are neighbours: ROWS from VALUES on. */
static void normalise_group(float *values, int rows, int columns, float *normal, float *deviation)
{
    float mean[columns], variance[columns];

    memset(mean, 0, sizeof mean);
    memset(variance, 0, sizeof variance);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            mean[j] += values[i * columns + j] / (float)rows;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            float distance = values[i * columns + j] - mean[j];

            variance[j] += distance * distance / (float)rows;
        }
    for (int j = 0; j < columns; j++)
        deviation[j] = 1.0f / sqrtf(variance[j] + EPSILON);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            normal[i * columns + j] = (values[i * columns + j] - mean[j]) * deviation[j];
}

/* ERRORS, of the normalised values, become those of the values before. */
static void normalise_group_backward(float *errors, int rows, int columns, const float *normal,
                                     const float *deviation)
{
    float mean[columns], along[columns];

    memset(mean, 0, sizeof mean);
    memset(along, 0, sizeof along);
    for (int i = 0; i < rows * columns; i += columns)
        for (int j = 0; j < columns; j++) {
            mean[j] += errors[i + j] / (float)rows;
            along[j] += errors[i + j] * normal[i + j] / (float)rows;
        }
    for (int i = 0; i < rows * columns; i += columns)
        for (int j = 0; j < columns; j++)
            errors[i + j] = deviation[j] * (errors[i + j] - mean[j] - normal[i + j] * along[j]);
}

/* From the products of the convolution to the unit's values. */
static void finish(struct residual *network, const struct unit *unit)
{
    const struct shape *shape = &unit->shape;
    const float *plus = shape->plus == NONE ? NULL : network->unit[shape->plus].values;
    int columns = network->model.columns, width = unit->pixels * columns;
    int rows = shape->channels / GROUPS * unit->pixels;

    for (int g = 0; shape->normalised && g < GROUPS; g++)
        normalise_group(unit->values + g * rows * columns, rows, columns,
                        unit->normal + g * rows * columns, unit->deviation + g * columns);
    for (int c = 0; c < shape->channels; c++) {
        const float *from = (shape->normalised ? unit->normal : unit->values) + c * width;
        float scale = shape->normalised ? unit->scale[c] : 1.0f, shift = unit->shift[c];
        float *to = unit->values + c * width;

        for (int j = 0; j < width; j++)
            to[j] = scale * from[j] + shift;
        for (int j = 0; plus != NULL && j < width; j++)
            to[j] += plus[c * width + j];
        for (int j = 0; shape->rectified && j < width; j++)
            to[j] = to[j] > 0.0f ? to[j] : 0.0f;
    }
}

/* The errors of the values become those of the products; what was added has its share. */
static void finish_backward(struct residual *network, const struct unit *unit)
{
    const struct shape *shape = &unit->shape;
    float *plus = shape->plus == NONE ? NULL : network->unit[shape->plus].errors;
    int columns = network->model.columns, width = unit->pixels * columns;
    int rows = shape->channels / GROUPS * unit->pixels;

    for (int c = 0; c < shape->channels; c++) {
        const float *values = unit->values + c * width, *normal = unit->normal + c * width;
        float *errors = unit->errors + c * width;
        float shift = 0.0f, scale = 0.0f;

        for (int j = 0; shape->rectified && j < width; j++)
            errors[j] = values[j] > 0.0f ? errors[j] : 0.0f;
        for (int j = 0; plus != NULL && j < width; j++)
            plus[c * width + j] += errors[j];
        for (int j = 0; j < width; j++)
            shift += errors[j];
        unit->shift_gradients[c] = shift;
        if (!shape->normalised)
            continue;
        for (int j = 0; j < width; j++) {
            scale += errors[j] * normal[j];
            errors[j] *= unit->scale[c];
        }
        unit->scale_gradients[c] = scale;
    }
    for (int g = 0; shape->normalised && g < GROUPS; g++)
        normalise_group_backward(unit->errors + g * rows * columns, rows, columns,
                                 unit->normal + g * rows * columns, unit->deviation + g * columns);
}

/* ---- the network ---- */

static void forward(struct model *model)
{
    struct residual *network = (struct residual *)model;

    for (int u = 0; u < UNITS; u++) {
        convolve(network, &network->unit[u]);
        finish(network, &network->unit[u]);
    }
}

static void backward(struct model *model, void (*ready)(float *gradient, int count))
{
    struct residual *network = (struct residual *)model;

    for (int u = 0; u < UNITS - 1; u++) {
        const struct unit *unit = &network->unit[u];

        memset(unit->errors, 0,
               sizeof(float) * (size_t)(unit->shape.channels * unit->pixels * model->columns));
    }
    for (int u = UNITS - 1; u >= 0; u--) {
        const struct unit *unit = &network->unit[u];

        finish_backward(network, unit);
        ready(unit->shift_gradients, unit->shape.channels);
        if (unit->shape.normalised)
            ready(unit->scale_gradients, unit->shape.channels);
        convolve_backward(network, unit);
        ready(unit->weight_gradients, unit->depth * unit->shape.channels);
    }
}

static void set_shapes(struct residual *network, bool quick)
{
    for (int u = 0; u < UNITS; u++) {
        struct unit *unit = &network->unit[u];

        unit->shape = shapes[u];
        if (quick && u < UNITS - 1)
            unit->shape.channels /= 3;
        unit->in = unit->shape.from == IMAGE ? 1 : network->unit[unit->shape.from].shape.channels;
        unit->in_side = unit->shape.from == IMAGE ? SIDE : shapes[unit->shape.from].side;
        unit->depth = unit->in * unit->shape.kernel * unit->shape.kernel;
        unit->pixels = unit->shape.side * unit->shape.side;
    }
}

/* A unit's tensors, as PARAMETER has them and GRADIENT, in the order of backward. */
static void carve_tensors(struct unit *unit, float **parameter, float **gradient)
{
    size_t channels = (size_t)unit->shape.channels, weights = (size_t)unit->depth * channels;

    unit->shift = carve(parameter, channels);
    unit->shift_gradients = carve(gradient, channels);
    if (unit->shape.normalised) {
        unit->scale = carve(parameter, channels);
        unit->scale_gradients = carve(gradient, channels);
    }
    unit->weights = carve(parameter, weights);
    unit->weight_gradients = carve(gradient, weights);
}

/* First weights. Scales start at 1, but at 0 where a branch joins, which so begins as identity. */
static void set_parameters(struct residual *network, uint64_t *random)
{
    for (int u = 0; u < UNITS; u++) {
        const struct unit *unit = &network->unit[u];

        random_weights(unit->weights, (size_t)unit->depth * (size_t)unit->shape.channels,
                       unit->depth, random);
        for (int c = 0; unit->shape.normalised && c < unit->shape.channels; c++)
            unit->scale[c] = unit->shape.plus == NONE ? 1.0f : 0.0f;
    }
}

/* Elements of all parameters, of the largest patches, and of all values. */
static void count_elements(const struct residual *network, size_t *parameters, size_t *patches,
                           size_t *values)
{
    size_t columns = (size_t)network->model.columns;

    *parameters = *patches = *values = 0;
    for (int u = 0; u < UNITS; u++) {
        const struct unit *unit = &network->unit[u];
        size_t wide = (size_t)unit->pixels * columns;

        *parameters += (size_t)((unit->depth + 1 + unit->shape.normalised) * unit->shape.channels);
        *values += (size_t)unit->shape.channels * wide;
        if (*patches < (size_t)unit->depth * wide)
            *patches = (size_t)unit->depth * wide;
    }
}

static struct model *create(struct size size, int samples, uint64_t *random)
{
    struct residual *network, shaped = {.model = {.places = 1,
                                                  .classes = CLASSES,
                                                  .fill = digits_fill,
                                                  .forward = forward,
                                                  .backward = backward}};
    struct model *model = &shaped.model;
    size_t columns = (size_t)(samples + TILE_COLUMNS - 1) / TILE_COLUMNS * TILE_COLUMNS;
    size_t patches, values, image = PIXELS * columns, groups = UNITS * GROUPS * columns;
    float *memory, *parameter, *gradient;

    model->samples = model->columns = (int)columns;
    set_shapes(&shaped, size.quick);
    count_elements(&shaped, &model->parameters, &patches, &values);
    snprintf(model->description, sizeof model->description, "%d-%d-%d-%d residual network",
             shaped.unit[0].shape.channels, shaped.unit[3].shape.channels,
             shaped.unit[6].shape.channels, shaped.unit[9].shape.channels);
    network = calloc(1, sizeof *network + (2 * model->parameters + patches + 4 * values + image +
                                           groups + columns) *
                                              sizeof(float));
    if (network == NULL)
        return NULL;
    *network = shaped;
    model = &network->model;
    memory = (float *)(network + 1);
    parameter = model->parameter = carve(&memory, model->parameters);
    gradient = model->gradient = carve(&memory, model->parameters);
    model->input = carve(&memory, image);
    network->patches = carve(&memory, patches);
    network->transposed = carve(&memory, values);
    for (int u = UNITS - 1; u >= 0; u--) {
        struct unit *unit = &network->unit[u];
        size_t count = (size_t)(unit->shape.channels * unit->pixels) * columns;

        carve_tensors(unit, &parameter, &gradient);
        unit->normal = carve(&memory, count);
        unit->deviation = carve(&memory, GROUPS * columns);
        unit->values = carve(&memory, count);
        unit->errors = carve(&memory, count);
    }
    model->labels = (int *)memory;
    model->output = network->unit[UNITS - 1].values;
    model->output_errors = network->unit[UNITS - 1].errors;
    set_parameters(network, random);
    return model;
}

int main(int argc, char **argv)
{
    static const struct example example = {.name = "train_conv",
                                           .data = "examples/data/digits.csv",
                                           .batch = 128,
                                           .epochs = 24,
                                           .quick_epochs = 20,
                                           .rate = {[SGD] = 0.05f, [ADAM] = 3e-3f, [ADAMW] = 3e-3f},
                                           .momentum = 0.9f,
                                           .decay = 5e-4f,
                                           .load = digits_load,
                                           .create = create};

    return training_main(argc, argv, &example);
}
