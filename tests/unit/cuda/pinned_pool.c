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

/* Runs become contiguous, also by copies of each if the driver refuses rows; what is behind them
 * stays. */
static void test_gathering(void)
{
    enum { RUNS = 70, RUN = 22 };
    static unsigned char from[BYTES], to[RUNS * RUN + 8];
    const struct cgx_strided runs = {(char *)device + 2, RUN, 988, RUNS};

    for (size_t i = 0; i < BYTES; i++)
        from[i] = (unsigned char)(i * 7 + i / 256);
    if (cgx_pinned_store(&where, device, from, BYTES) != CGX_OK)
        bail_out("nothing can be stored");
    for (int refused = 0; refused < (device_is_soft() ? 2 : 1); refused++) {
        bool same;

        memset(to, 0xAA, sizeof to);
        if (refused)
            device_fail(SOFTCUDA_ROWS, 1, false);
        same = cgx_pinned_gather(&where, to, &runs) == CGX_OK;
        for (size_t i = 0; i < sizeof to; i++)
            same = same && to[i] == (i < RUNS * RUN ? from[2 + i / RUN * 988 + i % RUN] : 0xAA);
        ok(same, refused ? "and if the driver refuses rows" : "runs are gathered");
    }
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
    test_gathering();
    test_abandoning();
    if (device_is_soft())
        test_unpinning();
    return done_testing();
}
