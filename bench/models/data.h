/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Data sets, in the memory of every rank. */
#ifndef DATA_H
#define DATA_H

#include "training.h"

/* ---- digits.c: 8x8 pictures of handwritten digits ---- */

enum { SIDE = 8, PIXELS = SIDE * SIDE, CLASSES = 10, TEST_SAMPLES = 645 };

/* Collective. Rank 0 reads, so that the file need not be on every machine. The test set is always
 * the same, and at least BATCH samples are left to train with. On rank 0 prints what is wrong;
 * false on all ranks then. What *all points to is static. */
bool digits_load(const char *file, int batch, struct samples *all);

/* As a model's fill: the input is PIXELS x columns, -0.6 to 1.4, 0 in the mean; columns without a
 * sample are zeros. */
void digits_fill(struct model *model, const int *chosen, int count);

/* ---- text.c: the characters of a text ---- */

/* Printable ASCII, and a line's end; all others are a space. */
enum { SYMBOLS = 96 };

/* As digits_load. A sample is a window of LENGTH characters; one begins at each multiple of STRIDE.
 * Of the text's pieces of 2048 characters, those that begin in every eighth are to test with. */
bool text_load(const char *file, int length, int stride, int batch, struct samples *all);

/* The symbols of a sample's window. */
const unsigned char *text_window(int sample);

#endif
