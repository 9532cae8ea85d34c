/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A plan says how each element of one recurring buffer is sent: its segments and their widths. All
 * ranks hold the same plan; every message carries its hash. */
#ifndef CGX_POLICY_PLAN_H
#define CGX_POLICY_PLAN_H

#include "codec/encoding.h"
#include "policy/rules/rules.h"

/* Elements [first, first + count). FIRST is a multiple of the plan's unit, and so is COUNT except
 * in the last segment. */
struct cgx_segment {
    size_t first;
    size_t count;
    uint8_t bits; /* a width of its family, or CGX_BITS_EXACT */
    uint8_t family;
    size_t before; /* encoded bytes of all units before the segment */
};

static inline unsigned cgx_segment_encoding(const struct cgx_segment *segment)
{
    return cgx_encoding_of((enum cgx_family)segment->family, segment->bits);
}

struct cgx_plan {
    enum cgx_dtype dtype;
    unsigned bucket_size; /* of max-min quantisation */
    unsigned unit;        /* elements; whole buckets of every encoding of the plan */
    bool has_history;     /* with history scaling (codec.h), if there is memory */
    size_t count;         /* elements of the buffer, at least 1 */
    uint32_t hash;
    size_t bytes; /* encoded, counting every unit as whole */
    size_t nsegments;
    struct cgx_segment segments[]; /* in order, without gaps */
};

/* The plan of COUNT elements with the width that is set, or OVERRIDE's (NULL: none). A bucket
 * across the boundary of two layers of OVERRIDE gets the larger of their widths. NULL if memory is
 * short; free with cgx_plan_free. */
struct cgx_plan *cgx_plan_create(const struct cgx_settings *settings,
                                 const struct cgx_override *override, enum cgx_dtype dtype,
                                 size_t count);

/* Bytes that suffice for a plan with OVERRIDE. */
size_t cgx_plan_most_bytes(const struct cgx_override *override);

/* As cgx_plan_create, in MEMORY of as many bytes, aligned as malloc's. */
struct cgx_plan *cgx_plan_create_in(void *memory, const struct cgx_settings *settings,
                                    const struct cgx_override *override, enum cgx_dtype dtype,
                                    size_t count);

/* Bytes of a unit in ENCODING, with the headers of its buckets. */
size_t cgx_plan_unit_bytes(const struct cgx_plan *plan, unsigned encoding);

/* Approximate bytes sent for `bytes` encoded ones; fewer if pieces vary. */
size_t cgx_plan_sent(const struct cgx_plan *plan);

/* The width whose error the step of uniform quantisation matches in all segments, taken from the
 * first uniform segment; 0 if there is none. */
unsigned cgx_plan_stepped(const struct cgx_plan *plan);

/* The segment of ELEMENT. */
size_t cgx_plan_segment(const struct cgx_plan *plan, size_t element);

void cgx_plan_free(struct cgx_plan *plan);

#endif
