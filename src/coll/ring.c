/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The ring: partial sums of a chunk travel from the rank after its owner round to the owner, each
 * rank adding its own elements, and the sum travels round once more, verbatim. Sums are in cyclic
 * order. An element is quantised P times, P - 1 of them as a partial sum, so its error is that of
 * P steps which grow along the way.
 *
 * The owner of a sum knows the last of these steps alone, so that an overflow of the exact sum
 * could hide in those before; and a partial sum of an exact segment is rounded to its type at every
 * rank. cgx_ring_serves says where neither matters. */
#include "coll/slice.h"
#include "coll/tally.h"

/* With all partial sums below 2^125, each of P - 1 steps is at most 2^126 / N, and all that they
 * hide at most c * (1 + 2^-7) * (P - 1) * 2^126 / N; below 2^127 no sum beyond float32's 2^128 is
 * taken for one below 2^125. c is 1/2 for nearest and 1 for stochastic rounding, with N one less.
 */
static bool hides_nothing(const struct cgx_plan *plan, const struct cgx_segment *segment,
                          unsigned ranks)
{
    unsigned least = segment->least < segment->bits ? segment->least : segment->bits;
    unsigned steps = (1u << least) - 1;

    return ranks - 1 <= (plan->rounding == CGX_ROUNDING_NEAREST ? 3 * steps : steps - 1);
}

bool cgx_ring_serves(const struct cgx_plan *plan, unsigned ranks)
{
    if (plan->dtype != CGX_FLOAT32)
        return false;
    for (size_t i = 0; i < plan->nsegments; i++) {
        if (plan->segments[i].bits != CGX_BITS_EXACT &&
            !hides_nothing(plan, &plan->segments[i], ranks))
            return false;
    }
    return true;
}

static unsigned modulo(unsigned rank, unsigned back, unsigned ranks)
{
    return (rank + 2 * ranks - back) % ranks;
}

/* Sends chunk OUT to the next rank and takes chunk IN from the one before. */
static enum cgx_status pass_on(struct cgx_slice *slice, unsigned out, unsigned in, unsigned step)
{
    const struct cgx_coll *coll = slice->coll;
    const struct cgx_part *parts = slice->lane->parts;
    unsigned ranks = coll->shape->ranks;

    cgx_slice_receive(slice, 0, modulo(coll->rank, 1, ranks), parts[in].message, parts[in].bytes);
    cgx_slice_send(slice, 1, (coll->rank + 1) % ranks, parts[out].message, parts[out].bytes, step);
    return cgx_slice_exchange(slice, 2);
}

void cgx_ring_start(struct cgx_slice *slice)
{
    const struct cgx_part *part =
        &slice->lane->parts[modulo(slice->coll->rank, 1, slice->coll->shape->ranks)];

    cgx_slice_encode(slice, part->first_piece, part->npieces,
                     part->message + CGX_MESSAGE_HEADER_BYTES, part->bytes);
}

static void add_own(struct cgx_slice *slice, unsigned chunk)
{
    const struct cgx_part *part = &slice->lane->parts[chunk];
    /* The pieces once more, with offsets from the start of the part's payload. */
    struct cgx_piece *pieces = slice->lane->pieces + slice->pieces;
    size_t payload = part->message + CGX_MESSAGE_HEADER_BYTES;

    for (size_t i = 0; i < part->npieces; i++) {
        pieces[i] = slice->lane->pieces[part->first_piece + i];
        pieces[i].offset -= payload;
    }
    slice->coll->scratch->sources[0] = slice->lane->staging + payload;
    slice->coll->scratch->sources[1] = NULL;
    cgx_slice_reduce(slice, part, pieces, 2, payload, part->bytes);
}

enum cgx_status cgx_ring_slice(struct cgx_slice *slice)
{
    unsigned ranks = slice->coll->shape->ranks, rank = slice->coll->rank;
    unsigned step = slice->number * CGX_RING_STEPS(ranks);

    cgx_slice_settle(slice);
    cgx_tally_seal(slice, &slice->lane->parts[modulo(rank, 1, ranks)], NULL, 0);
    for (unsigned t = 0; t + 1 < ranks; t++, step++) {
        unsigned in = modulo(rank, t + 2, ranks);
        enum cgx_status status = pass_on(slice, modulo(rank, t + 1, ranks), in, step);

        if (status != CGX_OK)
            return status;
        cgx_slice_take(slice, 0, step, true);
        add_own(slice, in);
    }
    /* From here on a fault no longer reaches all ranks: it is passed on as a failure. */
    for (unsigned t = 0; t + 1 < ranks; t++, step++) {
        enum cgx_status status =
            pass_on(slice, modulo(rank, t, ranks), modulo(rank, t + 1, ranks), step);

        if (status != CGX_OK)
            return status;
        cgx_slice_take(slice, 0, step, false);
    }
    return CGX_OK;
}
