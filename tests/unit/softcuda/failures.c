/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Kernels that fail, failures on demand, and the counts of the software CUDA driver. */

#include <pthread.h>

#include "unit/lib/softcuda_helpers.h"

enum { BYTES = 1000 };

static CUcontext context;
static CUdeviceptr memory; /* BYTES */
static CUfunction add, stuck;

/* ---- kernels ---- */

static CUresult launch(CUfunction function, CUdeviceptr elements, unsigned threads)
{
    return queue_add(function, elements, 1, 1, threads, NULL);
}

static void test_modules(void)
{
    static const unsigned char text[] = "// PTX";
    CUfunction unknown;
    CUmodule module;

    ok(cuModuleLoadData(&module, text) == CUDA_ERROR_INVALID_IMAGE, "a module is a device binary");
    must(cuModuleLoadData(&module, image));
    must(cuModuleGetFunction(&add, module, "softcuda_test_add"));
    must(cuModuleGetFunction(&stuck, module, "softcuda_test_stuck"));
    ok(cuModuleGetFunction(&unknown, module, "softcuda_none") == CUDA_ERROR_NOT_FOUND,
       "it does not have all kernels");
    ok(cuModuleGetFunction(&unknown, module, "cgx_encode_float32") == CUDA_SUCCESS &&
           cuModuleGetFunction(&unknown, module, "cgx_decode_bfloat16") == CUDA_SUCCESS,
       "it has the library's");
    ok(launch(add, memory, 1025) == CUDA_ERROR_INVALID_VALUE, "a block has up to 1024 threads");
}

static int launch_stuck(void)
{
    must(launch(stuck, memory, 2));
    return cuCtxSynchronize() != CUDA_ERROR_LAUNCH_FAILED ||
           cuMemsetD8(memory, 0, 1) != CUDA_ERROR_LAUNCH_FAILED;
}

static int launch_beyond(void)
{
    must(launch(add, memory, BYTES / 4 + 1));
    return cuCtxSynchronize() != CUDA_ERROR_LAUNCH_FAILED;
}

static int launch_far_beyond(void)
{
    must(launch(add, memory + 4096, 1));
    return cuCtxSynchronize() != CUDA_ERROR_LAUNCH_FAILED;
}

/* AddressSanitizer ends the program instead; a fault is nothing but a fault under either. */
#if defined(__SANITIZE_ADDRESS__)
#define FAILS dies(launch_beyond)
#else
#define FAILS returns(launch_beyond, 0)
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FAULTS dies(launch_far_beyond)
#else
#define FAULTS returns(launch_far_beyond, 0)
#endif

static void test_kernel_faults(void)
{
    ok(returns(launch_stuck, 0), "a kernel whose threads do not meet fails, and all after it");
    ok(FAILS, "a kernel that writes one element too far fails");
    ok(FAULTS, "a kernel that writes where nothing is fails");
}

/* ---- failures on demand ---- */

static int lose(void)
{
    unsigned type;

    softcuda_fail(SOFTCUDA_LOST, 2, false);
    must(cuCtxSynchronize());
    return cuCtxSynchronize() != CUDA_ERROR_DEVICE_UNAVAILABLE ||
           cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory) !=
               CUDA_ERROR_DEVICE_UNAVAILABLE ||
           cuInit(0) != CUDA_ERROR_DEVICE_UNAVAILABLE;
}

