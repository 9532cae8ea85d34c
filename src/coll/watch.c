/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/watch.h"

#include <math.h>
#include <string.h>

#include "codec/bucket.h"
#include "codec/encoding.h"
#include "codec/peek.h"
#include "codec/squares.h"
#include "util/float_state.h"
#include "util/hash.h"

/* One bucket of so many is looked at, in all parts together up to so many, and in each part, if it
 * has them, so many elements. */
#define GROUP 256
#define MOST 256
#define LEAST_ELEMENTS 512

/* With fewer bits nothing can be told: most elements are on the level zero. */
#define LEAST_BITS 3

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
        if (plan->segments[i].bits < LEAST_BITS)
            return false;
    }
    return true;
}

bool cgx_watch_possible(const struct cgx_schedule *schedule)
{
    enum cgx_reduction last = schedule->nodes->nodes > 1 ? schedule->cross : schedule->inner;

    return last == CGX_REDUCTION_SRA && schedule->grid.rows == 1 && schedule->ranks > 1;
}

/* Whether PART has room for what is seen. */
static bool has_room(const struct cgx_block *part)
{
    return part->watched < part->message + CGX_MESSAGE_HEADER_BYTES + part->bytes;
}

/* ---- the last stage ---- */

struct members {
    unsigned count, self;
};

static struct members members_of(const struct cgx_slice *slice)
{
    const struct cgx_nodes *nodes = slice->coll->schedule->nodes;

    return nodes->nodes > 1 ? (struct members){nodes->nodes, slice->node}
                            : (struct members){nodes->ranks, slice->local};
}

static unsigned ranks_of(const struct cgx_slice *slice, unsigned member)
{
    const struct cgx_nodes *nodes = slice->coll->schedule->nodes;

    return nodes->nodes > 1 ? nodes->first[member + 1] - nodes->first[member] : 1;
}

/* FROM has the payloads of the last sum: one of each other member, in order, and at the place of
 * this one, which is not looked at, any number. */
