/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A caller's rounding mode, flush to zero, traps and exception flags neither change the bytes nor
 * are changed. */

#include <fenv.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include "lib/tap.h"
#include "unit/lib/codec_data.h"

#define COUNT 1000
#define BYTES 4096

static const struct cgx_piece pieces[] = {{.count = 512, .bits = 4},
                                          {.first = 512, .count = 256, .bits = 32, .offset = 1024},
                                          {.first = 768, .count = 232, .bits = 7, .offset = 2048}};
#define PIECES (sizeof pieces / sizeof *pieces)

struct outcome {
    unsigned char payload[BYTES] __attribute__((aligned(16))), sum[BYTES], decoded[4 * COUNT];
};

/* Encodes ELEMENTS, adds them to that, decodes the sum. */
static void run(const struct cgx_codec *codec, const struct cgx_coding *coding,
                const void *elements, struct outcome *outcome)
{
    const unsigned char *sources[] = {outcome->payload, NULL};

    memset(outcome, 0, sizeof *outcome);
    cgx_codec_run(codec, &(struct cgx_work){CGX_ENCODE, coding, pieces, PIECES, .in = elements,
                                            .out = outcome->payload});
    cgx_codec_run(codec, &(struct cgx_work){CGX_REDUCE, coding, pieces, PIECES, sources, 2,
                                            .in = elements, .out = outcome->sum});
    cgx_codec_run(codec, &(struct cgx_work){CGX_DECODE, coding, pieces, PIECES, .in = outcome->sum,
                                            .out = outcome->decoded});
}

#ifdef __SSE2__
#define MODES 9
/* Rounding in bits 13-14, FTZ 15, DAZ 6, masks 7-12, flags 0-5; the last traps what is invalid. */
static const unsigned modes[MODES] = {0x1F80, 0x3F80, 0x5F80, 0x7F80, 0x9F80,
                                      0x1FC0, 0xFFC0, 0x9FD5, 0x1F00};

static unsigned mode_set(int i)
{
    _mm_setcsr(modes[i]);
    return _mm_getcsr();
}

static unsigned mode_get(void)
{
    return _mm_getcsr();
}

static void mode_reset(void)
{
    _mm_setcsr(0x1F80);
}
#else
#define MODES 4

static unsigned mode_get(void)
{
    return (unsigned)fegetround() << 8 | (unsigned)fetestexcept(FE_ALL_EXCEPT);
}

static unsigned mode_set(int i)
{
    static const int modes[MODES] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};

    feclearexcept(FE_ALL_EXCEPT);
    fesetround(modes[i]);
    return mode_get();
}

static void mode_reset(void)
{
    fesetround(FE_TONEAREST);
}
#endif

static void test(const struct cgx_codec *codec, enum cgx_dtype dtype)
{
    const struct cgx_coding coding = {.dtype = dtype};
    static struct outcome usual, other;
    static float values[COUNT];
    static unsigned char elements[4 * COUNT];
    bool same = true, kept = true;

    for (size_t i = 0; i < COUNT; i += 125) /* subnormals and ties among them */
        data_fill(i % 250   ? DATA_SUBNORMAL
                  : i % 500 ? DATA_INTEGERS
                            : DATA_GAUSSIAN,
                  i, values + i, 125);
    values[900] = INFINITY;
    for (size_t i = 0; i < COUNT; i++)
        data_store(dtype, elements, i, values[i]);
    run(codec, &coding, elements, &usual);
    for (int i = 0; i < MODES; i++) {
        unsigned before = mode_set(i), after;

        run(codec, &coding, elements, &other);
        after = mode_get();
        mode_reset();
        same = same && memcmp(&usual, &other, sizeof usual) == 0;
        kept = kept && before == after;
    }
    ok(same, "%s: %s: the caller's rounding, FTZ, DAZ and traps change no byte", codec->name,
       data_dtypes[dtype]);
    ok(kept, "%s: %s: the caller's modes and flags are kept", codec->name, data_dtypes[dtype]);
}

/* ---- what is done while the codec is at work ---- */

struct seen {
    unsigned times, modes;
    bool kept;
};

static void look(void *state)
{
    struct seen *seen = state;

    seen->times++;
    seen->kept = seen->kept && mode_get() == seen->modes;
}

static void test_meanwhile(void)
{
    enum { MANY = 4 * CGX_MEANWHILE_ELEMENTS };
    const struct cgx_coding coding = {.dtype = CGX_FLOAT32};
    const struct cgx_piece piece = {.count = MANY, .bits = 4};
    unsigned char *alone = calloc(MANY, 1), *polled = calloc(MANY, 1);
    float *values = calloc(MANY, sizeof *values);
    struct seen seen = {0, mode_set(3), true};
    const struct cgx_meanwhile meanwhile = {look, &seen};
    struct cgx_work work = {CGX_ENCODE, &coding, &piece, 1, .in = values, .out = alone};

    mode_reset();
    data_fill(DATA_GAUSSIAN, 1, values, MANY);
    cgx_codec_run(cgx_codec_host(), &work);
    work.out = polled;
    work.meanwhile = &meanwhile;
    mode_set(3);
    cgx_codec_run(cgx_codec_host(), &work);
    mode_reset();
    ok(seen.times == 4, "%d elements: messages move on 4 times (%u)", MANY, seen.times);
    ok(seen.kept, "which is done with the caller's modes");
    ok(memcmp(alone, polled, MANY) == 0, "and changes no byte");
    free(alone);
    free(polled);
    free(values);
}

int main(void)
{
    data_test_all(test);
    test_meanwhile();
    return done_testing();
}
