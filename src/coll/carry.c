/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/carry.h"

#include <string.h>

#include "codec/quant.h"

/* ---- where it is needed ---- */

static bool forms_sums_of_sums(const struct cgx_shape *shape)
{
    const struct cgx_nodes *nodes = shape->nodes;

    return (nodes->nodes > 1 && nodes->most > 1) ||
           (shape->inner == CGX_REDUCTION_RING && nodes->most > 2) ||
           (shape->cross == CGX_REDUCTION_RING && nodes->nodes > 2);
}

/* With all sums below 2^125 that are not poisoned, each of at most RANKS - 1 steps is at most
 * 2^126 / N, and all that they hide at most c * (1 + 2^-7) * (RANKS - 1) * 2^126 / N; below 2^127
 * no sum beyond float32's 2^128 is taken for one below 2^125. c is 1/2 for nearest and 1 for
 * stochastic rounding, with N one less. */
static bool hides_nothing(const struct cgx_plan *plan, const struct cgx_segment *segment,
                          unsigned ranks)
{
    unsigned least = segment->least < segment->bits ? segment->least : segment->bits;
    unsigned steps = (1u << least) - 1;

    return ranks - 1 <= (plan->rounding == CGX_ROUNDING_NEAREST ? 3 * steps : steps - 1);
}

bool cgx_carry_needed(const struct cgx_shape *shape)
{
    const struct cgx_plan *plan = shape->plan;

    if (!forms_sums_of_sums(shape))
        return false;
    for (size_t i = 0; i < plan->nsegments; i++) {
        if (plan->segments[i].bits != CGX_BITS_EXACT &&
            (plan->dtype == CGX_FLOAT16 || !hides_nothing(plan, &plan->segments[i], shape->ranks)))
            return true;
    }
    return false;
}

/* ---- what is carried ---- */

/* STEPS, not negative, as a bfloat16 that is not below it; infinity remains. */
static void write_carried(float steps, unsigned char *carried, size_t index)
{
    uint32_t bits;
    uint16_t half;

    memcpy(&bits, &steps, sizeof bits);
    half = (uint16_t)((bits + 0xFFFFu) >> 16);
    memcpy(carried + index * sizeof half, &half, sizeof half);
}

static float carried_at(const unsigned char *carried, size_t index)
{
    uint16_t half;

    memcpy(&half, carried + index * sizeof half, sizeof half);
    return cgx_from_bfloat16(half);
}

static uint32_t header_at(const unsigned char *headers, size_t index)
{
    uint32_t header;

    memcpy(&header, headers + index * CGX_BUCKET_HEADER_BYTES, sizeof header);
    return header;
}

/* A bucket of PIECE of PART. */
struct bucket {
    const struct cgx_unit *part;
    const struct cgx_piece *piece;
    size_t in_piece, in_part;
};

struct sources {
    const unsigned char *const *payloads;
    size_t count;
    size_t origin;
};

/* The steps of all that went into BUCKET before it was quantised; *HIDDEN: those of them that the
 * headers of its sources do not tell. */
static float steps_before(const struct bucket *bucket, const struct sources *sources, float *hidden)
{
    float steps = 0;

    *hidden = 0;
    for (size_t i = 0; i < sources->count; i++) {
        const unsigned char *source = sources->payloads[i];
        float carried;

        if (!source)
            continue;
        carried = carried_at(source + (bucket->part->carried - sources->origin), bucket->in_part);
        *hidden += carried;
        steps += cgx_header_step(
            header_at(source + (bucket->piece->offset - sources->origin), bucket->in_piece));
        steps += carried;
    }
    return steps;
}

/* ---- the last sum ---- */

/* Where the codes of BUCKET lie in slice I of its piece. */
static unsigned char *codes_of(unsigned char *piece, const struct bucket *bucket,
                               const struct cgx_layout *layout, unsigned bucket_size, int i,
                               size_t *bytes)
{
    size_t first = bucket->in_piece * bucket_size;
    size_t elements =
        layout->elements - first < bucket_size ? layout->elements - first : bucket_size;
    unsigned width = cgx_slice_width(bucket->piece->bits, i);

    *bytes = elements * width / 8;
    return piece + layout->slice[i] + first * width / 8;
}

/* Whether the exact sum may be beyond the type's range: the extremes of what was quantised are
 * within a step of the grid's. */
static bool may_overflow(const struct cgx_coding *coding, const struct bucket *bucket,
                         unsigned char *piece, const struct cgx_layout *layout, float steps)
{
    uint32_t header = header_at(piece, bucket->in_piece);
    float u = cgx_header_step(header), min, max;

    if (header == CGX_BUCKET_CONSTANT) {
        size_t bytes;
        int i = 0;

        while (cgx_slice_width(bucket->piece->bits, i) == 0)
            i++;
        memcpy(&min, codes_of(piece, bucket, layout, coding->bucket_size, i, &bytes), sizeof min);
        max = min;
    } else {
        min = u * (float)(cgx_header_zero(header) - 1);
        max = u * (float)(cgx_header_zero(header) + (1 << bucket->piece->bits));
    }
    return cgx_may_overflow(min, max, steps, coding->rounding == CGX_ROUNDING_STOCHASTIC,
                            coding->dtype == CGX_FLOAT16);
}

static void poison(const struct bucket *bucket, unsigned char *piece,
                   const struct cgx_layout *layout, unsigned bucket_size)
{
    const uint32_t header = CGX_BUCKET_POISON;

    memcpy(piece + bucket->in_piece * CGX_BUCKET_HEADER_BYTES, &header, sizeof header);
    for (int i = 0; i < CGX_SLICES; i++) {
        size_t bytes;
        unsigned char *codes = codes_of(piece, bucket, layout, bucket_size, i, &bytes);

        memset(codes, 0, bytes);
    }
}

/* ---- a part ---- */

void cgx_carry_seal(const struct cgx_slice *slice, const struct cgx_unit *part,
                    const unsigned char *const *sources, size_t nsources, size_t origin, bool last,
                    bool *changed)
{
    const struct sources from = {sources, nsources, origin};
    const struct cgx_coding *coding = &slice->coding;
    unsigned char *staging = slice->lane->staging;
    struct bucket bucket = {.part = part};

    memset(staging + part->carried, 0,
           part->message + CGX_MESSAGE_HEADER_BYTES + part->bytes - part->carried);
    for (size_t i = 0; nsources > 0 && i < part->npieces; i++) {
        const struct cgx_piece *piece = &slice->lane->pieces[part->first_piece + i];
        struct cgx_layout layout =
            cgx_piece_layout(piece->count, piece->bits, coding->bucket_size, coding->dtype);
        size_t before = piece->first / coding->bucket_size - part->first_bucket;

        bucket.piece = piece;
        for (size_t k = 0; piece->bits != CGX_BITS_EXACT && k < layout.buckets; k++) {
            unsigned char *data = staging + piece->offset;
            float steps, hidden;

            bucket.in_piece = k;
            bucket.in_part = before + k;
            steps = steps_before(&bucket, &from, &hidden);
            write_carried(steps, staging + part->carried, bucket.in_part);
            if (!last || hidden == 0 || header_at(data, k) == CGX_BUCKET_POISON ||
                !may_overflow(coding, &bucket, data, &layout, steps))
                continue;
            poison(&bucket, data, &layout, coding->bucket_size);
            *changed = true;
        }
    }
}
