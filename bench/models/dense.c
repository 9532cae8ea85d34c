/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "dense.h"
#include "matrix.h"

size_t dense_size(int in, int out, bool biased)
{
    return (size_t)(in + biased) * (size_t)out;
}

struct dense dense_carve(int in, int out, bool biased, float **parameter, float **gradient)
{
    size_t weights = (size_t)in * (size_t)out;
    struct dense layer = {.in = in, .out = out};

    layer.weights = carve(parameter, weights);
    layer.weight_gradients = carve(gradient, weights);
    if (biased) {
        layer.biases = carve(parameter, (size_t)out);
        layer.bias_gradients = carve(gradient, (size_t)out);
    }
    return layer;
}

void dense_forward(const struct dense *layer, int columns, const float *values, float *result)
{
    multiply(layer->out, layer->in, columns, layer->weights, layer->in, 1, values, result);
    if (layer->biases == NULL)
        return;
    for (int i = 0; i < layer->out * columns; i++)
        result[i] += layer->biases[i / columns];
}

void dense_backward(const struct dense *layer, int columns, const float *values,
                    const float *errors, float *scratch, float *below)
{
    transpose(layer->in, columns, values, scratch);
    multiply(layer->out, columns, layer->in, errors, columns, 1, scratch, layer->weight_gradients);
    if (layer->biases) {
        memset(layer->bias_gradients, 0, sizeof(float) * (size_t)layer->out);
        for (int i = 0; i < layer->out * columns; i++)
            layer->bias_gradients[i / columns] += errors[i];
    }
    if (below)
        multiply(layer->in, layer->out, columns, layer->weights, 1, layer->in, errors, below);
}

void dense_ready(const struct dense *layer, void (*ready)(float *gradient, int count))
{
    ready(layer->weight_gradients, layer->in * layer->out);
    if (layer->biases)
        ready(layer->bias_gradients, layer->out);
}

void rectify(float *values, int count)
{
    for (int i = 0; i < count; i++)
        values[i] = values[i] < 0.0f ? 0.0f : values[i];
}

void rectify_backward(const float *values, float *errors, int count)
{
    for (int i = 0; i < count; i++)
        errors[i] = values[i] > 0.0f ? errors[i] : 0.0f;
}
