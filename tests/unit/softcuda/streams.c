/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The software CUDA driver carries out what is queued as late as it may be, and of different
 * streams only what the rules order. What was carried out shows in pinned memory. */

#include "unit/lib/softcuda_helpers.h"

#include <pthread.h>

enum { WORDS = 16 };

static CUcontext context;
static CUstream blocking, blocking2, loose, loose2; /* loose: non-blocking */
static CUdeviceptr ones, words;
static CUevent event;
static unsigned *pinned;

/* All is carried out and shows nothing. */
static void start(void)
{
    must(cuMemsetD32(ones, 1, WORDS));
    must(cuMemsetD32(words, 0, WORDS));
    must(cuCtxSynchronize());
    memset(pinned, 0, WORDS * sizeof *pinned);
}

/* Queues what makes pinned[WHICH] 1. */
static void show(CUstream stream, int which)
{
    must(cuMemcpyDtoHAsync(&pinned[which], ones, sizeof *pinned, stream));
}

static bool shows(unsigned zeroth, unsigned first, unsigned second)
{
    return pinned[0] == zeroth && pinned[1] == first && pinned[2] == second;
}

static unsigned word(unsigned which)
{
    return word_at(words + which * sizeof(unsigned));
}

/* ---- when ---- */

static void test_copies(void)
{
    unsigned pageable = 5;

    start();
    pinned[0] = 5;
    must(cuMemcpyHtoDAsync(words, pinned, sizeof *pinned, loose));
    must(cuMemcpyHtoDAsync(words + 4, &pageable, sizeof pageable, loose));
    pinned[0] = pageable = 6;
    must(cuStreamSynchronize(loose));
    ok(word(0) == 6, "pinned memory is read when a copy is carried out");
    ok(word(1) == 5, "pageable memory is read at the call");

    start();
    show(loose, 0);
    ok(shows(0, 0, 0), "a copy to pinned memory waits until somebody waits for it");
    must(cuMemcpyDtoHAsync(&pageable, ones, sizeof pageable, loose));
    ok(shows(1, 0, 0) && pageable == 1, "a copy to pageable memory is there after the call");
}

static void test_registered(void)
{
    unsigned *memory = calloc(WORDS, sizeof *memory);

    start();
    must(cuMemHostRegister(memory, WORDS * sizeof *memory, 0));
    must(cuMemcpyDtoHAsync(memory, ones, sizeof *memory, loose));
    ok(memory[0] == 0, "registered memory is pinned");
    must(cuMemHostUnregister(memory));
    ok(memory[0] == 1, "what uses registered memory is carried out before it is unregistered");
    must(cuMemcpyDtoHAsync(memory + 1, ones, sizeof *memory, loose));
    ok(memory[1] == 1, "unregistered memory is pageable again");
    free(memory);
}

static void test_synchronous_copies(void)
{
    unsigned value = 3;

    start();
    show(blocking, 0);
    show(loose, 1);
    must(cuMemcpyHtoD(words, &value, sizeof value));
    ok(shows(1, 0, 0), "a synchronous copy waits for blocking streams");
    must(cuMemcpyDtoHAsync(&pinned[2], words, sizeof value, loose2));
    must(cuStreamSynchronize(loose2));
    ok(pinned[2] != 3, "a non-blocking stream does not wait for a copy from pageable memory");
    ok(word(0) == 3, "what follows on the legacy stream does");

    start();
    pinned[3] = 4;
    must(cuMemcpyHtoD(words, &pinned[3], sizeof value));
    must(cuMemcpyDtoHAsync(&pinned[2], words, sizeof value, loose2));
    must(cuStreamSynchronize(loose2));
    ok(pinned[2] == 4, "a synchronous copy from pinned memory is carried out");
}

