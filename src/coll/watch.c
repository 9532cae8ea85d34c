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

bool cgx_watch_possible(const struct cgx_schedule *schedule)
{
    enum cgx_reduction last = schedule->nodes->nodes > 1 ? schedule->cross : schedule->inner;

    if (schedule->nodes->nodes > 1 && cgx_node_grid_longest(&schedule->grid) == 1)
        return false;
    return last == CGX_REDUCTION_SRA && schedule->ranks > 1;
}

/* Whether PART has room for what is seen. */
static bool has_room(const struct cgx_block *part)
{
    return part->watched < part->message + CGX_MESSAGE_HEADER_BYTES + part->bytes;
}

/* ---- who brings what to the sums that are looked at ---- */

/* Ranks of a single node, or nodes: those of a row. */
struct members {
    unsigned count, self;
    unsigned first;  /* of the nodes */
    unsigned stride; /* one of so many is looked at */
    double ranks;
};

static unsigned stride_of(unsigned count)
{
    return (unsigned)cgx_divide_up(count, MOST_MEMBERS);
}

static struct members members_of(const struct cgx_slice *slice)
{
    const struct cgx_nodes *nodes = slice->coll->schedule->nodes;
    const struct cgx_node_grid *grid = &slice->coll->schedule->grid;
    unsigned first = cgx_node_grid_first(grid, slice->row);
    unsigned count = cgx_node_grid_length(grid, slice->row);

    if (nodes->nodes == 1)
        return (struct members){.count = nodes->ranks,
                                .self = slice->local,
                                .stride = stride_of(nodes->ranks),
                                .ranks = nodes->ranks};
    return (struct members){.count = count,
                            .self = slice->column,
                            .first = first,
                            .stride = stride_of(count),
                            .ranks = nodes->first[first + count] - nodes->first[first]};
}

static bool is_sampled(const struct cgx_slice *slice, const struct members *members,
                       unsigned member)
{
    uint64_t turn = (uint64_t)slice->coll->rank + slice->coll->call;

    return member != members->self && (member + turn) % members->stride == 0;
}

static unsigned ranks_of(const struct cgx_slice *slice, const struct members *members,
                         unsigned member)
{
    const struct cgx_nodes *nodes = slice->coll->schedule->nodes;
    unsigned node = members->first + member;

    return nodes->nodes > 1 ? nodes->first[node + 1] - nodes->first[node] : 1;
}

/* FROM has the payloads of a sum: one of each other of COUNT members, in order, and at the place of
 * SELF, which is not looked at, any number. */
static const unsigned char *payload_of(const struct cgx_payloads *from, unsigned count,
                                       unsigned self, unsigned member)
{
    return member < self ? from->at[member] : from->at[from->count - (count - member)];
}

/* In a grid, the row that looks at its sums of what OWNER's row sums up. */
static unsigned looking_row(const struct cgx_node_grid *grid, unsigned owner)
{
    return (owner + 1) % grid->rows;
}

/* Whether a sum of PART that is formed now, the LAST or not, is one that is looked at. */
static bool is_looked_at(const struct cgx_slice *slice, const struct cgx_block *part, bool last)
{
    const struct cgx_node_grid *grid = &slice->coll->schedule->grid;
    unsigned owner = (unsigned)(part - slice->parts) % grid->rows;

    if (grid->rows == 1)
        return last;
    return slice->phase == CGX_PHASE_SCATTER_COLUMN && slice->row == looking_row(grid, owner);
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

/* Bucket INDEX of PIECE of a sum. */
static void look(const struct cgx_slice *slice, const struct cgx_payloads *from,
                 const struct cgx_piece *piece, size_t index, struct sight *sight)
{
    const struct cgx_coding *coding = &slice->coding;
    const enum cgx_rounding rounding = cgx_encoding_rounding(piece->bits, coding->rounding);
    const double variance = cgx_rounding_variance(rounding);
    const struct members members = members_of(slice);
    const double ranks = slice->coll->schedule->ranks;
    double apart = 0, least = 0, squares = 0, common = 0, others = 0, looked = 0;
    struct cgx_piece in_source = *piece;
    struct decoded sum, bucket;

    if (!decode(coding, piece, index, slice->slot->staging, &sum))
        return;
    sum.squares = cgx_squares_sum(sum.values, sum.count, &sum.magnitude);
    in_source.offset -= from->origin;
    for (unsigned member = 0; member < members.count; member++) {
        double brought = ranks_of(slice, &members, member), share = brought / members.ranks, raw;
        double weight = members.ranks / ranks * (ranks - 1) * (1 / share - 1);

        if (!is_sampled(slice, &members, member))
            continue;
        if (!decode(coding, &in_source, index,
                    payload_of(from, members.count, members.self, member), &bucket))
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

/* What the row that looks at PART tells with its sum, FROM being the sums of rows. */
static struct sight seen_in_row(const struct cgx_slice *slice, const struct cgx_block *part,
                                const struct cgx_payloads *from)
{
    unsigned rows = slice->coll->schedule->grid.rows, own = slice->row;
    unsigned row = looking_row(&slice->coll->schedule->grid, own);

    return get(part, payload_of(from, rows, own, row), from->origin);
}

void cgx_watch_seal(const struct cgx_slice *slice, const struct cgx_block *part,
                    const struct cgx_payloads *from, bool last)
{
    struct sight sight = {0};

    if (!has_room(part))
        return;
    if (slice->coll->consensus > 0) {
        if (last && slice->coll->schedule->grid.rows > 1)
            sight = seen_in_row(slice, part, from);
        if (is_looked_at(slice, part, last))
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
