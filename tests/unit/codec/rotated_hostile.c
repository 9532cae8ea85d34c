/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Rotated payloads that no encoder wrote: which headers are refused, what others mean whatever the
 * codes are, and that nothing outside is read or written (every block is as large as it must be, so
 * that AddressSanitizer sees more than the guards). */

#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"
#include "unit/lib/rotated_data.h"
#include "unit/lib/rotated_reference.h"

#define GUARD 64

static const uint32_t refused_headers[] = {0x00000001u, 0x00008000u, 0x00010000u, 0x007F0000u,
                                           0x00800001u, 0x3F808000u, 0x3F80FFFFu, 0x7F7FFFFFu,
                                           0x7F800000u, 0x7F810000u, 0x7FC00001u, 0x7FC10000u,
                                           0x80000000u, 0x80800000u, 0xBF800000u, 0xFFC00000u};
static const uint32_t accepted_headers[] = {0x00000000u, 0x00800000u, 0x3F800000u, 0x67000000u,
                                            0x67800000u, 0x7F000000u, 0x7F7F0000u, 0x7FC00000u};

/* Random codes of three buckets, each with HEADER. */
static void make_payload(uint64_t *state, const struct cgx_piece *piece, uint32_t header,
                         unsigned char *payload)
{
    size_t bytes = rotated_reference_bytes(piece->count, piece->bits);

    for (size_t i = 0; i < bytes; i++)
        payload[i] = (unsigned char)(data_random(state) >> 32);
    for (size_t i = 0; i < cgx_piece_buckets(piece, 64); i++)
        memcpy(payload + 4 * i, &header, sizeof header);
}

/* By decode and by reduce. */
static bool accepts(const struct cgx_codec *codec, enum cgx_dtype dtype, unsigned width,
                    uint32_t header)
{
    const struct cgx_coding coding = {.dtype = dtype, .bucket_size = 64};
    const struct cgx_piece piece = {.count = 2100, .bits = CGX_ROTATED + width};
    size_t bytes = rotated_reference_bytes(piece.count, piece.bits);
    unsigned char *payload = aligned_alloc(16, bytes), *sum = aligned_alloc(16, bytes);
    const unsigned char *sources[] = {NULL, payload};
    enum cgx_status decoded, reduced;
    float values[2100] = {0};
    uint64_t state = header;

    make_payload(&state, &piece, 0x3F800000u, payload);
    memcpy(payload + 4, &header, sizeof header);
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
    bool refused = true, accepted = true;

    for (unsigned width = 1; width <= CGX_ROTATED_WIDTHS; width++)
        for (int dtype = 0; dtype < 3; dtype++) {
            for (size_t i = 0; i < sizeof refused_headers / sizeof *refused_headers; i++)
                refused =
                    refused && !accepts(codec, (enum cgx_dtype)dtype, width, refused_headers[i]);
            for (size_t i = 0; i < sizeof accepted_headers / sizeof *accepted_headers; i++)
                accepted =
                    accepted && accepts(codec, (enum cgx_dtype)dtype, width, accepted_headers[i]);
        }
    ok(refused, "%s: headers that no encoder writes are refused", codec->name);
    ok(accepted, "%s: those that an encoder writes are accepted", codec->name);
}

static bool is_guarded(const unsigned char *block, size_t bytes)
{
    for (size_t i = 0; i < GUARD; i++)
        if (block[i] != 0x5A || block[GUARD + bytes + i] != 0x5A)
            return false;
    return true;
}

/* Whether decode and reduce make of two random payloads with these headers what the reference
 * does. */
static bool survives(const struct cgx_codec *codec, uint64_t *state, uint32_t header,
                     uint32_t other)
{
    const struct cgx_coding coding = {.dtype = (enum cgx_dtype)(data_random(state) % 3),
                                      .bucket_size = 64,
                                      .least_squares = data_random(state) % 2,
                                      .seed = 5};
    const struct cgx_piece piece = {.count = 1 + data_random(state) % 2500,
                                    .bits = CGX_ROTATED + 1 + (unsigned)(data_random(state) % 5)};
    size_t size = piece.count * cgx_dtype_size(coding.dtype);
    size_t bytes = rotated_reference_bytes(piece.count, piece.bits);
    unsigned char *payloads[2], *sums[2], *elements[2];
    const unsigned char *sources[2];
    bool same;

    for (int i = 0; i < 2; i++) {
        sources[i] = payloads[i] = aligned_alloc(16, bytes);
        make_payload(state, &piece, i == 0 ? header : other, payloads[i]);
        sums[i] = aligned_alloc(16, bytes + 2 * GUARD);
        memset(sums[i], 0x5A, bytes + 2 * GUARD);
        elements[i] = malloc(size + 2 * GUARD);
        memset(elements[i], 0x5A, size + 2 * GUARD);
    }
    rotated_reference_decode(&coding, &piece, payloads[0], elements[1] + GUARD);
    rotated_reference_reduce(&coding, &piece, sources, 2, NULL, sums[1] + GUARD);
    same =
        cgx_codec_run(codec, &(struct cgx_work){CGX_DECODE, &coding, &piece, 1, .in = payloads[0],
                                                .out = elements[0] + GUARD}) == CGX_OK &&
        cgx_codec_run(codec, &(struct cgx_work){CGX_REDUCE, &coding, &piece, 1, sources, 2,
                                                .in = NULL, .out = sums[0] + GUARD}) == CGX_OK &&
        memcmp(elements[0], elements[1], size + 2 * GUARD) == 0 &&
        memcmp(sums[0], sums[1], bytes + 2 * GUARD) == 0 && is_guarded(elements[0], size) &&
        is_guarded(sums[0], bytes);
    for (int i = 0; i < 2; i++) {
        free(elements[i]);
        free(sums[i]);
        free(payloads[i]);
    }
    return same;
}

