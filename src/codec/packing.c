/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/packing.h"

#include "codec/blocks.h"

/* A sample takes about one bucket in SAMPLE_ONE_IN, but at least SAMPLE_LEAST and at most
 * SAMPLE_MOST if there are as many. */
enum { SAMPLE_ONE_IN = 32, SAMPLE_LEAST = 8, SAMPLE_MOST = 64 };

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

bool cgx_packing_pays(const struct cgx_extent *extent, const unsigned char *payload)
{
    size_t total = 0, wanted, stride, next = 0, seen = 0, sent = 0;

    if (cgx_extent_has_variable_size(extent))
        return true;
    for (size_t i = 0; i < extent->npieces; i++) {
        if (!cgx_encoding_is_exact(extent->pieces[i].bits))
            total += cgx_piece_buckets(&extent->pieces[i], extent->bucket_size);
    }
    wanted = total / SAMPLE_ONE_IN;
    wanted = wanted < SAMPLE_LEAST ? SAMPLE_LEAST : wanted > SAMPLE_MOST ? SAMPLE_MOST : wanted;
    /* The stride is odd, since rows of tables often have a power of two as length and would be
     * sampled at one place. */
    stride = total / wanted | 1;
    for (size_t i = 0; i < extent->npieces; i++) {
        const struct cgx_piece *piece = &extent->pieces[i];
        struct cgx_blocks blocks;

        if (cgx_encoding_is_exact(piece->bits))
            continue;
        blocks = cgx_blocks_of(piece, extent->bucket_size);
        for (; next < blocks.buckets; next += stride) {
            uint64_t bits =
                cgx_blocks_find(&blocks, payload + (piece->offset - extent->begin), next);

            seen += cgx_blocks_in(&blocks, next) * cgx_blocks_bytes(&blocks);
            sent += (size_t)__builtin_popcountll(bits) * cgx_blocks_bytes(&blocks);
        }
        next -= blocks.buckets;
    }
    return seen > 0 && sent <= seen / 3 * 2;
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

/* Skips BYTES at offset AT of the payload, which are not sent; unpacking sets them to BYTE. */
static void omit_bytes(const struct course *course, size_t at, size_t bytes, unsigned char byte)
{
    if (course->unpacks)
        memset(course->to + at, byte, bytes);
}

/* Moves the headers of the piece at offset AT of the payload, and the padding between headers and
 * codes. */
static void move_headers(struct course *course, const struct cgx_blocks *blocks,
                         const unsigned char *map, size_t at)
{
    size_t headers = blocks->buckets * CGX_BUCKET_HEADER_BYTES;

    for (size_t k = 0; k < blocks->buckets; k++) {
        size_t header = at + k * CGX_BUCKET_HEADER_BYTES;

        if (cgx_blocks_bits(blocks, map, k) != 0)
            carry_bytes(course, header, CGX_BUCKET_HEADER_BYTES);
        else
            omit_bytes(course, header, CGX_BUCKET_HEADER_BYTES, 0);
    }
    carry_bytes(course, at + headers, blocks->offset[0] - headers);
}

/* Moves a bucket's codes in one plane, at offset AT of the payload: COUNT blocks of BYTES. Blocks
 * with a bit in BITS are sent; all bytes of the others are ZERO. */
static void move_codes(struct course *course, size_t count, uint64_t bits, size_t at, size_t bytes,
                       unsigned char zero)
{
    while (count > 0) {
        bool sent = (bits & 1) != 0;
        uint64_t others = sent ? ~bits : bits;
        size_t run = others == 0 ? count : (size_t)__builtin_ctzll(others);

        run = run < count ? run : count;
        if (sent)
            carry_bytes(course, at, run * bytes);
        else
            omit_bytes(course, at, run * bytes, zero);
        at += run * bytes;
        count -= run;
        bits = run < 64 ? bits >> run : 0;
    }
}

/* Moves the piece at offset AT, whose blocks MAP describes. The packed data has room for it. */
static void move_piece(struct course *course, const struct cgx_blocks *blocks,
                       const unsigned char *map, size_t at)
{
    const unsigned char *headers = (course->unpacks ? course->to : course->from) + at;

    move_headers(course, blocks, map, at);
    for (int i = 0; i < CGX_PLANES; i++) {
        size_t next = i + 1 < CGX_PLANES ? blocks->offset[i + 1] : blocks->end;
        size_t end = blocks->offset[i] + blocks->count * blocks->bytes[i];

        for (size_t k = 0; k < blocks->buckets && blocks->bytes[i] > 0; k++)
            move_codes(course, cgx_blocks_in(blocks, k), cgx_blocks_bits(blocks, map, k),
                       at + blocks->offset[i] + k * blocks->each * blocks->bytes[i],
                       blocks->bytes[i],
                       cgx_blocks_zero(blocks->encoding, cgx_blocks_header(headers, k), i));
        carry_bytes(course, at + end, next - end);
    }
}

/* Writes the map of the piece at offset AT to the packed data, or finds it there. NULL: there is no
 * room for the packed piece, or the map is invalid. */
static const unsigned char *get_map(struct course *course, const struct cgx_blocks *blocks,
                                    size_t at)
{
    const unsigned char *map = (course->unpacks ? course->from : course->to) + course->at;

    if (!has_room(course, blocks->map))
        return NULL;
    if (!course->unpacks)
        cgx_blocks_map(blocks, course->from + at, course->to + course->at);
    else if (!cgx_blocks_is_map(blocks, map))
        return NULL;
    return has_room(course, cgx_blocks_packed(blocks, map)) ? map : NULL;
}

/* How many bytes are sent of PIECE, at offset AT of the payload; 0 if its head is missing or
 * invalid. */
static size_t used_bytes(const struct course *course, const struct cgx_piece *piece, size_t at)
{
    if (!has_room(course, sizeof(struct cgx_uniform_head)))
        return 0;
    return cgx_uniform_used(course->from + (course->unpacks ? course->at : at), piece->count);
}

/* Like move_pieces, for payloads with pieces of variable size: moves the bytes that are in use. */
static bool move_used_bytes(struct course *course, const struct cgx_extent *extent)
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

/* Packs or unpacks EXTENT. Returns false if the packed data is invalid, or would be too large. */
static bool move_pieces(struct course *course, const struct cgx_extent *extent)
{
    size_t done = 0, all = extent->end - extent->begin;

    if (cgx_extent_has_variable_size(extent))
        return move_used_bytes(course, extent);
    for (size_t i = 0; i < extent->npieces; i++) {
        const struct cgx_piece *piece = &extent->pieces[i];
        size_t at = piece->offset - extent->begin;
        struct cgx_blocks blocks;
        const unsigned char *map;

        if (cgx_encoding_is_exact(piece->bits))
            continue;
        if (!has_room(course, at - done))
            return false;
        carry_bytes(course, done, at - done);
        blocks = cgx_blocks_of(piece, extent->bucket_size);
        map = get_map(course, &blocks, at);
        if (!map)
            return false;
        course->at += blocks.map;
        move_piece(course, &blocks, map, at);
        done = at + blocks.end;
    }
    if (!has_room(course, all - done))
        return false;
    carry_bytes(course, done, all - done);
    return true;
}

size_t cgx_pack(const struct cgx_extent *extent, const unsigned char *payload,
                unsigned char *packed)
{
    struct course course = {.from = payload, .to = packed, .bytes = cgx_packed_most(extent)};

    return move_pieces(&course, extent) ? course.at : 0;
}

enum cgx_status cgx_unpack(const struct cgx_extent *extent, const unsigned char *packed,
                           size_t bytes, unsigned char *payload)
{
    struct course course = {.unpacks = true, .from = packed, .to = payload, .bytes = bytes};

    if (bytes > cgx_packed_most(extent) || !move_pieces(&course, extent) || course.at != bytes)
        return CGX_ERR_FORMAT;
    return CGX_OK;
}