static int fail_async(void)
{
    CUcontext other;
    CUstream stream;

    must(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    softcuda_fail(SOFTCUDA_ASYNC, 2, false);
    must(cuMemsetD8Async(memory, 1, 1, stream));
    must(cuMemsetD8Async(memory, 1, 1, stream));
    if (cuStreamSynchronize(stream) != CUDA_ERROR_ILLEGAL_ADDRESS ||
        cuStreamDestroy(stream) != CUDA_ERROR_ILLEGAL_ADDRESS ||
        cuStreamSynchronize(NULL) != CUDA_ERROR_ILLEGAL_ADDRESS)
        return 1;
    must(cuCtxCreate_v2(&other, 0, 0));
    return cuCtxSynchronize() != CUDA_SUCCESS;
}

static bool alloc_fails_second(void)
{
    CUdeviceptr pointer = 0;
    CUstream stream = NULL;
    bool as_told;

    softcuda_fail(SOFTCUDA_ALLOC, 2, false);
    as_told = cuMemAlloc(&pointer, 4) == CUDA_SUCCESS &&
              cuStreamCreate(&stream, 0) == CUDA_ERROR_OUT_OF_MEMORY &&
              cuStreamCreate(&stream, 0) == CUDA_SUCCESS;
    must(cuMemFree(pointer));
    must(cuStreamDestroy(stream));
    return as_told;
}

static void test_failures(void)
{
    unsigned char byte = 9;

    ok(alloc_fails_second(), "the second allocation fails and no other");
    must(cuMemsetD8(memory, 1, BYTES));
    softcuda_fail(SOFTCUDA_COPY, 1, true);
    ok(cuMemcpyDtoH(&byte, memory, 1) == CUDA_ERROR_UNKNOWN && byte == 9 &&
           cuMemsetD8(memory, 2, 1) == CUDA_ERROR_UNKNOWN,
       "all copies fail and copy nothing");
    softcuda_fail(SOFTCUDA_COPY, 0, false);
    ok(cuMemcpyDtoH(&byte, memory, 1) == CUDA_SUCCESS && byte == 1, "until they are told not to");
    softcuda_fail(SOFTCUDA_LAUNCH, 1, false);
    ok(launch(add, memory, 1) == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES &&
           launch(add, memory, 1) == CUDA_SUCCESS,
       "a launch fails");
    must(cuCtxSynchronize());
    ok(returns(fail_async, 0),
       "what fails when it is carried out is an error of its context alone");
    ok(returns(lose, 0), "a lost device is an error of all calls");
}

static void test_counts(void)
{
    struct softcuda_counts before, after;
    char host[24] = "";

    must(cuCtxSynchronize());
    softcuda_count(&before);
    must(cuMemcpyHtoD(memory, host, sizeof host));
    must(launch(add, memory, 4));
    must(cuMemcpyDtoH(host, memory, 8));
    softcuda_count(&after);
    ok(after.bytes_to_device - before.bytes_to_device == 24 &&
           after.bytes_to_host - before.bytes_to_host == 8 && after.launches - before.launches == 1,
       "launches and copied bytes are counted");
    ok(after.operations[SOFTCUDA_COPY] - before.operations[SOFTCUDA_COPY] == 2 &&
           after.operations[SOFTCUDA_LAUNCH] - before.operations[SOFTCUDA_LAUNCH] == 1 &&
           after.operations[SOFTCUDA_ASYNC] - before.operations[SOFTCUDA_ASYNC] == 3 &&
           after.operations[SOFTCUDA_LOST] - before.operations[SOFTCUDA_LOST] == 3,
       "operations are counted by kind");
}

static void *allocate_often(void *unused)
{
    CUdeviceptr pointer;

    must(cuCtxSetCurrent(context));
    for (int i = 0; i < 100; i++) {
        must(cuMemAlloc(&pointer, 4));
        must(cuMemsetD8(pointer, 1, 4));
        must(cuMemFree(pointer));
    }
    return unused;
}

static void test_threads(void)
{
    unsigned long long before = operations(SOFTCUDA_ALLOC), kept = live();
    pthread_t threads[4];

    for (int i = 0; i < 4; i++) {
        if (pthread_create(&threads[i], NULL, allocate_often, NULL) != 0)
            bail_out("no threads");
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ok(operations(SOFTCUDA_ALLOC) == before + 400 && live() == kept, "threads may call at once");
}

int main(void)
{
    must(cuInit(0));
    must(cuCtxCreate_v2(&context, 0, 0));
    must(cuMemAlloc(&memory, BYTES));
    test_modules();
    test_kernel_faults();
    test_failures();
    test_counts();
    test_threads();
    must(cuCtxDestroy(context));
    ok(live() == 0, "nothing is left");
    return done_testing();
}
