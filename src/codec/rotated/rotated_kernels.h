/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Inside the host backend: what a set of kernels does to one bucket of a rotated encoding
 * (rotated.h); all sets give the same bytes. The walk over buckets is in host_rotated.c. */
#ifndef CGX_CODEC_ROTATED_ROTATED_KERNELS_H
#define CGX_CODEC_ROTATED_ROTATED_KERNELS_H

#include "codec/host_kernels.h"
#include "codec/rotated/rotated.h"

/* Rotated elements of a bucket in the set's own order, complete or without the last three stages of
 * the rotation. */
typedef float cgx_rotated_values[CGX_ROTATED_BUCKET] __attribute__((aligned(64)));

/* A source of a sum: a payload's codes with their step, or, if CODES is NULL, elements that
 * `rotate` has left incomplete, to be multiplied by STEP in one rounding with the addition. */
struct cgx_rotated_source {
    const unsigned char *codes;
    float step;
    const float *elements;
};

/* A bucket's CODES are aligned to 16 bytes. WIDTH: 1 to CGX_ROTATED_WIDTHS bits. */
struct cgx_rotated_kernels {
    /* Rotates VALUES times FACTOR, all elements of the bucket, except for the last three stages.
     * Returns their sum of squares. KEY, BUCKET: of cgx_rotated_signs. */
    float (*rotate)(const cgx_float32 *values, float factor, uint32_t key, uint32_t bucket,
                    float *rotated);

    /* Writes the codes of values from `sum` (COMPLETE) or `rotate`. INV: 1 / rms. Returns the sum
     * over the bucket of each value over the rms times its level. */
    float (*quantise)(const float *values, bool complete, float inv, unsigned width,
                      unsigned char *codes);

    /* Sums SOURCES (maybe none) in order, into SUMS or, if ADD, onto SUMS. Returns the sum of
     * squares of the result. */
    float (*sum)(const struct cgx_rotated_source *sources, size_t nsources, unsigned width,
                 bool add, float *sums);

    /* Rotates the levels times STEP back into all elements of the bucket. */
    void (*restore)(const unsigned char *codes, unsigned width, float step, uint32_t key,
                    uint32_t bucket, cgx_float32 *values);
};

#endif
