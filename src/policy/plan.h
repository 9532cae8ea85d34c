/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A plan says how each element of one recurring buffer is sent: its segments and their widths. All
 * ranks hold the same plan; every message carries its hash. */
#ifndef CGX_POLICY_PLAN_H
#define CGX_POLICY_PLAN_H

#include "codec/encoding.h"
#include "policy/rules/rules.h"

/* Elements of a segment whose width is chosen, unless its layer is smaller. Frameworks fuse many
 * tensors into one buffer; segments of this size find their boundaries. A multiple of every bucket
 * size. */
#define CGX_SEGMENT_ELEMENTS 65536

/* Likewise if the family is chosen too (families.h): smaller, so that a table affects few
 * neighbours. */
#define CGX_FAMILY_SEGMENT_ELEMENTS 16384

/* The least width of max-min quantisation that is chosen only to keep zeros. */
#define CGX_ZEROS_LEAST_BITS 4

struct cgx_widths {
    uint8_t bits;        /* a width of its family, or CGX_BITS_EXACT */
    uint8_t least, most; /* the range of BITS; equal: fixed */
};

/* Elements [first, first + count). FIRST is a multiple of the plan's unit, and so is COUNT except
 * in the last segment. */
struct cgx_segment {
    size_t first;
    size_t count;
    uint8_t bits, least, most; /* as in struct cgx_widths */
    uint8_t family;
    struct cgx_widths alternatives[CGX_FAMILIES]; /* in other families; 0 bits: not allowed */
    size_t before; /* encoded bytes of all units before the segment */
};

static inline bool cgx_segment_is_variable(const struct cgx_segment *segment)
{
    return segment->least < segment->most;
}

/* Whether its family is chosen. */
static inline bool cgx_segment_has_alternative(const struct cgx_segment *segment)
{
    bool alternatives = false;

    for (int f = 0; f < CGX_FAMILIES; f++)
        alternatives |= segment->alternatives[f].bits > 0;
    return alternatives;
}

/* Whether its width is chosen, in its family or in an alternative. */
static inline bool cgx_segment_has_widths(const struct cgx_segment *segment)
{
    bool has = cgx_segment_is_variable(segment);

    for (int f = 0; f < CGX_FAMILIES; f++)
        has |= segment->alternatives[f].least < segment->alternatives[f].most;
    return has;
}

/* Whether its width or family is chosen. */
static inline bool cgx_segment_is_chosen(const struct cgx_segment *segment)
{
    return cgx_segment_is_variable(segment) || cgx_segment_has_alternative(segment);
}

/* Its widths in FAMILY; 0 bits: not allowed. */
static inline struct cgx_widths cgx_segment_widths(const struct cgx_segment *segment,
                                                   enum cgx_family family)
{
    return family == segment->family
               ? (struct cgx_widths){segment->bits, segment->least, segment->most}
               : segment->alternatives[family];
}

static inline unsigned cgx_segment_encoding(const struct cgx_segment *segment)
{
    return cgx_encoding_of((enum cgx_family)segment->family, segment->bits);
}

struct cgx_plan {
    enum cgx_dtype dtype;
    unsigned bucket_size;  /* of max-min quantisation */
    unsigned unit;         /* elements; whole buckets of every encoding of the plan */
    bool adaptive;         /* encodings may change: payloads carry energies */
    bool has_alternatives; /* some segment can have several families */
    bool has_history;      /* with history scaling (codec.h), if there is memory */
    size_t count;          /* elements of the buffer, at least 1 */
    uint32_t hash;
    size_t bytes; /* encoded, counting every unit as whole */
    size_t nsegments;
    struct cgx_segment segments[]; /* in order, without gaps */
};

/* Whether calls need a position in the step, since state is kept between calls. */
static inline bool cgx_plan_is_placed(const struct cgx_plan *plan)
{
    return plan->adaptive || plan->has_history;
}

/* The initial plan: base widths, or OVERRIDE's (NULL: none); max-min quantisation if the family is
 * to be chosen. A bucket across the boundary
 * of two layers of OVERRIDE gets the larger of their widths. NULL if memory is short; free with
 * cgx_plan_free. */
struct cgx_plan *cgx_plan_create(const struct cgx_settings *settings,
                                 const struct cgx_override *override, enum cgx_dtype dtype,
                                 size_t count);

/* Bytes that suffice for a plan of at most COUNT elements. */
size_t cgx_plan_most_bytes(const struct cgx_override *override, size_t count);

/* As cgx_plan_create, in MEMORY of as many bytes, aligned as malloc's. */
struct cgx_plan *cgx_plan_create_in(void *memory, const struct cgx_settings *settings,
                                    const struct cgx_override *override, enum cgx_dtype dtype,
                                    size_t count);

/* Bytes of PLAN and its segments. */
size_t cgx_plan_bytes(const struct cgx_plan *plan);

struct cgx_plan *cgx_plan_copy(const struct cgx_plan *plan); /* NULL if memory is short */

/* Gives every segment its widest encoding, so that PLAN needs the most staging memory. */
void cgx_plan_widen(struct cgx_plan *plan);

/* A widened copy. NULL if memory is short. */
struct cgx_plan *cgx_plan_widest(const struct cgx_plan *plan);

/* Bytes of a unit in ENCODING, with the headers of its buckets. */
size_t cgx_plan_unit_bytes(const struct cgx_plan *plan, unsigned encoding);

/* Sets the encodings of the segments and all that depends on them. ENCODINGS come from another
 * rank: a segment keeps its own if it may not have the one given. */
void cgx_plan_set(struct cgx_plan *plan, const uint8_t *encodings);

/* Approximate bytes sent for `bytes` encoded ones; fewer if pieces vary. */
size_t cgx_plan_sent(const struct cgx_plan *plan);

/* The width whose error the step of uniform quantisation matches in all segments, taken from the
 * first uniform segment; 0 if there is none. */
unsigned cgx_plan_stepped(const struct cgx_plan *plan);

/* The segment of ELEMENT. */
size_t cgx_plan_segment(const struct cgx_plan *plan, size_t element);

void cgx_plan_free(struct cgx_plan *plan);

#endif
