/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Handles of memory of another process in the software CUDA driver, and the use of what they open.
 */

#include "unit/lib/softcuda_peer.h"

enum { FIELDS = 5 }; /* of 8 bytes in a handle */

/* ---- handles ---- */

static void test_get(void)
{
    CUdeviceptr managed, pooled, freed;
    CUipcMemHandle first, second;
    void *host;

    must(cuMemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL));
    must(cuMemAllocAsync(&pooled, BYTES, NULL));
    must(cuMemAllocHost(&host, BYTES));
    must(cuMemAlloc(&freed, BYTES));
    must(cuMemFree(freed));
    ok(cuIpcGetMemHandle(&first, own + 256) == CUDA_ERROR_INVALID_VALUE &&
           cuIpcGetMemHandle(&first, freed) == CUDA_ERROR_INVALID_VALUE &&
           cuIpcGetMemHandle(NULL, own) == CUDA_ERROR_INVALID_VALUE,
       "there is a handle for the start of live memory alone");
    ok(cuIpcGetMemHandle(&first, managed) == CUDA_ERROR_INVALID_VALUE &&
           cuIpcGetMemHandle(&first, pooled) == CUDA_ERROR_INVALID_VALUE &&
           cuIpcGetMemHandle(&first, (CUdeviceptr)(uintptr_t)host) == CUDA_ERROR_INVALID_VALUE,
       "and for none but that of cuMemAlloc");
    must(cuMemFree(managed));
    must(cuMemFreeAsync(pooled, NULL));
    must(cuMemFreeHost(host));

    must(cuMemsetD32(own, 3, WORDS));
    must(cuIpcGetMemHandle(&first, own));
    must(cuIpcGetMemHandle(&second, own));
    ok(memcmp(&first, &second, sizeof first) == 0 && word(own, WORDS - 1) == 3,
       "asking for it changes nothing");
    ok(cuIpcOpenMemHandle(&pooled, first, lazy) == CUDA_ERROR_INVALID_CONTEXT,
       "a process does not open memory of its own");
}

static void test_other_context(void)
{
    CUipcMemHandle handle;
    CUcontext second;

    must(cuCtxCreate_v2(&second, 0, 1));
    ok(cuIpcGetMemHandle(&handle, own) == CUDA_SUCCESS, "a handle may be had in another context");
    must(cuCtxDestroy(second));
}

static void test_open_errors(void)
{
    struct answer theirs = ask(ALLOCATE, 0, 1), again;
    CUipcMemHandle garbage = theirs.handle;
    CUdeviceptr open, other;
    CUcontext second;
    int refused = 0;

    ok(cuIpcOpenMemHandle(&open, theirs.handle, 0) == CUDA_ERROR_INVALID_VALUE &&
           cuIpcOpenMemHandle(NULL, theirs.handle, lazy) == CUDA_ERROR_INVALID_VALUE,
       "opening wants its flag, and a place for the pointer");
    for (size_t field = 0; field < FIELDS; field++) {
        garbage = theirs.handle;
        garbage.reserved[field * 8] ^= 0x40;
        refused += cuIpcOpenMemHandle(&open, garbage, lazy) == CUDA_ERROR_INVALID_HANDLE;
    }
    ok(refused == FIELDS, "no field of a handle may be another");
    memset(&garbage, 0, sizeof garbage);
    ok(cuIpcOpenMemHandle(&open, garbage, lazy) == CUDA_ERROR_INVALID_HANDLE,
       "a handle of zeros is none");

    must(cuIpcOpenMemHandle(&open, theirs.handle, lazy));
    must(cuCtxCreate_v2(&second, 0, 0));
    ok(cuIpcOpenMemHandle(&other, theirs.handle, lazy) == CUDA_ERROR_ALREADY_MAPPED,
       "memory is open once at a time");
    must(cuCtxDestroy(second));
    must(cuIpcCloseMemHandle(open));
    ok(cuIpcOpenMemHandle(&open, theirs.handle, lazy) == CUDA_SUCCESS, "and again after that");
    must(cuIpcCloseMemHandle(open));

    value_of(FREE, theirs.pointer);
    again = ask(ALLOCATE, 0, 1);
    ok(cuIpcOpenMemHandle(&open, theirs.handle, lazy) == CUDA_ERROR_INVALID_HANDLE,
       "a handle of freed memory is none");
    value_of(FREE, again.pointer);
}