static void test_launch(void)
{
    struct {
        CUdeviceptr elements;
        unsigned addend;
    } args = {words, 2};
    void *parameters[] = {&args};
    CUmodule module;

    start();
    must(
        cuLaunchKernel(load_adding(&module), 2, 1, 1, WORDS / 2, 1, 1, 0, loose, parameters, NULL));
    args.addend = 100;
    must(cuMemcpyDtoHAsync(pinned, words, WORDS * sizeof *pinned, loose2));
    must(cuStreamSynchronize(loose2));
    ok(pinned[0] == 0, "a kernel runs when it is waited for");
    ok(word(0) == 0, "the legacy stream does not wait for a non-blocking one");
    must(cuStreamSynchronize(loose));
    ok(word(0) == 2 && word(WORDS - 1) == 2, "each thread ran with the argument of the call");
}

static void test_free(void)
{
    CUdeviceptr memory;
    void *host;

    start();
    must(cuMemAlloc(&memory, 64));
    show(loose, 0);
    must(cuMemFree(memory));
    ok(shows(1, 0, 0), "memory is freed after all that was queued");
    must(cuMemHostAlloc(&host, 64, 0));
    show(loose, 1);
    must(cuMemFreeHost(host));
    ok(shows(1, 1, 0), "pinned memory too");
}

static void test_pool(void)
{
    CUcontext owner = context;
    CUdeviceptr memory;
    int device = -1;

    start();
    must(cuMemAllocAsync(&memory, 64, loose));
    must(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, memory));
    must(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory));
    ok(owner == NULL && device == 0, "memory of a pool belongs to a device but to no context");
    must(cuMemsetD32Async(memory, 8, 1, loose));
    must(cuMemcpyDtoHAsync(pinned, memory, sizeof *pinned, loose));
    must(cuMemFreeAsync(memory, loose));
    must(cuStreamSynchronize(loose));
    ok(pinned[0] == 8 && cuMemFree(memory) == CUDA_ERROR_INVALID_VALUE,
       "it is freed in the order of its stream");
}

static void test_destroyed_stream(void)
{
    CUstream stream;

    start();
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    show(stream, 0);
    must(cuEventRecord(event, stream));
    must(cuStreamDestroy(stream));
    ok(shows(0, 0, 0), "a stream is destroyed at once");
    ok(cuStreamSynchronize(stream) == CUDA_ERROR_INVALID_HANDLE, "its handle is none any more");
    must(cuEventSynchronize(event));
    ok(shows(1, 0, 0), "what was queued on it is carried out all the same");
    must(cuStreamSynchronize(loose));
    show(loose, 1);
    must(cuStreamWaitEvent(loose, event, 0));
    must(cuStreamSynchronize(loose));
    ok(shows(1, 1, 0), "an event outlives its stream");
}

/* ---- what order ---- */

static void test_other_streams(void)
{
    start();
    show(loose, 0);
    show(loose2, 1);
    show(blocking, 2);
    must(cuStreamSynchronize(loose2));
    ok(shows(0, 1, 0), "a stream is waited for alone");
    must(cuCtxSynchronize());
    ok(shows(1, 1, 1), "a context is waited for with all its streams");
}

static void test_wait_event(void)
{
    start();
    show(loose, 0);
    must(cuEventRecord(event, loose));
    show(loose, 1);
    must(cuStreamWaitEvent(loose2, event, 0));
    must(cuEventRecord(event, loose)); /* too late for the wait */
    show(loose2, 2);
    must(cuStreamSynchronize(loose2));
    ok(shows(1, 0, 1), "a stream waits for what was before the record that it saw");
    must(cuEventSynchronize(event));
    ok(shows(1, 1, 1), "an event is waited for as it was recorded last");
}

static void test_legacy(void)
{
    start();
    show(blocking, 0);
    show(loose, 1);
    show(NULL, 2);
    must(cuStreamSynchronize(NULL));
    ok(shows(1, 0, 1), "the legacy stream comes after blocking streams and no others");

    start();
    show(CU_STREAM_LEGACY, 0);
    show(loose, 1);
    must(cuStreamSynchronize(loose));
    ok(shows(0, 1, 0), "a non-blocking stream does not come after the legacy stream");
    show(blocking, 2);
    must(cuStreamSynchronize(blocking));
    ok(shows(1, 1, 1), "a blocking stream does");

    start();
    show(blocking, 0);
    show(blocking2, 1);
    must(cuStreamSynchronize(blocking2));
    ok(shows(0, 1, 0), "blocking streams do not come after each other");
}

