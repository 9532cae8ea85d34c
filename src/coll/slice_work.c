/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/slice.h"

#include "coll/tally.h"

/* This rank cannot go on: all come to know. */
static void withhold(struct cgx_slice *slice)
{
    struct cgx_backend *encoder = slice->coll->encoder;

    slice->withheld = true;
    if (encoder->ops->lost(encoder))
        slice->hopeless = true;
}

/* Queues the measuring of what is about to be quantised, if it is asked for. If that fails the call
 * goes on. */
static void measure(struct cgx_slice *slice, const struct cgx_measuring *what, size_t nsources)
{
    const struct cgx_coll *coll = slice->coll;
    struct cgx_backend *encoder = coll->encoder;
    unsigned char *samples = slice->lane->staging + slice->samples;
    unsigned bucket_size = slice->coding.bucket_size;
    size_t count = 0;

    if (!coll->tally || !coll->tally->errors)
        return;
    for (size_t i = 0; i < what->npieces; i++) {
        if (what->pieces[i].bits != CGX_BITS_EXACT)
            count += cgx_sample_count((what->pieces[i].count + bucket_size - 1) / bucket_size);
    }
    slice->measuring = *what;
    slice->measuring.failed =
        encoder->ops->measure(encoder, slice->lane_number, &slice->coding, what->pieces,
                              what->npieces, coll->scratch->sources, nsources, coll->input,
                              (struct cgx_sample *)(void *)samples) != CGX_OK ||
        encoder->ops->fetch(encoder, slice->lane_number, samples,
                            count * sizeof(struct cgx_sample)) != CGX_OK;
}

void cgx_slice_encode(struct cgx_slice *slice, size_t first, size_t npieces, size_t message,
                      size_t bytes)
{
    const struct cgx_coll *coll = slice->coll;
    struct cgx_backend *encoder = coll->encoder;
    unsigned char *staging = slice->lane->staging;
    const struct cgx_piece *pieces = slice->lane->pieces + first;

    if (slice->withheld)
        return;
    coll->scratch->sources[0] = NULL;
    if (encoder->ops->encode(encoder, slice->lane_number, &slice->coding, pieces, npieces,
                             coll->input, staging) == CGX_OK &&
        encoder->ops->fetch(encoder, slice->lane_number, staging + message, bytes) == CGX_OK)
        measure(slice, &(struct cgx_measuring){pieces, npieces, staging, false}, 1);
    else
        withhold(slice);
}

void cgx_slice_reduce(struct cgx_slice *slice, const struct cgx_part *part,
                      const struct cgx_piece *pieces, size_t nsources, size_t arrived, size_t bytes)
{
    const struct cgx_coll *coll = slice->coll;
    struct cgx_backend *encoder = coll->encoder;
    unsigned char *staging = slice->lane->staging;
    unsigned char *payload = staging + part->message + CGX_MESSAGE_HEADER_BYTES;

    if (slice->withheld)
        return;
    encoder->ops->store(encoder, slice->lane_number, staging + arrived, bytes);
    measure(slice, &(struct cgx_measuring){pieces, part->npieces, payload, false}, nsources);
    if (encoder->ops->reduce(encoder, slice->lane_number, &slice->coding, pieces, part->npieces,
                             coll->scratch->sources, nsources, coll->input, payload) != CGX_OK ||
        encoder->ops->fetch(encoder, slice->lane_number, payload, part->bytes) != CGX_OK)
        withhold(slice);
    cgx_slice_settle(slice);
    cgx_tally_seal(slice, part, coll->scratch->sources, nsources);
}

void cgx_slice_settle(struct cgx_slice *slice)
{
    struct cgx_backend *encoder = slice->coll->encoder;

    /* Withheld since it was started: what was queued then still writes where headers go. */
    if (!slice->coll->withheld && encoder->ops->wait(encoder, slice->lane_number) != CGX_OK)
        withhold(slice);
    if (!slice->withheld)
        cgx_tally_errors(slice);
    slice->measuring.npieces = 0;
}

enum cgx_status cgx_slice_decode(struct cgx_slice *slice)
{
    const struct cgx_coll *coll = slice->coll;
    struct cgx_backend *decoder = coll->decoder;
    unsigned char *staging = slice->lane->staging;
    /* The own part, which is the last, was made by the encoder. */
    size_t bytes = decoder == coll->encoder ? slice->lane->parts[coll->rank].message : slice->end;

    decoder->ops->store(decoder, slice->lane_number, staging, bytes);
    return decoder->ops->decode(decoder, slice->lane_number, &slice->coding, slice->lane->pieces,
                                slice->pieces, staging, coll->output);
}
