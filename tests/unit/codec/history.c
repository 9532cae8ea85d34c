/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Quantisation with history: every set of kernels leaves the payloads, elements, scales and fits
 * that are specified, call after call, whatever families these are of. */

#include <string.h>

#include "codec/uniform/uniform.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/codec_reference.h"

#define COUNT (2 * 4096 + 700) /* the last bucket is incomplete */
#define FIRST 4096             /* where the piece begins */
#define ALL (FIRST + COUNT)
#define CALLS 8

/* What is kept of the buffer, twice: as specified, and as the codec leaves it. */
static struct kept {
    uint8_t scales[ALL + 64] __attribute__((aligned(64)));
    float fits[ALL / 64 + 2];
} kept[2];

static unsigned char elements[4 * ALL + 1];
static unsigned char payload[4 * COUNT] __attribute__((aligned(16)));
static unsigned char results[2][4 * COUNT] __attribute__((aligned(16)));
static unsigned char decoded[2][4 * ALL + 1];
static float divided[ALL], levels[ALL];

static struct cgx_history history = {kept[1].scales, kept[1].fits, 0};

/* ---- the specification ---- */

static float scale_at(size_t i)
{
    unsigned code = kept[0].scales[i];

    return ldexpf(1 + (float)(code % 32) / 32, (int)(code / 32));
}

/* The greatest code whose scale is not above VALUE, or the next, where RANDOM is more than what is
 * left to it. */
static unsigned code_of(float value, uint32_t random)
{
    int exponent;
    double mantissa = 64 * frexp((double)value, &exponent), part = mantissa - floor(mantissa);
    double code = 32 * (exponent - 1) + floor(mantissa) - 32;

    if (floor(part * 262144) + (random >> 14) >= 262144)
        code++;
    return code < 255 ? (unsigned)code : 255;
}

/* Enters SUM, the COUNT elements of a bucket of SIZE from element FIRST on. */
static void enter(const struct cgx_coding *coding, const float *sum, size_t size, size_t first,
                  size_t count)
{
    size_t block = coding->bucket_size < 1024 ? coding->bucket_size : 1024;
    float sums[4096] = {0}, quotients[4096] = {0}, *fits = &kept[0].fits[first / block];
    float weight = history.age < 24 ? 2 / ((float)history.age + 5) : .04f;
    uint32_t key = cgx_call_key(coding->call);
    bool is_new = fits[0] == 0;
    float power, now, part, factor;

    if (!is_new && history.age >= 24 && cgx_mix(~key - (uint32_t)first) >= (uint32_t)1 << 30)
        return;
    for (size_t i = 0; i < count; i++) {
        sums[i] = sum[i];
        quotients[i] = sum[i] * (1 / scale_at(first + i));
    }
    power = reference_square_sum(sums, size);
    if (!(power > 0x1p-100f && power < 0x1p126f))
        return;
    now = .75f * fits[0] + .25f * (81 * (reference_square_sum(quotients, size) / power));
    weight = is_new ? 1 : weight;
    now = is_new ? 2 : now;
    part = now < 1 ? 1 : 1 / now;
    factor = 64 * weight * part * ((float)count / power);
    for (size_t i = 0; i < count; i++) {
        float root = scale_at(first + i) - 1;
        float square = (1 - weight) * part * (root * root) + factor * (sum[i] * sum[i]);
        float scale = 1 + sqrtf(square + (64 - 64 * part));

        kept[0].scales[first + i] =
            (uint8_t)code_of(scale, (uint32_t)(first + i) * 0x9E3779B9u + key);
        fits[i / block] = now < 1 ? now : 1;
    }
}

/* ---- calls ---- */

static void divide(enum cgx_dtype dtype)
{
    for (size_t i = FIRST; i < ALL; i++)
        divided[i] = reference_widen(dtype, elements + 1, i) * (1 / scale_at(i));
}

static void make_elements(enum cgx_dtype dtype, enum data_kind kind, uint64_t seed)
{
    for (size_t i = 0; i < ALL; i++) {
        float value = data_value(kind, &seed);

        if (dtype == CGX_FLOAT16)
            value = fmodf(value, 50); /* times the widest scale still in the type */
        reference_narrow(dtype, value, elements + 1, i);
    }
}

static bool encodes(const struct cgx_codec *codec, const struct cgx_coding *coding,
                    const struct cgx_piece *piece)
{
    const struct cgx_work work = {.operation = CGX_ENCODE,
                                  .coding = coding,
                                  .pieces = piece,
                                  .npieces = 1,
                                  .in = elements + 1,
                                  .out = results[1],
                                  .history = history};
    struct cgx_coding wide = *coding;

    wide.dtype = CGX_FLOAT32;
    divide(coding->dtype);
    memset(results, 0, sizeof results);
    reference_encode(&wide, piece, divided, results[0]);
    memcpy(payload, results[0], sizeof payload);
    return cgx_codec_run(codec, &work) == CGX_OK &&
           memcmp(results[0], results[1], sizeof results[0]) == 0;
}

