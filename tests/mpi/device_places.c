/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums of device memory that belongs to no context: "device_places pool", from the device's pool
 * (cudaMallocAsync), or "device_places mapped", of several pieces mapped one after the other
 * (PyTorch's expandable segments). All calls are compressed. */

#include <cuda.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/comms.h"
#include "lib/data.h"
#include "lib/device.h"
#include "lib/placed.h"
#include "lib/traffic.h"

static struct {
    __typeof__(cuCtxGetDevice) *get_device;
    __typeof__(cuDeviceGetAttribute) *get_attribute;
    __typeof__(cuMemAllocAsync) *alloc;
    __typeof__(cuMemGetAllocationGranularity) *get_granularity;
    __typeof__(cuMemAddressReserve) *reserve;
    __typeof__(cuMemAddressFree) *give_back;
    __typeof__(cuMemCreate) *create;
    __typeof__(cuMemRelease) *release;
    __typeof__(cuMemMap) *map;
    __typeof__(cuMemUnmap) *unmap;
    __typeof__(cuMemSetAccess) *set_access;
} driver;

static const struct device_function functions[] = {
    {"cuCtxGetDevice", &driver.get_device},
    {"cuDeviceGetAttribute", &driver.get_attribute},
    {"cuMemAllocAsync", &driver.alloc},
    {"cuMemGetAllocationGranularity", &driver.get_granularity},
    {"cuMemAddressReserve", &driver.reserve},
    {"cuMemAddressFree", &driver.give_back},
    {"cuMemCreate", &driver.create},
    {"cuMemRelease", &driver.release},
    {"cuMemMap", &driver.map},
    {"cuMemUnmap", &driver.unmap},
    {"cuMemSetAccess", &driver.set_access},
};

/* Whether the driver has all that is called and the device has ATTRIBUTE. */
static bool is_there(CUdevice_attribute attribute)
{
    CUdevice device;
    int value = 0;

    if (!device_find(functions, sizeof functions / sizeof functions[0]))
        return false;
    device_must(driver.get_device(&device), "cuCtxGetDevice");
    return driver.get_attribute(&value, attribute, device) == CUDA_SUCCESS && value != 0;
}

/* ---- memory ---- */

struct memory {
    char *start;
    CUdeviceptr space; /* 0: of the pool */
    size_t bytes;      /* of the space, of which all is mapped */
};

static struct memory allocate(size_t bytes)
{
    CUdeviceptr pointer;

    device_must(driver.alloc(&pointer, bytes, NULL), "cuMemAllocAsync");
    return (struct memory){.start = (char *)(uintptr_t)pointer};
}

/* The middle of the memory is where one piece ends and the next one begins. */
static struct memory map(size_t bytes)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemAccessDesc access = {.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    struct memory memory;
    size_t piece, ahead;

    device_must(driver.get_device(&prop.location.id), "cuCtxGetDevice");
    access.location = prop.location;
    device_must(driver.get_granularity(&piece, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                "cuMemGetAllocationGranularity");
    ahead = piece - bytes / 2 / sizeof(float) * sizeof(float) % piece;
    memory.bytes = (ahead + bytes + piece - 1) / piece * piece;
    device_must(driver.reserve(&memory.space, memory.bytes, 0, 0, 0), "cuMemAddressReserve");
    for (size_t at = 0; at < memory.bytes; at += piece) {
        device_must(driver.create(&handle, piece, &prop, 0), "cuMemCreate");
        device_must(driver.map(memory.space + at, piece, 0, handle, 0), "cuMemMap");
        device_must(driver.release(handle), "cuMemRelease");
    }
    device_must(driver.set_access(memory.space, memory.bytes, &access, 1), "cuMemSetAccess");
    memory.start = (char *)(uintptr_t)memory.space + ahead;
    return memory;
}

static void drop(const struct memory *memory)
{
    if (memory->space == 0) {
        device_free(memory->start);
        return;
    }
    device_must(driver.unmap(memory->space, memory->bytes), "cuMemUnmap");
    device_must(driver.give_back(memory->space, memory->bytes), "cuMemAddressFree");
}

/* ---- sums ---- */

static MPI_Comm comms[2];
static struct memory (*make)(size_t bytes);

struct sum {
    size_t count;
    MPI_Op op;
    bool in_place, context; /* whether the calling thread has a current one */
};

/* Whether it is as in host memory. */
static bool is_right(const struct sum *sum, uint64_t seed)
{
    size_t bytes = sum->count * sizeof(float);
    float *input = check_memory(bytes), *wanted = check_memory(bytes), *got = check_memory(bytes);
    struct memory send = make(bytes), receive = make(bytes);
    uint64_t before = traffic_messages();
    bool right;

    data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, seed, check_rank, sum->count, input);
    device_upload(send.start, input, bytes);
    device_upload(receive.start, input, bytes);
    if (!sum->context)
        device_close();
    right = MPI_Allreduce(sum->in_place ? MPI_IN_PLACE : send.start, receive.start, (int)sum->count,
                          MPI_FLOAT, sum->op, comms[0]) == MPI_SUCCESS;
    right = (traffic_messages() > before) == (sum->op == MPI_SUM) && right;
    device_open(check_rank);
    MPI_Allreduce(input, wanted, (int)sum->count, MPI_FLOAT, sum->op, comms[1]);
    device_download(got, receive.start, bytes);
    right = memcmp(got, wanted, bytes) == 0 && right;
    device_download(got, send.start, bytes);
    right = memcmp(got, input, bytes) == 0 && right;
    drop(&send);
    drop(&receive);
    free(input);
    free(wanted);
    free(got);
    return right;
}

static void test_sums(const char *what)
{
    static const size_t counts[] = {20011, 300001, 1200007};

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct sum sum = {counts[i], MPI_SUM, false, true};

        check(is_right(&sum, i), "%s, %zu elements: as in host memory", what, sum.count);
        sum.in_place = true;
        check(is_right(&sum, 10 + i), "%s, %zu elements, in place: as in host memory", what,
              sum.count);
        sum.context = false;
        check(is_right(&sum, 20 + i), "%s, %zu elements, no current context: as in host memory",
              what, sum.count);
        sum.op = MPI_MAX;
        check(is_right(&sum, 30 + i), "%s, %zu elements, exact: as in host memory", what,
              sum.count);
    }
}

