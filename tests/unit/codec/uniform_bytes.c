/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The bytes of uniform quantisation: every set of kernels gives those of the specification, for
 * every type and for all kinds of blocks, into memory that holds anything; checksums must never
 * change within a format version. */

#include <stdlib.h>
#include <string.h>

#include "codec/encoding.h"
#include "lib/tap.h"
#include "unit/lib/uniform_reference.h"

#define MOST (7 * 1024)
#define GUARD 64

#define ENCODING (CGX_UNIFORM + 2)

static float values[MOST], sums[MOST];
static unsigned char elements[4 * MOST + 1], decoded[4 * MOST + 2 * GUARD];
static unsigned char payloads[3][16 * MOST] __attribute__((aligned(64)));

static struct cgx_coding coding_of(enum cgx_dtype dtype, float step)
{
    return (struct cgx_coding){
        .dtype = dtype, .bucket_size = 512, .turn = 1000, .stream = 4, .step = step};
}

/* Blocks of many kinds: of all scales, with codes that are too large, of zeros, with NaN. */
static void make_values(uint64_t seed, size_t count)
{
    uint64_t state = seed;

    for (size_t i = 0; i < count; i += 64) {
        double scale = exp(data_gaussian(&state) * (double)(seed % 4));
        unsigned what = (unsigned)(data_random(&state) % 16);

        for (size_t j = i; j < i + 64 && j < count; j++) {
            values[j] = (float)(data_gaussian(&state) * scale);
            if (what == 0)
                values[j] = j % 2 ? 0.0f : -0.0f;
            else if (what == 1)
                values[j] *= 0x1p-20f;
        }
        if (what == 2 && seed % 3 == 0)
            values[i] = seed % 2 ? NAN : -INFINITY;
        else if (what == 3 && seed % 5 == 0)
            values[i] = 0x1.8p100f;
    }
    if (seed % 7 == 0) /* so many that groups are poisoned */
        for (size_t i = 0; i < count; i += 64)
            values[i] = i / 64 % 3 ? INFINITY : 1e30f;
}

/* As elements of DTYPE, and back as what these hold. */
static void make_elements(enum cgx_dtype dtype, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        reference_narrow(dtype, values[i], elements + 1, i);
        values[i] = reference_widen(dtype, elements + 1, i);
    }
}

static bool only_guard(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != 0xAA)
            return false;
    return true;
}

/* Whether CODEC encodes to the bytes of the specification, and says how many it uses. */
static bool encodes(const struct cgx_codec *codec, const struct cgx_coding *coding, size_t count)
{
    const struct cgx_piece piece = {.count = count, .bits = ENCODING, .offset = GUARD};
    size_t used, most = cgx_piece_layout(count, ENCODING, 512, coding->dtype).bytes;

    memset(payloads[0], 0xAA, sizeof payloads[0]);
    memset(payloads[1], 0, sizeof payloads[1]);
    used =
        uniform_encode(coding, values, 0, count, (struct uniform_before){0}, payloads[1] + GUARD);
    return data_code(codec, CGX_ENCODE, coding, &piece, elements + 1, payloads[0]) == CGX_OK &&
           memcmp(payloads[0] + GUARD, payloads[1] + GUARD, used) == 0 && used <= most &&
           cgx_uniform_used(payloads[0] + GUARD, count) == used && only_guard(payloads[0], GUARD) &&
           only_guard(payloads[0] + GUARD + most, GUARD);
}

/* Whether elements are decoded to what the first set decodes them to, and nothing else is. */
static bool decodes(const struct cgx_codec *codec, const struct cgx_coding *coding, size_t count)
{
    const struct cgx_piece piece = {.count = count, .bits = ENCODING, .offset = GUARD};
    static unsigned char first[4 * MOST];
    size_t bytes = count * cgx_dtype_size(coding->dtype);
    unsigned char *out = decoded + count % 2;

    memset(decoded, 0xAA, sizeof decoded);
    data_code(cgx_codec_host_named("portable"), CGX_DECODE, coding, &piece, payloads[0], first);
    return data_code(codec, CGX_DECODE, coding, &piece, payloads[0], out + GUARD) == CGX_OK &&
           memcmp(out + GUARD, first, bytes) == 0 && only_guard(out, GUARD) &&
           only_guard(out + GUARD + bytes, GUARD - 1);
}

/* Whether the sum of the payload, of elements and of the payload is that of what these decode to,
 * encoded. */
