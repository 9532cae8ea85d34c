/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "allreduce_work.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "codec/quant.h"

static void *must(void *memory)
{
    if (!memory) {
        fprintf(stderr, "allreduce: memory is short\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

/* Each call sums COUNT elements of twice as many, from another place on: as gradients do, sums
 * differ from each other, and in size. */
enum { SHIFTS = 61, NEXT_SHIFT = 7, ALIGNED = 16 };
static size_t calls, first; /* so far, and the first element of the last one */

static const float *next_input(const struct work *work)
{
    first = calls++ * NEXT_SHIFT % SHIFTS * (work->count / SHIFTS / ALIGNED * ALIGNED);
    return work->in + first;
}

/* Element I of RANK: in (-1, 1), alike in nothing, and larger to the end. */
static float value(int rank, size_t i, size_t count)
{
    uint64_t x = ((uint64_t)rank << 40) + i + 1;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    x ^= x >> 31;
    return ((float)(x >> 40) * 0x1p-23F - 1) * (0.25F + 0.375F * (float)i / (float)count);
}

/* ---- sums of float16 by an op of the program's own, as Horovod does them ---- */

#ifdef __x86_64__
/* Eight at a time, where the processor can; all that have AVX2 convert halves too. */
__attribute__((target("avx,f16c"))) static size_t sum_eights(uint16_t *sum, const uint16_t *more,
                                                             size_t n)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        __m128i *place = (__m128i *)(void *)(sum + i);
        __m256 x = _mm256_cvtph_ps(_mm_loadu_si128(place));
        __m256 y = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(more + i)));

        _mm_storeu_si128(place, _mm256_cvtps_ph(_mm256_add_ps(x, y), _MM_FROUND_TO_NEAREST_INT));
    }
    return i;
}

static size_t sum_many(uint16_t *sum, const uint16_t *more, size_t n)
{
    return __builtin_cpu_supports("avx2") ? sum_eights(sum, more, n) : 0;
}
#else
static size_t sum_many(uint16_t *sum, const uint16_t *more, size_t n)
{
    (void)sum, (void)more, (void)n;
    return 0;
}
#endif

void half_sum(void *in, void *inout, int *count, MPI_Datatype *datatype)
{
    const uint16_t *more = in;
    uint16_t *sum = inout;
    size_t n = (size_t)*count;

    (void)datatype;
    for (size_t i = sum_many(sum, more, n); i < n; i++)
        sum[i] = cgx_to_float16(cgx_from_float16(sum[i]) + cgx_from_float16(more[i]));
}

/* ---- methods ---- */

static void plain(const struct work *work)
{
    PMPI_Allreduce(next_input(work), work->out, (int)work->count, MPI_FLOAT, MPI_SUM,
                   MPI_COMM_WORLD);
}

static void by_default(const struct work *work)
{
    MPI_Allreduce(next_input(work), work->out, (int)work->count, MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
}

static void compressed(const struct work *work)
{
    MPI_Allreduce(next_input(work), work->out, (int)work->count, MPI_FLOAT, MPI_SUM,
                  work->run->compressed);
}

static void float16(const struct work *work)
{
    PMPI_Allreduce(work->half_in, work->half_out, (int)work->count, work->run->half,
                   work->run->half_sum, MPI_COMM_WORLD);
}

static size_t buckets(const struct run *run, size_t count)
{
    return (count + run->bucket - 1) / run->bucket;
}

static size_t plain_bytes(const struct run *run, size_t count)
{
    (void)run;
    return count * sizeof(float);
}

static size_t half_bytes(const struct run *run, size_t count)
{
    (void)run;
    return count * sizeof(uint16_t);
}

static size_t compressed_bytes(const struct run *run, size_t count)
{
    return buckets(run, count) * (run->bucket * run->bits / 8 + 4);
}

struct method methods[METHODS + 1] = {
    {"plain", plain, plain_bytes, EXACT_SUM, true},
    {"default", by_default, NULL, NO_SUM, false},
    {"compressed", compressed, compressed_bytes, COMPRESSED_SUM, true},
    {"float16", float16, half_bytes, NO_SUM, true},
    {NULL, NULL, NULL, NO_SUM, false},
};

/* ---- is the result right? ---- */

static bool is_equal_everywhere(const struct work *work)
{
    uint64_t extremes[2], hash = 14695981039346656037U;

    for (size_t i = 0; i < work->count; i++) {
        uint32_t bits;

        memcpy(&bits, work->out + i, sizeof bits);
        hash = (hash ^ bits) * 1099511628211U;
    }
    extremes[0] = hash;
    extremes[1] = ~hash;
    PMPI_Allreduce(MPI_IN_PLACE, extremes, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    return extremes[0] == ~extremes[1];
}

/* All inputs lie in (-1, 1), so a partial sum of k of them has steps of at most 2 k / N: those of
 * the inputs, of the sum and, where hosts have several ranks, of a host's sum. Rounding is off by
 * half of them. */
static double bound_of(const struct run *run, const struct method *method)
{
    double levels = run->ranks == run->hosts ? 2 : 3;
    double step = 2 * 1.0079 * run->ranks / ((1 << run->bits) - 1);
    double rounding = run->ranks * 1e-6;

    return rounding + (method->sum == COMPRESSED_SUM ? (1 + 0x1p-8) * levels * step / 2 : 0);
}

bool work_check(const struct work *work, const struct method *method, double *error, double *bound)
{
    *error = 0;
    for (size_t i = 0; i < work->count; i++) {
        double sum = 0;

        for (int rank = 0; rank < work->run->ranks; rank++)
            sum += (double)value(rank, first + i, work->count);
        /* What is no number stays. */
        if (!(fabs(sum - (double)work->out[i]) <= *error))
            *error = fabs(sum - (double)work->out[i]);
    }
    *bound = bound_of(work->run, method);
    return is_equal_everywhere(work);
}

/* ---- buffers ---- */

void work_create(struct work *work, const struct run *run, size_t bytes)
{
    work->run = run;
    work->count = bytes / sizeof(float);
    work->in = must(malloc(2 * bytes));
    work->out = must(calloc(1, bytes));
    work->half_in = must(malloc(bytes));
    work->half_out = must(calloc(1, bytes));
    for (size_t i = 0; i < work->count; i++) {
        work->in[i] = value(run->rank, i, work->count);
        work->in[work->count + i] = value(run->rank, work->count + i, work->count);
        work->half_in[i] = cgx_to_float16(work->in[i]);
    }
}

void work_free(struct work *work)
{
    free(work->in);
    free(work->out);
    free(work->half_in);
    free(work->half_out);
}
