/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Memory that stands in for device memory, taken by several threads at once. The libcuda.so.1 is
 * the one that the loader finds. */

#include "cuda/pinned_pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"
#include "mpi/lib/device.h"

enum { THREADS = 4, ROUNDS = 30, BYTES = 70000 };

static void *device;
static struct cgx_pointer where;
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
            if (cgx_pinned_take(&where, bytes, (void **)&memory[i]) != CGX_OK) {
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
            cgx_pinned_give(&where, memory[i]);
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
    ok(cgx_pinned_store(&where, (char *)device + 3, from, BYTES) == CGX_OK &&
           cgx_pinned_fetch(&where, to, (char *)device + 3, BYTES) == CGX_OK &&
           memcmp(from, to, BYTES) == 0,
       "what is stored is fetched");
    ok(cgx_pinned_fetch(&host, to, from, BYTES) != CGX_OK, "host memory is not fetched");
}

enum { RUNS = 70, RUN = 900, MARGIN = 8 };

static bool may_load;

/* Whether RUNS, of what is FROM, are picked from START on; what is behind them stays. */
static bool picks(struct cgx_strided runs, size_t start, const unsigned char *from)
{
    const size_t bytes = cgx_picked_bytes(&runs) + MARGIN;
    unsigned char *memory;
    bool same;

    if (cgx_pinned_take(&where, bytes, (void **)&memory) != CGX_OK)
        return false;
    memset(memory, 0xAA, bytes);
    runs.at = (char *)device + start;
    same = cgx_pinned_pick(&where, memory, &runs, may_load) == CGX_OK;
    for (size_t i = 0; i < runs.count; i++)
        same = same &&
               memcmp(memory + i * runs.bytes, from + start + i * runs.stride, runs.bytes) == 0;
    for (size_t i = 0; i < MARGIN; i++)
        same = same && memory[bytes - 1 - i] == 0xAA;
    cgx_pinned_give(&where, memory);
    return same;
}

static void test_picking(void)
{
    static unsigned char from[BYTES];
    struct cgx_strided runs = {.bytes = RUN, .stride = 988, .count = RUNS};
    unsigned long long launches = device_is_soft() ? device_count().launches : 0;

    for (size_t i = 0; i < BYTES; i++)
        from[i] = (unsigned char)(i * 7 + i / 256);
    if (cgx_pinned_store(&where, device, from, BYTES) != CGX_OK)
        bail_out("nothing can be stored");
    ok(!picks(runs, 0, from), "nothing is picked where the kernel may not be loaded and is not");
    may_load = true;
    ok(picks(runs, 0, from), "runs are picked");
    may_load = false;
    runs.bytes = 20;
    ok(picks(runs, 24, from), "short runs are picked from within the memory");
    if (device_is_soft())
        ok(device_count().launches == launches + 2, "each time by one kernel");
    ok(!picks(runs, 2, from), "misaligned memory is not picked from");
    runs.bytes = 22;
    ok(!picks(runs, 0, from), "nor are parts of words");
}

/* What cannot be waited for may still come. */
static void test_abandoning(void)
{
    unsigned char *memory, *other;

    if (cgx_pinned_take(&where, BYTES, (void **)&memory) != CGX_OK)
        bail_out("no memory");
    cgx_pinned_abandon(memory - 1);
    cgx_pinned_abandon(memory + BYTES - 1);
    cgx_pinned_give(&where, memory);
    if (cgx_pinned_take(&where, BYTES, (void **)&other) != CGX_OK)
        bail_out("no memory");
    memory[0] = memory[BYTES - 1] = 1;
    ok(other != memory, "abandoned memory stays, and nobody else gets it");
    cgx_pinned_give(&where, other);
}

/* A driver that fails may still hold the pages. */
static void test_unpinning(void)
{
    unsigned char *memory[20];
    bool there = true;

    for (int i = 0; i < 20; i++) {
        if (cgx_pinned_take(&where, (size_t)(i + 10) << 16, (void **)&memory[i]) != CGX_OK)
            bail_out("no memory");
        memory[i][0] = (unsigned char)i;
    }
    device_fail(SOFTCUDA_LOST, 1, true);
    for (int i = 0; i < 20; i++)
        cgx_pinned_give(&where, memory[i]);
    for (int i = 0; i < 20; i++)
        there = there && memory[i][0] == i;
    ok(there, "what cannot be unpinned is not freed");
}

int main(void)
{
    if (!device_open(0)) {
        skip("memory that stands in for device memory", "no CUDA driver, or no device");
        return done_testing();
    }
    device = device_alloc(BYTES + 16);
    where = cgx_cuda_pointer(device);
    ok(cgx_pinned_possible(), "there can be device memory");
    test_threads();
    test_copies();
    test_picking();
    test_abandoning();
    if (device_is_soft())
        test_unpinning();
    return done_testing();
}
