/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/packing.h"

#include "codec/encoding.h"

static bool is_variable(const struct cgx_piece *piece)
{
    return cgx_encoding_quantiser(piece->bits)->has_variable_size;
}

bool cgx_extent_has_variable_size(const struct cgx_extent *extent)
{
    for (size_t i = 0; i < extent->npieces; i++)
        if (is_variable(&extent->pieces[i]))
            return true;
    return false;
}

bool cgx_runs_next(const struct cgx_extent *extent, const unsigned char *payload,
                   struct cgx_runs *runs, struct cgx_shown *run)
{
    size_t all = extent->end - extent->begin, begin = runs->begin, end = all, next = all;

    while (end == all && runs->piece < extent->npieces) {
        const struct cgx_piece *piece = &extent->pieces[runs->piece++];
        size_t at = piece->offset - extent->begin, used;

        if (!is_variable(piece))
            continue;
        next = at + cgx_uniform_bytes(piece->count);
        used = cgx_uniform_used(payload + at, piece->count);
        end = used > 0 ? at + used : next;
    }
    *run = (struct cgx_shown){begin, end - begin};
    runs->begin = next;
    return begin < all;
}

size_t cgx_pack(const struct cgx_extent *extent, const unsigned char *payload,
                unsigned char *packed)
{
    struct cgx_runs runs = {0};
    struct cgx_shown run;
    size_t at = 0;

    for (size_t i = 0; i < extent->npieces; i++) {
        const struct cgx_piece *piece = &extent->pieces[i];

        if (is_variable(piece) &&
            cgx_uniform_used(payload + (piece->offset - extent->begin), piece->count) == 0)
            return 0;
    }
    for (; cgx_runs_next(extent, payload, &runs, &run); at += run.bytes)
        memcpy(packed + at, payload + run.offset, run.bytes);
    return at;
}

enum cgx_status cgx_unpack(const struct cgx_extent *extent, const unsigned char *packed,
                           size_t bytes, unsigned char *payload)
{
    size_t all = extent->end - extent->begin;
    size_t at = 0, done = 0; /* how far PACKED was read, and PAYLOAD written */

    if (!cgx_extent_has_variable_size(extent) || bytes > all)
        return CGX_ERR_FORMAT;
    for (size_t i = 0; i < extent->npieces; i++) {
        const struct cgx_piece *piece = &extent->pieces[i];
        size_t before = piece->offset - extent->begin - done, used;

        if (!is_variable(piece))
            continue;
        if (before + sizeof(struct cgx_uniform_head) > bytes - at)
            return CGX_ERR_FORMAT;
        used = cgx_uniform_used(packed + at + before, piece->count);
        if (used == 0 || before + used > bytes - at)
            return CGX_ERR_FORMAT;
        memcpy(payload + done, packed + at, before + used);
        at += before + used;
        done += before + cgx_uniform_bytes(piece->count);
    }
    if (bytes - at != all - done)
        return CGX_ERR_FORMAT;
    memcpy(payload + done, packed + at, all - done);
    return CGX_OK;
}
