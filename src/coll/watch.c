/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/watch.h"

#include <math.h>
#include <string.h>

#include "codec/bucket.h"
#include "codec/encoding.h"
#include "codec/peek.h"
#include "codec/squares.h"
#include "coll/watch_sample.h"
#include "coll/watch_sums.h"
#include "util/float_state.h"
#include "util/integers.h"

/* Of one bucket, what so many members bring is looked at, of others by each rank and in each call:
 * of thousands of ranks all would take longer than the sum. */
#define MOST_MEMBERS 8

/* Elements whose buckets all have one sign, when that is no chance any more. */
#define SIGNED_ELEMENTS 1024

/* How much farther apart ranks may be than crossings say (below): twice the deviation, and the
 * distribution of d_i. */
#define CAUTION 6

/* What an owner has seen of a part. In a message: the upper halves of both float64, then the rest.
 */
struct sight {
    double apart, mean;
    uint32_t signs;   /* there are positive elements, negative ones */
    uint32_t buckets; /* that show signs */
};

enum { SIGN_POSITIVE = 1, SIGN_NEGATIVE = 2 };
enum { SIGHT_APART, SIGHT_MEAN, SIGHT_SIGNS, SIGHT_BUCKETS, SIGHT_WORDS };
_Static_assert(SIGHT_WORDS * sizeof(uint32_t) == CGX_WATCHED_BYTES, "the layout");

bool cgx_watch_sees(const struct cgx_plan *plan)
{
    for (size_t i = 0; i < plan->nsegments; i++) {
        if (plan->segments[i].bits < CGX_WATCH_LEAST_BITS)
            return false;
    }
    return true;
}

/* Whether PART has room for what is seen. */
static bool has_room(const struct cgx_block *part)
{
    return part->watched < part->message + CGX_MESSAGE_HEADER_BYTES + part->bytes;
}

/* ---- a bucket ---- */

/* Decoded, and how many elements are not on the level zero. */
struct decoded {
    float values[CGX_BUCKET_SIZE_MAX];
    float scale;
    size_t count, nonzero;
    double magnitude, squares; /* of the sum: of |s| and of s^2 */
};

/* False if the bucket is poisoned. */
static bool decode(const struct cgx_coding *coding, const struct cgx_piece *piece, size_t index,
                   const unsigned char *payload, struct decoded *bucket)
{
    bucket->count = cgx_bucket_elements(piece, coding->bucket_size, index);
    if (cgx_peek_bucket(coding, piece, index, payload, bucket->values, &bucket->scale) != CGX_OK ||
        isnan(bucket->scale))
        return false;
    bucket->nonzero = cgx_squares_nonzero(bucket->values, bucket->count);
    return true;
}

/* Of all elements, times the variance in steps. */
static double noise_of(const struct decoded *bucket)
{
    return (double)bucket->nonzero * (double)bucket->scale * (double)bucket->scale;
}

/* What the squared distance was before BUCKET and SUM were quantised, if it is SQUARED now and
 * small beside a step u: then of n elements, which are apart by d_i, few are on different levels,
 * and SQUARED = u sum |d_i|. With d_i as elements of the sum are, sum d_i^2 is (sum |d_i|)^2 / n
 * sum s^2 n / (sum |s|)^2; CAUTION is for the rest. */
static double before_crossings(double squared, const struct decoded *bucket,
                               const struct decoded *sum, double share)
{
    double step = share * (double)sum->scale, before;

    if (step < (double)bucket->scale)
        step = (double)bucket->scale;
    if (squared == 0 || step == 0 || sum->magnitude == 0)
        return squared;
    before = CAUTION * squared / step * (squared / step) * sum->squares /
             (sum->magnitude * sum->magnitude);
    return before < squared ? before : squared;
}

/* The first of the members that are looked at in this call, of which one in STRIDE is. */
static unsigned first_member(const struct cgx_slice *slice, unsigned stride)
{
    uint64_t turn = (uint64_t)slice->coll->rank + slice->coll->call;

    return (stride - (unsigned)(turn % stride)) % stride;
}

/* Bucket INDEX of PIECE of a sum. */
static void look(const struct cgx_slice *slice, const struct cgx_payloads *from,
                 const struct cgx_piece *piece, size_t index, struct sight *sight)
{
    const struct cgx_coding *coding = &slice->coding;
    const enum cgx_rounding rounding = cgx_encoding_rounding(piece->bits, coding->rounding);
    const double variance = cgx_rounding_variance(rounding);
    const struct cgx_watch_members members = cgx_watch_members_of(slice);
    const unsigned stride = (unsigned)cgx_divide_up(members.count, MOST_MEMBERS);
    const double ranks = slice->coll->schedule->ranks;
    double apart = 0, least = 0, squares = 0, common = 0, others = 0, looked = 0;
    struct cgx_piece in_source = *piece;
    struct decoded sum, bucket;

    if (!decode(coding, piece, index, slice->slot->staging, &sum))
        return;
    sum.squares = cgx_squares_sum(sum.values, sum.count, &sum.magnitude);
    in_source.offset -= from->origin;
    for (unsigned member = first_member(slice, stride); member < members.count; member += stride) {
        double brought = cgx_watch_ranks_of(slice, &members, member);
        double share = brought / members.ranks, raw;
        double weight = members.ranks / ranks * (ranks - 1) * (1 / share - 1);

        if (member == members.self)
            continue;
        if (!decode(coding, &in_source, index, cgx_watch_payload_of(from, &members, member),
                    &bucket))
            return;
        raw = cgx_squares_apart(bucket.values, sum.values, share, sum.count);
        apart += weight * (raw - variance * (1 - 2 * share) * noise_of(&bucket));
        if (rounding == CGX_ROUNDING_NEAREST)
            least += weight * before_crossings(raw, &bucket, &sum, share);
        others += noise_of(&bucket);
        looked++;
        common += weight * share * share;
        squares += (1 - share) * (1 - share);
    }
    if (looked == 0)
        return;
    others *= (members.count - 1) / looked;
    apart -= variance * common * (noise_of(&sum) + others);
    sight->apart += apart > least ? apart : least;
    sight->mean += squares * sum.squares;
}

