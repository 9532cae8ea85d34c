/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The order of compressed sums and other work on their buffers: "device_order legacy|thread|green".
 * Work that the program queued before, on the legacy default stream, its thread's default stream,
 * or that of a current green context, is done first. When the call returns, no work is left, and
 * destroying a green context destroys nothing of the library. All calls are compressed. */

#include <cuda.h>
#include <stdlib.h>

#include "lib/check.h"
#include "lib/device.h"
#include "lib/sums.h"

enum { COUNT = 300001 }; /* several slices */
#define BYTES (COUNT * sizeof(float))

static MPI_Comm comms[2];
static void *stream;
/* Pinned: STALE is in the buffers, LATER is on its way into them. */
static float *stale, *later;
static float *result, *wanted;

static float *make_input(uint64_t seed)
{
    float *input = place_make(PLACE_PINNED, result, BYTES);

    data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, seed, check_rank, COUNT, input);
    return input;
}

static int sum(const void *from, void *to, int which)
{
    uint64_t before = traffic_messages();
    int code = MPI_Allreduce(from, to, COUNT, MPI_FLOAT, MPI_SUM, comms[which]);

    return code == MPI_SUCCESS && traffic_messages() > before ? 0 : 1;
}

/* The same sum of LATER in ordinary memory: WANTED. */
static bool refer(void)
{
    float *input = check_memory(BYTES);
    bool good;

    memcpy(input, later, BYTES);
    good = sum(input, wanted, 1) == 0;
    free(input);
    return good;
}

/* Whether the sum of what is queued on the stream, from FROM to TO, is as in ordinary memory, and
 * the thread as it was. Frees both. */
static bool counts_queued(void *from, void *to, bool in_place)
{
    struct device_thread thread = device_thread();
    bool good = refer();

    device_upload(from, stale, BYTES);
    device_upload(to, stale, BYTES);
    device_upload_later(in_place ? to : from, later, BYTES, stream);
    good = sum(in_place ? MPI_IN_PLACE : from, to, 0) == 0 && device_thread_is(&thread) && good;
    device_download(result, to, BYTES);
    device_free(from);
    device_free(to);
    return good && memcmp(result, wanted, BYTES) == 0;
}

/* ROUND: in the first the library makes what it needs, which may wait for what is queued; in later
 * ones nothing does but the call. */
static void test_before(int round, bool in_place)
{
    check(counts_queued(device_alloc(BYTES), device_alloc(BYTES), in_place),
          "round %d, %s: what is queued counts", round, in_place ? "in place" : "apart");
}

/* What was to be written where the sum goes does not come after it. */
static void test_receive(enum place from_place)
{
    void *from = place_make(from_place, later, BYTES), *to = device_alloc(BYTES);
    bool good = refer();

    device_upload_later(to, stale, BYTES, stream);
    good = sum(from, to, 0) == 0 && good;
    device_download(result, to, BYTES);
    check(good && memcmp(result, wanted, BYTES) == 0, "from %s: the sum is not overwritten",
          place_name(from_place));
    place_free(from_place, from);
    device_free(to);
}

/* What is sent may be overwritten then, and the sum is there. */
static void test_after(enum place from_place, enum place to_place)
{
    void *from = place_make(from_place, later, BYTES), *to = place_make(to_place, stale, BYTES);
    bool good = refer();

    good = sum(from, to, 0) == 0 && good;
    if (from_place == PLACE_DEVICE)
        device_upload(from, stale, BYTES);
    else
        memcpy(from, stale, BYTES);
    place_read(to_place, result, to, BYTES);
    check(good && memcmp(result, wanted, BYTES) == 0,
          "from %s to %s: nothing is left to do when the call returns", place_name(from_place),
          place_name(to_place));
    place_free(from_place, from);
    place_free(to_place, to);
}

