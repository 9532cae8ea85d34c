/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What quantisation with history is for: small elements beside large ones are not lost, and a
 * history that does not fit costs little. Its bytes: sets.c. */

#include <string.h>

#include "codec/history.h"
#include "codec/uniform/uniform.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"

#define COUNT (2 * 4096 + 700) /* the last bucket is incomplete */
#define FIRST 4096             /* where the piece begins */
#define ALL (FIRST + COUNT)

/* What is kept of the buffer. */
static struct kept {
    uint8_t scales[ALL + 64] __attribute__((aligned(64)));
    float fits[ALL / 64 + 2];
} kept;

static unsigned char payload[4 * COUNT] __attribute__((aligned(16)));

static struct cgx_history history = {kept.scales, kept.fits, 0};

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
                            .out = payload,
                            .history = history};
    bool done = cgx_codec_run(cgx_codec_host(), &work) == CGX_OK;

    work.history.age = number;
    work.operation = CGX_DECODE;
    work.in = payload;
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

    memset(&kept, 0, sizeof kept);
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

    memset(&kept, 0, sizeof kept);
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
    history.scales = kept.scales;
    ok(with < 1.1 * without, "%u: %s: error %.3f, without history %.3f", encoding, names[scene],
       with, without);
}

/* Buckets learn from sums whose squares add up to more than 2^-100 and less than 2^126. At one bit
 * elements are what they were. */
static void test_known(void)
{
    static const struct {
        float size;
        size_t count;
        bool known;
    } sums[] = {
        {0x1p59f, 255, true}, {0x1p59f, 256, false}, {0x1p-54f, 256, false}, {0x1p-54f, 257, true}};
    bool right = true;

    for (size_t n = 0; n < sizeof sums / sizeof *sums; n++) {
        static float values[ALL];

        memset(&kept, 0, sizeof kept);
        for (size_t i = 0; i < COUNT; i++)
            values[FIRST + i] = i < sums[n].count ? sums[n].size : 0;
        call(1, 0, values);
        right = right && (kept.fits[FIRST / 512] > 0) == sums[n].known;
    }
    ok(right, "a bucket learns from sums that are neither too small nor too large");
}

int main(void)
{
    /* Up to a multiple of 64 elements, and four bytes for each of 157 buckets. */
    ok(cgx_history_bytes(20011, 128) == 20032 + 4 * 157, "a history has a byte for each element");
    test_gain(4);
    test_known();
    for (int scene = 0; scene < SCENES; scene++) {
        test_change(4, (enum scene)scene);
        test_change(CGX_UNIFORM + 4, (enum scene)scene);
    }
    return done_testing();
}
