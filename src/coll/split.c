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
    while (high - low > 1) { /* find the last segment with fewer bytes before it */
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

struct cgx_element_range cgx_split_part(const struct cgx_plan *plan, unsigned chunks,
                                        unsigned chunk, unsigned slices, unsigned slice)
{
    uint64_t parts = (uint64_t)chunks * slices, part = (uint64_t)chunk * slices + slice;

    return (struct cgx_element_range){.first = unit_at(plan, part, parts),
                                      .end = unit_at(plan, part + 1, parts)};
}

size_t cgx_split_pieces(const struct cgx_plan *plan, struct cgx_element_range range, size_t offset,
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
