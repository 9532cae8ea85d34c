/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Payloads of max-min quantisation that no encoder wrote: what is refused, what others mean
 * whatever the codes are, and that nothing outside is read or written (every block is as large as
 * it must be, so that AddressSanitizer sees more than the guards). */

#include <stdlib.h>
#include <string.h>

#include "codec/encoding.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/codec_reference.h"

#define GUARD 64

static size_t bytes_of(const struct cgx_coding *coding, const struct cgx_piece *piece)
{
    return reference_bytes(piece->count, piece->bits, coding->bucket_size, coding->dtype);
}

static void fill(uint64_t *state, unsigned char *payload, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        payload[i] = (unsigned char)(data_random(state) >> 32);
}

/* Whether PAYLOAD is accepted, by decode and by reduce. */
static bool accepts(const struct cgx_codec *codec, const struct cgx_coding *coding,
                    const struct cgx_piece *piece, const unsigned char *payload)
{
    unsigned char *sum = aligned_alloc(16, bytes_of(coding, piece));
    const unsigned char *sources[] = {NULL, payload};
    enum cgx_status decoded, reduced;
    float *values = calloc(piece->count, sizeof *values);

    reduced = data_sum(codec, CGX_REDUCE, coding, piece, sources, 2, values, sum);
    decoded = data_code(codec, CGX_DECODE, coding, piece, payload, values);
    free(values);
    free(sum);
    if (decoded != reduced || (decoded != CGX_OK && decoded != CGX_ERR_FORMAT))
        bail_out("decode and reduce disagree on a header");
    return decoded == CGX_OK;
}

/* ---- what decode and reduce leave of random payloads ---- */

struct blocks {
    unsigned char *payloads[2], *sums[2], *elements[2]; /* the latter two between guards */
    size_t bytes, size;
};

static struct blocks blocks_of(const struct cgx_coding *coding, const struct cgx_piece *piece)
{
    struct blocks blocks = {.bytes = bytes_of(coding, piece),
                            .size = piece->count * cgx_dtype_size(coding->dtype)};

    for (int i = 0; i < 2; i++) {
        blocks.payloads[i] = aligned_alloc(16, blocks.bytes);
        blocks.sums[i] = aligned_alloc(16, blocks.bytes + 2 * GUARD);
        memset(blocks.sums[i], 0x5A, blocks.bytes + 2 * GUARD);
        blocks.elements[i] = malloc(blocks.size + 2 * GUARD);
        memset(blocks.elements[i], 0x5A, blocks.size + 2 * GUARD);
    }
    return blocks;
}

static void blocks_free(const struct blocks *blocks)
{
    for (int i = 0; i < 2; i++) {
        free(blocks->elements[i]);
        free(blocks->sums[i]);
        free(blocks->payloads[i]);
    }
}

static bool is_guarded(const unsigned char *block, size_t bytes)
{
    for (size_t i = 0; i < GUARD; i++)
        if (block[i] != 0x5A || block[GUARD + bytes + i] != 0x5A)
            return false;
    return true;
}

static bool are_elements_same(const struct blocks *blocks)
{
    return memcmp(blocks->elements[0], blocks->elements[1], blocks->size + 2 * GUARD) == 0;
}

static bool are_sums_same(const struct blocks *blocks)
{
    return memcmp(blocks->sums[0], blocks->sums[1], blocks->bytes + 2 * GUARD) == 0;
}

static bool are_guarded(const struct blocks *blocks)
{
    return is_guarded(blocks->elements[0], blocks->size) &&
           is_guarded(blocks->sums[0], blocks->bytes);
}

/* Block I of elements and sums. */
static enum cgx_status decode(const struct cgx_codec *codec, const struct cgx_coding *coding,
                              const struct cgx_piece *piece, const struct blocks *blocks, int i)
{
    return data_code(codec, CGX_DECODE, coding, piece, blocks->payloads[0],
                     blocks->elements[i] + GUARD);
}

static enum cgx_status reduce(const struct cgx_codec *codec, const struct cgx_coding *coding,
                              const struct cgx_piece *piece, const struct blocks *blocks, int i)
{
    const unsigned char *sources[] = {blocks->payloads[0], blocks->payloads[1]};

    return data_sum(codec, CGX_REDUCE, coding, piece, sources, 2, NULL, blocks->sums[i] + GUARD);
}

/* ---- max-min quantisation ---- */

static const uint32_t maxmin_refused[] = {0x00000001u, 0x0000FFFFu, 0x00010000u, 0x007F0000u,
                                          0x7E810000u, 0x7F000000u, 0x7F7F0000u, 0x7F800000u,
                                          0x7FC00001u, 0x7FC10000u, 0x7FFF0000u, 0x80000000u,
                                          0x80800000u, 0xBF800000u, 0xFF800000u, 0xFFC00000u};
static const uint32_t maxmin_accepted[] = {0x00800000u, 0x00808000u, 0x3F807FFFu,
                                           0x7E80FFFFu, 0x7FC00000u, 0x00000000u};
