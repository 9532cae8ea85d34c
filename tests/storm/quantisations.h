/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How far a sum may be off that goes through quantisations inside nodes, between nodes and at last.
 */
#ifndef TESTS_STORM_QUANTISATIONS_H
#define TESTS_STORM_QUANTISATIONS_H

#include "oracle.h"

/* Of COUNT elements, a bucket; rank p's begin at INPUTS + p * STRIDE. If SCHEME's quantisation is
 * rotated it is the root of the sum of the squares, else that of each element. Rounding comes to
 * it. Not finite where inputs are not. */
double quantisations_error(const struct oracle *oracle, const struct scheme *scheme,
                           const double *inputs, size_t stride, size_t count);

#endif
