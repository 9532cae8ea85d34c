/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/split.h"

#include "codec/encoding.h"
#include "util/integers.h"

/* The first unit before which at least NUMERATOR / DENOMINATOR of the encoded bytes lie, every
 * unit counted as whole. Sets *NEAR, any segment, to the last one with fewer bytes before it. */
static size_t unit_at(const struct cgx_plan *plan, uint64_t numerator, uint64_t denominator,
                      struct cgx_segment *near)
{
    size_t target =
        (size_t)(((unsigned __int128)plan->bytes * numerator + denominator - 1) / denominator);
    struct cgx_segment next;

    if (near->before >= target)
        *near = cgx_plan_first(plan);
    if (target == 0)
        return 0;
    for (next = *near; cgx_plan_next(plan, &next) && next.before < target;)
        *near = next;
    return near->first / plan->unit +
           cgx_divide_up(target - near->before, cgx_plan_unit_bytes(plan, near->encoding));
}

struct cgx_element_range cgx_split_part(const struct cgx_plan *plan, unsigned chunks,
                                        unsigned chunk, unsigned slices, unsigned slice,
                                        struct cgx_segment *near)
{
    uint64_t parts = (uint64_t)chunks * slices, part = (uint64_t)chunk * slices + slice;
    struct cgx_element_range range = {.first = unit_at(plan, part, parts, near)};

    range.segment = *near;
    range.end = unit_at(plan, part + 1, parts, near);
    return range;
}

size_t cgx_split_pieces(const struct cgx_plan *plan, struct cgx_element_range range, size_t offset,
                        struct cgx_piece *pieces, size_t *end)
{
    size_t element = range.first * plan->unit;
    size_t stop = cgx_smaller(range.end * plan->unit, plan->count);
    struct cgx_segment segment = range.segment;
    size_t npieces = 0;

    for (; element < stop; cgx_plan_next(plan, &segment)) {
        size_t count = cgx_smaller(segment.first + segment.count, stop) - element;

        /* The range may begin at the end of its first segment. */
        if (segment.first + segment.count <= element)
            continue;
        if (pieces)
            pieces[npieces] = (struct cgx_piece){
                .first = element, .count = count, .bits = segment.encoding, .offset = offset};
        npieces++;
        offset += cgx_piece_layout(count, segment.encoding, plan->bucket_size, plan->dtype).bytes;
        element += count;
    }
    if (end)
        *end = offset;
    return npieces;
}
