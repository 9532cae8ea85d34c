/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/split.h"

static size_t round_up_division(size_t value, size_t divisor)
{
    return value / divisor + (value % divisor != 0);
}

static size_t bucket_bytes(const struct cgx_plan *plan, unsigned bits)
{
    if (bits == CGX_BITS_EXACT)
        return plan->bucket_size * cgx_dtype_size(plan->dtype);
    return plan->bucket_size * bits / 8 + CGX_BUCKET_HEADER_BYTES;
}

static size_t segment_buckets(const struct cgx_plan *plan, const struct cgx_segment *segment)
{
    return round_up_division(segment->count, plan->bucket_size);
}

/* The first bucket before which at least NUMERATOR / DENOMINATOR of the encoded bytes lie, every
 * bucket counted as whole. */
static size_t bucket_at(const struct cgx_plan *plan, uint64_t numerator, uint64_t denominator)
{
    size_t total = 0, before = 0, target, bucket = 0;

    for (size_t i = 0; i < plan->nsegments; i++)
        total +=
            segment_buckets(plan, &plan->segments[i]) * bucket_bytes(plan, plan->segments[i].bits);
    target = (size_t)(((unsigned __int128)total * numerator + denominator - 1) / denominator);
    for (size_t i = 0; i < plan->nsegments; i++) {
        size_t each = bucket_bytes(plan, plan->segments[i].bits);
        size_t here = segment_buckets(plan, &plan->segments[i]);
        size_t need = before >= target ? 0 : round_up_division(target - before, each);

        if (need <= here)
            return bucket + need;
        before += here * each;
        bucket += here;
    }
    return bucket;
}

struct cgx_range cgx_split_part(const struct cgx_plan *plan, unsigned ranks, unsigned owner,
                                unsigned slices, unsigned slice)
{
    uint64_t parts = (uint64_t)ranks * slices, part = (uint64_t)owner * slices + slice;

    return (struct cgx_range){.first = bucket_at(plan, part, parts),
                              .end = bucket_at(plan, part + 1, parts)};
}

size_t cgx_split_pieces(const struct cgx_plan *plan, struct cgx_range range, size_t offset,
                        struct cgx_piece *pieces, size_t *end)
{
    size_t element = range.first * plan->bucket_size;
    size_t stop = range.end * plan->bucket_size;
    size_t npieces = 0;

    if (stop > plan->count)
        stop = plan->count;
    for (size_t i = cgx_plan_segment(plan, element); element < stop; i++) {
        const struct cgx_segment *segment = &plan->segments[i];
        size_t segment_end = segment->first + segment->count;
        size_t count = (segment_end < stop ? segment_end : stop) - element;

        if (pieces)
            pieces[npieces] = (struct cgx_piece){
                .first = element, .count = count, .bits = segment->bits, .offset = offset};
        npieces++;
        offset += cgx_piece_layout(count, segment->bits, plan->bucket_size, plan->dtype).bytes;
        element += count;
    }
    if (end)
        *end = offset;
    return npieces;
}

size_t cgx_split_spreads(const struct cgx_plan *plan, size_t npieces)
{
    return plan->adaptive ? round_up_division(npieces * CGX_SPREAD_BYTES, CGX_PIECE_ALIGNMENT) *
                                CGX_PIECE_ALIGNMENT
                          : 0;
}

size_t cgx_split_bytes(const struct cgx_plan *plan, struct cgx_range range)
{
    size_t bytes, npieces = cgx_split_pieces(plan, range, 0, NULL, &bytes);

    return bytes + cgx_split_spreads(plan, npieces);
}

size_t cgx_split_least_bucket(const struct cgx_plan *plan)
{
    size_t least = bucket_bytes(plan, CGX_BITS_EXACT);

    for (size_t i = 0; i < plan->nsegments; i++) {
        size_t bytes = bucket_bytes(plan, plan->segments[i].least < plan->segments[i].bits
                                              ? plan->segments[i].least
                                              : plan->segments[i].bits);

        least = bytes < least ? bytes : least;
    }
    return least;
}
