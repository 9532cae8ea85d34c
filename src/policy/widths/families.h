/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Decides which segments of a buffer may have any family under CGX_CODEC=auto. Families that do not
 * keep zeros (codec/quantiser.h) have less error on gradients. But with Adam and similar
 * optimisers, noise in table rows that no rank has touched becomes full-size steps at any width. So
 * a segment keeps its zeros if more than CGX_FAMILIES_ZEROS of its elements are zero on all ranks,
 * or if it has few values on all ranks, as flags do, which max-min quantisation represents with
 * less error or none. Measured errors decide about other segments (adapt.h).
 *
 * Ranks sample the same few elements of their inputs and combine their observations bit by bit.
 * Elements that nobody has sampled count as zero. Pure logic. */
#ifndef CGX_POLICY_WIDTHS_FAMILIES_H
#define CGX_POLICY_WIDTHS_FAMILIES_H

#include "policy/plan.h"

#define CGX_FAMILIES_ZEROS 0.75

/* At most this many different values are few. */
#define CGX_FAMILIES_FEW 4

/* The sampled elements: COUNT of them, FIRST, FIRST + STRIDE and so on. */
struct cgx_input_sample {
    size_t first, stride, count;
};

/* A sample of ELEMENTS, at least 1; NUMBER shifts it from sample to sample. */
struct cgx_input_sample cgx_families_sample(size_t elements, uint32_t number);

/* Words of 32 bits for a rank's observations of a buffer of PLAN. */
size_t cgx_families_words(const struct cgx_plan *plan);

/* Sets WORDS to this rank's observations; VALUES are the elements of SAMPLE. */
void cgx_families_observe(const struct cgx_plan *plan, const struct cgx_input_sample *sample,
                          const float *values, uint32_t *words);

/* Sets ANY to 1 for segments that may have any family and to 0 for those that must keep zeros, from
 * all ranks' WORDS combined by bitwise or. False: nobody has sampled, and ANY is unchanged. */
bool cgx_families_judge(const struct cgx_plan *plan, const struct cgx_input_sample *sample,
                        const uint32_t *words, uint8_t *any);

#endif