/* ---- use ---- */

static void test_use(void)
{
    struct answer theirs = ask(ALLOCATE, 0, 5);
    CUdeviceptr open;

    must(cuIpcOpenMemHandle(&open, theirs.handle, lazy));
    ok(word(open, 0) == 5 && word(open, WORDS - 1) == 5, "what a copy wrote there is read here");
    ask(ADD, theirs.pointer, 2);
    ok(word(open, WORDS - 1) == 7, "what a kernel wrote there too, later");
    add_to(open, WORDS, 10);
    must(cuCtxSynchronize());
    ok(word(open, 0) == 17 && value_of(READ, theirs.pointer) == 17,
       "a kernel reads and writes it here");
    must(cuMemcpyDtoDAsync(own, open, BYTES, NULL));
    must(cuMemsetD32Async(open, 1, WORDS, NULL));
    must(cuMemcpyDtoDAsync(open, own, BYTES - 4, NULL));
    must(cuCtxSynchronize());
    ok(word(own, WORDS - 1) == 17 && word(open, 0) == 17 && value_of(READ, theirs.pointer) == 1,
       "it is copied to and from memory of this process");
    must(cuMemsetD32Async(open, 99, WORDS, NULL));
    must(cuIpcCloseMemHandle(open));
    ok(value_of(READ, theirs.pointer) == 99, "what is queued is carried out before it is closed");
    value_of(FREE, theirs.pointer);
}

/* As the system sees it: a forked child has other pages. */
static bool is_accessible(CUdeviceptr pointer)
{
    int ends[2];
    bool taken;

    if (pipe(ends) != 0)
        bail_out("no pipe");
    taken = write(ends[1], (void *)(uintptr_t)pointer, 1) == 1;
    close(ends[0]);
    close(ends[1]);
    return taken;
}

static void test_pointer(void)
{
    struct answer theirs = ask(ALLOCATE, 0, 5);
    unsigned long long before = live();
    CUcontext owner, second;
    CUipcMemHandle handle;
    CUdeviceptr open, base;
    size_t bytes;
    unsigned type;

    must(cuIpcOpenMemHandle(&open, theirs.handle, lazy));
    must(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, open + 7));
    must(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, open + 7));
    must(cuMemGetAddressRange(&base, &bytes, open + BYTES - 1));
    ok(owner == context && type == CU_MEMORYTYPE_DEVICE && base == open && bytes == BYTES &&
           open % 256 == 0,
       "it has the attributes of device memory");
    ok(live() == before + 1, "it is live");
    ok(!is_accessible(open), "the program cannot touch it");
    add_to(open, WORDS, 1);
    must(cuMemcpyDtoD(own, open, BYTES));
    must(cuCtxSynchronize());
    ok(!is_accessible(open) && !is_accessible(own), "nor after the device did");
    ok(cuMemFree(open) == CUDA_ERROR_INVALID_VALUE &&
           cuIpcGetMemHandle(&handle, open) == CUDA_ERROR_INVALID_VALUE,
       "it is not freed nor passed on here");
    must(cuCtxCreate_v2(&second, 0, 0));
    ok(cuIpcCloseMemHandle(open) == CUDA_ERROR_INVALID_VALUE, "nor closed in another context");
    must(cuCtxDestroy(second));
    ok(cuIpcCloseMemHandle(open + 256) == CUDA_ERROR_INVALID_VALUE &&
           cuIpcCloseMemHandle(own) == CUDA_ERROR_INVALID_VALUE &&
           cuIpcCloseMemHandle(open) == CUDA_SUCCESS &&
           cuIpcCloseMemHandle(open) == CUDA_ERROR_INVALID_VALUE,
       "what was opened is closed, by its first address, once");
    ok(live() == before && cuMemsetD8(open, 0, 1) == CUDA_ERROR_INVALID_VALUE,
       "closed it is nothing");
    value_of(FREE, theirs.pointer);
}

int main(void)
{
    start_both();
    test_get();
    test_other_context();
    test_open_errors();
    test_use();
    test_pointer();
    end_both();
    return done_testing();
}
