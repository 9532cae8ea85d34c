/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "info.h"

#include <stddef.h>

#define DEFAULT_WIDTH 4
#define LEAST_ELEMENTS 1024 /* CGX_COMPRESSION_MINIMAL_SIZE means no less */
#define ROUNDS 2
#define TOLERANCE 1.05

/* Of a call's bytes, those that the busiest link carries. */
static const double share = 2.0 * (INFO_RANKS - 1) / INFO_RANKS;

double info_exact_time(const struct info_model *model)
{
    return share * 4 / model->bytes_per_ns;
}

double info_wire_time(const struct info_model *model, unsigned bits)
{
    return share * (bits / 8.0 + model->header_bytes) / model->bytes_per_ns;
}

double info_codec_time(const struct info_speed *speed)
{
    if (speed == NULL)
        return 0;
    return speed->encode * (INFO_RANKS - 1) / INFO_RANKS + speed->reduce / INFO_RANKS +
           speed->decode;
}

unsigned info_width(const struct info_model *model, const struct info_speed speeds[INFO_WIDTHS])
{
    const struct info_speed *base = speeds == NULL ? NULL : &speeds[DEFAULT_WIDTH - 1];
    double wire = info_wire_time(model, DEFAULT_WIDTH), codec = info_codec_time(base);
    unsigned widest = DEFAULT_WIDTH;

    if (codec <= wire)
        return DEFAULT_WIDTH;
    for (unsigned bits = DEFAULT_WIDTH + 1; bits <= INFO_WIDTHS; bits++)
        if (info_wire_time(model, bits) + info_codec_time(&speeds[bits - 1]) <=
            TOLERANCE * (wire + codec))
            widest = bits;
    return widest;
}

bool info_minimal_size(const struct info_model *model, unsigned bits,
                       const struct info_speed *speed, uint64_t *elements)
{
    double saved = info_exact_time(model) - info_wire_time(model, bits) - info_codec_time(speed);
    double least = ROUNDS * model->latency_ns / saved;
    uint64_t size = LEAST_ELEMENTS;

    if (saved <= 0 || least > (double)(UINT64_C(1) << 62))
        return false;
    while ((double)size < least)
        size *= 2;
    *elements = size;
    return true;
}
