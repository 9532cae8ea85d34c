/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Compressed sums while a green context is current: what the program has queued on its default
 * stream is done before, and nothing of the library's goes with the green context. Run with all
 * calls compressed. */

#include <cuda.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/comms.h"
#include "lib/data.h"
#include "lib/device.h"
#include "lib/placed.h"
#include "lib/traffic.h"

#if CUDA_VERSION >= 12040

enum { COUNT = 300001, LEAST_PROCESSORS = 1 };
#define BYTES (COUNT * sizeof(float))

static struct {
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
        driver.split(&part, &parts, &all, NULL, 0, LEAST_PROCESSORS) != CUDA_SUCCESS ||
        driver.describe(&description, &part, 1) != CUDA_SUCCESS ||
        driver.create(&green, description, device, CU_GREEN_CTX_DEFAULT_STREAM) != CUDA_SUCCESS)
        return NULL;
    device_must(driver.convert(&context, green), "cuCtxFromGreenCtx");
    device_must(driver.set_current(context), "cuCtxSetCurrent");
    return green;
}

/* ---- sums ---- */

static MPI_Comm comms[2];
/* Pinned: STALE is in the buffers, LATER is on its way into them. */
static float *stale, *later, *result, *wanted;

static float *make_input(uint64_t seed)
{
    float *input = place_make(PLACE_PINNED, result, BYTES);

    data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, seed, check_rank, COUNT, input);
    return input;
}

static void *allocate(bool of_pool)
{
    CUdeviceptr memory;

    if (!of_pool)
        return device_alloc(BYTES);
    device_must(driver.alloc_of_pool(&memory, BYTES, NULL), "cuMemAllocAsync");
    return (void *)(uintptr_t)memory;
}

static bool sum(const void *from, void *to, int which)
{
    uint64_t before = traffic_messages();
    int code = MPI_Allreduce(from, to, COUNT, MPI_FLOAT, MPI_SUM, comms[which]);

    return code == MPI_SUCCESS && traffic_messages() > before;
}

/* Whether the sum of what is queued is as in host memory. */
static bool is_right(bool of_pool, bool in_place)
{
    void *from = allocate(of_pool), *to = allocate(of_pool);
    struct device_thread thread = device_thread();
    bool good;

    device_upload(from, stale, BYTES);
    device_upload(to, stale, BYTES);
    device_upload_later(in_place ? to : from, later, BYTES, NULL);
    good = sum(in_place ? MPI_IN_PLACE : from, to, 0) && device_thread_is(&thread);
    device_download(result, to, BYTES);
    memcpy(wanted, later, BYTES);
    good = sum(MPI_IN_PLACE, wanted, 1) && good;
    good = memcmp(result, wanted, BYTES) == 0 && good;
    device_free(from);
    device_free(to);
    return good;
}

static void test_sums(const char *when)
{
    for (int i = 0; i < 4; i++) {
        bool of_pool = i % 2, in_place = i / 2;

        check(is_right(of_pool, in_place), "%s, %s, %s: as in host memory", when,
              of_pool ? "of a pool" : "allocated", in_place ? "in place" : "apart");
    }
}

static void test_green(void)
{
    CUgreenCtx green = enter_green();

    if (!check_has(green != NULL, "a green context", "the driver makes none"))
        return;
    result = check_memory(BYTES);
    wanted = check_memory(BYTES);
    stale = make_input(1);
    later = make_input(2);
    test_sums("in a green context");
    test_sums("once more");
    device_open(check_rank);
    device_must(driver.destroy(green), "cuGreenCtxDestroy");
    test_sums("when it has gone");
    green = enter_green();
    test_sums("in a new one");
    device_open(check_rank);
    device_must(driver.destroy(green), "cuGreenCtxDestroy");
    place_free(PLACE_PINNED, stale);
    place_free(PLACE_PINNED, later);
    free(result);
    free(wanted);
}

int main(int argc, char **argv)
{
    unsigned long long before;

    check_begin(&argc, &argv);
    if (!place_begin("device buffers", false) ||
        !check_has(device_find(functions, sizeof functions / sizeof functions[0]), "green contexts",
                   "the driver is older than CUDA 12.4"))
        return check_end();
    before = device_is_soft() ? device_live() : 0;
    comms_make(comms, 2);
    test_green();
    comms_free(comms, 2);
    check(!device_is_soft() || device_live() == before, "nothing is lost with green contexts");
    return check_end();
}

#else

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    check_has(false, "green contexts", "built with a CUDA older than 12.4");
    return check_end();
}

#endif
