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
static size_t bucket_at(const struct cgx_plan *plan, unsigned numerator, unsigned denominator)
{
    size_t total = 0, before = 0, target, bucket = 0;

    for (size_t i = 0; i < plan->nsegments; i++)
        total +=
            segment_buckets(plan, &plan->segments[i]) * bucket_bytes(plan, plan->segments[i].bits);
    target = total / denominator * numerator +
             round_up_division(total % denominator * numerator, denominator);
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

struct cgx_range cgx_split_chunk(const struct cgx_plan *plan, unsigned ranks, unsigned owner)
{
    return (struct cgx_range){.first = bucket_at(plan, owner, ranks),
                              .end = bucket_at(plan, owner + 1, ranks)};
}

struct cgx_range cgx_split_slice(struct cgx_range chunk, unsigned slices, unsigned slice)
{
    size_t buckets = chunk.end - chunk.first;
    size_t whole = buckets / slices, rest = buckets % slices;
    size_t first = whole * slice + (slice < rest ? slice : rest);

    return (struct cgx_range){.first = chunk.first + first,
                              .end = chunk.first + first + whole + (slice < rest)};
}

/* The last segment that begins at ELEMENT or before. */
static size_t segment_of(const struct cgx_plan *plan, size_t element)
{
    size_t low = 0, high = plan->nsegments;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (plan->segments[middle].first <= element)
            low = middle;
        else
            high = middle;
    }
    return low;
}

size_t cgx_split_pieces(const struct cgx_plan *plan, struct cgx_range range, size_t offset,
                        struct cgx_piece *pieces, size_t *end)
{
    size_t element = range.first * plan->bucket_size;
    size_t stop = range.end * plan->bucket_size;
    size_t npieces = 0;

    if (stop > plan->count)
        stop = plan->count;
    for (size_t i = segment_of(plan, element); element < stop; i++) {
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

size_t cgx_split_bytes(const struct cgx_plan *plan, struct cgx_range range)
{
    size_t bytes;

    cgx_split_pieces(plan, range, 0, NULL, &bytes);
    return bytes;
}
