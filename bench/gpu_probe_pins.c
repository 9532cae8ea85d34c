/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu_probe.h"

enum { REPEATS = 6 };

/* ---- copies ---- */

/* A software driver has no speed. */
static double rate_of(double bytes, double seconds)
{
    return probe.soft ? 0 : bytes / seconds * 1e-9;
}

/* Of HOST to the device, in GB/s, the best of some; negative: it fails. */
static double copy_up(const void *host)
{
    double best = 0;

    for (int i = 0; i < REPEATS; i++) {
        double start = probe_now(), rate;

        if (probe.cuMemcpyHtoDAsync(probe.memory, host, probe.bytes, probe.apart) != CUDA_SUCCESS ||
            probe.cuStreamSynchronize(probe.apart) != CUDA_SUCCESS)
            return -1;
        rate = rate_of((double)probe.bytes, probe_now() - start);
        best = rate > best ? rate : best;
    }
    return best;
}

static double copy_down(void *host)
{
    double best = 0;

    for (int i = 0; i < REPEATS; i++) {
        double start = probe_now(), rate;

        if (probe.cuMemcpyDtoHAsync(host, probe.memory, probe.bytes, probe.apart) != CUDA_SUCCESS ||
            probe.cuStreamSynchronize(probe.apart) != CUDA_SUCCESS)
            return -1;
        rate = rate_of((double)probe.bytes, probe_now() - start);
        best = rate > best ? rate : best;
    }
    return best;
}

/* ---- pinning ---- */

static void pin(const char *what, const void *host, unsigned flags)
{
    double mib = (double)(probe.bytes >> 20) * (probe.soft ? INFINITY : 1), start = probe_now(),
           pinned, unpinning, unpinned, up;
    CUresult code = probe.cuMemHostRegister((void *)host, probe.bytes, flags);

    if (code != CUDA_SUCCESS) {
        probe_say("pinning %s: %s", what, probe_name(code));
        return;
    }
    pinned = probe_now();
    up = copy_up(host);
    unpinning = probe_now();
    code = probe.cuMemHostUnregister((void *)host);
    unpinned = probe_now();
    probe_say("pinning %s: %.3f ms per MiB, unpinning %.3f ms per MiB (%s), copy up %.1f GB/s",
              what, (pinned - start) * 1e3 / mib, (unpinned - unpinning) * 1e3 / mib,
              probe_name(code), up);
}

static void pin_all(void)
{
    const unsigned plain = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;

    pin("the heap, untouched", probe.heap, plain);
    memset(probe.heap, 1, probe.bytes);
    pin("the heap, touched", probe.heap, plain);
    if (probe.cuMemHostRegister(probe.heap, probe.bytes, plain) == CUDA_SUCCESS) {
        probe_say("copy to the pinned heap: %.1f GB/s", copy_down(probe.heap));
        probe.cuMemHostUnregister(probe.heap);
    }
    pin("shared memory, untouched", probe.shared, plain);
    memset(probe.shared, 1, probe.bytes);
    pin("shared memory, touched", probe.shared, plain);
    if (probe.cuMemHostRegister(probe.shared, probe.bytes, plain) == CUDA_SUCCESS) {
        probe_say("copy to pinned shared memory: %.1f GB/s", copy_down(probe.shared));
        probe.cuMemHostUnregister(probe.shared);
    }
    pin("a mate's memory, mapped for reading, with READ_ONLY", probe.mapped,
        CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_READ_ONLY);
    pin("a mate's memory, mapped for reading, with plain flags", probe.mapped, plain);
}

static void copy_unpinned(void)
{
    double start;

    if (probe.pinned != NULL)
        probe_say("copies of cuMemHostAlloc: up %.1f GB/s, down %.1f GB/s", copy_up(probe.pinned),
                  copy_down(probe.pinned));
    probe_say("copies of what is not pinned: heap up %.1f GB/s, a mate's memory up %.1f GB/s",
              copy_up(probe.heap), copy_up(probe.mapped));
    start = probe_now();
    for (int i = 0; i < REPEATS; i++)
        memcpy(probe.heap, probe.mapped, probe.bytes);
    probe_say("memcpy from a mate's memory: %.1f GB/s",
              rate_of(REPEATS * (double)probe.bytes, probe_now() - start));
}

/* ---- fork ---- */

/* A page pinned while a child shares it: where it is copied on write, the device keeps the one of
 * before, and what the host writes never reaches it. */
static void fork_pinned(const char *what, volatile unsigned *host)
{
    unsigned read = 0, written = 3;
    pid_t child;

    host[0] = 1;
    if (probe.cuMemHostRegister((void *)host, 4096, CU_MEMHOSTREGISTER_PORTABLE) != CUDA_SUCCESS) {
        probe_say("fork while pinned, %s: it cannot be pinned", what);
        return;
    }
    child = fork();
    if (child == 0) {
        usleep(300000);
        _exit(0);
    }
    host[0] = 2;
    probe.cuMemcpyHtoD(probe.memory, (const void *)host, sizeof *host);
    probe.cuMemcpyDtoH(&read, probe.memory, sizeof read);
    probe.cuMemcpyHtoD(probe.memory, &written, sizeof written);
    probe.cuMemcpyDtoH((void *)host, probe.memory, sizeof *host);
    probe_say("fork while pinned, %s: the device reads %u (2 is right), the host reads %u (3 is "
              "right)%s",
              what, read, host[0], read == 2 && host[0] == 3 ? "" : "; STALE");
    if (child > 0)
        waitpid(child, NULL, 0);
    probe.cuMemHostUnregister((void *)host);
}

void probe_pins(void)
{
    pin_all();
    copy_unpinned();
    fork_pinned("heap", probe.heap);
    fork_pinned("shared memory", probe.shared);
}
