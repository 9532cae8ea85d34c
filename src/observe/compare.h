/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Compares sums in the caller's buffers, in any memory, after the work that the caller has queued
 * on them. */
#ifndef CGX_OBSERVE_COMPARE_H
#define CGX_OBSERVE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "codec/format.h"

/* Sets *ERROR to the sum of the squares of RESULT - EXACT over COUNT elements, and *NORM to that of
 * EXACT. Blocks of 1024 elements do not count if one of these is not finite. False if they cannot
 * be read, or memory is short. */
bool cgx_compare(enum cgx_dtype dtype, size_t count, const void *result, const void *exact,
                 double *error, double *norm);

#endif
