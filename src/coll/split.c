/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/split.h"

#include "codec/encoding.h"
#include "util/integers.h"

/* The first unit before which at least NUMERATOR / DENOMINATOR of the encoded bytes lie, every
 * unit counted as whole. */
static size_t unit_at(const struct cgx_plan *plan, uint64_t numerator, uint64_t denominator)
{
    size_t target =
        (size_t)(((unsigned __int128)plan->bytes * numerator + denominator - 1) / denominator);
    size_t low = 0, high = plan->nsegments;
    const struct cgx_segment *segment;

    if (target == 0)
        return 0;
    while (high - low > 1) { /* the last segment with fewer bytes before it */
        size_t middle = low + (high - low) / 2;

        if (plan->segments[middle].before < target)
            low = middle;
        else
            high = middle;
    }
    segment = &plan->segments[low];
    return segment->first / plan->unit +
           cgx_divide_up(target - segment->before,
                         cgx_plan_unit_bytes(plan, cgx_segment_encoding(segment)));
}

struct cgx_range cgx_split_part(const struct cgx_plan *plan, unsigned chunks, unsigned chunk,
                                unsigned slices, unsigned slice)
{
    uint64_t parts = (uint64_t)chunks * slices, part = (uint64_t)chunk * slices + slice;

    return (struct cgx_range){.first = unit_at(plan, part, parts),
                              .end = unit_at(plan, part + 1, parts)};
}

size_t cgx_split_pieces(const struct cgx_plan *plan, struct cgx_range range, size_t offset,
                        struct cgx_piece *pieces, size_t *end)
{
    size_t element = range.first * plan->unit;
    size_t stop = range.end * plan->unit;
    size_t npieces = 0;

    if (stop > plan->count)
        stop = plan->count;
    for (size_t i = cgx_plan_segment(plan, element); element < stop; i++) {
        const struct cgx_segment *segment = &plan->segments[i];
        size_t segment_end = segment->first + segment->count;
        size_t count = (segment_end < stop ? segment_end : stop) - element;
        unsigned encoding = cgx_segment_encoding(segment);

        if (pieces)
            pieces[npieces] = (struct cgx_piece){
                .first = element, .count = count, .bits = encoding, .offset = offset};
        npieces++;
        offset += cgx_piece_layout(count, encoding, plan->bucket_size, plan->dtype).bytes;
        element += count;
    }
    if (end)
        *end = offset;
    return npieces;
}

/* ---- units ---- */

struct unit_bytes {
    size_t least, widest;
};

/* Notes what a unit of SEGMENT takes in FAMILY as it is or, EVER, at its least and at its most. */
static void note_unit(const struct cgx_plan *plan, const struct cgx_segment *segment,
                      enum cgx_family family, bool ever, struct unit_bytes *bytes)
{
    const struct cgx_widths widths = cgx_segment_widths(segment, family);
    unsigned least = ever && widths.least < widths.bits ? widths.least : widths.bits;
    unsigned most = ever && widths.most > widths.bits ? widths.most : widths.bits;
    size_t low, high;

    if (widths.bits == 0)
        return;
    low = cgx_plan_unit_bytes(plan, cgx_encoding_of(family, least));
    high = cgx_plan_unit_bytes(plan, cgx_encoding_of(family, most));
    bytes->least = cgx_smaller(low, bytes->least);
    bytes->widest = cgx_larger(high, bytes->widest);
}

static struct unit_bytes units_of(const struct cgx_plan *plan, bool ever)
{
    struct unit_bytes bytes = {SIZE_MAX, 0};

    for (size_t i = 0; i < plan->nsegments; i++) {
        for (int family = 0; family < CGX_FAMILIES; family++) {
            if (ever || family == plan->segments[i].family)
                note_unit(plan, &plan->segments[i], (enum cgx_family)family, ever, &bytes);
        }
    }
    return bytes;
}

size_t cgx_split_least_unit(const struct cgx_plan *plan, bool ever)
{
    return units_of(plan, ever).least;
}

size_t cgx_split_widest_unit(const struct cgx_plan *plan, bool ever)
{
    return units_of(plan, ever).widest;
}
