/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/trailer/watch.h"

#include <math.h>

#include "codec/bucket.h"
#include "codec/encoding.h"
#include "codec/squares.h"
#include "policy/recent.h"
#include "util/hash.h"
#include "util/integers.h"

/* ---- this rank's input ---- */

/* The signs (CGX_SIGN_) of bucket INDEX of PIECE in this rank's input; 0 if all its elements are
 * zero or the host has no input. */
static uint32_t own_signs(const struct cgx_slice *slice, const struct cgx_piece *piece,
                          size_t index)
{
    const struct cgx_coll *coll = slice->coll;
    size_t count = cgx_bucket_elements(piece, slice->coding.bucket_size, index);
    size_t bucket = cgx_encoding_bucket(piece->bits, slice->coding.bucket_size);
    size_t first = piece->first + index * bucket;
    float values[CGX_BUCKET_SIZE_MAX];
    bool positive = false, negative = false;

    if (!coll->watching.sees_input || coll->vote != CGX_ABLE)
        return 0;
    cgx_peek_elements(slice->coding.dtype,
                      (const char *)coll->input + first * cgx_dtype_size(slice->coding.dtype),
                      count, values);
    for (size_t i = 0; i < count; i++) {
        positive |= values[i] > 0;
        negative |= values[i] < 0;
    }
    return (positive ? CGX_SIGN_POSITIVE : 0) | (negative ? CGX_SIGN_NEGATIVE : 0);
}

/* ---- contributors ---- */

/* The most bucket headers that are read in all members' payloads, and in each. */
#define MOST_HEADERS 256
#define MOST_BUCKETS 16

/* Whether the step SUM of a bucket of the sum shows that a member with step U is its only
 * contributor. The sum is quantised again, on a grid that may be somewhat shorter or longer. */
static bool is_alone(float sum, float u)
{
    return sum >= 0.8f * u && sum <= 1.2f * u;
}

/* The step of bucket INDEX of PIECE in PAYLOAD, which is one of FROM. */
static float steps_of(const struct cgx_payloads *from, const unsigned char *payload,
                      const struct cgx_piece *piece, size_t index)
{
    return cgx_bucket_scale(piece, payload + piece->offset - from->origin, index);
}

/* Adds to SIGHT which members, one in STRIDE of them, contribute to bucket INDEX of PIECE, with
 * step SUM in the sum. A bucket that is constant has no step and shows nothing. */
static void ask_all(const struct cgx_slice *slice, const struct cgx_payloads *from,
                    const struct cgx_piece *piece, size_t index, float sum, struct cgx_sight *sight)
{
    const struct cgx_watch_members members = cgx_watch_members_of(slice);
    const unsigned stride = (unsigned)cgx_divide_up(members.count, MOST_HEADERS);
    unsigned others = 0, bringer = members.self;
    float only = 0;

    for (unsigned member = 0; member < members.count; member += stride) {
        float u = 0;

        if (member != members.self)
            u = steps_of(from, cgx_watch_payload_of(from, &members, member), piece, index);
        if (isnan(u))
            return;
        if (u > 0) {
            others++;
            only = u;
            bringer = member;
        }
    }
    if (others > 1 ||
        (others == 1 && (!is_alone(sum, only) || own_signs(slice, piece, index) != 0)))
        sight->shared++;
    else
        sight->bringer =
            cgx_bringers(sight->bringer, others == 0 && stride > 1
                                             ? CGX_BRINGERS
                                             : cgx_watch_number_of(slice, &members, bringer));
}

/* The same in a ring, where this rank has added to the sum of the members before. */
static void ask_ring(const struct cgx_slice *slice, const struct cgx_payloads *from,
                     const struct cgx_piece *piece, size_t index, float sum, unsigned hop,
                     struct cgx_sight *sight)
{
    const struct cgx_watch_members members = cgx_watch_members_of(slice);
    float before = steps_of(from, from->at[0], piece, index);

    if (before > 0 && (!is_alone(sum, before) || own_signs(slice, piece, index) != 0))
        sight->shared++;
    if (before == 0 || (hop == 1 && before > 0))
        sight->bringer = cgx_bringers(
            sight->bringer,
            cgx_watch_number_of(slice, &members, before > 0 ? 1 - members.self : members.self));
}

/* The buckets whose contributors are counted. */
static struct cgx_watch_samples asked(const struct cgx_slice *slice, const struct cgx_block *part)
{
    const unsigned members = cgx_watch_members_of(slice).count;

    return cgx_watch_samples_of(slice, part,
                                cgx_smaller(cgx_larger(MOST_HEADERS / members, 1), MOST_BUCKETS));
}

