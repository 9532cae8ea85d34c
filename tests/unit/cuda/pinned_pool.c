/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Pinned memory. That which stands in for device memory, taken by several threads at once, with the
 * libcuda.so.1 that the loader finds. And what it, and staging memory, is bound to before it is
 * pinned, on the machine that hwloc is made to see:
 *   pinned_pool near        device 0 is near NUMA node 0, device 1 near node 1
 *   pinned_pool refused     the same, but the system refuses
 *   pinned_pool nowhere     no node is bound to */

#include "cuda/pinned_pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/device_backend.h"
#include "cuda/driver.h"
#include "lib/tap.h"
#include "mpi/lib/device.h"
#include "topo/machine.h"
#include "util/log.h"

enum { THREADS = 4, ROUNDS = 30, BYTES = 70000 };

static void *target;
static struct cgx_pointer place;
static atomic_uint failures;

/* Takes blocks of changing size, writes its number into them, and finds it there. */
static void *use(void *number)
{
    int byte = (int)(intptr_t)number;
    unsigned char *memory[2];
    size_t bytes;

    device_open(0);
    for (int round = 0; round < ROUNDS; round++) {
        bytes = (size_t)(round % 3 + 1) * BYTES;
        for (int i = 0; i < 2; i++) {
            if (cgx_pinned_take(&place, bytes, (void **)&memory[i]) != CGX_OK) {
                atomic_fetch_add(&failures, 1);
                return NULL;
            }
            memset(memory[i], byte + i, bytes);
        }
        sched_yield();
        for (int i = 0; i < 2; i++) {
            for (size_t at = 0; at < bytes; at += 1000)
                if (memory[i][at] != byte + i)
                    atomic_fetch_add(&failures, 1);
            cgx_pinned_give(&place, memory[i]);
        }
    }
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, use, (void *)(intptr_t)(10 * i)) != 0)
            bail_out("no threads");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ok(failures == 0, "threads never get the same memory");
}

static void test_copies(void)
{
    static unsigned char from[BYTES], to[BYTES];

    const struct cgx_pointer host = cgx_cuda_pointer(from);

    for (size_t i = 0; i < BYTES; i++)
        from[i] = (unsigned char)(i * 7);
    ok(cgx_pinned_store(&place, (char *)target + 3, from, BYTES) == CGX_OK &&
           cgx_pinned_fetch(&place, to, (char *)target + 3, BYTES) == CGX_OK &&
           memcmp(from, to, BYTES) == 0,
       "what is stored is fetched");
    ok(cgx_pinned_fetch(&host, to, from, BYTES) != CGX_OK, "host memory is not fetched");
}

/* Runs become contiguous, also by copies of each if the driver refuses rows; what is behind them
 * stays. */
static void test_gathering(void)
{
    enum { RUNS = 70, RUN = 22 };
    static unsigned char from[BYTES], to[RUNS * RUN + 8];
    const struct cgx_strided runs = {(char *)target + 2, RUN, 988, RUNS};

    for (size_t i = 0; i < BYTES; i++)
        from[i] = (unsigned char)(i * 7 + i / 256);
    if (cgx_pinned_store(&place, target, from, BYTES) != CGX_OK)
        bail_out("nothing can be stored");
    for (int refused = 0; refused < (device_is_soft() ? 2 : 1); refused++) {
        bool same;

        memset(to, 0xAA, sizeof to);
        if (refused)
            device_fail(SOFTCUDA_ROWS, 1, false);
        same = cgx_pinned_gather(&place, to, &runs) == CGX_OK;
        for (size_t i = 0; i < sizeof to; i++)
            same = same && to[i] == (i < RUNS * RUN ? from[2 + i / RUN * 988 + i % RUN] : 0xAA);
        ok(same, refused ? "and if the driver refuses rows" : "runs are gathered");
    }
}

/* A driver that fails may still hold the pages. */
static void test_unpinning(void)
{
    unsigned char *memory[20];
    bool there = true;

    for (int i = 0; i < 20; i++) {
        if (cgx_pinned_take(&place, (size_t)(i + 10) << 16, (void **)&memory[i]) != CGX_OK)
            bail_out("no memory");
        memory[i][0] = (unsigned char)i;
    }
    device_fail(SOFTCUDA_LOST, 1, true);
    for (int i = 0; i < 20; i++)
        cgx_pinned_give(&place, memory[i]);
    for (int i = 0; i < 20; i++)
        there = there && memory[i][0] == i;
    ok(there, "what cannot be unpinned is not freed");
}

/* ---- NUMA nodes ---- */

enum { PAGE = 4096, AREA = 5 * PAGE + 100, AREA_PAGES = 6 * PAGE, BOUND = CGX_SLOTS + 1 };