static void test_codes(const struct cgx_codec *codec)
{
    size_t n = sizeof accepted_headers / sizeof *accepted_headers;
    uint64_t state = 1;
    bool survived = true;

    for (size_t i = 0; i < n * n; i++)
        survived =
            survived && survives(codec, &state, accepted_headers[i % n], accepted_headers[i / n]);
    for (int i = 0; i < 100; i++) {
        uint32_t header = (uint32_t)(data_random(&state) % 0x7F00u + 0x0080u) << 16;

        survived = survived && survives(codec, &state, header,
                                        header + 0x40000u * (i % 3 == 0 && header < 0x7F000000u));
    }
    ok(survived, "%s: random codes touch nothing outside, and are what they say", codec->name);
}

/* Whether nothing is made of the codes in a bucket with HEADER, by decode nor by reduce. */
static bool ignores_codes(const struct cgx_codec *codec, uint64_t *state, unsigned width,
                          uint32_t header)
{
    const struct cgx_coding coding = {.dtype = CGX_FLOAT32, .bucket_size = 64};
    const struct cgx_piece piece = {.count = 2500, .bits = CGX_ROTATED + width};
    size_t bytes = rotated_reference_bytes(piece.count, piece.bits), all = piece.count * 4;
    size_t bucket = (bytes - 16) / 3;
    unsigned char *payloads[3], *sums[2], *elements[2];
    bool same = true;

    for (int i = 0; i < 3; i++)
        payloads[i] = aligned_alloc(16, bytes);
    make_payload(state, &piece, 0x3F800000u, payloads[2]);
    make_payload(state, &piece, 0x3F800000u, payloads[0]);
    memcpy(payloads[0] + 4, &header, sizeof header);
    memcpy(payloads[1], payloads[0], bytes);
    memset(payloads[1] + 16 + bucket, 0, bucket);
    for (int i = 0; i < 2; i++) {
        const unsigned char *sources[] = {payloads[i], payloads[2]};

        sums[i] = aligned_alloc(16, bytes);
        elements[i] = malloc(all);
        same = cgx_codec_run(codec, &(struct cgx_work){CGX_DECODE, &coding, &piece, 1,
                                                       .in = payloads[i], .out = elements[i]}) ==
                   CGX_OK &&
               cgx_codec_run(codec, &(struct cgx_work){CGX_REDUCE, &coding, &piece, 1, sources, 2,
                                                       .in = NULL, .out = sums[i]}) == CGX_OK &&
               same;
    }
    same =
        same && memcmp(elements[0], elements[1], all) == 0 && memcmp(sums[0], sums[1], bytes) == 0;
    for (int i = 0; i < 3; i++)
        free(payloads[i]);
    for (int i = 0; i < 2; i++) {
        free(elements[i]);
        free(sums[i]);
    }
    return same;
}

static void test_ignored(const struct cgx_codec *codec)
{
    uint64_t state = 2;
    bool ignored = true;

    for (unsigned width = 1; width <= CGX_ROTATED_WIDTHS; width++) {
        ignored = ignored && ignores_codes(codec, &state, width, 0);
        ignored = ignored && ignores_codes(codec, &state, width, CGX_BUCKET_POISON);
    }
    ok(ignored, "%s: codes of zeros and of poisoned buckets mean nothing", codec->name);
    ok(!ignores_codes(codec, &state, 4, 0x3F800000u), "%s: those of others do", codec->name);
}

int main(void)
{
    for (int set = 0; set < DATA_SETS; set++) {
        const struct cgx_codec *codec = data_codec(set);

        if (codec == NULL)
            continue;
        test_headers(codec);
        test_codes(codec);
        test_ignored(codec);
    }
    return done_testing();
}
