/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Payloads that no encoder wrote: what is refused, and that nothing outside is read or written
 * (every block is as large as it must be, so that AddressSanitizer sees more than the guards). */

#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/codec_reference.h"

#define GUARD 64

static const uint32_t refused_headers[] = {0x00000001u, 0x0000FFFFu, 0x00010000u, 0x007F0000u,
                                           0x7E810000u, 0x7F000000u, 0x7F7F0000u, 0x7F800000u,
                                           0x7FC00001u, 0x7FC10000u, 0x7FFF0000u, 0x80000000u,
                                           0x80800000u, 0xBF800000u, 0xFF800000u, 0xFFC00000u};
static const uint32_t accepted_headers[] = {0x00800000u, 0x00808000u, 0x3F807FFFu,
                                            0x7E80FFFFu, 0x7FC00000u, 0x00000000u};
static const uint32_t refused_constants[] = {0x7E000000u, 0xFE000000u, 0x7F800000u,
                                             0xFF800000u, 0x7FC00000u, 0xFFFFFFFFu};

/* Three buckets of 64, the second with this HEADER and, in the codes' first bytes, CONSTANT; by
 * decode and by reduce. */
static bool accepts(const struct cgx_codec *codec, enum cgx_dtype dtype, unsigned bits,
                    uint32_t header, uint32_t constant)
{
    const struct cgx_coding coding = {.dtype = dtype, .bucket_size = 64};
    const struct cgx_piece piece = {.count = 160, .bits = bits};
    struct cgx_layout layout = cgx_piece_layout(160, bits, 64, dtype);
    unsigned char *payload = aligned_alloc(16, layout.bytes);
    unsigned char *sum = aligned_alloc(16, layout.bytes);
    const unsigned char *sources[] = {NULL, payload};
    unsigned width = bits == 8 ? 8 : bits & 4 ? 4 : bits & 2 ? 2 : 1;
    enum cgx_status decoded, reduced;
    float values[160];

    data_fill(DATA_GAUSSIAN, 1, values, 160);
    for (size_t i = 0; i < 160; i++)
        reference_narrow(dtype, values[i], values, i);
    cgx_codec_run(codec,
                  &(struct cgx_work){CGX_ENCODE, &coding, &piece, 1, .in = values, .out = payload});
    memcpy(payload + 4, &header, sizeof header);
    memcpy(payload + 16 + 8 * width, &constant, sizeof constant);
    reduced = cgx_codec_run(codec, &(struct cgx_work){CGX_REDUCE, &coding, &piece, 1, sources, 2,
                                                      .in = values, .out = sum});
    decoded = cgx_codec_run(
        codec, &(struct cgx_work){CGX_DECODE, &coding, &piece, 1, .in = payload, .out = values});
    free(sum);
    free(payload);
    if (decoded != reduced || (decoded != CGX_OK && decoded != CGX_ERR_FORMAT))
        bail_out("decode and reduce disagree on header %08x", header);
    return decoded == CGX_OK;
}

static void test_headers(const struct cgx_codec *codec)
{
    bool refused = true, constants = true, accepted = true;

    for (unsigned bits = 1; bits <= 8; bits++)
        for (int dtype = 0; dtype < 3; dtype++) {
            for (size_t i = 0; i < sizeof refused_headers / sizeof *refused_headers; i++)
                refused =
                    refused && !accepts(codec, (enum cgx_dtype)dtype, bits, refused_headers[i], 0);
            for (size_t i = 0; i < sizeof accepted_headers / sizeof *accepted_headers; i++)
                accepted =
                    accepted && accepts(codec, (enum cgx_dtype)dtype, bits, accepted_headers[i], 0);
            for (size_t i = 0; i < sizeof refused_constants / sizeof *refused_constants; i++)
                constants = constants &&
                            !accepts(codec, (enum cgx_dtype)dtype, bits, 0, refused_constants[i]);
        }
    ok(refused, "%s: headers that no encoder writes are refused", codec->name);
    ok(constants, "%s: constants that no encoder writes are refused", codec->name);
    ok(accepted, "%s: the extremes of what an encoder writes are accepted", codec->name);
}

static bool is_guarded(const unsigned char *block, size_t bytes)
{
    for (size_t i = 0; i < GUARD; i++)
        if (block[i] != 0x5A || block[GUARD + bytes + i] != 0x5A)
            return false;
    return true;
}

