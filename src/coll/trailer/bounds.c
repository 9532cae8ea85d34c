/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Overflow bounds, for sums of sums that could hide an overflow. The owner of a sum must detect
 * where the exact sum may be beyond the type. The scales of all payloads that went into a sum bound
 * its error. The scales of its direct sources are in their bucket headers. The trailer of a source
 * that is itself a sum has an overflow bound for each bucket: the sum of the scales of all that
 * went into it, as a bfloat16 rounded up. Buckets of the final sum are poisoned according to these
 * scales and bounds. */
#include <math.h>
#include <string.h>

#include "codec/bucket.h"
#include "codec/encoding.h"
#include "codec/energy.h"
#include "codec/history.h"
#include "coll/slice.h"

/* ---- schedules that need bounds ---- */

static bool forms_sums_of_sums(const struct cgx_schedule *schedule)
{
    const struct cgx_nodes *nodes = schedule->nodes;

    return (nodes->nodes > 1 && nodes->most > 1 && !schedule->raw) || schedule->grid.rows > 1;
}

/* Whether no overflow of float32's range can be hidden. If all sums that are not poisoned are below
 * 2^125, each of at most RANKS - 1 steps is at most 2^126 / N, and together they hide at most
 * (1 + 2^-7) * (RANKS - 1) * 2^125 / N. If that is below 2^127, no sum beyond float32's 2^128 is
 * taken for one below 2^125. */
static bool hides_nothing(struct cgx_widths widths, unsigned ranks)
{
    unsigned least = widths.least < widths.bits ? widths.least : widths.bits;

    return ranks - 1 <= 3 * cgx_encoding_steps(least);
}

/* Whether quantising SEGMENT in FAMILY may hide an overflow. */
static bool may_hide(const struct cgx_schedule *schedule, const struct cgx_segment *segment,
                     enum cgx_family family)
{
    const struct cgx_plan *plan = schedule->plan;
    const struct cgx_widths widths = cgx_segment_widths(segment, family);

    return widths.bits > 0 && cgx_encoding_has_bounds(cgx_encoding_of(family, widths.bits)) &&
           (plan->dtype == CGX_FLOAT16 || !hides_nothing(widths, schedule->ranks));
}

static bool needed(const struct cgx_schedule *schedule, const struct cgx_scheme *scheme)
{
    const struct cgx_plan *plan = schedule->plan;

    (void)scheme;
    if (!forms_sums_of_sums(schedule))
        return false;
    for (size_t i = 0; i < plan->nsegments; i++) {
        for (int f = 0; f < CGX_FAMILIES; f++)
            if (may_hide(schedule, &plan->segments[i], (enum cgx_family)f))
                return true;
    }
    return false;
}

/* ---- bounds ---- */

/* Writes BOUND, not negative, as a bfloat16 rounded up; infinity stays infinity. */
static void write_bound(float bound, unsigned char *bounds, size_t index)
{
    uint32_t bits;
    uint16_t half;

    memcpy(&bits, &bound, sizeof bits);
    half = (uint16_t)((bits + 0xFFFFu) >> 16);
    memcpy(bounds + index * sizeof half, &half, sizeof half);
}

static float bound_at(const unsigned char *bounds, size_t index)
{
    uint16_t half;

    memcpy(&half, bounds + index * sizeof half, sizeof half);
    return cgx_from_bfloat16(half);
}

/* A bucket, with its number in PIECE and in PART. */
struct bucket {
    const struct cgx_block *part;
    const struct cgx_piece *piece;
    size_t in_piece, in_part;
};

/* The sum of the scales of all payloads that went into BUCKET; *HIDDEN: of those that are not in
 * the headers of its sources. */
static float scales_before(const struct bucket *bucket, const struct cgx_payloads *from,
                           float *hidden)
{
    float scales = 0;

    *hidden = 0;
    for (size_t i = 0; i < from->count; i++) {
        const unsigned char *source = from->at[i];
        float bound = bound_at(source + (bucket->part->trailers[CGX_TRAILER_BOUNDS] - from->origin),
                               bucket->in_part);

        *hidden += bound;
        scales += cgx_bucket_scale(bucket->piece, source + (bucket->piece->offset - from->origin),
                                   bucket->in_piece);
        scales += bound;
    }
    return scales;
}

/* Poisons bucket INDEX of PIECE, a final sum, if the exact sum may be beyond the type. SCALES: of
 * all payloads that went into it. */
static void poison(struct cgx_slice *slice, const struct cgx_piece *piece, size_t index,
                   float scales)
{
    const float factor = slice->coll->has_history ? CGX_HISTORY_WIDEST : 1;
    unsigned char *staging = slice->slot->staging;

    if (!cgx_bucket_poison(&slice->coding, piece, index, scales, factor, staging + piece->offset))
        return;
    slice->changed = true;
    if (piece->energy > 0)
        cgx_energy_write(NAN, piece, staging);
}

/* ---- a part ---- */

static void correct(struct cgx_slice *slice, const struct cgx_block *part,
                    const struct cgx_payloads *from, bool last)
{
    const struct cgx_coding *coding = &slice->coding;
    unsigned char *staging = slice->slot->staging;
    struct bucket bucket = {.part = part};

    for (size_t i = 0; from->count > 0 && i < part->npieces; i++) {
        const struct cgx_piece *piece = &cgx_slice_pieces(slice, part)[i];
        size_t before = piece->first / coding->bucket_size - part->first_bucket;
        size_t buckets = cgx_piece_buckets(piece, coding->bucket_size);

        if (!cgx_encoding_has_bounds(piece->bits))
            continue;
        bucket.piece = piece;
        for (size_t k = 0; k < buckets; k++) {
            float scales, hidden;

            bucket.in_piece = k;
            bucket.in_part = before + k;
            scales = scales_before(&bucket, from, &hidden);
            write_bound(scales, staging + part->trailers[CGX_TRAILER_BOUNDS], bucket.in_part);
            if (last && hidden > 0)
                poison(slice, piece, k, scales);
        }
    }
}

const struct cgx_trailer cgx_bounds = {
    .needed = needed, .by_bucket = CGX_BOUND_BYTES, .correct = correct};
