/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The energy of a piece (doc/format.md): the sum of n u^2 over its buckets, of n elements and step
 * u, and of the energies of the payloads that it is the sum of. The order of additions is fixed:
 * each of CGX_ENERGY_LANES lanes adds up every so many buckets, and then lanes are added in pairs,
 * so that processors and devices can add up lanes side by side. */
#ifndef CGX_CODEC_ENERGY_H
#define CGX_CODEC_ENERGY_H

#include "codec/format.h"
#include "codec/quant.h"

#define CGX_ENERGY_LANES 32

/* n u^2 of a bucket of COUNT elements with step U; exact, or NaN if the bucket is poisoned. */
CGX_QUANT double cgx_energy_of(float u, uint32_t count)
{
    return (double)count * (double)u * (double)u;
}

/* The upper half of a float64, as stored behind pieces; its range covers squares of all float32. A
 * NaN becomes the canonical one. */
CGX_QUANT uint32_t cgx_upper_half(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return value != value ? 0x7FF80000u : (uint32_t)(bits >> 32);
}

CGX_QUANT double cgx_from_upper_half(uint32_t half)
{
    uint64_t bits = (uint64_t)half << 32;
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The sum of n u^2 over the buckets of PIECE, which begins at DATA; NaN if one is poisoned, 0 if
 * PIECE is exact. A piece that varies also stores the energy of all its quantisations
 * (uniform/uniform.h). */
double cgx_energy_of_piece(const struct cgx_piece *piece, unsigned bucket_size,
                           const unsigned char *data);

/* The energy of PIECE, which has one, in PAYLOAD. */
static inline double cgx_energy_read(const unsigned char *payload, const struct cgx_piece *piece)
{
    uint32_t half;

    memcpy(&half, payload + piece->energy, sizeof half);
    return cgx_from_upper_half(half);
}

static inline void cgx_energy_write(double energy, const struct cgx_piece *piece,
                                    unsigned char *payload)
{
    const uint32_t half = cgx_upper_half(energy);

    memcpy(payload + piece->energy, &half, sizeof half);
}

#endif