/* Random bytes; their headers, mostly, such as are accepted. */
static void make_payload(uint64_t *state, size_t buckets, unsigned char *payload, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        payload[i] = (unsigned char)(data_random(state) >> 32);
    for (size_t i = 0; i < buckets; i++) {
        uint64_t random = data_random(state);
        uint32_t header = random % 16 == 0   ? (uint32_t)(random >> 32)
                          : random % 8 == 1  ? CGX_BUCKET_POISON
                          : random % 32 == 2 ? CGX_BUCKET_CONSTANT
                                             : (uint32_t)(random >> 32) % 0x7E010000u + 0x00800000u;

        memcpy(payload + 4 * i, &header, sizeof header);
    }
}

/* One random piece of two random payloads, decoded and reduced by the set, and by the reference or
 * the portable set; false if they differ or a guard is touched. *ACCEPTED counts those not refused.
 */
static bool survives(const struct cgx_codec *codec, uint64_t *state, unsigned *accepted)
{
    const struct cgx_codec *portable = cgx_codec_host_named("portable");
    const struct cgx_coding coding = {.dtype = (enum cgx_dtype)(data_random(state) % 3),
                                      .bucket_size = 64u << data_random(state) % 4,
                                      .rounding = (enum cgx_rounding)(data_random(state) % 2)};
    const struct cgx_piece piece = {.count = 1 + data_random(state) % 1200,
                                    .bits = 2 + (unsigned)(data_random(state) % 7)};
    size_t size = piece.count * cgx_dtype_size(coding.dtype);
    struct cgx_layout layout =
        cgx_piece_layout(piece.count, piece.bits, coding.bucket_size, coding.dtype);
    unsigned char *payloads[2], *sums[2], *elements[2];
    const unsigned char *sources[2];
    enum cgx_status decoded, reduced;
    bool same = true;

    for (int i = 0; i < 2; i++) {
        sources[i] = payloads[i] = aligned_alloc(16, layout.bytes);
        make_payload(state, layout.buckets, payloads[i], layout.bytes);
        sums[i] = aligned_alloc(16, layout.bytes + 2 * GUARD);
        memset(sums[i], 0x5A, layout.bytes + 2 * GUARD);
        elements[i] = malloc(size + 2 * GUARD);
        memset(elements[i], 0x5A, size + 2 * GUARD);
    }
    decoded =
        cgx_codec_run(codec, &(struct cgx_work){CGX_DECODE, &coding, &piece, 1, .in = payloads[0],
                                                .out = elements[0] + GUARD});
    if (decoded == CGX_OK) {
        reference_decode(&coding, &piece, payloads[0], elements[1] + GUARD);
        same = same && memcmp(elements[0], elements[1], size + 2 * GUARD) == 0;
    }
    reduced = cgx_codec_run(codec, &(struct cgx_work){CGX_REDUCE, &coding, &piece, 1, sources, 2,
                                                      .in = NULL, .out = sums[0] + GUARD});
    same = same &&
           cgx_codec_run(portable, &(struct cgx_work){CGX_REDUCE, &coding, &piece, 1, sources, 2,
                                                      .in = NULL, .out = sums[1] + GUARD}) ==
               reduced &&
           memcmp(sums[0], sums[1], layout.bytes + 2 * GUARD) == 0;
    same = same && is_guarded(elements[0], size) && is_guarded(sums[0], layout.bytes);
    *accepted += (decoded == CGX_OK) + (reduced == CGX_OK);
    for (int i = 0; i < 2; i++) {
        free(elements[i]);
        free(sums[i]);
        free(payloads[i]);
    }
    return same;
}

static void test_random(const struct cgx_codec *codec)
{
    uint64_t state = 1;
    unsigned accepted = 0;
    bool survived = true;

    for (int i = 0; i < 3000; i++)
        survived = survived && survives(codec, &state, &accepted);
    ok(survived, "%s: random payloads touch nothing outside, and are what they say", codec->name);
    ok(accepted > 1000 && accepted < 5500, "%s: of these, many were accepted and many not",
       codec->name);
    diag("%u of 6000 accepted", accepted);
}

int main(void)
{
    for (int s = 0; s < DATA_SETS; s++) {
        const struct cgx_codec *codec = data_codec(s);

        if (codec == NULL)
            continue;
        test_headers(codec);
        test_random(codec);
    }
    return done_testing();
}
