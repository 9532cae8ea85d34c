/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The step size of uniform quantisation: one for all calls of a training step, such that the
 * squared error of all its quantisations is that of rotated quantisation. It follows the mean
 * square of what was quantised in earlier steps, which all ranks know from the same payloads.
 * Payloads contain their step size, so ranks that differed would only change the error. */
#ifndef CGX_POLICY_WIDTHS_STEP_SIZE_H
#define CGX_POLICY_WIDTHS_STEP_SIZE_H

/* Quantised data: its sum of squares, NaN if unknown, and number of elements. */
struct cgx_quantised {
    double energy, elements;
};

/* All zeros: nothing is known. */
struct cgx_step_size {
    struct cgx_quantised now; /* in the present step */
    double mean, last;        /* mean squares: of earlier steps, weighted, and of the last one */
};

/* Adds QUANTISED, of a call in the present step. */
void cgx_step_size_add(struct cgx_step_size *size, const struct cgx_quantised *quantised);

/* Ends a step. */
void cgx_step_size_next(struct cgx_step_size *size);

/* The step size for WIDTH bits; 0: nothing is known. */
float cgx_step_size_of(const struct cgx_step_size *size, unsigned width);

#endif
