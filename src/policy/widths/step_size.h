/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The step of uniform quantisation: one for all calls of a training step, such that the squared
 * error of all quantisations in it is that of rotated quantisation. It follows the mean square of
 * what was quantised in the steps before, which all ranks have from the same payloads. Payloads say
 * their steps: that ranks have the same is a matter of error alone. */
#ifndef CGX_POLICY_WIDTHS_STEP_SIZE_H
#define CGX_POLICY_WIDTHS_STEP_SIZE_H

/* What was quantised: the sum of squares, NaN where that is not known, and how many elements. */
struct cgx_quantised {
    double energy, elements;
};

/* All zeros: nothing is known. */
struct cgx_step_size {
    struct cgx_quantised now; /* in the step that is under way */
    double mean, last;        /* mean squares, of the steps before and of the last one */
};

/* QUANTISED was, in a call of the step. */
void cgx_step_size_add(struct cgx_step_size *size, const struct cgx_quantised *quantised);

/* The step is over. */
void cgx_step_size_next(struct cgx_step_size *size);

/* For WIDTH bits; 0: nothing is known. */
float cgx_step_size_of(const struct cgx_step_size *size, unsigned width);

#endif
