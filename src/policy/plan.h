/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A plan says how each element of one recurring buffer is sent: its segments and their widths. All
 * ranks hold the same plan; its hash is in every message. */
#ifndef CGX_POLICY_PLAN_H
#define CGX_POLICY_PLAN_H

#include "codec/format.h"

/* Elements [first, first + count). FIRST is a multiple of the bucket size, and so is COUNT but in
 * the last segment. */
struct cgx_segment {
    size_t first;
    size_t count;
    unsigned bits; /* 1-8, or CGX_BITS_EXACT */
};

struct cgx_plan {
    enum cgx_dtype dtype;
    unsigned bucket_size;
    enum cgx_rounding rounding;
    size_t count; /* elements of the buffer, at least 1 */
    uint32_t hash;
    size_t nsegments;
    struct cgx_segment segments[]; /* in order, without gaps */
};

/* The plan of settings without a policy: one width, and an exact tail where incomplete buckets are
 * skipped. NULL if memory is short; free with cgx_plan_free. */
struct cgx_plan *cgx_plan_uniform(const struct cgx_settings *settings, enum cgx_dtype dtype,
                                  size_t count);

void cgx_plan_free(struct cgx_plan *plan);

#endif