static const uint32_t refused_constants[] = {0x7E000000u, 0xFE000000u, 0x7F800000u,
                                             0xFF800000u, 0x7FC00000u, 0xFFFFFFFFu};

/* Three buckets of 64, the second with this HEADER and, in the codes' first bytes, CONSTANT. */
static bool maxmin_accepts(const struct cgx_codec *codec, enum cgx_dtype dtype, unsigned bits,
                           uint32_t header, uint32_t constant)
{
    const struct cgx_coding coding = {.dtype = dtype, .bucket_size = 64};
    const struct cgx_piece piece = {.count = 160, .bits = bits};
    unsigned char *payload = aligned_alloc(16, bytes_of(&coding, &piece));
    unsigned width = bits == 8 ? 8 : bits & 4 ? 4 : bits & 2 ? 2 : 1;
    float values[160];
    bool accepted;

    data_fill(DATA_GAUSSIAN, 1, values, 160);
    for (size_t i = 0; i < 160; i++)
        reference_narrow(dtype, values[i], values, i);
    data_code(codec, CGX_ENCODE, &coding, &piece, values, payload);
    memcpy(payload + 4, &header, sizeof header);
    memcpy(payload + 16 + 8 * width, &constant, sizeof constant);
    accepted = accepts(codec, &coding, &piece, payload);
    free(payload);
    return accepted;
}

static void test_maxmin_headers(const struct cgx_codec *codec)
{
    bool refused = true, constants = true, accepted = true;

    for (unsigned bits = 1; bits <= 8; bits++)
        for (int dtype = 0; dtype < 3; dtype++) {
            for (size_t i = 0; i < sizeof maxmin_refused / sizeof *maxmin_refused; i++)
                refused = refused &&
                          !maxmin_accepts(codec, (enum cgx_dtype)dtype, bits, maxmin_refused[i], 0);
            for (size_t i = 0; i < sizeof maxmin_accepted / sizeof *maxmin_accepted; i++)
                accepted = accepted && maxmin_accepts(codec, (enum cgx_dtype)dtype, bits,
                                                      maxmin_accepted[i], 0);
            for (size_t i = 0; i < sizeof refused_constants / sizeof *refused_constants; i++)
                constants = constants && !maxmin_accepts(codec, (enum cgx_dtype)dtype, bits, 0,
                                                         refused_constants[i]);
        }
    ok(refused, "%s: headers that no encoder writes are refused", codec->name);
    ok(constants, "%s: constants that no encoder writes are refused", codec->name);
    ok(accepted, "%s: the extremes of what an encoder writes are accepted", codec->name);
}

/* Random bytes; their headers, mostly, such as are accepted. */
static void make_maxmin(uint64_t *state, size_t buckets, unsigned char *payload, size_t bytes)
{
    fill(state, payload, bytes);
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
static bool maxmin_survives(const struct cgx_codec *codec, uint64_t *state, unsigned *accepted)
{
    const struct cgx_codec *portable = cgx_codec_host_named("portable");
    const struct cgx_coding coding = {.dtype = (enum cgx_dtype)(data_random(state) % 3),
                                      .bucket_size = 64u << data_random(state) % 4};
    const struct cgx_piece piece = {.count = 1 + data_random(state) % 1200,
                                    .bits = 2 + (unsigned)(data_random(state) % 7)};
    struct blocks blocks = blocks_of(&coding, &piece);
    enum cgx_status decoded, reduced;
    bool same = true;

    for (int i = 0; i < 2; i++)
        make_maxmin(state, cgx_piece_buckets(&piece, coding.bucket_size), blocks.payloads[i],
                    blocks.bytes);
    decoded = decode(codec, &coding, &piece, &blocks, 0);
    if (decoded == CGX_OK) {
        reference_decode(&coding, &piece, blocks.payloads[0], blocks.elements[1] + GUARD);
        same = are_elements_same(&blocks);
    }
    reduced = reduce(codec, &coding, &piece, &blocks, 0);
    same = same && reduce(portable, &coding, &piece, &blocks, 1) == reduced &&
           are_sums_same(&blocks) && are_guarded(&blocks);
    *accepted += (decoded == CGX_OK) + (reduced == CGX_OK);
    blocks_free(&blocks);
    return same;
}

static void test_random(const struct cgx_codec *codec)
{
    uint64_t state = 1;
    unsigned accepted = 0;
    bool survived = true;

    for (int i = 0; i < 3000; i++)
        survived = survived && maxmin_survives(codec, &state, &accepted);
    ok(survived, "%s: random payloads touch nothing outside, and are what they say", codec->name);
    ok(accepted > 1000 && accepted < 5500, "%s: of these, many were accepted and many not",
       codec->name);
    diag("%u of 6000 accepted", accepted);
}

int main(void)
{
    for (int set = 0; set < DATA_SETS; set++) {
        const struct cgx_codec *codec = data_codec(set);

        if (codec == NULL)
            continue;
        test_maxmin_headers(codec);
        test_random(codec);
    }
    return done_testing();
}
