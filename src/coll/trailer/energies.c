/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Where widths are adaptive: the energy of each piece, the sum of n u^2 over the buckets, of n
 * elements and step u, of every quantisation that went into it; NaN if one was poisoned. So all
 * ranks see the same without a message more. */
#include <math.h>
#include <string.h>

#include "codec/bucket.h"
#include "coll/slice.h"

static double energy_at(const unsigned char *energies, size_t index)
{
    uint32_t half;

    memcpy(&half, energies + index * sizeof half, sizeof half);
    return cgx_from_upper_half(half);
}

static void seal(struct cgx_slice *slice, const struct cgx_block *part,
                 const struct cgx_payloads *from, bool last)
{
    unsigned char *staging = slice->slot->staging;
    size_t at = part->trailers[CGX_TRAILER_ENERGIES];

    (void)last;
    for (size_t i = 0; i < part->npieces; i++) {
        const struct cgx_piece *piece = &cgx_slice_pieces(slice, part)[i];
        double sum = cgx_bucket_energy(piece, slice->coding.bucket_size, staging + piece->offset);
        uint32_t half;

        for (size_t p = 0; p < from->count; p++)
            sum += energy_at(from->at[p] + (at - from->origin), i);
        half = cgx_upper_half(sum);
        memcpy(staging + at + i * sizeof half, &half, sizeof half);
    }
}

static void take(struct cgx_coll *coll, const struct cgx_slice *slice)
{
    for (unsigned chunk = 0; coll->feedback && chunk < cgx_schedule_chunks(coll->schedule);
         chunk++) {
        const struct cgx_block *part = &slice->parts[chunk];
        const unsigned char *energies = slice->slot->staging + part->trailers[CGX_TRAILER_ENERGIES];

        for (size_t i = 0; i < part->npieces; i++) {
            size_t first = cgx_slice_pieces(slice, part)[i].first;

            /* What did not come is not known. */
            coll->feedback->energies[cgx_plan_segment(coll->schedule->plan, first)] +=
                slice->lost ? NAN : energy_at(energies, i);
        }
    }
}

const struct cgx_trailer cgx_energies = {.by_piece = CGX_ENERGY_BYTES, .seal = seal, .take = take};
