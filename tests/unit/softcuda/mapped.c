/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The software CUDA driver's memory that belongs to no context: mapped by hand, or of a pool. */

#include "unit/lib/softcuda_helpers.h"

static CUcontext context;
static CUstream stream;
static size_t piece; /* bytes */
static CUdeviceptr space;

static const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                         .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
/* The device's own access, and none. */
static const CUmemAccessDesc all = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
static const CUmemAccessDesc none = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                                     .flags = CU_MEM_ACCESS_FLAGS_PROT_NONE};

static CUmemGenericAllocationHandle create(void)
{
    CUmemGenericAllocationHandle handle;

    must(cuMemCreate(&handle, piece, &prop, 0));
    return handle;
}

/* ---- mapped by hand ---- */

static void test_arguments(void)
{
    CUmemGenericAllocationHandle handle = create(), other;
    unsigned type;

    ok(cuMemAddressReserve(&space, piece / 2, 0, 0, 0) == CUDA_ERROR_INVALID_VALUE &&
           cuMemCreate(&other, piece + 1, &prop, 0) == CUDA_ERROR_INVALID_VALUE,
       "address space and memory come in pieces");
    must(cuMemAddressReserve(&space, 3 * piece, 0, 0, 0));
    ok(space % piece == 0 && cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                                   space) == CUDA_ERROR_INVALID_VALUE,
       "in address space that is only reserved there is nothing");
    ok(cuMemMap(space + piece / 2, piece, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE &&
           cuMemMap(space + 3 * piece, piece, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE &&
           cuMemMap(space, piece, 0, handle + 1, 0) == CUDA_ERROR_INVALID_VALUE,
       "memory is mapped where there is room for a piece");
    must(cuMemRelease(handle));
    ok(cuMemRelease(handle) == CUDA_ERROR_INVALID_VALUE &&
           cuMemMap(space, piece, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE,
       "what was released is not there");
}

/* Two pieces one after the other, whose handles are released. */
static void map_two(void)
{
    for (size_t i = 0; i < 2; i++) {
        CUmemGenericAllocationHandle handle = create();

        must(cuMemMap(space + i * piece, piece, 0, handle, 0));
        must(cuMemRelease(handle));
    }
}

static bool is_mapped(CUdeviceptr address)
{
    int mapped = -1;

    must(cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, address));
    return mapped == 1;
}

static void test_access(void)
{
    CUdeviceptr base;
    CUcontext owner = context;
    int device = -1;
    size_t bytes = 0;

    map_two();
    ok(cuMemsetD32(space, 1, 1) == CUDA_ERROR_INVALID_VALUE, "a device is given access first");
    must(cuMemSetAccess(space, 2 * piece, &all, 1));
    must(cuMemsetD32(space + piece - 64, 7, 32));
    ok(word_at(space + piece - 64) == 7 && word_at(space + piece + 60) == 7,
       "what is used may reach from one piece into the next");
    ok(cuMemsetD32(space + piece, 7, piece / 4 + 1) == CUDA_ERROR_INVALID_VALUE,
       "but not beyond the last");
    must(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, space + piece));
    must(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, space + piece));
    ok(owner == NULL && device == 0, "it belongs to a device but to no context");
    must(cuMemGetAddressRange(&base, &bytes, space + piece + 5));
    ok(base == space + piece && bytes == piece, "the range of an address is its piece");
    must(cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, space + piece + 5));
    must(cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, space + piece + 5));
    ok(base == space && bytes == 3 * piece, "as an attribute it is what was reserved");
    ok(is_mapped(space) && is_mapped(space + 2 * piece - 1) && !is_mapped(space + 2 * piece),
       "another one says where there is memory");
    must(cuMemSetAccess(space + piece, piece, &none, 1));
    ok(cuMemsetD32(space, 1, 1) == CUDA_SUCCESS &&
           cuMemsetD32(space + piece - 4, 1, 2) == CUDA_ERROR_INVALID_VALUE,
       "access is taken away piece by piece");
    must(cuMemSetAccess(space + piece, piece, &all, 1));
}

