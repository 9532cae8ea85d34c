/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The step sizes of uniform quantisation, the same in all calls of a training step: doc/format.md
 * has the formula. They follow the mean square of what was quantised in earlier steps, which all
 * ranks know from the same payloads. Payloads contain their step size, so ranks that differed would
 * only change the error.
 *
 * Each stage of a sum has an equal part of the error. One step for all stages would have the same
 * error, but a result of P ranks is P times as large in power as an input, or more, so that it
 * would take bits that grow with the number of ranks. */
#ifndef CGX_POLICY_STEP_SIZE_H
#define CGX_POLICY_STEP_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/* What was quantised: its sum of squares, NaN if unknown; its number of elements; and the sum of
 * the squared errors that its step sizes make. */
struct cgx_quantised {
    double energy, elements, noise;
};

/* All zeros: nothing is known. */
struct cgx_step_size {
    struct cgx_quantised now; /* what was quantised in the present step */
    /* Mean squares, 0 if unknown: the weighted mean of earlier steps, and that of the last one. */
    double mean, last;
};

/* Adds QUANTISED, which a call of the present step has quantised. */
void cgx_step_size_add(struct cgx_step_size *size, const struct cgx_quantised *quantised);

/* Ends a step. The mean begins with the smaller of two steps in a row, and is forgotten after a
 * step in which nothing was quantised, since sums may change while they are exact. */
void cgx_step_size_next(struct cgx_step_size *size);

/* Sums of which fewer were compressed are young: their errors are smaller, and they have no steps
 * in common. Adam divides by the root of a mean of squares, which begins with these sums and keeps
 * their errors for a thousand steps; and what a young history divides by changes from sum to sum.
 */
#define CGX_STEP_YOUNG 48

/* The squared error of a piece in proportion to its squares, for WIDTH bits, in a sum of which AGE
 * were compressed before. While sums are young that is E times 2^(-10 (1 - AGE / 48)), five bits
 * more in the first sum; but at least 2^-17, since less does not fit the room of a piece. */
float cgx_step_size_error(unsigned width, uint32_t age);

/* The most that the squared error of a group may be in proportion to its own squares, at WIDTH
 * bits, if ERROR is that of all groups: ten times that, a tenth at 4 bits; 0: any. So groups that
 * are quieter than others have a smaller step size. Adam moves their elements as far as others, and
 * at 1 and 2 bits, which are for SGD, floors would take more than they give. */
static inline float cgx_step_size_floor(unsigned width, float error)
{
    return width < 3 ? 0 : 10 * error;
}

#define CGX_STEP_STAGES 4

/* Sets STEP SIZES, one for each stage, from the known SIZE for WIDTH bits. PAYLOADS are the numbers
 * of payloads that each stage has in a result; a stage without payloads gets 0. */
void cgx_step_size_of(const struct cgx_step_size *size, unsigned width,
                      const unsigned payloads[CGX_STEP_STAGES], float steps[CGX_STEP_STAGES]);

#endif
