/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A plan says how each element of one recurring buffer is sent: its segments and their widths. All
 * ranks hold the same plan; its hash is in every message. */
#ifndef CGX_POLICY_PLAN_H
#define CGX_POLICY_PLAN_H

#include "codec/encoding.h"
#include "policy/rules/rules.h"

/* Elements of a segment whose width is chosen, unless its layer is smaller: frameworks fuse many
 * tensors into one buffer, and this finds their boundaries without being told. A multiple of every
 * bucket size. */
#define CGX_SEGMENT_ELEMENTS 65536

/* The same of a segment whose family is chosen (families.h), so that a table does not drag its
 * neighbours along. */
#define CGX_FAMILY_SEGMENT_ELEMENTS 16384

/* Least bits of what is max-min quantised only for the sake of its zeros. */
#define CGX_ZEROS_LEAST_BITS 4

struct cgx_widths {
    uint8_t bits;        /* a width of its family, or CGX_BITS_EXACT */
    uint8_t least, most; /* what BITS may become; equal: fixed */
};

/* Elements [first, first + count). FIRST is a multiple of the plan's unit, and so is COUNT but in
 * the last segment. */
struct cgx_segment {
    size_t first;
    size_t count;
    uint8_t bits, least, most; /* as in struct cgx_widths */
    uint8_t family;
    struct cgx_widths
        alternatives[CGX_FAMILIES]; /* in other families; 0 bits: it cannot have that */
    size_t before;                  /* encoded bytes of the whole units before it */
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

/* Whether anything of it is chosen. */
static inline bool cgx_segment_is_chosen(const struct cgx_segment *segment)
{
    return cgx_segment_is_variable(segment) || cgx_segment_has_alternative(segment);
}

/* Its widths in FAMILY; 0 bits: it cannot have that. */
static inline struct cgx_widths cgx_segment_widths(const struct cgx_segment *segment,
                                                   enum cgx_family family)
{
    return family == segment->family
               ? (struct cgx_widths){segment->bits, segment->least, segment->most}
               : segment->alternatives[family];
}

/* One that has the bound of CGX_CODEC=uniform:E in the place of a width. */
static inline struct cgx_segment cgx_segment_bounded(void)
{
    return (struct cgx_segment){.bits = CGX_UNIFORM_BOUNDED,
                                .least = CGX_UNIFORM_BOUNDED,
                                .most = CGX_UNIFORM_BOUNDED,
                                .family = CGX_FAMILY_UNIFORM};
}

static inline unsigned cgx_segment_encoding(const struct cgx_segment *segment)
{
    return cgx_encoding_of((enum cgx_family)segment->family, segment->bits);
}

struct cgx_plan {
    enum cgx_dtype dtype;
    unsigned bucket_size; /* of max-min quantisation */
    unsigned unit;        /* elements: whole buckets of every encoding that the plan may have */
    enum cgx_rounding rounding;
    bool adaptive;         /* some encoding may change: payloads carry what the policy watches */
    bool has_alternatives; /* some segment has a choice of families */
    bool has_residuals; /* residuals are kept of what it quantises (codec.h), if there is memory */
    bool has_history;   /* history is kept of its sums (codec.h), likewise */
    size_t count;       /* elements of the buffer, at least 1 */
    uint32_t hash;
    size_t bytes; /* encoded, every unit counted as whole */
    size_t nsegments;
    struct cgx_segment segments[]; /* in order, without gaps */
};

/* Whether it has to know the call's position in the step: something is kept from call to call. */
static inline bool cgx_plan_is_placed(const struct cgx_plan *plan)
{
    return plan->adaptive || plan->has_residuals || plan->has_history;
}

/* The plan before anything was measured: base widths, what OVERRIDE says (NULL: nothing), max-min
 * quantisation where the family is chosen, and an exact tail where incomplete buckets are skipped.
 * A bucket on the boundary of two layers of OVERRIDE belongs to the one that is sent with more
 * bits. NULL if memory is short; free with cgx_plan_free. */
struct cgx_plan *cgx_plan_create(const struct cgx_settings *settings,
                                 const struct cgx_override *override, enum cgx_dtype dtype,
                                 size_t count);

/* Bytes of memory that a plan is made in, for at most COUNT elements. */
size_t cgx_plan_most_bytes(const struct cgx_override *override, size_t count);

/* The same as cgx_plan_create, in MEMORY of so many bytes, aligned as malloc's. */
struct cgx_plan *cgx_plan_create_in(void *memory, const struct cgx_settings *settings,
                                    const struct cgx_override *override, enum cgx_dtype dtype,
                                    size_t count);

/* Bytes of PLAN and its segments. */
size_t cgx_plan_bytes(const struct cgx_plan *plan);

struct cgx_plan *cgx_plan_copy(const struct cgx_plan *plan); /* NULL if memory is short */

/* Makes PLAN the one whose staging memory suffices for all that it may become. */
void cgx_plan_widen(struct cgx_plan *plan);

/* A copy that was widened. NULL if memory is short. */
struct cgx_plan *cgx_plan_widest(const struct cgx_plan *plan);

/* Bytes of a unit in ENCODING, with the headers of its buckets. */
size_t cgx_plan_unit_bytes(const struct cgx_plan *plan, unsigned encoding);

/* Gives the segments these encodings, and all that follows from them. They come from another rank:
 * a segment keeps its own width where it may not have the one that is there. */
void cgx_plan_set(struct cgx_plan *plan, const uint8_t *encodings);

/* The bytes that are sent of what is encoded, about: fewer than `bytes` where pieces vary. */
size_t cgx_plan_sent(const struct cgx_plan *plan);

/* The width whose error the step of uniform quantisation has, in all segments: that of the first
 * which is quantised so; CGX_UNIFORM_BOUNDED where errors are bounded. 0: none is. */
unsigned cgx_plan_stepped(const struct cgx_plan *plan);

/* The segment that ELEMENT is in. */
size_t cgx_plan_segment(const struct cgx_plan *plan, size_t element);

void cgx_plan_free(struct cgx_plan *plan);

#endif
