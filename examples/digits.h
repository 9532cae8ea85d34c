/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The data set: 8x8 pictures of handwritten digits, in the memory of every rank. */
#ifndef DIGITS_H
#define DIGITS_H

#include <stdbool.h>
#include <stdint.h>

enum { SIDE = 8, PIXELS = SIDE * SIDE, CLASSES = 10, TEST_SAMPLES = 645 };

struct digits {
    int count;
    int *order; /* shuffled names of the samples; the last TEST_SAMPLES are to test with */
};

/* Collective. Rank 0 reads, so that the file need not be on every machine. The test set is always
 * the same, and at least BATCH samples are left to train with. On rank 0 prints what is wrong;
 * false on all ranks then. What *digits points to is static. */
bool digits_load(const char *file, int batch, struct digits *digits);

void digits_shuffle(int *order, int count, uint64_t *random);

/* The samples that CHOSEN names become the columns of INPUT (PIXELS x COLUMNS, -0.6 to 1.4, 0 in
 * the mean) and of LABELS; columns without a sample are zeros and have the label -1. */
void digits_choose(const int *chosen, int count, int columns, float *input, int *labels);

#endif
