/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Compressed sums of device memory that belongs to no context, and in programs that capture
 * streams: device_memory pool       of the device's pool (cudaMallocAsync) device_memory mapped of
 * several pieces mapped one after the other (PyTorch's expandable segments) device_memory captures
 * while the program captures a stream */

#include <cuda.h>
#include <stdlib.h>

#include "lib/check.h"
#include "lib/device.h"
#include "lib/sums.h"

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
    size_t bytes;      /* of the space that is mapped */
    size_t piece;      /* bytes behind it that are only reserved */
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
    device_must(driver.reserve(&memory.space, memory.bytes + piece, 0, 0, 0),
                "cuMemAddressReserve");
    memory.piece = piece;
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
    device_must(driver.give_back(memory->space, memory->bytes + memory->piece), "cuMemAddressFree");
}

/* ---- sums ---- */

static MPI_Comm comms[2];
static struct memory (*make)(size_t bytes);

struct call {
    size_t count;
    MPI_Op op;
    bool in_place, context; /* whether the calling thread has a current one */
};

/* Whether it is as in host memory. */
static bool is_right(const struct call *sum, uint64_t seed)
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
        struct call sum = {counts[i], MPI_SUM, false, true};

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
    size_t count = (send.space + send.bytes - (uintptr_t)send.start) / sizeof(float) + 1;
    struct call sum = {20011, MPI_SUM, false, true};
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

static void play(CUdevice_attribute attribute, const char *what)
{
    if (!check_has(is_there(attribute), what, "the device has none"))
        return;
    comms_make(comms, 2);
    test_sums(what);
    if (make == map)
        test_short();
    comms_free(comms, 2);
}

static void play_pool(void)
{
    make = allocate;
    play(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, "of a pool");
}

static void play_mapped(void)
{
    make = map;
    play(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, "mapped by hand");
}

/* ---- captures ---- */

/* A stream that is not ordered with the legacy default stream is not disturbed. The capture of one
 * that is may be void then, and the sum is exact or an error: all ranks capture, since the others
 * wait for one that gets an error in an exact call. */

enum { COUNT = 100003 };
#define BYTES (COUNT * sizeof(float))

static struct {
    CUresult (*create)(CUstream *stream, unsigned flags);
    CUresult (*destroy)(CUstream stream);
    CUresult (*begin)(CUstream stream, CUstreamCaptureMode mode);
    CUresult (*end)(CUstream stream, CUgraph *graph);
} streams;

static MPI_Comm comm;
static float *input, *exact, *compressed, *result;
static bool lacks_memory; /* the driver refuses all memory during the sum */

struct outcome {
    int code;
    bool sent; /* messages of a compressed call */
};

/* What the sum of INPUT in device memory came to; RESULT, if there is one. */
static struct outcome sum_captured(CUstream captured, CUresult *ended)
{
    void *from = device_clone(input, BYTES), *to = device_clone(input, BYTES);
    uint64_t before = traffic_messages();
    CUgraph graph;
    struct outcome outcome;

    if (captured)
        device_must(streams.begin(captured, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
    if (lacks_memory)
        device_fail(SOFTCUDA_ALLOC, 1, true);
    outcome.code = MPI_Allreduce(from, to, COUNT, MPI_FLOAT, MPI_SUM, comm);
    if (lacks_memory)
        device_fail(SOFTCUDA_ALLOC, 0, false);
    outcome.sent = traffic_messages() > before;
    if (captured)
        *ended = streams.end(captured, &graph);
    device_download(result, to, BYTES);
    device_free(from);
    device_free(to);
    return outcome;
}

static bool is_compressed(struct outcome outcome)
{
    return outcome.code == MPI_SUCCESS && outcome.sent && memcmp(result, compressed, BYTES) == 0;
}

static bool is_exact(struct outcome outcome)
{
    return outcome.code == MPI_SUCCESS && memcmp(result, exact, BYTES) == 0;
}

/* CAPTURES: whether this rank does. */
static void test(const char *name, unsigned flags, bool captures)
{
    bool blocking = flags == CU_STREAM_DEFAULT;
    CUresult ended = CUDA_SUCCESS;
    CUstream stream = NULL;
    struct outcome outcome;

    if (captures)
        device_must(streams.create(&stream, flags), "cuStreamCreate");
    outcome = sum_captured(stream, &ended);
    if (blocking) {
        check(outcome.code != MPI_SUCCESS || is_exact(outcome), "%s: the sum is exact or an error",
              name);
        check(ended == CUDA_SUCCESS || ended == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
              "%s: the capture is void at the most", name);
    } else {
        check(is_compressed(outcome), "%s: the sum is compressed", name);
        check(ended == CUDA_SUCCESS, "%s: the capture is not disturbed", name);
    }
    check_note("%s: code %d, capture %d", name, outcome.code, (int)ended);
    if (captures)
        device_must(streams.destroy(stream), "cuStreamDestroy");
    outcome = sum_captured(NULL, NULL);
    check(is_compressed(outcome) || (blocking && is_exact(outcome)), "%s: the next sum is right",
          name);
}

/* On a communicator of its own, which asks for memory in its first sum. */
static void test_lack_of_memory(void)
{
    CUresult ended;
    CUstream stream;

    comm = comms_new();
    lacks_memory = true;
    device_must(streams.create(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    check(is_exact(sum_captured(stream, &ended)), "memory is lacking: the sum is exact");
    check(ended == CUDA_SUCCESS, "memory is lacking: the capture is not disturbed");
    device_must(streams.destroy(stream), "cuStreamDestroy");
    lacks_memory = false;
    MPI_Comm_free(&comm);
}

static void play_captures(void)
{
    const struct device_function of_streams[] = {{"cuStreamCreate", &streams.create},
                                                 {"cuStreamDestroy_v2", &streams.destroy},
                                                 {"cuStreamBeginCapture_v2", &streams.begin},
                                                 {"cuStreamEndCapture", &streams.end}};

    if (!check_has(device_find(of_streams, 4), "captures", "the driver has none"))
        return;
    input = check_memory(BYTES);
    exact = check_memory(BYTES);
    compressed = check_memory(BYTES);
    result = check_memory(BYTES);
    data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, 1, check_rank, COUNT, input);
    PMPI_Allreduce(input, exact, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (device_is_soft())
        test_lack_of_memory();
    comm = comms_new();
    check(sum_captured(NULL, NULL).sent, "without a capture: the sum is compressed");
    memcpy(compressed, result, BYTES);

    test("all capture non-blocking streams", CU_STREAM_NON_BLOCKING, true);
    test("one captures a non-blocking stream", CU_STREAM_NON_BLOCKING, check_rank == 0);
    test("all capture blocking streams", CU_STREAM_DEFAULT, true);
    free(input);
    free(exact);
    free(compressed);
    free(result);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    static const struct scene scenes[] = {
        {"pool", play_pool, place_any, false},
        {"mapped", play_mapped, place_any, false},
        {"captures", play_captures, place_any, false},
    };

    return scenes_main(argc, argv, scenes, sizeof scenes / sizeof scenes[0]);
}
