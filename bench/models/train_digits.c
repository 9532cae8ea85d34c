/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Data-parallel training in plain MPI: a multi-layer perceptron learns 8x8 pictures of digits.
 *
 * The gradients are summed with MPI_Allreduce, layer by layer from the last to the first, weights
 * and biases apart, as deep learning frameworks do. With --device the gradients are summed in GPU
 * memory, as they are where frameworks compute on GPUs; the network here is computed by the
 * processor all the same. */
#include "data.h"
#include "dense.h"
#include "matrix.h"
#include "training.h"
#include <stdio.h>
#include <stdlib.h>

enum { LAYERS = 4 };

struct perceptron {
    struct model model;
    struct dense layer[LAYERS];
    float *values[LAYERS + 1]; /* of the input and of each layer: a row for each unit */
    float *errors[LAYERS + 1]; /* derivatives of the loss by what enters the ReLU */
    float *scratch;
};

static void forward(struct model *model)
{
    struct perceptron *network = (struct perceptron *)model;

    for (int l = 0; l < LAYERS; l++) {
        const struct dense *layer = &network->layer[l];

        dense_forward(layer, model->columns, network->values[l], network->values[l + 1]);
        if (l < LAYERS - 1)
            rectify(network->values[l + 1], layer->out * model->columns);
    }
}

static void backward(struct model *model, void (*ready)(float *gradient, int count))
{
    struct perceptron *network = (struct perceptron *)model;
    int columns = model->columns;

    for (int l = LAYERS - 1; l >= 0; l--) {
        const struct dense *layer = &network->layer[l];

        dense_backward(layer, columns, network->values[l], network->errors[l + 1], network->scratch,
                       l > 0 ? network->errors[l] : NULL);
        if (l > 0)
            rectify_backward(network->values[l], network->errors[l], layer->in * columns);
        dense_ready(layer, ready);
    }
}

/* The pieces that the layers own of the model's memory, and their first weights. Biases start at
 * 0. */
static void set_layers(struct perceptron *network, const int *size, uint64_t *random)
{
    float *parameter = network->model.parameter, *gradient = network->model.gradient;

    for (int l = LAYERS - 1; l >= 0; l--)
        network->layer[l] = dense_carve(size[l], size[l + 1], true, &parameter, &gradient);
    for (int l = 0; l < LAYERS; l++) {
        const struct dense *layer = &network->layer[l];

        random_weights(layer->weights, (size_t)layer->in * (size_t)layer->out, layer->in, random);
    }
}

/* SIZE: units of the input and of each layer, the input's and those between multiples of
 * TILE_COLUMNS. */
static void share_memory(struct perceptron *network, const int *size, float *memory)
{
    struct model *model = &network->model;
    size_t columns = (size_t)model->columns;

    model->parameter = carve(&memory, model->parameters);
    model->gradient = carve(&memory, model->parameters);
    for (int l = 0; l <= LAYERS; l++) {
        network->values[l] = carve(&memory, columns * (size_t)size[l]);
        network->errors[l] = carve(&memory, columns * (size_t)size[l]);
    }
    network->scratch = carve(&memory, columns * (size_t)size[1]);
    model->labels = (int *)memory;
    model->input = network->values[0];
    model->output = network->values[LAYERS];
    model->output_errors = network->errors[LAYERS];
}

static struct model *create(struct size chosen, int samples, uint64_t *random)
{
    int widest = chosen.units ? chosen.units : chosen.quick ? 256 : 1600;
    /* The last hidden layer has half the units, in whole tiles and some more. */
    const int size[LAYERS + 1] = {PIXELS, widest, widest, (widest / 2 + 63) / 64 * 64, CLASSES};
    size_t columns = (size_t)(samples + TILE_COLUMNS - 1) / TILE_COLUMNS * TILE_COLUMNS;
    size_t parameters = 0, units = 0;
    struct perceptron *network;

    for (int l = 0; l <= LAYERS; l++)
        units += (size_t)size[l];
    for (int l = 0; l < LAYERS; l++)
        parameters += dense_size(size[l], size[l + 1], true);
    /* Labels take less than the room of the scratch memory. */
    network = calloc(1, sizeof *network + (2 * parameters + 4 * columns * units) * sizeof(float));
    if (network == NULL)
        return NULL;
    network->model = (struct model){.samples = (int)columns,
                                    .places = 1,
                                    .columns = (int)columns,
                                    .classes = CLASSES,
                                    .parameters = parameters,
                                    .fill = digits_fill,
                                    .forward = forward,
                                    .backward = backward};
    snprintf(network->model.description, sizeof network->model.description,
             "%d-%d-%d-%d-%d network", size[0], size[1], size[2], size[3], size[4]);
    share_memory(network, size, (float *)(network + 1));
    set_layers(network, size, random);
    return &network->model;
}

int main(int argc, char **argv)
{
    /* Slow enough that small changes of the gradients lead to nearly the same network. */
    static const struct example example = {.name = "train_digits",
                                           .data = "examples/data/digits.csv",
                                           .batch = 128,
                                           .epochs = 12,
                                           .quick_epochs = 25,
                                           .rate = {[SGD] = 0.02f, [ADAM] = 1e-3f, [ADAMW] = 1e-3f},
                                           .momentum = 0.9f,
                                           .decay = 1e-4f,
                                           .sized = true,
                                           .load = digits_load,
                                           .create = create};

    return training_main(argc, argv, &example);
}
