/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Stochastic rounding: unbiased, and a function of seed, call, stream and element alone. */

#include <stdlib.h>
#include <string.h>

#include "codec/encoding.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/codec_reference.h"

#define COUNT 4096
#define CALLS 2048

static float values[COUNT], decoded[COUNT];
static unsigned char payload[4 * COUNT] __attribute__((aligned(16)));
static const struct cgx_coding plain = {.bucket_size = 512,
                                        .rounding = CGX_ROUNDING_STOCHASTIC,
                                        .seed = 1ull << 32 | 2,
                                        .call = 3,
                                        .stream = 4};

static void encode(const struct cgx_coding *coding, const struct cgx_piece *piece,
                   unsigned char *out)
{
    data_code(cgx_codec_host(), CGX_ENCODE, coding, piece, values, out);
}

/* The mean of CALLS quantisations of each of 512 elements: within 6 standard deviations of the
 * element, and all of them together too. A quantisation's deviation is at most half a step. */
static void test_bias(unsigned bits)
{
    struct cgx_coding coding = plain;
    const struct cgx_piece piece = {.count = 512, .bits = bits};
    double sums[512] = {0}, total = 0, u;
    bool each = true;

    for (coding.call = 0; coding.call < CALLS; coding.call++) {
        encode(&coding, &piece, payload);
        data_code(cgx_codec_host(), CGX_DECODE, &coding, &piece, payload, decoded);
        for (int i = 0; i < 512; i++)
            sums[i] += (double)decoded[i] - values[i];
    }
    u = reference_step(&coding, &piece, payload, 0);
    for (int i = 0; i < 512; i++) {
        each = each && fabs(sums[i]) < 6 * 0.5 * u * sqrt(CALLS);
        total += sums[i];
    }
    ok(each, "%u bits: the mean of %d quantisations is the element", bits, CALLS);
    ok(fabs(total) < 6 * 0.5 * u * sqrt(CALLS * 512.0), "%u bits: no bias over all elements", bits);
}

static bool differs(const struct cgx_coding *coding)
{
    const struct cgx_piece piece = {.count = COUNT, .bits = 4};
    unsigned char *other = malloc(sizeof payload);
    bool different;

    encode(&plain, &piece, payload);
    encode(coding, &piece, other);
    different = memcmp(payload, other, cgx_piece_layout(COUNT, 4, 512, CGX_FLOAT32).bytes) != 0;
    free(other);
    return different;
}

static void test_dependence(void)
{
    struct cgx_coding coding = plain;

    ok(!differs(&coding), "the same coding gives the same bytes");
    coding.seed ^= 1;
    ok(differs(&coding), "the lower half of the seed counts");
    coding.seed = plain.seed ^ 1ull << 32;
    ok(differs(&coding), "the upper half of the seed counts");
    coding.seed = plain.seed;
    coding.call++;
    ok(differs(&coding), "the call counts");
    coding.call = plain.call;
    coding.stream++;
    ok(differs(&coding), "the stream counts");
}

/* Each bucket by itself, in pieces of their own and by every set, has the codes that it has within
 * the whole. */
static void test_pieces(const struct cgx_codec *codec)
{
    const struct cgx_piece whole = {.count = COUNT, .bits = 4};
    struct cgx_piece parts[COUNT / 512];
    size_t codes = cgx_piece_layout(COUNT, 4, 512, CGX_FLOAT32).plane[0], bytes;
    unsigned char *other = aligned_alloc(16, sizeof payload);
    bool same = true;

    encode(&plain, &whole, payload);
    bytes = cgx_piece_layout(512, 4, 512, CGX_FLOAT32).bytes;
    for (size_t i = 0; i < COUNT / 512; i++) /* in reverse */
        parts[i] = (struct cgx_piece){
            .first = COUNT - 512 * (i + 1), .count = 512, .bits = 4, .offset = bytes * i};
    cgx_codec_run(codec, &(struct cgx_work){CGX_ENCODE, &plain, parts, COUNT / 512, .in = values,
                                            .out = other});
    for (size_t i = 0; i < COUNT / 512; i++)
        same = same &&
               memcmp(other + parts[i].offset + 16, payload + codes + parts[i].first / 2, 256) == 0;
    ok(same, "%s: the codes of an element do not depend on its piece", codec->name);
    free(other);
}

int main(void)
{
    data_fill(DATA_GAUSSIAN, 1, values, COUNT);
    for (unsigned bits = 2; bits <= 8; bits++)
        test_bias(bits);
    test_dependence();
    for (int s = 0; s < DATA_SETS; s++) {
        const struct cgx_codec *codec = data_codec(s);

        if (codec != NULL)
            test_pieces(codec);
    }
    return done_testing();
}
