/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A dense layer: values have a row for each unit and a column for each sample. */
#ifndef DENSE_H
#define DENSE_H

#include <stdbool.h>
#include <stddef.h>

struct dense {
    int in, out;                       /* in: a multiple of TILE_COLUMNS; out: of TILE_ROWS */
    float *weights, *weight_gradients; /* out x in */
    float *biases, *bias_gradients;    /* out; NULL: the layer has none */
};

/* The elements of a layer's parameters. */
size_t dense_size(int in, int out, bool biased);

/* A layer of in x out, with its pieces of the parameters and of the gradients, and no weights yet.
 */
struct dense dense_carve(int in, int out, bool biased, float **parameter, float **gradient);

/* RESULT = weights * VALUES + biases. */
void dense_forward(const struct dense *layer, int columns, const float *values, float *result);

/* The gradients, from the VALUES that came in and the ERRORS of what came out. BELOW, unless NULL:
 * the errors of VALUES. SCRATCH: in x columns. COLUMNS is a multiple of TILE_COLUMNS. */
void dense_backward(const struct dense *layer, int columns, const float *values,
                    const float *errors, float *scratch, float *below);

/* Tells the gradients, weights first. */
void dense_ready(const struct dense *layer, void (*ready)(float *gradient, int count));

/* Values below 0 become 0; and errors where values are not above. */
void rectify(float *values, int count);
void rectify_backward(const float *values, float *errors, int count);

#endif