/* Has a default stream of its own. */
static void *show_in_thread(void *unused)
{
    must(cuCtxSetCurrent(context));
    show(CU_STREAM_PER_THREAD, 1);
    return unused;
}

static void test_per_thread(void)
{
    pthread_t thread;

    start();
    show(CU_STREAM_PER_THREAD, 0);
    if (pthread_create(&thread, NULL, show_in_thread, NULL) != 0)
        bail_out("no threads");
    pthread_join(thread, NULL);
    show(blocking, 2);
    must(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    ok(shows(1, 0, 0), "a thread's default stream is waited for alone");
    must(cuStreamSynchronize(NULL));
    ok(shows(1, 0, 0), "the legacy stream has nothing to do itself");
    show(NULL, 3);
    must(cuStreamSynchronize(NULL));
    ok(shows(1, 1, 1), "what is queued there comes after the default streams of all threads");
    ok(cuStreamDestroy(CU_STREAM_PER_THREAD) == CUDA_ERROR_INVALID_HANDLE,
       "a thread's default stream is not destroyed");

    start();
    show(NULL, 0);
    show(CU_STREAM_PER_THREAD, 1);
    must(cuEventRecord(event, CU_STREAM_PER_THREAD));
    must(cuEventSynchronize(event));
    ok(shows(1, 1, 0), "a thread's default stream comes after the legacy stream");
}

static void test_legacy_event(void)
{
    start();
    show(blocking, 0);
    show(loose, 1);
    must(cuEventRecord(event, NULL));
    show(blocking, 2);
    must(cuStreamWaitEvent(loose2, event, 0));
    must(cuStreamSynchronize(loose2));
    ok(shows(1, 0, 0), "an event on the legacy stream comes after what blocking streams have");
}

static void test_contexts(void)
{
    CUcontext second;
    CUstream stream;
    CUevent late;

    start();
    must(cuCtxCreate_v2(&second, 0, 1));
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    must(cuEventCreate(&late, CU_EVENT_DISABLE_TIMING));
    ok(cuMemcpyDtoHAsync(pinned, ones, 4, stream) == CUDA_ERROR_INVALID_VALUE,
       "device memory is copied in its own context");
    ok(cuEventRecord(late, loose) == CUDA_ERROR_INVALID_HANDLE,
       "an event is recorded in its own context");
    must(cuCtxPushCurrent(context));
    show(loose, 0);
    must(cuEventRecord(event, loose));
    must(cuCtxPopCurrent(NULL));
    must(cuStreamWaitEvent(stream, event, 0));
    must(cuStreamSynchronize(stream));
    ok(shows(1, 0, 0), "a stream waits for an event of another context");
    must(cuCtxDestroy(second));
}

static void create(void)
{
    must(cuInit(0));
    must(cuCtxCreate_v2(&context, 0, 0));
    must(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    must(cuStreamCreate(&blocking2, CU_STREAM_DEFAULT));
    must(cuStreamCreate(&loose, CU_STREAM_NON_BLOCKING));
    must(cuStreamCreate(&loose2, CU_STREAM_NON_BLOCKING));
    must(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    must(cuMemAlloc(&ones, WORDS * sizeof *pinned));
    must(cuMemAlloc(&words, WORDS * sizeof *pinned));
    must(cuMemAllocHost((void **)&pinned, WORDS * sizeof *pinned));
}

int main(void)
{
    create();
    test_copies();
    test_registered();
    test_synchronous_copies();
    test_launch();
    test_free();
    test_pool();
    test_destroyed_stream();
    test_other_streams();
    test_wait_event();
    test_legacy();
    test_per_thread();
    test_legacy_event();
    test_contexts();
    must(cuCtxDestroy(context));
    return done_testing();
}
