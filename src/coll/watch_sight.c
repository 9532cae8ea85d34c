/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/watch_sight.h"

#include <math.h>

#include "codec/bucket.h"
#include "codec/encoding.h"
#include "codec/peek.h"
#include "codec/squares.h"
#include "coll/watch_sample.h"
#include "coll/watch_sums.h"
#include "policy/recent.h"
#include "util/hash.h"
#include "util/integers.h"

/* ---- who brings something ---- */

/* Bucket headers that are read of all members' payloads, and of each. */
#define MOST_HEADERS 256
#define MOST_BUCKETS 16

/* What is in a sum if one member alone, with steps U, has brought it: the sum is quantised again,
 * on a grid that may be somewhat shorter. */
static bool is_alone(float sum, float u)
{
    return sum >= 0.8f * u && sum <= 1.1f * u;
}

/* Where in the payloads of FROM the headers of a piece are, for MEMBER. */
static const unsigned char *headers_of(const struct cgx_payloads *from,
                                       const struct cgx_watch_members *members, unsigned member,
                                       const struct cgx_piece *piece)
{
    return cgx_watch_payload_of(from, members, member) + piece->offset - from->origin;
}

/* Bucket INDEX of PIECE: of the members one in STRIDE is asked. One that is constant has no steps,
 * and tells nothing. */
static void ask_bucket(const struct cgx_slice *slice, const struct cgx_payloads *from,
                       const struct cgx_piece *piece, size_t index, unsigned stride,
                       struct cgx_sight *sight)
{
    const struct cgx_watch_members members = cgx_watch_members_of(slice);
    float sum = cgx_bucket_scale(slice->slot->staging + piece->offset, index), only = 0;
    uint32_t bringer = stride == 1 ? cgx_watch_number_of(slice, &members, members.self)
                                   : CGX_BRINGERS;
    unsigned others = 0;

    if (!(sum > 0))
        return;
    for (unsigned member = 0; member < members.count; member += stride) {
        float u = member == members.self
                      ? 0
                      : cgx_bucket_scale(headers_of(from, &members, member, piece), index);

        if (isnan(u))
            return;
        if (u > 0) {
            others++;
            only = u;
            bringer = cgx_watch_number_of(slice, &members, member);
        }
    }
    if (others > 1 || (others == 1 && !is_alone(sum, only))) {
        sight->shared++;
        return;
    }
    sight->alone++;
    sight->bringer = cgx_bringers(sight->bringer, bringer);
}

void cgx_sight_bringers(const struct cgx_slice *slice, const struct cgx_block *part,
                        const struct cgx_payloads *from, struct cgx_sight *sight)
{
    const unsigned count = cgx_watch_members_of(slice).count;
    const unsigned stride = (unsigned)cgx_divide_up(count, MOST_HEADERS);
    size_t buckets = cgx_smaller(cgx_larger(MOST_HEADERS / count, 1), MOST_BUCKETS), index;
    struct cgx_watch_samples samples = cgx_watch_samples_of(slice, part, buckets);
    const struct cgx_piece *piece;

    while ((piece = cgx_watch_next(&samples, &index)) != NULL)
        ask_bucket(slice, from, piece, index, stride, sight);
}

/* ---- signs ---- */

/* The least element of a grid is on its first level, and the greatest near the last that an encoder
 * aims at. A constant tells nothing, nor does a bucket that is rotated. */
static void add_signs(const struct cgx_slice *slice, const struct cgx_piece *piece,
                      struct cgx_sight *sight)
{
    size_t buckets = cgx_watch_buckets(slice, piece);
    int steps = (int)cgx_encoding_steps(piece->bits, slice->coding.rounding);

    for (size_t i = 0; i < buckets && !cgx_encoding_is_rotated(piece->bits); i++) {
        int32_t zero;

        if (!cgx_bucket_zero(slice->slot->staging + piece->offset, i, &zero))
            continue;
        sight->buckets++;
        sight->signs |= zero < 0 ? CGX_SIGN_NEGATIVE : 0;
        sight->signs |= 8 * zero > -7 * steps ? CGX_SIGN_POSITIVE : 0;
    }
}

void cgx_sight_signs(const struct cgx_slice *slice, const struct cgx_block *part,
                     struct cgx_sight *sight)
{
    for (size_t i = 0; i < part->npieces; i++)
        add_signs(slice, &cgx_slice_pieces(slice, part)[i], sight);
}

/* ---- change ---- */

/* The squared error of an element of the sum: of its own quantisation, and as much again of those
 * of what it was formed from, which are as large where ranks are independent. */
static double variance_of(const struct cgx_slice *slice, const struct cgx_piece *piece,
                          const float *values, size_t count, float scale)
{
    enum cgx_rounding rounding = cgx_encoding_rounding(piece->bits, slice->coding.rounding);

    return 2 * cgx_rounding_variance(rounding) * (double)scale * (double)scale *
           (double)cgx_squares_nonzero(values, count) / (double)count;
}

void cgx_sight_change(const struct cgx_slice *slice, const struct cgx_block *part,
                      struct cgx_sight *sight)
{
    const struct cgx_coll *coll = slice->coll;
    struct cgx_watch_samples samples = cgx_watch_samples_in(slice, part);
    const uint32_t words[] = {coll->schedule->hash, (uint32_t)part->first_bucket,
                              cgx_watch_places(slice)};
    struct cgx_taking taking =
        cgx_recent_begin(coll->watching.recent, cgx_hash(CGX_HASH_START, words, sizeof words),
                         samples.count);
    float values[CGX_BUCKET_SIZE_MAX], scale;
    const struct cgx_piece *piece;
    size_t index;

    while ((piece = cgx_watch_next(&samples, &index)) != NULL) {
        size_t count = cgx_bucket_elements(piece, slice->coding.bucket_size, index);

        if (!cgx_recent_wants(&taking))
            continue;
        if (cgx_peek_bucket(&slice->coding, piece, index, slice->slot->staging, values, &scale) !=
                CGX_OK ||
            isnan(scale)) {
            cgx_recent_forget(coll->watching.recent);
            sight->change = CGX_CHANGE_UNKNOWN;
            return;
        }
        cgx_recent_take(&taking, values, count, variance_of(slice, piece, values, count, scale));
    }
    sight->change = cgx_recent_end(&taking);
}