/* A decode that the device refuses is done by the processor; it is complete too. */
static void test_refused(void *reader)
{
    void *from = device_clone(later, BYTES), *to = device_alloc(BYTES);
    bool good = refer();
    struct softcuda_counts counts = device_count();
    unsigned launches;

    good = sum(from, to, 0) == 0 && good;
    launches = (unsigned)(device_count().launches - counts.launches);
    device_upload(to, stale, BYTES);
    device_fail(SOFTCUDA_LAUNCH, launches, false); /* the last of as many */
    good = sum(from, to, 0) == 0 && refer() && good;
    device_download_on(reader, result, to, BYTES);
    check(good && memcmp(result, wanted, BYTES) == 0,
          "nothing is left to do either where the processor decodes");
    device_fail(SOFTCUDA_LAUNCH, 0, false);
    device_free(from);
    device_free(to);
}

/* All of it, on the stream that MODE says. */
static void test_stream(const char *mode)
{
    void *reader = device_stream();

    stream = strcmp(mode, "thread") == 0 ? DEVICE_STREAM_PER_THREAD : NULL;
    for (int round = 1; round <= 2; round++)
        for (int in_place = 0; in_place < 2; in_place++)
            test_before(round, in_place);
    for (int from = 0; from < PLACES; from++)
        test_receive((enum place)from);
    for (int from = 0; from < PLACES; from++)
        for (int to = 0; to < PLACES; to++)
            test_after((enum place)from, (enum place)to);
    if (device_is_soft())
        test_refused(reader);
}

/* ---- green contexts ---- */

#if CUDA_VERSION >= 12040

static struct {
    CUresult (*create_plain)(CUcontext *context, unsigned flags, CUdevice device);
    __typeof__(cuCtxDestroy) *destroy_plain;
    __typeof__(cuCtxGetDevice) *get_device;
    __typeof__(cuCtxSetCurrent) *set_current;
    __typeof__(cuDeviceGetDevResource) *get_processors;
    __typeof__(cuDevSmResourceSplitByCount) *split;
    __typeof__(cuDevResourceGenerateDesc) *describe;
    __typeof__(cuGreenCtxCreate) *create;
    __typeof__(cuGreenCtxDestroy) *destroy;
    __typeof__(cuCtxFromGreenCtx) *convert;
    __typeof__(cuMemAllocAsync) *alloc_of_pool;
} driver;

static const struct device_function functions[] = {
    {"cuCtxCreate_v2", &driver.create_plain},
    {"cuCtxDestroy_v2", &driver.destroy_plain},
    {"cuCtxGetDevice", &driver.get_device},
    {"cuCtxSetCurrent", &driver.set_current},
    {"cuDeviceGetDevResource", &driver.get_processors},
    {"cuDevSmResourceSplitByCount", &driver.split},
    {"cuDevResourceGenerateDesc", &driver.describe},
    {"cuGreenCtxCreate", &driver.create},
    {"cuGreenCtxDestroy", &driver.destroy},
    {"cuCtxFromGreenCtx", &driver.convert},
    {"cuMemAllocAsync", &driver.alloc_of_pool},
};

/* Makes a green context of the current device, and that current; NULL: the driver makes none. */
static CUgreenCtx enter_green(void)
{
    CUdevResource all, part;
    CUdevResourceDesc description;
    CUgreenCtx green;
    CUcontext context;
    CUdevice device;
    unsigned parts = 1;

    device_must(driver.get_device(&device), "cuCtxGetDevice");
    if (driver.get_processors(device, &all, CU_DEV_RESOURCE_TYPE_SM) != CUDA_SUCCESS ||
        driver.split(&part, &parts, &all, NULL, 0, 1) != CUDA_SUCCESS ||
        driver.describe(&description, &part, 1) != CUDA_SUCCESS ||
        driver.create(&green, description, device, CU_GREEN_CTX_DEFAULT_STREAM) != CUDA_SUCCESS)
        return NULL;
    device_must(driver.convert(&context, green), "cuCtxFromGreenCtx");
    device_must(driver.set_current(context), "cuCtxSetCurrent");
    return green;
}

