/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Any packed payload is unpacked or refused, and what it was unpacked to is packed to no more bytes
 * that say the same; any payload that is packed is unpacked to what it was. */
#include "codec/packing.h"
#include "codec/blocks.h"
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
                                .bucket_size = CGX_BUCKET_SIZE_MIN << fuzz_take(input, 7),
                                .begin = 16 * fuzz_take(input, 3)};

    extent.end = extent.begin;
    for (size_t i = 0; i < extent.npieces; i++) {
        unsigned encoding = fuzz_take(input, 16) == 0 ? CGX_BITS_EXACT : fuzz_encoding(input);

        extent.end += 16 * fuzz_take(input, 2);
        pieces[i] =
            (struct cgx_piece){.count = take_count(input), .bits = encoding, .offset = extent.end};
        extent.end +=
            cgx_piece_layout(pieces[i].count, encoding, extent.bucket_size, CGX_FLOAT16).bytes;
    }
    extent.end += 4 * fuzz_take(input, 3);
    return extent;
}

/* Packs PAYLOAD and unpacks that. Returns the bytes in between, 0: it is not packed. */
static size_t there_and_back(const struct cgx_extent *extent, const unsigned char *payload)
{
    size_t all = extent->end - extent->begin, most = cgx_packed_most(extent), bytes;
    unsigned char *packed = malloc(most), *back = malloc(all), *exact;

    fuzz_require(packed && back, "there is memory");
    cgx_packing_pays(extent, payload);
    bytes = cgx_pack(extent, payload, packed);
    fuzz_require(bytes <= most, "no more is packed than the most");
    exact = realloc(packed, bytes > 0 ? bytes : 1);
    fuzz_require(exact != NULL, "there is memory");
    if (bytes > 0) {
        fuzz_require(cgx_unpack(extent, exact, bytes, back) == CGX_OK,
                     "what is packed is unpacked");
        fuzz_require(memcmp(back, payload, all) == 0, "it is what it was");
        fuzz_require(cgx_unpack(extent, exact, bytes - 1, back) == CGX_ERR_FORMAT,
                     "a byte less is refused");
    }
    free(exact);
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
    size_t bytes;

    there_and_back(&extent, payload);
    if (packed && input.left > 0) {
        memcpy(packed, input.at, input.left);
        if (cgx_unpack(&extent, packed, input.left, payload) == CGX_OK) {
            bytes = there_and_back(&extent, payload);
            fuzz_require(bytes > 0 && bytes <= input.left, "it is packed again, to no more bytes");
        }
    }
    free(packed);
    free(payload);
    return 0;
}
