/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The host codec's speed: a short relative of bench/codec. */

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "info.h"

#include "codec/codec.h"
#include "codec/encoding.h"
#include "codec/uniform/uniform.h"

/* Too much for the caches of most processors, as gradients are. */
#define ELEMENTS ((size_t)1 << 22)
#define PART (ELEMENTS / INFO_RANKS)
#define LEAST_REPEATS 3
#define MOST_REPEATS 21
#define ENOUGH_NS 25e6

struct bench {
    const struct cgx_codec *codec;
    struct cgx_coding coding;
    unsigned encoding;
    float *input, *output;
    unsigned char *payload;
    size_t part_bytes; /* of the payload of a part */
};

typedef void operation(const struct bench *bench);

/* Of the thread, so that other load counts for less. */
static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The median, in ns. */
static double time_of(operation *operate, const struct bench *bench)
{
    double times[MOST_REPEATS], start, all = 0;
    int repeats = 0;

    operate(bench); /* the caches' first view of it */
    while (repeats < LEAST_REPEATS || (repeats < MOST_REPEATS && all < ENOUGH_NS)) {
        start = now();
        operate(bench);
        times[repeats] = now() - start;
        all += times[repeats++];
    }
    qsort(times, (size_t)repeats, sizeof times[0], compare);
    return times[repeats / 2];
}

static void copy_input(const struct bench *bench)
{
    memcpy(bench->output, bench->input, ELEMENTS * sizeof(float));
}

static void encode(const struct bench *bench)
{
    const struct cgx_piece piece = {.count = ELEMENTS, .bits = bench->encoding};

    cgx_codec_run(bench->codec, &(struct cgx_work){CGX_ENCODE, &bench->coding, &piece, 1,
                                                   .in = bench->input, .out = bench->payload});
}

static void decode(const struct bench *bench)
{
    const struct cgx_piece piece = {.count = ELEMENTS, .bits = bench->encoding};

    cgx_codec_run(bench->codec, &(struct cgx_work){CGX_DECODE, &bench->coding, &piece, 1,
                                                   .in = bench->payload, .out = bench->output});
}

static void encode_parts(const struct bench *bench)
{
    const struct cgx_piece piece = {.count = PART, .bits = bench->encoding};

    for (unsigned p = 1; p < INFO_RANKS; p++)
        cgx_codec_run(bench->codec,
                      &(struct cgx_work){CGX_ENCODE, &bench->coding, &piece, 1,
                                         .in = bench->input + p * PART,
                                         .out = bench->payload + p * bench->part_bytes});
}

/* The own part is not quantised before. */
static void reduce(const struct bench *bench)
{
    const struct cgx_piece piece = {.count = PART, .bits = bench->encoding};
    const unsigned char *sources[INFO_RANKS] = {NULL};

    for (unsigned p = 1; p < INFO_RANKS; p++)
        sources[p] = bench->payload + p * bench->part_bytes;
    cgx_codec_run(bench->codec,
                  &(struct cgx_work){CGX_REDUCE, &bench->coding, &piece, 1, sources, INFO_RANKS,
                                     .in = bench->input, .out = bench->payload});
}

/* Near enough to Gaussian gradients: sums of four uniform numbers. */
static void fill(float *values)
{
    uint64_t state = 1;

    for (size_t i = 0; i < ELEMENTS; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        values[i] = (float)(state >> 48 & 0xFFFF) + (float)(state >> 32 & 0xFFFF) +
                    (float)(state >> 24 & 0xFFFF) + (float)(state >> 40 & 0xFFFF) - 131070.0f;
    }
}

static void time_width(struct bench *bench, int family, unsigned width, struct info_speed *speed)
{
    bench->encoding = cgx_encoding_of((enum cgx_family)family, width);
    bench->coding.error = (float)cgx_uniform_error(width);
    bench->part_bytes = cgx_piece_layout(PART, bench->encoding, bench->coding.dtype).bytes;
    speed->encode = time_of(encode, bench) / ELEMENTS;
    speed->decode = time_of(decode, bench) / ELEMENTS;
    encode_parts(bench);
    speed->reduce = time_of(reduce, bench) * INFO_RANKS / ELEMENTS;
}

bool info_time_codec(const struct cgx_settings *settings, double *copy,
                     struct info_speed speeds[INFO_WIDTHS])
{
    struct bench bench = {.codec = cgx_codec_host(), .coding = {.dtype = CGX_FLOAT32}};
    size_t bytes = ELEMENTS * sizeof(float);
    bool had;

    bench.input = aligned_alloc(4096, bytes);
    bench.output = aligned_alloc(4096, bytes);
    bench.payload = aligned_alloc(4096, bytes); /* payloads take less */
    had = bench.input != NULL && bench.output != NULL && bench.payload != NULL;
    memset(speeds, 0, INFO_WIDTHS * sizeof speeds[0]);
    if (had) {
        fill(bench.input);
        memset(bench.payload, 0, bytes);
        *copy = (double)bytes / time_of(copy_input, &bench);
        for (unsigned bits = 1; bits <= INFO_WIDTHS; bits++)
            time_width(&bench, settings->codec, bits, &speeds[bits - 1]);
    }
    free(bench.payload);
    free(bench.output);
    free(bench.input);
    return had;
}
