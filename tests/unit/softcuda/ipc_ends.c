/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the software CUDA driver has of another process ends: freed there, closed with its context,
 * forked here, not to be had. */

#include "unit/lib/softcuda_peer.h"

enum { MANY = 1000, FEW_FILES = 16 };

static CUdeviceptr touched;

static int write_beside(void)
{
    add_to(touched, WORDS + 1, 1);
    return cuCtxSynchronize() != CUDA_ERROR_LAUNCH_FAILED;
}

/* In a child that has a copy of all, so that they stay intact here and there. */
static int write_copies(void)
{
    if (word(own, 0) != 4 || word(touched, 0) != 5)
        return 1;
    must(cuMemsetD32(touched, 8, WORDS));
    must(cuMemsetD32(own, 8, WORDS));
    must(cuIpcCloseMemHandle(touched));
    must(cuMemFree(own));
    return 0;
}

static void test_forks(void)
{
    struct answer theirs = ask(ALLOCATE, 0, 5);
    CUipcMemHandle handle;
    unsigned long long count = value_of(FREED_WHILE_OPEN, 0);

    must(cuIpcGetMemHandle(&handle, own));
    must(cuMemsetD32(own, 4, WORDS));
    must(cuIpcOpenMemHandle(&touched, theirs.handle, lazy));
#if defined(__SANITIZE_ADDRESS__)
    ok(dies(write_beside), "a kernel that writes one element too far fails");
#else
    ok(returns(write_beside, 0), "a kernel that writes one element too far fails");
#endif
    ok(returns(write_copies, 0) && word(own, 0) == 4 && word(touched, 0) == 5 &&
           value_of(READ, theirs.pointer) == 5,
       "a forked child changes nothing");
    value_of(FREE, theirs.pointer);
    ok(value_of(FREED_WHILE_OPEN, 0) == count + 1, "nor does it close anything");
    must(cuIpcCloseMemHandle(touched));
}

static int launch_on_gone(void)
{
    add_to(touched, WORDS, 1);
    return cuCtxSynchronize() != CUDA_ERROR_LAUNCH_FAILED;
}

static void test_freed_while_open(void)
{
    struct answer theirs = ask(ALLOCATE, 0, 5);
    unsigned long long before = value_of(FREED_WHILE_OPEN, 0);
    CUfunction kept = add;
    CUcontext second;
    CUdeviceptr same;
    unsigned value;

    must(cuCtxCreate_v2(&second, 0, 0));
    load_add();
    must(cuIpcOpenMemHandle(&touched, theirs.handle, lazy));
    ok(value_of(FREE, theirs.pointer) == CUDA_SUCCESS &&
           value_of(FREED_WHILE_OPEN, 0) == before + 1,
       "memory that is freed while it is open elsewhere is counted");
    ok(cuIpcOpenMemHandle(&same, theirs.handle, lazy) == CUDA_ERROR_INVALID_HANDLE,
       "its handle is none");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    ok(dies(launch_on_gone), "a kernel that reads it fails");
#else
    ok(returns(launch_on_gone, 0), "a kernel that reads it fails");
#endif
    ok(cuMemcpyDtoH(&value, touched, 4) == CUDA_ERROR_ILLEGAL_ADDRESS,
       "a copy of it is an illegal address");
    must(cuCtxDestroy(second));
    add = kept;
    theirs = ask(ALLOCATE, 0, 6);
    must(cuIpcOpenMemHandle(&touched, theirs.handle, lazy));
    ok(word(touched, 0) == 6, "others go on");
    must(cuIpcCloseMemHandle(touched));
    value_of(FREE, theirs.pointer);
    ok(value_of(FREED_WHILE_OPEN, 0) == before + 1, "what was closed before is not counted");
}

static void test_context_goes(void)
{
    struct answer theirs = ask(ALLOCATE, 0, 5);
    unsigned long long before = value_of(FREED_WHILE_OPEN, 0), kept = live();
    CUcontext second;
    CUdeviceptr open;

    must(cuCtxCreate_v2(&second, 0, 0));
    must(cuIpcOpenMemHandle(&open, theirs.handle, lazy));
    must(cuCtxDestroy(second));
    value_of(FREE, theirs.pointer);
    ok(value_of(FREED_WHILE_OPEN, 0) == before && live() == kept,
       "what a context has open is closed with it");
}

static void test_files(void)
{
    static CUdeviceptr theirs[MANY], open[MANY];
    unsigned long long their_files;
    unsigned files;

    for (int i = 0; i < MANY; i++) {
        struct answer answer = ask(ALLOCATE, 0, (unsigned)i);

        theirs[i] = answer.pointer;
        must(cuIpcOpenMemHandle(&open[i], answer.handle, lazy));
    }
    files = count_files();
    their_files = value_of(FILES, 0);
    ok(files < FEW_FILES && their_files < FEW_FILES && word(open[MANY - 1], 0) == MANY - 1,
       "much memory takes few file descriptors: %u and %llu", files, their_files);
    for (int i = 0; i < MANY; i++) {
        must(cuIpcCloseMemHandle(open[i]));
        value_of(FREE, theirs[i]);
    }
}

static void test_failures(void)
{
    struct answer theirs = ask(ALLOCATE, 0, 5);
    unsigned long long before = operations(SOFTCUDA_IPC);
    CUipcMemHandle handle;
    CUdeviceptr open;

    softcuda_fail(SOFTCUDA_IPC, 2, false);
    ok(cuIpcGetMemHandle(&handle, own) == CUDA_SUCCESS &&
           cuIpcOpenMemHandle(&open, theirs.handle, lazy) == CUDA_ERROR_NOT_SUPPORTED &&
           cuIpcOpenMemHandle(&open, theirs.handle, lazy) == CUDA_SUCCESS,
       "opening fails when told so");
    softcuda_fail(SOFTCUDA_IPC, 1, false);
    ok(cuIpcGetMemHandle(&handle, own) == CUDA_ERROR_NOT_SUPPORTED &&
           cuIpcCloseMemHandle(open) == CUDA_SUCCESS && operations(SOFTCUDA_IPC) == before + 4,
       "so does asking for a handle, but not closing");
    value_of(FREE, theirs.pointer);
}

static int init_with_failures(void)
{
    CUipcMemHandle handle;

    setenv("SOFTCUDA_FAIL", "ipc:1", 1);
    start_alone();
    return cuIpcGetMemHandle(&handle, own) != CUDA_ERROR_NOT_SUPPORTED;
}

int main(void)
{
    ok(returns(init_with_failures, 0), "SOFTCUDA_FAIL knows them");
    start_both();
    test_forks();
    test_freed_while_open();
    test_context_goes();
    test_files();
    test_failures();
    end_both();
    return done_testing();
}