/* The buffer's elements, after a payload. */
static bool reduces(const struct cgx_codec *codec, const struct cgx_coding *coding,
                    const struct cgx_piece *piece)
{
    const unsigned char *sources[] = {payload, NULL};
    struct cgx_coding wide = *coding;
    const struct cgx_work work = {.operation = CGX_REDUCE,
                                  .coding = coding,
                                  .pieces = piece,
                                  .npieces = 1,
                                  .sources = sources,
                                  .nsources = 2,
                                  .in = elements + 1,
                                  .out = results[1],
                                  .history = history};

    wide.dtype = CGX_FLOAT32;
    memset(results, 0, sizeof results);
    reference_reduce(&wide, piece, sources, 2, divided, results[0]);
    return cgx_codec_run(codec, &work) == CGX_OK &&
           memcmp(results[0], results[1], sizeof results[0]) == 0;
}

static bool decodes(const struct cgx_codec *codec, const struct cgx_coding *coding,
                    const struct cgx_piece *piece)
{
    const struct cgx_work work = {.operation = CGX_DECODE,
                                  .coding = coding,
                                  .pieces = piece,
                                  .npieces = 1,
                                  .in = results[1],
                                  .out = decoded[1] + 1,
                                  .history = history};
    size_t size = piece->bits <= 8 ? coding->bucket_size : 1024;
    struct cgx_coding wide = *coding;

    wide.dtype = CGX_FLOAT32;
    reference_decode(&wide, piece, results[0], levels);
    memset(decoded, 0, sizeof decoded);
    for (size_t i = FIRST; i < ALL; i++) {
        levels[i] *= scale_at(i);
        reference_narrow(coding->dtype, levels[i], decoded[0] + 1, i);
    }
    for (size_t at = FIRST; at < ALL; at += size)
        enter(coding, levels + at, size, at, ALL - at < size ? ALL - at : size);
    return cgx_codec_run(codec, &work) == CGX_OK &&
           memcmp(decoded[0], decoded[1], sizeof decoded[0]) == 0 &&
           memcmp(&kept[0], &kept[1], sizeof kept[0]) == 0;
}

static bool is_same(const struct cgx_codec *codec, enum cgx_dtype dtype, unsigned bucket_size,
                    unsigned bits, enum data_kind kind)
{
    struct cgx_piece piece = {.first = FIRST, .count = COUNT};
    struct cgx_coding coding = {.dtype = dtype, .bucket_size = bucket_size};

    memset(kept, 0, sizeof kept);
    for (; coding.call < CALLS; coding.call++) {
        history.age = coding.call + 20; /* it ceases to be young */
        piece.bits = bits;
        make_elements(dtype, kind, coding.call + bits);
        if (!encodes(codec, &coding, &piece) || !reduces(codec, &coding, &piece) ||
            !decodes(codec, &coding, &piece))
            return false;
    }
    return true;
}

/* ---- what it is for ---- */

/* One call on the host, of VALUES alone at 4 bits: they are encoded, and decoded where they are. */
static void call(unsigned encoding, uint32_t number, float *values)
{
    const struct cgx_piece piece = {.first = FIRST, .count = COUNT, .bits = encoding};
    const struct cgx_coding coding = {
        .bucket_size = 512, .call = number, .error = (float)cgx_uniform_error(4)};
    struct cgx_work work = {.operation = CGX_ENCODE,
                            .coding = &coding,
                            .pieces = &piece,
                            .npieces = 1,
                            .in = values,
                            .out = results[1],
                            .history = history};
    bool done = cgx_codec_run(cgx_codec_host(), &work) == CGX_OK;

    work.history.age = number;
    work.operation = CGX_DECODE;
    work.in = results[1];
    work.out = values;
    if (!done || cgx_codec_run(cgx_codec_host(), &work) != CGX_OK)
        ok(false, "call %u", number);
}

/* Every 16th element is 100 times larger than the others. Returns how far these are from what they
 * were, relative and squared. */
static double error_of_small(unsigned encoding, uint32_t number)
{
    static float values[ALL], were[ALL];
    double error = 0, power = 0;

    data_fill(DATA_GAUSSIAN, number + 1, values, ALL);
    for (size_t i = 0; i < ALL; i += 16)
        values[i] *= 100;
    memcpy(were, values, sizeof were);
    call(encoding, number, values);
    for (size_t i = FIRST; i < ALL; i++) {
        error += i % 16 == 0 ? 0 : (values[i] - were[i]) * (values[i] - were[i]);
        power += i % 16 == 0 ? 0 : were[i] * were[i];
    }
    return error / power;
}

