/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* For adaptive widths: the energy of each piece (codec/energy.h), which covers all quantisations
 * that went into it. The codec writes energies, and they travel with the parts, so that all ranks
 * see the same ones without further messages. */
#include <math.h>

#include "codec/energy.h"
#include "coll/slice.h"

static void lay(const struct cgx_slice *slice, const struct cgx_block *part)
{
    for (size_t i = 0; i < part->npieces; i++)
        cgx_slice_pieces(slice, part)[i].energy =
            part->trailers[CGX_TRAILER_ENERGIES] + i * CGX_ENERGY_BYTES;
}

static void take(struct cgx_coll *coll, const struct cgx_slice *slice)
{
    for (unsigned chunk = 0; coll->feedback && chunk < cgx_schedule_chunks(coll->schedule);
         chunk++) {
        const struct cgx_block *part = &slice->parts[chunk];

        for (size_t i = 0; i < part->npieces; i++) {
            const struct cgx_piece *piece = &cgx_slice_pieces(slice, part)[i];

            /* The energies of a lost slice are unknown. */
            coll->feedback->energies[cgx_plan_segment(coll->schedule->plan, piece->first)] +=
                slice->lost ? NAN : cgx_energy_read(slice->slot->staging, piece);
        }
    }
}

const struct cgx_trailer cgx_energies = {.by_piece = CGX_ENERGY_BYTES, .lay = lay, .take = take};
