/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Inside the host backend: what a set of kernels does to one bucket of a rotated encoding
 * (rotated.h); all sets give the same bytes. The walk over buckets is in host_rotated.c. */
#ifndef CGX_CODEC_ROTATED_ROTATED_KERNELS_H
#define CGX_CODEC_ROTATED_ROTATED_KERNELS_H

#include "codec/host_kernels.h"
#include "codec/rotated/rotated.h"

/* Rotated elements of a bucket, complete or but for the last three stages of the rotation, in
 * whatever order the set has them. */
typedef float cgx_rotated_values[CGX_ROTATED_BUCKET] __attribute__((aligned(64)));

/* What is added up: the codes of a payload with their step, or, CODES being NULL, elements that
 * `rotate` has left incomplete, times STEP in one rounding with the sum. */
struct cgx_rotated_source {
    const unsigned char *codes;
    float step;
    const float *elements;
};

/* Sums of squares of the elements of a bucket and of their residuals. */
struct cgx_rotated_squares {
    float values;
    float residuals;
};

/* A bucket's CODES are aligned to 16 bytes. WIDTH: 1 to CGX_ROTATED_WIDTHS bits. */
struct cgx_rotated_kernels {
    /* Rotates the elements VALUES times FACTOR, all of the bucket, but for the last three stages.
     * Returns their sum of squares. KEY and BUCKET: of cgx_rotated_signs. */
    float (*rotate)(const cgx_float32 *values, float factor, uint32_t key, uint32_t bucket,
                    float *rotated);

    /* The codes of values as `sum` (COMPLETE) or `rotate` left them. INV: 1 / rms. Returns the sum
     * over the bucket of each value over the rms times its level. */
    float (*quantise)(const float *values, bool complete, float inv, unsigned width,
                      unsigned char *codes);

    /* Sums SOURCES, none or more, in their order, to or, if ADD, onto SUMS. Returns the sum of
     * squares of that. */
    float (*sum)(const struct cgx_rotated_source *sources, size_t nsources, unsigned width,
                 bool add, float *sums);

    /* Rotates the levels times STEP back to all elements of the bucket. */
    void (*restore)(const unsigned char *codes, unsigned width, float step, uint32_t key,
                    uint32_t bucket, cgx_float32 *values);

    /* Of all elements of a bucket and of their residuals, in the order of `rotate`. */
    struct cgx_rotated_squares (*squares)(const cgx_float32 *values, const uint16_t *residuals);

    /* SUMS: VALUES plus residuals times CAP, in one rounding. They may be VALUES. */
    void (*correct)(const cgx_float32 *values, const uint16_t *residuals, float cap, float *sums);

    /* As restore, of what `quantise` was given, VALUES, if not COMPLETE times 2^-10, minus the
     * levels of the CODES that it has found. */
    void (*errors)(const float *values, bool complete, const unsigned char *codes, unsigned width,
                   float step, uint32_t key, uint32_t bucket, float *errors);
};

#endif
