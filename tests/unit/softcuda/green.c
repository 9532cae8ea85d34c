/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Green contexts of the software CUDA driver. */

#include "unit/lib/softcuda_helpers.h"

#if CUDA_VERSION >= 12040

static CUcontext primary, context; /* of the green one */
static CUgreenCtx green;
static CUdeviceptr memory;
static unsigned *pinned;

static void split(void)
{
    CUdevResource all, part;
    CUdevResourceDesc description;
    unsigned count = 1;

    must(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
    must(cuDevSmResourceSplitByCount(&part, &count, &all, NULL, 0, 2));
    ok(part.sm.smCount == 2 && all.sm.smCount > 2, "a part of the processors can be had");
    must(cuDevResourceGenerateDesc(&description, &part, 1));
    must(cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    must(cuCtxFromGreenCtx(&context, green));
}

static unsigned word(void)
{
    unsigned value;

    must(cuMemcpyDtoHAsync(pinned, memory, 4, CU_STREAM_LEGACY));
    must(cuStreamSynchronize(CU_STREAM_LEGACY));
    value = *pinned;
    return value;
}

static void test_streams(void)
{
    CUgreenCtx found = NULL;
    CUdevice device = -1;
    CUevent event;

    must(cuStreamGetGreenCtx(CU_STREAM_LEGACY, &found));
    ok(found == NULL, "in the primary context none is found");
    must(cuMemsetD32(memory, 1, 1));
    must(cuCtxSynchronize());
    must(cuCtxPushCurrent(context));
    must(cuStreamGetGreenCtx(CU_STREAM_LEGACY, &found));
    must(cuCtxGetDevice(&device));
    ok(found == green && device == 0, "in the green one it is, of the same device");
    ok(word() == 1, "it has the memory of the primary context");
    must(cuMemsetD32Async(memory, 2, 1, NULL));
    must(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    must(cuEventRecord(event, NULL));
    must(cuCtxPopCurrent(NULL));
    ok(cuEventRecord(event, NULL) == CUDA_ERROR_INVALID_HANDLE && word() == 1,
       "its default stream is another one, which the primary's does not wait for");
    must(cuStreamWaitEvent(NULL, event, 0));
    ok(word() == 2, "unless it waits for an event");
    must(cuCtxPushCurrent(context));
    must(cuMemsetD32Async(memory, 3, 1, NULL));
    must(cuCtxPopCurrent(NULL));
    must(cuCtxSynchronize());
    ok(word() == 3, "to wait for the primary context is to wait for the green one");
    must(cuEventDestroy(event));
}

static void test_memory(void)
{
    CUdeviceptr more;
    CUcontext owner = NULL;

    must(cuCtxPushCurrent(context));
    must(cuMemAlloc(&more, 64));
    must(cuCtxPopCurrent(NULL));
    must(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, more));
    must(cuGreenCtxDestroy(green));
    ok(owner == primary && cuMemsetD32(more, 1, 1) == CUDA_SUCCESS,
       "what is allocated in it is the primary context's, and stays");
    ok(cuCtxPushCurrent(context) == CUDA_ERROR_INVALID_CONTEXT &&
           cuCtxFromGreenCtx(&context, green) == CUDA_ERROR_INVALID_CONTEXT,
       "a green context that has gone is none");
    must(cuMemFree(more));
}

static void test_life(void)
{
    unsigned flags;
    int active;

    split();
    must(cuMemFree(memory));
    must(cuMemFreeHost(pinned));
    must(cuCtxSetCurrent(NULL));
    must(cuDevicePrimaryCtxRelease(0));
    must(cuDevicePrimaryCtxGetState(0, &flags, &active));
    ok(active, "a green context keeps the primary one alive");
    must(cuGreenCtxDestroy(green));
    must(cuDevicePrimaryCtxGetState(0, &flags, &active));
    ok(!active && live() == 0, "not for longer than it lives");
}

int main(void)
{
    void *host;

    must(cuInit(0));
    must(cuDevicePrimaryCtxRetain(&primary, 0));
    must(cuCtxSetCurrent(primary));
    must(cuMemAlloc(&memory, 64));
    must(cuMemHostAlloc(&host, 64, 0));
    pinned = host;
    split();
    test_streams();
    test_memory();
    test_life();
    return done_testing();
}

#else

int main(void)
{
    skip("green contexts", "built with a CUDA older than 12.4");
    return done_testing();
}

#endif
