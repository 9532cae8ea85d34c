/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Which segments of a buffer may have any family under CGX_CODEC=auto. Families that keep no zeros
 * (codec/quantiser.h) have the smaller error on gradients, but under Adam and its kin noise in rows
 * of a table that no rank has touched becomes whole steps, whatever the width. So a segment keeps
 * its zeros where more than CGX_FAMILIES_ZEROS of its elements are zero on all ranks, and where all
 * ranks have few values in it, flags say, of which max-min quantisation has less error or none. Of
 * the others measured errors decide (adapt.h).
 *
 * Ranks sample the same few elements of what they put in, and add up what they have seen bit by
 * bit. What nobody has sampled is as if it were zero. Pure logic. */
#ifndef CGX_POLICY_WIDTHS_FAMILIES_H
#define CGX_POLICY_WIDTHS_FAMILIES_H

#include "policy/plan.h"

#define CGX_FAMILIES_ZEROS 0.75

/* So many different values or fewer are few. */
#define CGX_FAMILIES_FEW 4

/* The elements that are sampled: FIRST, FIRST + STRIDE and so on, COUNT of them. */
struct cgx_input_sample {
    size_t first, stride, count;
};

/* Of ELEMENTS, at least 1; NUMBER moves it from sample to sample. */
struct cgx_input_sample cgx_families_sample(size_t elements, uint32_t number);

/* Words of 32 bits in which ranks say what they have seen of the buffers of PLAN. */
size_t cgx_families_words(const struct cgx_plan *plan);

/* Sets WORDS to what this rank has seen: VALUES are the elements of SAMPLE. */
void cgx_families_observe(const struct cgx_plan *plan, const struct cgx_input_sample *sample,
                          const float *values, uint32_t *words);

/* Sets ANY to 1 for segments that may have any family, and else to 0, for those that must keep
 * zeros, by what some rank has seen, bit by bit. False: nobody has sampled, and nothing is set. */
bool cgx_families_judge(const struct cgx_plan *plan, const struct cgx_input_sample *sample,
                        const uint32_t *words, uint8_t *any);

#endif
