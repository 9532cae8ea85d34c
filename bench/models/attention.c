/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "attention.h"
#include <math.h>
#include <string.h>

enum { TABLE = WINDOW * WINDOW };

/* table[t][u] = sum over the rows of a[t] * b[u]. */
static void multiply_columns(const struct head *head, const float *a, const float *b, float *table)
{
    memset(table, 0, sizeof *table * TABLE);
    for (int i = 0; i < head->rows; i++, a += head->stride, b += head->stride)
        for (int t = 0; t < WINDOW; t++)
            for (int u = 0; u < WINDOW; u++)
                table[t * WINDOW + u] += a[t] * b[u];
}

/* In each row, result[t] = sum over u of table[t][u] * b[u]. */
static void gather(const struct head *head, const float *table, const float *b, float *result)
{
    float transposed[TABLE];

    for (int t = 0; t < WINDOW; t++)
        for (int u = 0; u < WINDOW; u++)
            transposed[u * WINDOW + t] = table[t * WINDOW + u];
    for (int i = 0; i < head->rows; i++, b += head->stride, result += head->stride) {
        memset(result, 0, sizeof *result * WINDOW);
        for (int u = 0; u < WINDOW; u++)
            for (int t = 0; t < WINDOW; t++)
                result[t] += transposed[u * WINDOW + t] * b[u];
    }
}

/* In each row, result[u] = sum over t of table[t][u] * a[t]. */
static void scatter(const struct head *head, const float *table, const float *a, float *result)
{
    for (int i = 0; i < head->rows; i++, a += head->stride, result += head->stride) {
        memset(result, 0, sizeof *result * WINDOW);
        for (int t = 0; t < WINDOW; t++)
            for (int u = 0; u < WINDOW; u++)
                result[u] += table[t * WINDOW + u] * a[t];
    }
}

/* Of place T's scores, over the places that it may see. */
static void softmax(float *scores, int t, float scale)
{
    float most = scores[0], sum = 0.0f;

    for (int u = 1; u <= t; u++)
        most = fmaxf(most, scores[u]);
    for (int u = 0; u < WINDOW; u++) {
        scores[u] = u <= t ? expf(scale * (scores[u] - most)) : 0.0f;
        sum += scores[u];
    }
    for (int u = 0; u <= t; u++)
        scores[u] /= sum;
}

void attention_forward(const struct head *head, float *weights, float *result)
{
    float scale = 1.0f / sqrtf((float)head->rows);

    multiply_columns(head, head->query, head->key, weights);
    for (int t = 0; t < WINDOW; t++)
        softmax(weights + t * WINDOW, t, scale);
    gather(head, weights, head->value, result);
}

void attention_backward(const struct head *head, const float *weights, const float *errors,
                        const struct head *head_errors)
{
    float scale = 1.0f / sqrtf((float)head->rows), table[TABLE];

    scatter(head, weights, errors, head_errors->value);
    multiply_columns(head, errors, head->value, table);
    for (int t = 0; t < WINDOW; t++) {
        const float *weight = weights + t * WINDOW;
        float *error = table + t * WINDOW, mean = 0.0f;

        for (int u = 0; u < WINDOW; u++)
            mean += weight[u] * error[u];
        for (int u = 0; u < WINDOW; u++)
            error[u] = scale * weight[u] * (error[u] - mean);
    }
    gather(head, table, head->key, head_errors->query);
    scatter(head, table, head->query, head_errors->key);
}