static const unsigned char *payload_of(const struct cgx_payloads *from, struct members members,
                                       unsigned member)
{
    return member < members.self ? from->at[member]
                                 : from->at[from->count - (members.count - member)];
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

/* Bucket INDEX of PIECE of the last sum. */
static void look(const struct cgx_slice *slice, const struct cgx_payloads *from,
                 const struct cgx_piece *piece, size_t index, struct sight *sight)
{
    const struct cgx_coding *coding = &slice->coding;
    const enum cgx_rounding rounding = cgx_encoding_rounding(piece->bits, coding->rounding);
    const double variance = cgx_rounding_variance(rounding);
    const struct members members = members_of(slice);
    double ranks = slice->coll->schedule->ranks, apart = 0, least = 0, squares = 0, common = 0,
           noise;
    struct cgx_piece in_source = *piece;
    struct decoded sum, bucket;

    if (!decode(coding, piece, index, slice->slot->staging, &sum))
        return;
    sum.squares = cgx_squares_sum(sum.values, sum.count, &sum.magnitude);
    in_source.offset -= from->origin;
    noise = noise_of(&sum);
    for (unsigned member = 0; member < members.count; member++) {
        double brought = ranks_of(slice, member), share = brought / ranks, raw;
        double weight = brought * (ranks - 1) / (ranks - brought);

        if (member == members.self)
            continue;
        if (!decode(coding, &in_source, index, payload_of(from, members, member), &bucket))
            return;
        raw = cgx_squares_apart(bucket.values, sum.values, share, sum.count);
        apart += weight * (raw - variance * (1 - 2 * share) * noise_of(&bucket));
        if (rounding == CGX_ROUNDING_NEAREST)
            least += weight * before_crossings(raw, &bucket, &sum, share);
        noise += noise_of(&bucket);
        common += weight * share * share;
        squares += share * share;
    }
    apart -= variance * common * noise;
    sight->apart += apart > least ? apart : least;
    sight->mean += squares * sum.squares;
}

/* ---- a part ---- */

static size_t buckets_of(const struct cgx_slice *slice, const struct cgx_piece *piece)
{
    return cgx_encoding_is_exact(piece->bits) || cgx_encoding_width(piece->bits) < LEAST_BITS
               ? 0
               : cgx_piece_buckets(piece, slice->coding.bucket_size);
}

/* Adds what the headers of PIECE, all of them, tell of its signs. The least element of a grid is on
 * its first level, and the greatest near the last that an encoder aims at. A constant tells
 * nothing, nor does a bucket that is rotated. */
static void look_at_signs(const struct cgx_slice *slice, const struct cgx_piece *piece,
                          struct sight *sight)
{
    size_t buckets = buckets_of(slice, piece);
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

/* Sample NUMBER of SAMPLES of the BUCKETS of PART: somewhere in its share of them, so that rows of
 * a matrix do not alias, and not in the next call's place. */
static size_t place_of(const struct cgx_slice *slice, const struct cgx_block *part, size_t number,
                       size_t samples, size_t buckets)
{
    const uint64_t words[] = {part->first_bucket, number, slice->coll->call};
    size_t first = number * buckets / samples, end = (number + 1) * buckets / samples;

    return first + cgx_hash(CGX_HASH_START, words, sizeof words) % (end - first);
}

static size_t samples_of(const struct cgx_slice *slice, size_t buckets)
{
    size_t most = MOST / cgx_schedule_chunks(slice->coll->schedule), samples = buckets / GROUP;
    size_t least = (LEAST_ELEMENTS - 1) / slice->coding.bucket_size + 1;

    samples = samples < most ? samples : most;
    samples = samples > least ? samples : least;
    return samples < buckets ? samples : buckets;
}

/* The samples of a part, one after the other. */
struct samples {
    const struct cgx_slice *slice;
    const struct cgx_block *part;
    size_t buckets, count; /* of the part, and of samples */
    size_t number;         /* samples before */
    size_t piece, before;  /* in which the last one was, and buckets of the pieces before */
};

static struct samples samples_in(const struct cgx_slice *slice, const struct cgx_block *part)
{
    struct samples samples = {.slice = slice, .part = part};

    for (size_t i = 0; i < part->npieces; i++)
        samples.buckets += buckets_of(slice, &cgx_slice_pieces(slice, part)[i]);
    samples.count = samples_of(slice, samples.buckets);
    return samples;
}

/* The next one is bucket *INDEX of the piece that is returned; NULL: there are no more. */
static const struct cgx_piece *next_sample(struct samples *samples, size_t *index)
{
    const struct cgx_slice *slice = samples->slice;
    const struct cgx_piece *pieces = cgx_slice_pieces(slice, samples->part);
    size_t place;

    if (samples->number == samples->count)
        return NULL;
    place = place_of(slice, samples->part, samples->number++, samples->count, samples->buckets);
    for (; place >= samples->before + buckets_of(slice, &pieces[samples->piece]); samples->piece++)
        samples->before += buckets_of(slice, &pieces[samples->piece]);
    *index = place - samples->before;
    return &pieces[samples->piece];
}

static struct sight look_at_part(const struct cgx_slice *slice, const struct cgx_block *part,
                                 const struct cgx_payloads *from)
{
    struct samples samples = samples_in(slice, part);
    const struct cgx_piece *piece;
    struct sight sight = {0};
    size_t index;

    for (size_t i = 0; i < part->npieces; i++)
        look_at_signs(slice, &cgx_slice_pieces(slice, part)[i], &sight);
    while ((piece = next_sample(&samples, &index)) != NULL)
        look(slice, from, piece, index, &sight);
    return sight;
}

/* ---- what hosts look at of payloads that stay on devices ---- */

bool cgx_watch_looks(const struct cgx_slice *slice, const struct cgx_block *part)
{
    return slice->coll->schedule->nodes->nodes == 1 && slice->coll->consensus > 0 && has_room(part);
}

size_t cgx_watch_most_shown(unsigned chunks)
{
    size_t least = (LEAST_ELEMENTS - 1) / CGX_BUCKET_SIZE_MIN + 1;

    return CGX_PLANES * (MOST > least * chunks ? MOST : least * chunks);
}

size_t cgx_watch_shown(const struct cgx_slice *slice, const struct cgx_block *part,
                       struct cgx_shown *shown)
{
    struct samples samples = samples_in(slice, part);
    const struct cgx_piece *piece;
    size_t index, count = 0;

    while ((piece = next_sample(&samples, &index)) != NULL)
        count += cgx_peek_codes(&slice->coding, piece, index, shown + count);
    return count;
}

/* ---- in messages ---- */

void cgx_watch_seal(const struct cgx_slice *slice, const struct cgx_block *part,
                    const struct cgx_payloads *from, bool last)
{
    const struct cgx_coll *coll = slice->coll;
    uint32_t words[SIGHT_WORDS] = {0};

    if (!has_room(part))
        return;
    if (last && coll->consensus > 0) {
        struct sight sight = look_at_part(slice, part, from);

        words[SIGHT_APART] = cgx_upper_half(sight.apart);
        words[SIGHT_MEAN] = cgx_upper_half(sight.mean);
        words[SIGHT_SIGNS] = sight.signs;
        words[SIGHT_BUCKETS] = sight.buckets;
    }
    memcpy(slice->slot->staging + part->watched, words, sizeof words);
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
        uint32_t words[SIGHT_WORDS];

        if (!has_room(&slice->parts[chunk]))
            continue;
        memcpy(words, slice->slot->staging + slice->parts[chunk].watched, sizeof words);
        all.apart += cgx_from_upper_half(words[SIGHT_APART]);
        all.mean += cgx_from_upper_half(words[SIGHT_MEAN]);
        all.signs |= words[SIGHT_SIGNS];
        all.buckets += words[SIGHT_BUCKETS];
    }
    seen.sight = judge(&all, coll->schedule->plan->bucket_size, (double)coll->consensus);
    if (seen.sight != CGX_SIGHT_NONE)
        seen.distance = all.apart / all.mean;
    cgx_float_leave(&caller);
    return seen;
}
