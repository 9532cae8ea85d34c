/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "driver_calls.h"

enum { MOST_TIMED = 4096 };

static const struct bench_device *device;
static struct cgx_cuda original;
static struct bench_calls counted;

/* What is timed: spans between two events of a stream. */
static bool timing;
static int ntimed;
static struct span {
    CUevent begin, end;
    double *seconds; /* that it is added to */
} spans[MOST_TIMED];

/* NULL: it is not timed. */
static struct span *begin_span(double *seconds, CUstream stream)
{
    struct span *span = &spans[ntimed];

    if (!timing || ntimed == MOST_TIMED)
        return NULL;
    bench_must(original.cuEventCreate(&span->begin, 0), "cuEventCreate");
    bench_must(original.cuEventCreate(&span->end, 0), "cuEventCreate");
    bench_must(original.cuEventRecord(span->begin, stream), "cuEventRecord");
    span->seconds = seconds;
    ntimed++;
    return span;
}

static CUresult end_span(const struct span *span, CUresult code, CUstream stream)
{
    if (span != NULL)
        bench_must(original.cuEventRecord(span->end, stream), "cuEventRecord");
    return code;
}

static CUresult launch(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned tx,
                       unsigned ty, unsigned tz, unsigned shared, CUstream stream,
                       void **parameters, void **extra)
{
    struct span *span = begin_span(&counted.kernels, stream);

    counted.launches++;
    return end_span(
        span,
        original.cuLaunchKernel(function, x, y, z, tx, ty, tz, shared, stream, parameters, extra),
        stream);
}

static CUresult copy_down(void *host, CUdeviceptr from, size_t bytes, CUstream stream)
{
    struct span *span = begin_span(&counted.copies, stream);

    counted.down += (double)bytes;
    return end_span(span, original.cuMemcpyDtoHAsync(host, from, bytes, stream), stream);
}

static CUresult copy_up(CUdeviceptr to, const void *host, size_t bytes, CUstream stream)
{
    struct span *span = begin_span(&counted.copies, stream);

    counted.up += (double)bytes;
    return end_span(span, original.cuMemcpyHtoDAsync(to, host, bytes, stream), stream);
}

static CUresult copy_across(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    struct span *span = begin_span(&counted.copies, stream);

    counted.across += (double)bytes;
    return end_span(span, original.cuMemcpyDtoDAsync(to, from, bytes, stream), stream);
}

const struct cgx_cuda *bench_calls_begin(const struct bench_device *of)
{
    /* Constant to others than the file that fills it. */
    struct cgx_cuda *table = (struct cgx_cuda *)cgx_cuda();

    device = of;
    original = *table;
    table->cuLaunchKernel = launch;
    table->cuMemcpyDtoHAsync = copy_down;
    table->cuMemcpyHtoDAsync = copy_up;
    table->cuMemcpyDtoDAsync = copy_across;
    return &original;
}

void bench_calls_reset(bool timed)
{
    counted = (struct bench_calls){.launches = 0};
    timing = timed && device->elapsed != NULL;
    ntimed = 0;
}

struct bench_calls bench_calls_end(void)
{
    timing = false;
    for (int i = 0; i < ntimed; i++) {
        float milliseconds = 0;

        bench_must(original.cuEventSynchronize(spans[i].end), "cuEventSynchronize");
        bench_must(device->elapsed(&milliseconds, spans[i].begin, spans[i].end),
                   "cuEventElapsedTime");
        *spans[i].seconds += milliseconds * 1e-3;
        original.cuEventDestroy(spans[i].begin);
        original.cuEventDestroy(spans[i].end);
    }
    ntimed = 0;
    return counted;
}
