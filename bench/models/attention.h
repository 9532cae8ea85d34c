/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Causal self-attention of one head (Vaswani et al.: "Attention is all you need", 2017), over a
 * window of WINDOW places. */
#ifndef ATTENTION_H
#define ATTENTION_H

enum { WINDOW = 32 };

/* Queries, keys and values, or their errors, of one head and one sample: ROWS rows, STRIDE elements
 * apart, of WINDOW elements. */
struct head {
    int rows, stride;
    float *query, *key, *value;
};

/* WEIGHTS: WINDOW x WINDOW, to be kept for the way back. RESULT: rows like those of the head. */
void attention_forward(const struct head *head, float *weights, float *result);

/* From the ERRORS of the result to those of the head. */
void attention_backward(const struct head *head, const float *weights, const float *errors,
                        const struct head *head_errors);

#endif
