/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/carry.h"

#include <string.h>

#include "codec/quant.h"

/* ---- where it is needed ---- */

static bool forms_sums_of_sums(const struct cgx_schedule *schedule)
{
    const struct cgx_nodes *nodes = schedule->nodes;

    return (nodes->nodes > 1 && nodes->most > 1 && !schedule->raw) ||
           (schedule->inner == CGX_REDUCTION_RING && nodes->most > 2) ||
           (schedule->cross == CGX_REDUCTION_RING && nodes->nodes > 2);
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

bool cgx_carry_needed(const struct cgx_schedule *schedule)
{
    const struct cgx_plan *plan = schedule->plan;

    if (!forms_sums_of_sums(schedule))
        return false;
    for (size_t i = 0; i < plan->nsegments; i++) {
        if (plan->segments[i].bits != CGX_BITS_EXACT &&
            (plan->dtype == CGX_FLOAT16 ||
             !hides_nothing(plan, &plan->segments[i], schedule->ranks)))
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

/* BUCKET of the last sum, in memory: its piece is at DATA. */
struct sum {
    const struct cgx_coding *coding;
    const struct bucket *bucket;
    struct cgx_layout layout;
    unsigned char *data;
};

/* Elements of the bucket, padding included. */
static size_t elements_of(const struct sum *sum)
{
    size_t rest = sum->layout.elements - sum->bucket->in_piece * sum->coding->bucket_size;

    return rest < sum->coding->bucket_size ? rest : sum->coding->bucket_size;
}

/* Where the codes of the bucket lie in slice I of the piece, which has WIDTH bits of each. */
static unsigned char *codes_of(const struct sum *sum, int i, unsigned *width)
{
    size_t first = sum->bucket->in_piece * sum->coding->bucket_size;

    *width = cgx_slice_width(sum->bucket->piece->bits, i);
    return sum->data + sum->layout.slice[i] + first * *width / 8;
}

static unsigned code_at(const struct sum *sum, size_t element)
{
    unsigned code = 0, place = 0;

    for (int i = 0; i < CGX_SLICES; i++) {
        unsigned width;
        const unsigned char *codes = codes_of(sum, i, &width);

        if (width == 0)
            continue;
        code |= (codes[element * width / 8] >> element * width % 8 & ((1u << width) - 1)) << place;
        place += width;
    }
    return code;
}

static float constant_of(const struct sum *sum)
{
    unsigned width = 0;
    float value;
    int i = -1;

    while (width == 0)
        codes_of(sum, ++i, &width);
    memcpy(&value, codes_of(sum, i, &width), sizeof value);
    return value;
}

/* Whether the exact sum may be beyond the type's range: what was quantised is no further than half
 * a step, or a whole one, from its levels. */
static bool may_overflow(const struct sum *sum, float steps)
{
    bool stochastic = sum->coding->rounding == CGX_ROUNDING_STOCHASTIC;
    bool float16 = sum->coding->dtype == CGX_FLOAT16;
    uint32_t header = header_at(sum->data, sum->bucket->in_piece);
    float u = cgx_header_step(header), error = stochastic ? u : u / 2, zero;
    size_t first = sum->bucket->in_piece * sum->coding->bucket_size;
    size_t rest = sum->bucket->piece->count - first;
    unsigned least = UINT32_MAX, most = 0;

    if (header == CGX_BUCKET_CONSTANT) {
        float value = constant_of(sum);

        return cgx_may_overflow(value, value, steps, stochastic, float16);
    }
    for (size_t i = 0; i < rest && i < sum->coding->bucket_size; i++) {
        unsigned code = code_at(sum, i);

        least = code < least ? code : least;
        most = code > most ? code : most;
    }
    zero = u * (float)cgx_header_zero(header);
    return cgx_may_overflow(zero + u * (float)least - error, zero + u * (float)most + error, steps,
                            stochastic, float16);
}

/* The same, quickly: false only if it is. */
static bool may_overflow_by_grid(const struct sum *sum, float steps)
{
    uint32_t header = header_at(sum->data, sum->bucket->in_piece);
    float u = cgx_header_step(header), zero = u * (float)cgx_header_zero(header);

    return header == CGX_BUCKET_CONSTANT ||
           cgx_may_overflow(zero - u, zero + u * (float)(1 << sum->bucket->piece->bits), steps,
                            sum->coding->rounding == CGX_ROUNDING_STOCHASTIC,
                            sum->coding->dtype == CGX_FLOAT16);
}

static void poison(const struct sum *sum)
{
    const uint32_t header = CGX_BUCKET_POISON;

    memcpy(sum->data + sum->bucket->in_piece * CGX_BUCKET_HEADER_BYTES, &header, sizeof header);
    for (int i = 0; i < CGX_SLICES; i++) {
        unsigned width;
        unsigned char *codes = codes_of(sum, i, &width);

        memset(codes, 0, elements_of(sum) * width / 8);
    }
}

/* Poisons the bucket if it must be: whether it was. */
static bool judge(const struct sum *sum, float steps)
{
    if (header_at(sum->data, sum->bucket->in_piece) == CGX_BUCKET_POISON ||
        !may_overflow_by_grid(sum, steps) || !may_overflow(sum, steps))
        return false;
    poison(sum);
    return true;
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

    memset(staging + part->carried, 0, part->watched - part->carried);
    for (size_t i = 0; nsources > 0 && i < part->npieces; i++) {
        const struct cgx_piece *piece = &slice->lane->pieces[part->first_piece + i];
        const struct sum sum = {.coding = coding,
                                .bucket = &bucket,
                                .layout = cgx_piece_layout(piece->count, piece->bits,
                                                           coding->bucket_size, coding->dtype),
                                .data = staging + piece->offset};
        size_t before = piece->first / coding->bucket_size - part->first_bucket;

        bucket.piece = piece;
        for (size_t k = 0; piece->bits != CGX_BITS_EXACT && k < sum.layout.buckets; k++) {
            float steps, hidden;

            bucket.in_piece = k;
            bucket.in_part = before + k;
            steps = steps_before(&bucket, &from, &hidden);
            write_carried(steps, staging + part->carried, bucket.in_part);
            if (last && hidden > 0)
                *changed |= judge(&sum, steps);
        }
    }
}
