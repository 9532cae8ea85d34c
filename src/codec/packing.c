/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/packing.h"

#include "codec/encoding.h"

bool cgx_extent_has_variable_size(const struct cgx_extent *extent)
{
    bool has_variable_size = false;

    for (size_t i = 0; i < extent->npieces; i++)
        has_variable_size =
            has_variable_size || cgx_encoding_quantiser(extent->pieces[i].bits)->has_variable_size;
    return has_variable_size;
}

bool cgx_runs_next(const struct cgx_extent *extent, const unsigned char *payload,
                   struct cgx_runs *runs, struct cgx_shown *run)
{
    size_t all = extent->end - extent->begin, begin = runs->begin, end = all, next = all;

    while (end == all && runs->piece < extent->npieces) {
        const struct cgx_piece *piece = &extent->pieces[runs->piece++];
        size_t at = piece->offset - extent->begin, used;

        if (!cgx_encoding_quantiser(piece->bits)->has_variable_size)
            continue;
        next = at + cgx_uniform_bytes(piece->count);
        used = cgx_uniform_used(payload + at, piece->count);
        end = used > 0 ? at + used : next;
    }
    *run = (struct cgx_shown){begin, end - begin};
    runs->begin = next;
    return begin < all;
}

/* ---- packing and unpacking ---- */

/* A payload that is being packed or unpacked. */
struct course {
    bool unpacks;
    const unsigned char *from;
    unsigned char *to;
    size_t at;    /* position in the packed data, in bytes */
    size_t bytes; /* size of the packed data or, when packing, the limit of that size */
};

static bool has_room(const struct course *course, size_t bytes)
{
    return bytes <= course->bytes - course->at;
}

/* Copies BYTES at offset AT of the payload, which are sent. */
static void carry_bytes(struct course *course, size_t at, size_t bytes)
{
    memcpy(course->to + (course->unpacks ? at : course->at),
           course->from + (course->unpacks ? course->at : at), bytes);
    course->at += bytes;
}

/* How many bytes are sent of PIECE, at offset AT of the payload; 0 if its head is missing or
 * invalid. */
static size_t used_bytes(const struct course *course, const struct cgx_piece *piece, size_t at)
{
    if (!has_room(course, sizeof(struct cgx_uniform_head)))
        return 0;
    return cgx_uniform_used(course->from + (course->unpacks ? course->at : at), piece->count);
}

/* Packs or unpacks EXTENT. Returns false if a piece says that it has more bytes than there are. */
static bool move_pieces(struct course *course, const struct cgx_extent *extent)
{
    size_t done = 0, all = extent->end - extent->begin;

    for (size_t i = 0; i < extent->npieces; i++) {
        const struct cgx_piece *piece = &extent->pieces[i];
        size_t at = piece->offset - extent->begin, used;

        if (!cgx_encoding_quantiser(piece->bits)->has_variable_size)
            continue;
        if (!has_room(course, at - done))
            return false;
        carry_bytes(course, done, at - done);
        used = used_bytes(course, piece, at);
        if (used == 0 || !has_room(course, used))
            return false;
        carry_bytes(course, at, used);
        done = at + cgx_uniform_bytes(piece->count);
    }
    if (!has_room(course, all - done))
        return false;
    carry_bytes(course, done, all - done);
    return true;
}

size_t cgx_pack(const struct cgx_extent *extent, const unsigned char *payload,
                unsigned char *packed)
{
    struct course course = {.from = payload, .to = packed, .bytes = extent->end - extent->begin};

    return move_pieces(&course, extent) ? course.at : 0;
}

enum cgx_status cgx_unpack(const struct cgx_extent *extent, const unsigned char *packed,
                           size_t bytes, unsigned char *payload)
{
    struct course course = {.unpacks = true, .from = packed, .to = payload, .bytes = bytes};

    if (!cgx_extent_has_variable_size(extent) || bytes > extent->end - extent->begin ||
        !move_pieces(&course, extent) || course.at != bytes)
        return CGX_ERR_FORMAT;
    return CGX_OK;
}