/* ---- a part ---- */

/* Adds what the headers of PIECE, all of them, tell of its signs. The least element of a grid is on
 * its first level, and the greatest near the last that an encoder aims at. A constant tells
 * nothing, nor does a bucket that is rotated. */
static void look_at_signs(const struct cgx_slice *slice, const struct cgx_piece *piece,
                          struct sight *sight)
{
    size_t buckets = cgx_watch_buckets(slice, piece);
    int steps = (int)cgx_encoding_steps(piece->bits, slice->coding.rounding);

    for (size_t i = 0; i < buckets && !cgx_encoding_is_rotated(piece->bits); i++) {
        int32_t zero;

        if (!cgx_bucket_zero(slice->slot->staging + piece->offset, i, &zero))
            continue;
        sight->buckets++;
        sight->signs |= zero < 0 ? SIGN_NEGATIVE : 0;
        sight->signs |= 8 * zero > -7 * steps ? SIGN_POSITIVE : 0;
    }
}

static void look_at_part(const struct cgx_slice *slice, const struct cgx_block *part,
                         const struct cgx_payloads *from, struct sight *sight)
{
    struct cgx_watch_samples samples = cgx_watch_samples_in(slice, part);
    const struct cgx_piece *piece;
    size_t index;

    while ((piece = cgx_watch_next(&samples, &index)) != NULL)
        look(slice, from, piece, index, sight);
}

/* ---- what hosts look at of payloads that stay on devices ---- */

bool cgx_watch_looks(const struct cgx_slice *slice, const struct cgx_block *part)
{
    return slice->coll->schedule->nodes->nodes == 1 && slice->coll->consensus > 0 && has_room(part);
}

/* ---- in messages ---- */

/* Of the sum of PART that is formed in staging memory. */
static void put(const struct cgx_slice *slice, const struct cgx_block *part,
                const struct sight *sight)
{
    const uint32_t words[SIGHT_WORDS] = {
        [SIGHT_APART] = cgx_upper_half(sight->apart),
        [SIGHT_MEAN] = cgx_upper_half(sight->mean),
        [SIGHT_SIGNS] = sight->signs,
        [SIGHT_BUCKETS] = sight->buckets,
    };

    memcpy(slice->slot->staging + part->watched, words, sizeof words);
}

/* What stands behind PART in MESSAGE, which begins with ORIGIN. */
static struct sight get(const struct cgx_block *part, const unsigned char *message, size_t origin)
{
    uint32_t words[SIGHT_WORDS];

    memcpy(words, message + part->watched - origin, sizeof words);
    return (struct sight){cgx_from_upper_half(words[SIGHT_APART]),
                          cgx_from_upper_half(words[SIGHT_MEAN]), words[SIGHT_SIGNS],
                          words[SIGHT_BUCKETS]};
}

void cgx_watch_seal(const struct cgx_slice *slice, const struct cgx_block *part,
                    const struct cgx_payloads *from, bool last)
{
    struct sight sight = {0};

    if (!has_room(part))
        return;
    if (slice->coll->consensus > 0) {
        const unsigned char *told = cgx_watch_told(slice, part, from, last);

        if (told)
            sight = get(part, told, from->origin);
        if (cgx_watch_is_looked_at(slice, part, last))
            look_at_part(slice, part, from, &sight);
        for (size_t i = 0; last && i < part->npieces; i++)
            look_at_signs(slice, &cgx_slice_pieces(slice, part)[i], &sight);
    }
    put(slice, part, &sight);
}

/* ---- the verdict ---- */

static enum cgx_sight judge(const struct sight *all, unsigned bucket_size, double threshold)
{
    bool one_sign = all->signs == SIGN_POSITIVE || all->signs == SIGN_NEGATIVE;

    if (one_sign && (size_t)all->buckets * bucket_size >= SIGNED_ELEMENTS)
        return CGX_SIGHT_ONE_SIGN;
    if (all->mean > 0 && all->apart < threshold * all->mean)
        return CGX_SIGHT_CLOSE;
    return all->mean > 0 || all->apart > 0 ? CGX_SIGHT_APART : CGX_SIGHT_NONE;
}

struct cgx_seen cgx_watch_judge(const struct cgx_slice *slice)
{
    const struct cgx_coll *coll = slice->coll;
    struct cgx_seen seen = {CGX_SIGHT_NONE, NAN};
    struct sight all = {0};
    union cgx_float_state caller;

    if (!(coll->consensus > 0) || !coll->schedule->watched)
        return seen;
    cgx_float_enter(&caller);
    for (unsigned chunk = 0; chunk < cgx_schedule_chunks(coll->schedule); chunk++) {
        const struct cgx_block *part = &slice->parts[chunk];
        struct sight sight;

        if (!has_room(part))
            continue;
        sight = get(part, slice->slot->staging, 0);
        all.apart += sight.apart;
        all.mean += sight.mean;
        all.signs |= sight.signs;
        all.buckets += sight.buckets;
    }
    seen.sight = judge(&all, coll->schedule->plan->bucket_size, (double)coll->consensus);
    if (seen.sight != CGX_SIGHT_NONE)
        seen.distance = all.apart / all.mean;
    cgx_float_leave(&caller);
    return seen;
}
