/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A plan says how each element of one recurring buffer is sent. It is a value that follows from
 * settings, rules and hints, so that making it cannot fail. All ranks have the same plan; every
 * message carries its hash. */
#ifndef CGX_POLICY_PLAN_H
#define CGX_POLICY_PLAN_H

#include "codec/encoding.h"
#include "policy/rules/override.h"

struct cgx_plan {
    enum cgx_dtype dtype;
    /* Elements on whose multiples segments begin: whole buckets of every encoding of the plan. */
    unsigned unit;
    enum cgx_family family;
    /* Width of elements whose layer has none of its own; CGX_BITS_EXACT: they are exact. */
    unsigned bits;
    const struct cgx_layer_list *layers; /* of a rule or hint, which owns them; NULL: none */
    /* Elements are divided by history scales (codec.h), if there is memory for them. */
    bool has_history;
    size_t count; /* elements of the buffer, at least 1 */
    /* These follow from the fields above: */
    size_t nsegments;
    size_t bytes; /* bytes of the encoding, counting every unit as whole */
    size_t sent;  /* bytes that are sent, approximately; pieces of variable size send fewer */
    size_t least, widest; /* bytes of the smallest and of the largest unit */
    /* The width whose error decides the step size of uniform quantisation, in all segments: that of
     * the first uniform segment; 0 if there is none. */
    unsigned uniform_width;
    uint32_t hash;
};

/* The plan of COUNT elements with the width that is set, or with that of OVERRIDE (NULL: none).
 * OVERRIDE's layers must outlive the plan. */
struct cgx_plan cgx_plan_of(const struct cgx_settings *settings,
                            const struct cgx_override *override, enum cgx_dtype dtype,
                            size_t count);

/* ---- segments: the plan's elements in order, without gaps ----
 *
 * A unit across the boundary of layers has the largest of their widths. */

/* Elements [first, first + count) in one encoding. The segment behind has another one. FIRST is a
 * multiple of the plan's unit, and so is COUNT except in the last segment. */
struct cgx_segment {
    size_t first, count;
    unsigned encoding;
    size_t before; /* encoded bytes of all units before the segment */
    /* The layer in which the next segment begins, and that layer's first element. */
    size_t layer, layer_first;
};

struct cgx_segment cgx_plan_first(const struct cgx_plan *plan);

/* Goes on to the next segment. False: there is none. */
bool cgx_plan_next(const struct cgx_plan *plan, struct cgx_segment *segment);

/* Bytes of a unit in ENCODING, with the headers of its buckets. */
static inline size_t cgx_plan_unit_bytes(const struct cgx_plan *plan, unsigned encoding)
{
    return cgx_encoding_bytes(encoding, plan->dtype, plan->unit);
}

#endif