/* More elements than are mapped. */
static void test_short(void)
{
    struct memory send = make(20011 * sizeof(float)), receive = make(20011 * sizeof(float));
    size_t count = send.bytes / sizeof(float) + 1;
    struct sum sum = {20011, MPI_SUM, false, true};
    int code;

    MPI_Comm_set_errhandler(comms[0], MPI_ERRORS_RETURN);
    code = MPI_Allreduce(send.start, receive.start, (int)count, MPI_FLOAT, MPI_SUM, comms[0]);
    check(code != MPI_SUCCESS, "more elements than are mapped: an error");
    drop(&send);
    drop(&receive);
    for (uint64_t i = 0; i < 6; i++)
        is_right(&sum, 40 + i);
    check(is_right(&sum, 50), "then calls are right, and compressed");
}

int main(int argc, char **argv)
{
    bool mapped = argc > 1 && strcmp(argv[1], "mapped") == 0;

    check_begin(&argc, &argv);
    if (!place_begin("device buffers", false) ||
        !check_has(is_there(mapped ? CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
                                   : CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED),
                   argc > 1 ? argv[1] : "pool", "the device has none"))
        return check_end();
    comms_make(comms, 2);
    make = mapped ? map : allocate;
    test_sums(mapped ? "mapped by hand" : "of a pool");
    if (mapped)
        test_short();
    comms_free(comms, 2);
    return check_end();
}
