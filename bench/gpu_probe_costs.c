/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpu_probe.h"

enum { CHEAP = 200000, DEAR = 5000 }; /* how often calls are made */

/* ---- calls ---- */

static void ask_type(CUdeviceptr pointer)
{
    unsigned type;

    probe.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer);
}

static void ask_type_of_host(void)
{
    ask_type((CUdeviceptr)(uintptr_t)probe.heap);
}

static void ask_type_of_device(void)
{
    ask_type(probe.memory);
}

static void ask_four(CUdeviceptr pointer)
{
    unsigned type, managed;
    int ordinal;
    CUcontext context;
    CUpointer_attribute names[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_CONTEXT};
    void *values[] = {&type, &managed, &ordinal, &context};

    probe.cuPointerGetAttributes(4, names, values, pointer);
}

static void ask_four_of_host(void)
{
    ask_four((CUdeviceptr)(uintptr_t)probe.heap);
}

static void ask_four_of_device(void)
{
    ask_four(probe.memory);
}

static void push_and_pop(void)
{
    CUcontext popped;

    probe.cuCtxPushCurrent(probe.context);
    probe.cuCtxPopCurrent(&popped);
}

static void exchange_mode(void)
{
    static CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

    probe.cuThreadExchangeStreamCaptureMode(&mode);
}

static void record(void)
{
    probe.cuEventRecord(probe.event, probe.apart);
}

static void record_legacy(void)
{
    probe.cuEventRecord(probe.event, CU_STREAM_LEGACY);
}

static void wait_for_event(void)
{
    probe.cuStreamWaitEvent(probe.apart, probe.event, 0);
}

static void record_and_synchronise(void)
{
    probe.cuEventRecord(probe.event, probe.apart);
    probe.cuEventSynchronize(probe.event);
}

static void fetch_little(void)
{
    probe.cuMemcpyDtoHAsync(probe.pinned, probe.memory, 65536, probe.apart);
    probe.cuStreamSynchronize(probe.apart);
}

static void time_call(const char *what, int times, void (*call)(void))
{
    double start;

    if (probe.soft) {
        call();
        probe_say("ns per call, %s: not timed", what);
        return;
    }
    for (int i = 0; i < times / 10; i++)
        call();
    start = probe_now();
    for (int i = 0; i < times; i++)
        call();
    probe_say("ns per call, %s: %.0f", what, (probe_now() - start) * 1e9 / times);
}

void probe_costs(void)
{
    time_call("cuPointerGetAttribute (TYPE), host memory unknown to CUDA", CHEAP, ask_type_of_host);
    time_call("cuPointerGetAttribute (TYPE), device memory", CHEAP, ask_type_of_device);
    if (probe.cuPointerGetAttributes != NULL) {
        time_call("cuPointerGetAttributes (4 at once), device memory", CHEAP, ask_four_of_device);
        time_call("cuPointerGetAttributes (4 at once), host memory unknown to CUDA", CHEAP,
                  ask_four_of_host);
    }
    time_call("cuCtxPushCurrent and cuCtxPopCurrent", CHEAP, push_and_pop);
    time_call("cuThreadExchangeStreamCaptureMode", CHEAP, exchange_mode);
    time_call("cuEventRecord", DEAR, record);
    time_call("cuEventRecord on the legacy stream", DEAR, record_legacy);
    time_call("cuStreamWaitEvent", DEAR, wait_for_event);
    time_call("cuEventRecord and cuEventSynchronize", DEAR, record_and_synchronise);
    if (probe.pinned != NULL)
        time_call("64 KiB to the host and cuStreamSynchronize", DEAR, fetch_little);
}

/* ---- order ---- */

/* Whether an event on the legacy stream comes after what is queued on STREAM. */
static void ask_order(const char *what, CUstream stream, CUdeviceptr memory, size_t bytes)
{
    CUresult before, recorded, waited, after;
    CUevent event;

    probe.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
    probe.cuCtxSynchronize();
    for (int i = 0; i < 40; i++)
        probe.cuMemsetD8Async(memory, (unsigned char)i, bytes, stream);
    before = probe.cuStreamQuery(stream);
    recorded = probe.cuEventRecord(event, CU_STREAM_LEGACY);
    waited = probe.cuEventSynchronize(event);
    after = probe.cuStreamQuery(stream);
    probe_say(
        "event on the legacy stream behind %s: record %s, wait %s; the work was %s before, %s "
        "after",
        what, probe_name(recorded), probe_name(waited),
        before == CUDA_ERROR_NOT_READY ? "pending" : "done (no answer)",
        after == CUDA_SUCCESS ? "done" : "pending");
    probe.cuCtxSynchronize();
    probe.cuEventDestroy(event);
}

void probe_order(void)
{
    size_t bytes = (size_t)(probe.soft ? 1 : 1024) << 20;
    CUdeviceptr memory;

    if (probe.cuMemAlloc(&memory, bytes) != CUDA_SUCCESS)
        return;
    ask_order("a blocking stream", probe.blocking, memory, bytes);
    if (!probe.soft)
        ask_order("the per-thread default stream", CU_STREAM_PER_THREAD, memory, bytes);
    ask_order("a non-blocking stream", probe.apart, memory, bytes);
    probe.cuMemFree(memory);
}

/* ---- the module ---- */

void probe_module(const char *image)
{
    FILE *file = fopen(image, "rb");
    size_t most = (size_t)64 << 20, got;
    char *bytes = calloc(1, most);
    CUmodule module;
    CUfunction function;
    CUresult loaded, found = CUDA_ERROR_NOT_FOUND;
    double start, middle, end;

    if (file == NULL || bytes == NULL) {
        probe_say("module load: %s cannot be read", image);
    } else {
        got = fread(bytes, 1, most - 1, file);
        start = probe_now();
        loaded = probe.cuModuleLoadData(&module, bytes);
        middle = probe_now();
        if (loaded == CUDA_SUCCESS)
            found = probe.cuModuleGetFunction(&function, module, "cgx_reduce_float32");
        end = probe_now();
        probe_say("module load, %zu bytes: cuModuleLoadData %s in %.2f ms, the first "
                  "cuModuleGetFunction %s in %.2f ms",
                  got, probe_name(loaded), (middle - start) * 1e3, probe_name(found),
                  (end - middle) * 1e3);
    }
    if (file != NULL)
        fclose(file);
    free(bytes);
}
