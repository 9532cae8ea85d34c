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
    float fits[ALL / 1024 + 2];
} kept;

static unsigned char payload[4 * COUNT] __attribute__((aligned(16)));

static struct cgx_history history = {kept.scales, kept.fits, 0};

/* One call on the host, of VALUES alone at 4 bits: they are encoded, and decoded where they are. */
static void call(uint32_t number, float *values)
{
    const struct cgx_piece piece = {.first = FIRST, .count = COUNT, .bits = CGX_UNIFORM + 4};
    const struct cgx_coding coding = {.call = number, .error = (float)cgx_uniform_error(4)};
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
static double error_of_small(uint32_t number)
{
    static float values[ALL], were[ALL];
    double error = 0, power = 0;

    data_fill(DATA_GAUSSIAN, number + 1, values, ALL);
    for (size_t i = 0; i < ALL; i += 16)
        values[i] *= 100;
    memcpy(were, values, sizeof were);
    call(number, values);
    for (size_t i = FIRST; i < ALL; i++) {
        error += i % 16 == 0 ? 0 : (values[i] - were[i]) * (values[i] - were[i]);
        power += i % 16 == 0 ? 0 : were[i] * were[i];
    }
    return error / power;
}

static void test_gain(void)
{
    double first, last = 0;

    memset(&kept, 0, sizeof kept);
    first = error_of_small(0);
    for (uint32_t number = 1; number < 200; number++) {
        double error = error_of_small(number);

        last += number < 190 ? 0 : error / 10;
    }
    ok(first > .9, "beside large elements small ones are lost: error %.3f", first);
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
static double error_after(enum scene scene)
{
    static float values[ALL], were[ALL];
    double error = 0, power = 0;

    memset(&kept, 0, sizeof kept);
    for (uint32_t number = 0; number < CHANGE + WITHIN + MEASURED; number++) {
        fill_scene(scene, number, values);
        memcpy(were, values, sizeof were);
        call(number, values);
        for (size_t i = FIRST; number >= CHANGE + WITHIN && number % 2 && i < ALL; i++) {
            error += (values[i] - were[i]) * (values[i] - were[i]);
            power += were[i] * were[i];
        }
    }
    return sqrt(error / power);
}

/* A history that no longer fits costs no more than a tenth over none. */
static void test_change(enum scene scene)
{
    static const char *const names[] = {"one sum that is 1000 times as large", "two models in turn",
                                        "one element of 128, then all"};
    double with = error_after(scene), without;

    history.scales = NULL;
    without = error_after(scene);
    history.scales = kept.scales;
    ok(with < 1.1 * without, "%s: error %.3f, without history %.3f", names[scene], with, without);
}

/* Buckets learn from sums whose squares add up to more than 2^-100 and less than 2^126. */
static void test_known(void)
{
    ok(cgx_history_is_known(0x1.fffffep125f) && cgx_history_is_known(0x1.000002p-100f) &&
           !cgx_history_is_known(0x1p126f) && !cgx_history_is_known(0x1p-100f) &&
           !cgx_history_is_known(0) && !cgx_history_is_known(INFINITY) &&
           !cgx_history_is_known(NAN),
       "a bucket learns from sums that are neither too small nor too large");
}

int main(void)
{
    /* Up to a multiple of 64 elements, and four bytes for each of 20 buckets. */
    ok(cgx_history_bytes(20011) == 20032 + 4 * 20, "a history has a byte for each element");
    test_gain();
    test_known();
    for (int scene = 0; scene < SCENES; scene++)
        test_change((enum scene)scene);
    return done_testing();
}
