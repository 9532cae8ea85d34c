/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The bytes of uniform quantisation: every set of kernels gives those of the specification, for
 * every type and for all kinds of blocks, into memory that holds anything; checksums must never
 * change within a format version. */

#include <stdlib.h>
#include <string.h>

#include "codec/encoding.h"
#include "lib/tap.h"
#include "unit/lib/uniform_data.h"
#include "unit/lib/uniform_encoder.h"

#define MOST (130 * 1024 + 7) /* groups go to the same sums again */
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

/* As elements of DTYPE, and back as what these hold. */
static void make_elements(enum cgx_dtype dtype, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        reference_narrow(dtype, values[i], elements + 1, i);
        values[i] = reference_widen(dtype, elements + 1, i);
    }
}

/* Fills payload NUMBER as far as one of COUNT elements, or one that does not fit, may go. */
static void fill(int number, int byte, size_t count)
{
    memset(payloads[number], byte, cgx_uniform_bytes(count) + 2 * GUARD + 16 * 1024);
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

    fill(0, 0xAA, count);
    fill(1, 0, count);
    used =
        uniform_encode(coding, values, 0, count, (struct uniform_before){0}, payloads[1] + GUARD);
    return data_code(codec, CGX_ENCODE, coding, &piece, elements + 1, payloads[0]) == CGX_OK &&
           memcmp(payloads[0] + GUARD, payloads[1] + GUARD, used) == 0 && used <= most &&
           cgx_uniform_used(payloads[0] + GUARD, count) == used && only_guard(payloads[0], GUARD) &&
           only_guard(payloads[0] + GUARD + most, GUARD);
}

/* Whether the payload is decoded to what the specification says, and nothing else is written. */
static bool decodes(const struct cgx_codec *codec, const struct cgx_coding *coding, size_t count)
{
    const struct cgx_piece piece = {.count = count, .bits = ENCODING, .offset = GUARD};
    size_t bytes = count * cgx_dtype_size(coding->dtype);
    unsigned char *out = decoded + count % 2, first[4 * MOST];

    memset(decoded, 0xAA, sizeof decoded);
    if (!uniform_decode(payloads[0] + GUARD, 0, count, sums))
        return false;
    for (size_t i = 0; i < count; i++)
        reference_narrow(coding->dtype, sums[i], first, i);
    return data_code(codec, CGX_DECODE, coding, &piece, payloads[0], out + GUARD) == CGX_OK &&
           memcmp(out + GUARD, first, bytes) == 0 && only_guard(out, GUARD) &&
           only_guard(out + GUARD + bytes, GUARD - 1);
}

/* A zero, while sources are added, is -0. */
static float source_of(float value)
{
    return value == 0 ? -0.0f : value;
}

static struct uniform_before before_of(const unsigned char *piece, size_t count, float to)
{
    const struct cgx_uniform_head head = cgx_uniform_head_of(piece);
    double step = (double)head.step;

    return (struct uniform_before){
        head.energy, head.elements, step * step * (double)head.elements / (12 * (double)count),
        (uint32_t)floorf((float)(head.key % 256) * (head.step / to) + .5f), true};
}

/* Whether the sum of the payload, of elements and perhaps of the payload is that of what these
 * decode to, encoded. The elements are those of the payload, or their negatives: some of the sums
 * are 0 and yet no zeros. */
