/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The ring: partial sums of a chunk travel from the rank after its owner round to the owner, each
 * rank adding its own elements, and the sum travels round once more, verbatim. Sums are in cyclic
 * order. An element is quantised P times, P - 1 of them as a partial sum, so its error is that of
 * P steps which grow along the way.
 *
 * The owner of a sum knows the last of these steps alone. So float16 has no ring (coll.c), and where
 * eight or more ranks hold float32 elements near 2^125, an overflow can hide in the steps. */
#include "coll/slice.h"

static unsigned modulo(unsigned rank, unsigned back, unsigned ranks)
{
    return (rank + 2 * ranks - back) % ranks;
}

/* Sends chunk OUT to the next rank and takes chunk IN from the one before. */
static enum cgx_status pass_on(struct cgx_slice *slice, unsigned out, unsigned in, unsigned step)
{
    const struct cgx_coll *coll = slice->coll;
    const struct cgx_part *parts = coll->scratch->parts;
    unsigned ranks = coll->shape->ranks;

    cgx_slice_receive(slice, 0, modulo(coll->rank, 1, ranks), parts[in].message, parts[in].bytes);
    cgx_slice_send(slice, 1, (coll->rank + 1) % ranks, parts[out].message, parts[out].bytes, step);
    return cgx_slice_exchange(slice, 2);
}

static void encode_first(struct cgx_slice *slice, unsigned chunk)
{
    const struct cgx_coll *coll = slice->coll;
    const struct cgx_part *part = &coll->scratch->parts[chunk];

    if (!slice->withheld &&
        coll->codec->encode(&slice->coding, coll->scratch->pieces + part->first_piece,
                            part->npieces, coll->input, coll->scratch->staging) != CGX_OK)
        slice->withheld = true;
}

static void add_own(struct cgx_slice *slice, unsigned chunk)
{
    const struct cgx_coll *coll = slice->coll;
    const struct cgx_part *part = &coll->scratch->parts[chunk];
    const unsigned char *const sources[2] = {coll->scratch->staging, NULL};

    if (!slice->withheld &&
        coll->codec->reduce(&slice->coding, coll->scratch->pieces + part->first_piece,
                            part->npieces, sources, 2, coll->input,
                            coll->scratch->staging) != CGX_OK)
        slice->withheld = true;
}

enum cgx_status cgx_ring_slice(struct cgx_slice *slice)
{
    unsigned ranks = slice->coll->shape->ranks, rank = slice->coll->rank;
    unsigned step = slice->number * CGX_RING_STEPS(ranks);

    encode_first(slice, modulo(rank, 1, ranks));
    for (unsigned t = 0; t + 1 < ranks; t++, step++) {
        unsigned in = modulo(rank, t + 2, ranks);
        enum cgx_status status = pass_on(slice, modulo(rank, t + 1, ranks), in, step);

        if (status != CGX_OK)
            return status;
        if (cgx_slice_arrival(slice, 0, step) != CGX_ARRIVAL_PAYLOAD)
            slice->withheld = true;
        add_own(slice, in);
    }
    /* From here on a fault no longer reaches all ranks: it is passed on as a failure. */
    for (unsigned t = 0; t + 1 < ranks; t++, step++) {
        enum cgx_status status =
            pass_on(slice, modulo(rank, t, ranks), modulo(rank, t + 1, ranks), step);
        enum cgx_arrival arrival;

        if (status != CGX_OK)
            return status;
        arrival = cgx_slice_arrival(slice, 0, step);
        slice->withheld |= arrival == CGX_ARRIVAL_WITHHELD;
        slice->failed |= arrival == CGX_ARRIVAL_FAILED;
    }
    return CGX_OK;
}
