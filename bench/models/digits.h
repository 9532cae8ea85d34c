/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A data set: 8x8 pictures of handwritten digits, in the memory of every rank. */
#ifndef DIGITS_H
#define DIGITS_H

#include "training.h"

enum { SIDE = 8, PIXELS = SIDE * SIDE, CLASSES = 10, TEST_SAMPLES = 645 };

/* Collective. Rank 0 reads, so that the file need not be on every machine. The test set is always
 * the same, and at least BATCH samples are left to train with. On rank 0 prints what is wrong;
 * false on all ranks then. What *all points to is static. */
bool digits_load(const char *file, int batch, struct samples *all);

/* As a model's fill: the input is PIXELS x columns, -0.6 to 1.4, 0 in the mean; columns without a
 * sample are zeros. */
void digits_fill(struct model *model, const int *chosen, int count);

#endif