static void test_gain(unsigned encoding)
{
    double first, last = 0;

    memset(kept, 0, sizeof kept);
    first = error_of_small(encoding, 0);
    for (uint32_t number = 1; number < 200; number++) {
        double error = error_of_small(encoding, number);

        last += number < 190 ? 0 : error / 10;
    }
    ok(first > .9, "%u: beside large elements small ones are lost: error %.3f", encoding, first);
    ok(last < .2, "... and with their history they are not: %.3f", last);
}

enum scene { SPIKE, TWO_MODELS, THAW, SCENES };
enum { CHANGE = 40, WITHIN = 50, MEASURED = 20 }; /* sums */

static void fill_scene(enum scene scene, uint32_t number, float *values)
{
    static float sizes[ALL];
    bool second = scene == TWO_MODELS && number % 2;

    data_fill(DATA_GAUSSIAN, second ? 4321 : 1234, sizes, ALL);
    data_fill(DATA_GAUSSIAN, number + 1, values, ALL);
    for (size_t i = 0; i < ALL; i++) {
        values[i] *= expf(sizes[i]) * (second ? .01f : 1);
        if (scene == SPIKE && number == CHANGE)
            values[i] *= 1000;
        if (scene == THAW && number < CHANGE && i % 128 != 5)
            values[i] = 0;
    }
}

/* The error of sums that come WITHIN sums after the change; of two models, of the second. */
static double error_after(unsigned encoding, enum scene scene)
{
    static float values[ALL], were[ALL];
    double error = 0, power = 0;

    memset(kept, 0, sizeof kept);
    for (uint32_t number = 0; number < CHANGE + WITHIN + MEASURED; number++) {
        fill_scene(scene, number, values);
        memcpy(were, values, sizeof were);
        call(encoding, number, values);
        for (size_t i = FIRST; number >= CHANGE + WITHIN && number % 2 && i < ALL; i++) {
            error += (values[i] - were[i]) * (values[i] - were[i]);
            power += were[i] * were[i];
        }
    }
    return sqrt(error / power);
}

/* A history that no longer fits costs no more than a tenth over none. */
static void test_change(unsigned encoding, enum scene scene)
{
    static const char *const names[] = {"one sum that is 1000 times as large", "two models in turn",
                                        "one element of 128, then all"};
    double with = error_after(encoding, scene), without;

    history.scales = NULL;
    without = error_after(encoding, scene);
    history.scales = kept[1].scales;
    ok(with < 1.1 * without, "%u: %s: error %.3f, without history %.3f", encoding, names[scene],
       with, without);
}

/* Elements that were always zero are so afterwards, and a NaN leaves the history of its bucket. */
static void test_zeros_and_nan(void)
{
    static float values[ALL];
    static struct kept before;
    bool zeros = true;

    memset(kept, 0, sizeof kept);
    for (uint32_t number = 0; number < 5; number++) {
        data_fill(DATA_GAUSSIAN, number + 9, values, ALL);
        for (size_t i = 0; i < ALL; i += 2)
            values[i] = 0;
        call(4, number, values);
        for (size_t i = FIRST; i < ALL; i += 2)
            zeros = zeros && values[i] == 0;
    }
    ok(zeros, "zeros stay zeros");
    before = kept[1];
    data_fill(DATA_GAUSSIAN, 77, values, ALL);
    values[FIRST + 600] = NAN;
    call(4, 5, values);
    ok(isnan(values[FIRST + 512]) && isnan(values[FIRST + 1023]) && !isnan(values[FIRST + 511]),
       "a NaN is one in its bucket");
    ok(memcmp(before.scales + FIRST + 512, kept[1].scales + FIRST + 512, 512) == 0 &&
           before.fits[FIRST / 512 + 1] == kept[1].fits[FIRST / 512 + 1] &&
           memcmp(before.scales + FIRST + 1024, kept[1].scales + FIRST + 1024, COUNT - 1024) != 0,
       "... whose history stays as it was, while others learn");
}

int main(void)
{
    for (int set = 0; set < DATA_SETS; set++) {
        const struct cgx_codec *codec = data_codec(set);

        for (int dtype = 0; codec != NULL && dtype < 3; dtype++)
            data_test_widths(codec, (enum cgx_dtype)dtype, 1, is_same,
                             "payloads, elements, scales and fits");
    }
    test_gain(4);
    for (int scene = 0; scene < SCENES; scene++) {
        test_change(4, (enum scene)scene);
        test_change(CGX_UNIFORM + 4, (enum scene)scene);
    }
    test_zeros_and_nan();
    return done_testing();
}
