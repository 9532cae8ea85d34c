/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Headers of max-min quantisation that no encoder writes are refused, and those that one may write
 * are not. tests/fuzz/decode has payloads of any bytes. */

#include <stdlib.h>
#include <string.h>

#include "codec/encoding.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"

static size_t bytes_of(const struct cgx_coding *coding, const struct cgx_piece *piece)
{
    return cgx_piece_layout(piece->count, piece->bits, coding->dtype).bytes;
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

static const uint32_t refused_headers[] = {0x00000001u, 0x0000FFFFu, 0x00010000u, 0x007F0000u,
                                           0x7E810000u, 0x7F000000u, 0x7F7F0000u, 0x7F800000u,
                                           0x7FC00001u, 0x7FC10000u, 0x7FFF0000u, 0x80000000u,
                                           0x80800000u, 0xBF800000u, 0xFF800000u, 0xFFC00000u};
static const uint32_t accepted_headers[] = {0x00800000u, 0x00808000u, 0x3F807FFFu,
                                            0x7E80FFFFu, 0x7FC00000u, 0x00000000u};
static const uint32_t refused_constants[] = {0x7E000000u, 0xFE000000u, 0x7F800000u,
                                             0xFF800000u, 0x7FC00000u, 0xFFFFFFFFu};

/* Three buckets, the second with this HEADER and, in the codes' first bytes, CONSTANT. */
static bool maxmin_accepts(const struct cgx_codec *codec, enum cgx_dtype dtype, unsigned bits,
                           uint32_t header, uint32_t constant)
{
    const struct cgx_coding coding = {.dtype = dtype};
    const struct cgx_piece piece = {.count = 300, .bits = bits};
    unsigned char *payload = aligned_alloc(16, bytes_of(&coding, &piece));
    unsigned width = bits == 8 ? 8 : bits & 4 ? 4 : bits & 2 ? 2 : 1;
    float values[300];
    bool accepted;

    data_fill(DATA_GAUSSIAN, 1, values, 300);
    for (size_t i = 0; i < 300; i++)
        data_store(dtype, values, i, values[i]);
    data_code(codec, CGX_ENCODE, &coding, &piece, values, payload);
    memcpy(payload + 4, &header, sizeof header);
    memcpy(payload + 16 + 16 * width, &constant, sizeof constant);
    accepted = accepts(codec, &coding, &piece, payload);
    free(payload);
    return accepted;
}

static void test_maxmin_headers(const struct cgx_codec *codec)
{
    bool refused = true, constants = true, accepted = true;

    for (unsigned bits = 1; bits <= 8; bits++)
        for (int dtype = 0; dtype < 3; dtype++) {
            for (size_t i = 0; i < sizeof refused_headers / sizeof *refused_headers; i++)
                refused = refused && !maxmin_accepts(codec, (enum cgx_dtype)dtype, bits,
                                                     refused_headers[i], 0);
            for (size_t i = 0; i < sizeof accepted_headers / sizeof *accepted_headers; i++)
                accepted = accepted && maxmin_accepts(codec, (enum cgx_dtype)dtype, bits,
                                                      accepted_headers[i], 0);
            for (size_t i = 0; i < sizeof refused_constants / sizeof *refused_constants; i++)
                constants = constants && !maxmin_accepts(codec, (enum cgx_dtype)dtype, bits, 0,
                                                         refused_constants[i]);
        }
    ok(refused, "%s: headers that no encoder writes are refused", codec->name);
    ok(constants, "%s: constants that no encoder writes are refused", codec->name);
    ok(accepted, "%s: the extremes of what an encoder writes are accepted", codec->name);
}

int main(void)
{
    for (int set = 0; set < DATA_SETS; set++) {
        const struct cgx_codec *codec = data_codec(set);

        if (codec == NULL)
            continue;
        test_maxmin_headers(codec);
    }
    return done_testing();
}