/* The last of so many wishes. */
static struct {
    unsigned count;
    unsigned char *memory[BOUND];
    size_t bytes;
    unsigned numa_node;
    bool pinned; /* one of them was already */
} wishes;

static bool watches, refuses;

static bool is_pinned(const void *memory)
{
    unsigned type;

    return cgx_cuda()->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                             (CUdeviceptr)(uintptr_t)memory) == CUDA_SUCCESS;
}

/* The library calls this instead of its own. */
WRAPPED(enum cgx_status, cgx_topo_bind, void *memory, size_t bytes, unsigned numa_node)
{
    if (!watches)
        return __real_cgx_topo_bind(memory, bytes, numa_node);
    wishes.memory[wishes.count++ % BOUND] = memory;
    wishes.bytes = bytes;
    wishes.numa_node = numa_node;
    wishes.pinned = wishes.pinned || is_pinned(memory);
    return refuses ? CGX_ERR_INVALID : CGX_OK;
}

static void test_backend(int device, unsigned expected)
{
    struct cgx_area area = {.bytes = AREA, .pieces = 1, .sources = 1};
    struct cgx_cuda_work *all = NULL;
    struct cgx_backend *backend;
    void *buffer = device_alloc(BYTES), *memory[CGX_SLOTS];
    const struct cgx_pointer where = cgx_cuda_pointer(buffer);

    for (int i = 0; i < CGX_SLOTS; i++) {
        if (posix_memalign(&memory[i], PAGE, AREA_PAGES) != 0)
            bail_out("no memory");
        area.staging[i] = memory[i];
    }
    memset(&wishes, 0, sizeof wishes);
    if (cgx_cuda_backend(&all, &where, &area, &backend) != CGX_OK)
        bail_out("no backend");
    ok(wishes.count == expected, "device %d: %u of the backend's tables and slots are bound",
       device, expected);
    if (expected == BOUND)
        ok(wishes.memory[1] == memory[0] && wishes.memory[2] == memory[1] &&
               wishes.bytes == AREA_PAGES && wishes.numa_node == (unsigned)device && !wishes.pinned,
           "device %d: all of their pages, to node %d, before they are pinned", device, device);
    ok(is_pinned(memory[0]) && is_pinned(memory[1]), "device %d: slots are pinned", device);
    if (!cgx_cuda_backends_free(all))
        bail_out("the staging memory is still pinned");
    for (int i = 0; i < CGX_SLOTS; i++)
        free(memory[i]);
    device_free(buffer);
}

static void test_staged(int device, unsigned expected)
{
    void *buffer = device_alloc(BYTES), *memory;
    const struct cgx_pointer where = cgx_cuda_pointer(buffer);
    size_t bytes = (device + 1u) * BYTES; /* more than any block that is kept */

    memset(&wishes, 0, sizeof wishes);
    if (cgx_pinned_take(&where, bytes, &memory) != CGX_OK)
        bail_out("no memory");
    ok(wishes.count == expected, "device %d: memory of exact calls is %sbound", device,
       expected > 0 ? "" : "not ");
    if (expected > 0)
        ok(wishes.memory[0] == memory && wishes.bytes >= bytes && wishes.bytes % PAGE == 0 &&
               wishes.numa_node == (unsigned)device && !wishes.pinned,
           "device %d: all of its pages, to node %d, before they are pinned", device, device);
    ok(is_pinned(memory), "device %d: memory of exact calls is pinned", device);
    cgx_pinned_give(&where, memory);
    memset(&wishes, 0, sizeof wishes);
    if (cgx_pinned_take(&where, bytes, &memory) != CGX_OK)
        bail_out("no memory");
    ok(wishes.count == 0, "device %d: what is pinned already is left alone", device);
    cgx_pinned_give(&where, memory);
    device_free(buffer);
}

static void test_nodes(const char *where)
{
    bool near = strcmp(where, "near") == 0;

    watches = true;
    refuses = strcmp(where, "refused") == 0;
    cgx_log_set_level(CGX_LOG_DEBUG);
    for (int device = 0; device < 2; device++) {
        if (!device_open(device))
            bail_out("no device %d", device);
        /* The first refusal is the last wish. */
        test_backend(device, near ? BOUND : refuses && device == 0);
        test_staged(device, near);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        test_nodes(argv[1]);
        return done_testing();
    }
    if (!device_open(0)) {
        skip("memory that stands in for device memory", "no CUDA driver, or no device");
        return done_testing();
    }
    target = device_alloc(BYTES + 16);
    place = cgx_cuda_pointer(target);
    ok(cgx_pinned_possible(), "there can be device memory");
    test_threads();
    test_copies();
    test_gathering();
    if (device_is_soft())
        test_unpinning();
    return done_testing();
}