static bool reduces(const struct cgx_codec *codec, const struct cgx_coding *coding, size_t count)
{
    const struct cgx_piece piece = {.count = count, .bits = ENCODING, .offset = GUARD};
    const unsigned char *sources[] = {payloads[0], NULL, payloads[0]};
    struct cgx_coding next = *coding, plain = *coding;
    const struct cgx_uniform_head head = cgx_uniform_head_of(payloads[0] + GUARD);
    double step = (double)head.step,
           noise = step * step * (double)head.elements / (12 * (double)count);
    struct uniform_before before = {head.energy + head.energy, 2 * head.elements, noise + noise, 0};
    size_t used;

    next.stream++;
    next.stage = 1 + (uint32_t)count % 3;
    next.step *= 1.5f;
    before.shift = 2 * (uint32_t)floorf((float)(head.key % 256) * (head.step / next.step) + .5f);
    plain.dtype = CGX_FLOAT32;
    data_code(cgx_codec_host_named("portable"), CGX_DECODE, &plain, &piece, payloads[0], sums);
    for (size_t i = 0; i < count; i++) {
        float level = sums[i];

        sums[i] = level + values[i];
        sums[i] += level;
    }
    memset(payloads[1], 0, sizeof payloads[1]);
    memset(payloads[2], 0xAA, sizeof payloads[2]);
    used = uniform_encode(&next, sums, 0, count, before, payloads[1] + GUARD);
    return data_sum(codec, CGX_REDUCE, &next, &piece, sources, 3, elements + 1, payloads[2]) ==
               CGX_OK &&
           memcmp(payloads[2] + GUARD, payloads[1] + GUARD, used) == 0;
}

static void test_set(const struct cgx_codec *codec, enum cgx_dtype dtype)
{
    static const size_t counts[] = {1, 63, 64, 65, 1023, 1024, 1025, 4 * 1024 + 100, MOST};
    static const float steps[] = {.01f, .1f, 1.25f, 40};
    bool encoded = true, decoded_alike = true, reduced = true;

    for (uint64_t seed = 1; seed <= 60; seed++) {
        size_t count = counts[seed % 9];
        struct cgx_coding coding = coding_of(dtype, steps[seed / 9 % 4]);

        make_values(seed, count);
        make_elements(dtype, count);
        if (encoded && !encodes(codec, &coding, count)) {
            diag("first at %zu elements, seed %d", count, (int)seed);
            encoded = false;
        }
        decoded_alike = decoded_alike && decodes(codec, &coding, count);
        reduced = reduced && reduces(codec, &coding, count);
    }
    ok(encoded, "%s: %s: the bytes of the specification", codec->name, data_dtypes[dtype]);
    ok(decoded_alike, "%s: %s: decoded alike", codec->name, data_dtypes[dtype]);
    ok(reduced, "%s: %s: sums are those of what is decoded", codec->name, data_dtypes[dtype]);
}

/* Of elements from integers that depend on no library, at two steps. */
static void test_checksums(const struct cgx_codec *codec)
{
    static const uint64_t golden[2] = {0xDE0A8EFF79D2735Eu, 0x8DDC4CC4F8DD26A8u};
    bool same = true;

    for (int i = 0; i < 2; i++) {
        const struct cgx_piece piece = {.first = 2048, .count = 3000, .bits = ENCODING};
        struct cgx_coding coding = coding_of(CGX_FLOAT32, i == 0 ? 0.75f : 0x1p-12f);
        uint64_t state = 5, sum;

        for (int k = 0; k < 5048; k++)
            values[k] =
                (float)(int32_t)(data_random(&state) >> 32) * 0x1p-31f * (float)(1u << k / 64 % 11);
        data_code(codec, CGX_ENCODE, &coding, &piece, values, payloads[0]);
        sum = data_checksum(payloads[0], cgx_uniform_used(payloads[0], 3000));
        if (sum != golden[i])
            diag("0x%016llX", (unsigned long long)sum);
        same = same && sum == golden[i];
    }
    ok(same, "%s: the bytes of this version of the format", codec->name);
}

static void test_layout(void)
{
    struct cgx_uniform_layout layout = cgx_uniform_layout_of(5000);

    ok(layout.groups == 5 && layout.ends == 32 && layout.exponents == 64 && layout.kinds == 80 &&
           layout.words == 128 && cgx_uniform_bytes(5000) == 128 + 79 * 64 + 16,
       "5000 elements are 5 groups, of 79 blocks");
    ok(cgx_piece_layout(5000, ENCODING, 512, CGX_BFLOAT16).bytes == cgx_uniform_bytes(5000),
       "the bytes of a piece are the most that it may have");
}

int main(void)
{
    test_layout();
    for (int set = 0; set < DATA_SETS; set++) {
        const struct cgx_codec *codec = data_codec(set);

        if (codec == NULL)
            continue;
        for (int dtype = 0; dtype < 3; dtype++)
            test_set(codec, (enum cgx_dtype)dtype);
        test_checksums(codec);
    }
    return done_testing();
}
