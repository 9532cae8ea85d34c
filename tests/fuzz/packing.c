/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Any packed payload is unpacked or refused, and what it was unpacked to is packed to the same
 * bytes; any payload that is packed is unpacked to what it was, where that is in use. */
#include "codec/packing.h"
#include "codec/encoding.h"
#include "fuzz/fuzz.h"

#define PIECES 4

/* Most pieces have few elements, up to 224; the others have up to 3329. */
static size_t take_count(struct fuzz_input *input)
{
    unsigned drawn = fuzz_take(input, 256);

    return 1 + (drawn < 224 ? drawn : (drawn - 223) * 104);
}

/* Some pieces, one after the other with room between some, from an offset other than 0 on. */
static struct cgx_extent take_extent(struct fuzz_input *input, struct cgx_piece pieces[PIECES])
{
    struct cgx_extent extent = {.pieces = pieces,
                                .npieces = 1 + fuzz_take(input, PIECES),
                                .begin = 16 * fuzz_take(input, 3)};

    extent.end = extent.begin;
    for (size_t i = 0; i < extent.npieces; i++) {
        unsigned width = fuzz_take(input, 9), encoding = width < 6   ? CGX_UNIFORM + 1 + width
                                                         : width < 8 ? width
                                                                     : CGX_BITS_EXACT;

        extent.end += 16 * fuzz_take(input, 2);
        pieces[i] =
            (struct cgx_piece){.count = take_count(input), .bits = encoding, .offset = extent.end};
        extent.end += cgx_piece_layout(pieces[i].count, encoding, CGX_FLOAT16).bytes;
    }
    extent.end += 4 * fuzz_take(input, 3);
    return extent;
}

/* Gives most uniform pieces a head with a number of words that they may have. */
static void write_heads(struct fuzz_input *input, const struct cgx_extent *extent,
                        unsigned char *payload)
{
    for (size_t i = 0; i < extent->npieces; i++) {
        const struct cgx_piece *piece = &extent->pieces[i];
        struct cgx_uniform_head head = {.words = fuzz_take(input, 256)};

        head.words = cgx_uniform_most_words(piece->count) * head.words / 255;
        if (cgx_encoding_quantiser(piece->bits)->has_variable_size && fuzz_take(input, 16) > 0)
            memcpy(payload + (piece->offset - extent->begin), &head, sizeof head);
    }
}

/* Packs PAYLOAD and unpacks that. Returns the bytes in between, 0: it is not packed. */
static size_t there_and_back(const struct cgx_extent *extent, const unsigned char *payload)
{
    size_t all = extent->end - extent->begin, bytes;
    unsigned char *packed = malloc(all), *back = malloc(all);
    struct cgx_runs runs = {0};
    struct cgx_shown run;

    fuzz_require(packed && back, "there is memory");
    bytes = cgx_pack(extent, payload, packed);
    fuzz_require(bytes <= all, "no more is packed than there was");
    packed = realloc(packed, bytes > 0 ? bytes : 1);
    fuzz_require(packed != NULL, "there is memory");
    if (bytes > 0 && cgx_extent_has_variable_size(extent)) {
        fuzz_require(cgx_unpack(extent, packed, bytes, back) == CGX_OK,
                     "what is packed is unpacked");
        while (cgx_runs_next(extent, payload, &runs, &run))
            fuzz_require(memcmp(back + run.offset, payload + run.offset, run.bytes) == 0,
                         "it is what it was");
        fuzz_require(cgx_unpack(extent, packed, bytes - 1, back) == CGX_ERR_FORMAT,
                     "a byte less is refused");
    }
    free(packed);
    free(back);
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cgx_piece pieces[PIECES];
    struct fuzz_input input = {data, size};
    struct cgx_extent extent = take_extent(&input, pieces);
    unsigned char *payload = fuzz_block(&input, extent.end - extent.begin);
    unsigned char *packed = malloc(input.left);

    write_heads(&input, &extent, payload);
    there_and_back(&extent, payload);
    if (packed && input.left > 0) {
        memcpy(packed, input.at, input.left);
        if (cgx_unpack(&extent, packed, input.left, payload) == CGX_OK)
            fuzz_require(there_and_back(&extent, payload) == input.left,
                         "it is packed again, to as many bytes");
    }
    free(packed);
    free(payload);
    return 0;
}