static bool reduces(const struct cgx_codec *codec, const struct cgx_coding *coding, size_t count)
{
    const struct cgx_piece piece = {.count = count, .bits = ENCODING, .offset = GUARD};
    const unsigned char *sources[] = {payloads[0], NULL, payloads[0]};
    const struct uniform_before one = before_of(payloads[0] + GUARD, count, 1.5f * coding->step);
    const size_t nsources = 2 + coding->turn / 2 % 2;
    struct uniform_before before = one;
    struct cgx_coding next = *coding;
    size_t used;

    if (nsources == 3)
        before = (struct uniform_before){one.energy + one.energy, 2 * one.elements,
                                         one.noise + one.noise, 2 * one.shift, true};
    next.stream++;
    next.stage = 1 + (uint32_t)count % 3;
    next.step *= 1.5f;
    uniform_decode(payloads[0] + GUARD, 0, count, sums);
    for (size_t i = 0; i < count; i++) {
        float level = source_of(sums[i]);

        values[i] = coding->turn % 2 ? values[i] : -values[i];
        reference_narrow(coding->dtype, values[i], elements + 1, i);
        sums[i] = level + source_of(values[i]);
        sums[i] += nsources == 3 ? level : -0.0f;
    }
    fill(1, 0, count);
    fill(2, 0xAA, count);
    used = uniform_encode(&next, sums, 0, count, before, payloads[1] + GUARD);
    return data_sum(codec, CGX_REDUCE, &next, &piece, sources, nsources, elements + 1,
                    payloads[2]) == CGX_OK &&
           memcmp(payloads[2] + GUARD, payloads[1] + GUARD, used) == 0;
}

/* MOST finite values. Groups differ so much in size that their total tells in which order they were
 * added. */
static void fill_groups(uint64_t state)
{
    for (size_t i = 0; i < MOST; i++)
        values[i] = (float)(int32_t)(data_random(&state) >> 32) *
                    ldexpf(0x1p-31f, (int)(i / 1024 * 11 % 29) - 14);
}

static void test_set(const struct cgx_codec *codec, enum cgx_dtype dtype)
{
    static const size_t counts[] = {1, 63, 64, 65, 1023, 1024, 1025, 4 * 1024 + 100, 7 * 1024};
    static const float steps[] = {.01f, 1.25f, 40, 1}, floors[] = {0, .25f, .01f};
    bool encoded = true, is_decoded = true, reduced = true;

    for (uint32_t seed = 1; seed <= 300; seed++) {
        size_t count = seed < 297 ? counts[seed % 9] : MOST;
        struct cgx_coding coding = coding_of(dtype, steps[seed / 9 % 4]);

        coding.turn += seed;
        coding.floor = floors[seed / 36 % 3];
        if (count < MOST)
            uniform_fill(seed, coding.step, values, count);
        else
            fill_groups(seed);
        make_elements(dtype, count);
        if (encoded && !encodes(codec, &coding, count)) {
            diag("first at %zu elements, seed %d", count, (int)seed);
            encoded = false;
        }
        is_decoded = is_decoded && decodes(codec, &coding, count);
        reduced = reduced && reduces(codec, &coding, count);
    }
    ok(encoded, "%s: %s: the bytes of the specification", codec->name, data_dtypes[dtype]);
    ok(is_decoded, "%s: %s: decoded as specified", codec->name, data_dtypes[dtype]);
    ok(reduced, "%s: %s: sums are those of what is decoded", codec->name, data_dtypes[dtype]);
}

/* A block with a code above 252 has a parameter of at least 2; one with holes has codes. */
static void test_seen(void)
{
    bool all = true;

    for (unsigned kind = 0; kind < 16; kind++)
        for (unsigned form = 0; form < 31; form++) {
            bool own = kind < 12 || kind == 15;
            bool is = own ? form == (kind < 9 || kind == 15 ? kind : 8)
                          : uniform_may_have(kind, form) && form != 16 && form != 17 &&
                                (kind != 13 || form != 8);

            if (is != (uniform_seen[kind][form] > 0))
                diag("kind %u, form %u: %u", kind, form, uniform_seen[kind][form]);
            all = all && is == (uniform_seen[kind][form] > 0);
        }
    ok(all, "these had all kinds and forms of blocks");
}

/* Of elements from integers that depend on no library, at two steps. */
static void test_checksums(const struct cgx_codec *codec)
{
    static const uint64_t golden[2] = {0xD87A7DB1DF976CDDu, 0xC717B2AF1718801Fu};
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
           layout.words == 128 && cgx_uniform_bytes(5000) == 128 + 79 * 80 + 16,
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
    test_seen();
    return done_testing();
}