void cgx_sight_members(const struct cgx_slice *slice, const struct cgx_block *part,
                       const struct cgx_payloads *from, unsigned hop, struct cgx_sight *sight)
{
    struct cgx_watch_samples samples = asked(slice, part);
    const struct cgx_piece *piece;
    size_t index;

    while ((piece = cgx_watch_next(&samples, &index)) != NULL) {
        float sum = cgx_bucket_scale(piece, slice->slot->staging + piece->offset, index);

        if (!(sum > 0))
            continue;
        if (hop > 0)
            ask_ring(slice, from, piece, index, sum, hop, sight);
        else
            ask_all(slice, from, piece, index, sum, sight);
    }
}

static void count_alone(const struct cgx_slice *slice, const struct cgx_block *part,
                        struct cgx_sight *sight)
{
    struct cgx_watch_samples samples = asked(slice, part);
    const struct cgx_piece *piece;
    size_t index;

    while ((piece = cgx_watch_next(&samples, &index)) != NULL)
        sight->alone += cgx_bucket_scale(piece, slice->slot->staging + piece->offset, index) > 0;
}

/* ---- signs ---- */

/* Adds the signs of PIECE's buckets. The least element of a bucket is on the first level of its
 * grid, the greatest near the last. A constant bucket shows nothing, nor does an encoding without
 * bounds. */
static void add_signs(const struct cgx_slice *slice, const struct cgx_piece *piece,
                      struct cgx_sight *sight)
{
    size_t buckets = cgx_watch_buckets(slice, piece);
    int steps = (int)cgx_encoding_steps(piece->bits, slice->coding.rounding);

    for (size_t i = 0; i < buckets && cgx_encoding_quantiser(piece->bits)->has_bounds; i++) {
        int32_t zero;

        if (!cgx_bucket_zero(slice->slot->staging + piece->offset, i, &zero))
            continue;
        sight->buckets++;
        sight->signs |= zero < 0 ? CGX_SIGN_NEGATIVE : 0;
        sight->signs |= 8 * zero > -7 * steps ? CGX_SIGN_POSITIVE : 0;
    }
}

static void add_own_signs(const struct cgx_slice *slice, const struct cgx_block *part,
                          struct cgx_sight *sight)
{
    struct cgx_watch_samples samples = cgx_watch_samples_in(slice, part);
    const struct cgx_piece *piece;
    size_t index;

    while ((piece = cgx_watch_next(&samples, &index)) != NULL)
        sight->signs |= own_signs(slice, piece, index);
}

/* ---- the sum ---- */

/* The mean squared error of the elements of a bucket of the sum, with step SCALE, if the share
 * NONZERO of them is not zero: that of the bucket's own quantisation, and as much again for its
 * sources, if ranks are independent. */
static double variance_of(const struct cgx_slice *slice, const struct cgx_piece *piece,
                          double nonzero, float scale)
{
    enum cgx_rounding rounding = cgx_encoding_rounding(piece->bits, slice->coding.rounding);

    return 2 * cgx_rounding_variance(rounding) * (double)scale * (double)scale * nonzero;
}

/* Takes the sampled elements of PART; *NONZERO: the share of them that is not zero. False: a bucket
 * is poisoned. */
static bool take(const struct cgx_slice *slice, const struct cgx_block *part,
                 struct cgx_taking *taking, double *nonzero)
{
    struct cgx_watch_samples samples = cgx_watch_samples_in(slice, part);
    float values[CGX_BUCKET_SIZE_MAX], scale;
    const struct cgx_piece *piece;
    size_t index, filled = 0, all = 0;

    while ((piece = cgx_watch_next(&samples, &index)) != NULL) {
        size_t count = cgx_bucket_elements(piece, slice->coding.bucket_size, index), some;

        if (!cgx_recent_wants(taking))
            continue;
        if (cgx_peek_bucket(&slice->coding, piece, index, slice->slot->staging, values, &scale) !=
                CGX_OK ||
            isnan(scale))
            return false;
        some = cgx_squares_nonzero(values, count);
        filled += some;
        all += count;
        cgx_recent_take(taking, values, count,
                        variance_of(slice, piece, (double)some / (double)count, scale));
    }
    *nonzero = all > 0 ? (double)filled / (double)all : 0;
    return true;
}

void cgx_sight_sum(const struct cgx_slice *slice, const struct cgx_block *part,
                   struct cgx_sight *sight)
{
    struct cgx_recent *recent = slice->coll->watching.recent;
    const uint32_t words[] = {slice->coll->schedule->hash, (uint32_t)part->first_bucket,
                              cgx_watch_places(slice)};
    struct cgx_taking taking =
        cgx_recent_begin(recent, cgx_hash(CGX_HASH_START, words, sizeof words),
                         cgx_watch_samples_in(slice, part).count);
    double nonzero = 0;

    for (size_t i = 0; i < part->npieces; i++)
        add_signs(slice, &cgx_slice_pieces(slice, part)[i], sight);
    sight->change = CGX_CHANGE_UNKNOWN;
    if (take(slice, part, &taking, &nonzero))
        sight->change = cgx_recent_end(&taking);
    else if (recent)
        cgx_recent_forget(recent);
    add_own_signs(slice, part, sight);
    if (nonzero >= 0.25)
        count_alone(slice, part, sight);
}