static void test_others(void)
{
    CUipcMemHandle handle;
    CUcontext second;

    ok(cuMemFree(space) == CUDA_ERROR_INVALID_VALUE &&
           cuIpcGetMemHandle(&handle, space) == CUDA_ERROR_INVALID_VALUE,
       "it is neither freed nor shared as an allocation is");
    must(cuCtxCreate_v2(&second, 0, 0));
    ok(cuMemsetD32(space, 1, 1) == CUDA_SUCCESS, "all contexts of its device may use it");
    must(cuCtxDestroy(second));
    must(cuCtxCreate_v2(&second, 0, 1));
    ok(cuMemsetD32(space, 1, 1) == CUDA_ERROR_INVALID_VALUE, "those of another device may not");
    must(cuCtxDestroy(second));
}

/* Each thread adds 2, across the end of a piece. */
static void test_launch(void)
{
    CUmodule module;

    must(cuMemsetD32(space + piece - 64, 7, 32));
    must(queue_add(load_adding(&module), space + piece - 64, 2, 1, 32, NULL));
    must(cuCtxSynchronize());
    ok(word_at(space + piece - 64) == 9 && word_at(space + piece + 60) == 9, "kernels use it");
    must(cuModuleUnload(module));
}

/* Copies to memory that is gone when they are carried out. */
static int use_unmapped(void)
{
    must(cuMemsetD32Async(space, 1, 1, stream));
    must(cuMemUnmap(space, piece));
    return cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS ? 5 : 0;
}

static void test_unmap(void)
{
    CUmemGenericAllocationHandle handle;

    ok(returns(use_unmapped, 5), "what is queued does not find what was unmapped");
    ok(cuMemUnmap(space, piece / 2) == CUDA_ERROR_INVALID_VALUE &&
           cuMemAddressFree(space, 3 * piece) == CUDA_ERROR_INVALID_VALUE,
       "pieces are unmapped whole, and before their address space goes");
    must(cuMemUnmap(space, 2 * piece));
    ok(cuMemsetD32(space, 1, 1) == CUDA_ERROR_INVALID_VALUE, "then there is nothing");
    handle = create();
    must(cuMemMap(space, piece, 0, handle, 0));
    must(cuMemSetAccess(space, piece, &all, 1));
    must(cuMemsetD32(space, 11, 1));
    must(cuCtxSynchronize());
    must(cuMemUnmap(space, piece));
    must(cuMemMap(space + 2 * piece, piece, 0, handle, 0));
    must(cuMemSetAccess(space + 2 * piece, piece, &all, 1));
    ok(word_at(space + 2 * piece) == 11, "memory that is mapped elsewhere has what it had");
    must(cuMemUnmap(space + 2 * piece, piece));
    must(cuMemRelease(handle));
    must(cuMemAddressFree(space, 3 * piece));
}

/* ---- of a pool ---- */

static void test_pool(void)
{
    CUdeviceptr memory;
    CUcontext second;

    must(cuCtxCreate_v2(&second, 0, 0));
    must(cuMemAllocAsync(&memory, 64, NULL));
    must(cuMemsetD32(memory, 3, 1));
    must(cuCtxSynchronize());
    must(cuCtxDestroy(second));
    ok(word_at(memory) == 3, "memory of a pool outlives the context that it was allocated in");
    must(cuMemFree(memory));
}

int main(void)
{
    must(cuInit(0));
    must(cuMemGetAllocationGranularity(&piece, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    must(cuCtxCreate_v2(&context, 0, 0));
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    test_arguments();
    test_access();
    test_others();
    test_launch();
    test_unmap();
    test_pool();
    must(cuCtxDestroy(context));
    ok(live() == 0, "nothing is left");
    return done_testing();
}