static void *allocate(bool of_pool)
{
    CUdeviceptr memory;

    if (!of_pool)
        return device_alloc(BYTES);
    device_must(driver.alloc_of_pool(&memory, BYTES, NULL), "cuMemAllocAsync");
    return (void *)(uintptr_t)memory;
}

static void test_sums(const char *when)
{
    for (int i = 0; i < 4; i++) {
        bool of_pool = i % 2, in_place = i / 2;

        check(counts_queued(allocate(of_pool), allocate(of_pool), in_place),
              "%s, %s, %s: as in host memory", when, of_pool ? "of a pool" : "allocated",
              in_place ? "in place" : "apart");
    }
}

/* Exact calls, which copy by way of the host, come after what is queued too. */
static void test_exact(void)
{
    void *buffer = device_clone(stale, BYTES);
    bool good;

    PMPI_Allreduce(later, wanted, COUNT, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
    device_upload_later(buffer, later, BYTES, stream);
    good = MPI_Allreduce(MPI_IN_PLACE, buffer, COUNT, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD) == 0;
    device_download(result, buffer, BYTES);
    check(good && memcmp(result, wanted, BYTES) == 0, "an exact call: what is queued counts");
    device_upload_later(buffer, stale, BYTES, stream);
    good = MPI_Allreduce(later, buffer, COUNT, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD) == 0;
    device_download(result, buffer, BYTES);
    check(good && memcmp(result, wanted, BYTES) == 0,
          "an exact call: the result is not overwritten");
    device_free(buffer);
}

/* A green context that gets the handle of a plain one, with SOFTCUDA_REUSE, works as any other. */
static void test_reuse(void)
{
    const char *reuse = getenv("SOFTCUDA_REUSE");
    void *before, *after;
    CUcontext context;
    CUgreenCtx green;
    CUdevice device;

    device_must(driver.get_device(&device), "cuCtxGetDevice");
    device_must(driver.create_plain(&context, 0, device), "cuCtxCreate");
    before = device_thread().context;
    test_sums("in a plain context");
    device_must(driver.destroy_plain(context), "cuCtxDestroy");
    device_open(check_rank);
    green = enter_green();
    after = device_thread().context;
    if (device_is_soft() && reuse)
        check(before == after, "a green context has the handle of a plain one that has gone");
    test_sums("in a green one after it");
    device_open(check_rank);
    device_must(driver.destroy(green), "cuGreenCtxDestroy");
}

static void test_green(void)
{
    CUgreenCtx green = NULL;

    if (!check_has(device_find(functions, sizeof functions / sizeof functions[0]), "green contexts",
                   "the driver is older than CUDA 12.4") ||
        !check_has((green = enter_green()) != NULL, "a green context", "the driver makes none"))
        return;
    test_sums("in a green context");
    test_exact();
    test_sums("once more");
    device_open(check_rank);
    device_must(driver.destroy(green), "cuGreenCtxDestroy");
    test_sums("when it has gone");
    green = enter_green();
    test_sums("in a new one");
    device_open(check_rank);
    device_must(driver.destroy(green), "cuGreenCtxDestroy");
    test_reuse();
}

#else

static void test_green(void)
{
    check_has(false, "green contexts", "built with a CUDA older than 12.4");
}

#endif

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "legacy";
    bool green = strcmp(mode, "green") == 0;
    unsigned long long before;

    check_begin(&argc, &argv);
    if (!place_begin("device buffers", false))
        return check_end();
    before = device_is_soft() ? device_live() : 0;
    comms_make(comms, 2);
    result = check_memory(BYTES);
    wanted = check_memory(BYTES);
    memset(result, 0, BYTES);
    stale = make_input(1);
    later = make_input(2);
    if (green)
        test_green();
    else
        test_stream(mode);
    place_free(PLACE_PINNED, stale);
    place_free(PLACE_PINNED, later);
    free(result);
    free(wanted);
    comms_free(comms, 2);
    if (green) /* memory of exact calls stays pinned */
        check(!device_is_soft() || (device_live() == before + 1 && device_count().modules == 2),
              "nothing is made in green contexts, nor lost with them");
    return check_end();
}
