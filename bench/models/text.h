/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A data set: the characters of a text, in the memory of every rank. */
#ifndef TEXT_H
#define TEXT_H

#include "training.h"

/* Printable ASCII, and a line's end; all others are a space. */
enum { SYMBOLS = 96 };

/* As digits_load. A sample is a window of LENGTH characters; one begins at each multiple of STRIDE.
 * Of the text's pieces of 2048 characters, those that begin in every eighth are to test with. */
bool text_load(const char *file, int length, int stride, int batch, struct samples *all);

/* The symbols of a sample's window. */
const unsigned char *text_window(int sample);

#endif
