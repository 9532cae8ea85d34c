/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A CUDA driver in software, for tests: a libcuda.so.1 whose devices are ordinary memory and whose
 * kernels are those of src/cuda/kernels.cu, compiled for this processor with a fiber for each CUDA
 * thread. It is slow, hostile on purpose, and never installed:
 *
 * - The program cannot touch device memory: it is mapped without access but while a kernel or a
 * copy runs, and there is no access beside an allocation or after it was freed.
 * - Work on streams is carried out as late as it may be: when something waits for it.
 * - Pinned memory is read and written when the copy is carried out, not when it is queued.
 * - Private memory that is pinned while the program forks is lost to the device, page by page, when
 * the program writes to it, as on old kernels (fork.c).
 * - Memory of another process (cuIpcOpenMemHandle) is opened once at a time, where the drivers of
 * today count how often; what was freed there meanwhile is an illegal address, or reads as 0xDD
 * bytes. A handle is made of the first address of an allocation alone. A process that exits frees
 * nothing. A forked child uses nothing of the driver.
 * - Memory that is mapped by hand (cuMemMap) has no context, is used as far as it goes on piece by
 * piece, and goes at once when it is unmapped, whatever is queued. Pool memory has no context.
 * - A green context has the memory of the primary one, and streams, events and kernels of its own:
 * none of them is used with those of the other, but that a stream waits for an event.
 *
 * Left out, of what real drivers have:
 * - execution: nothing runs at the same time as anything else, or by itself; blocks that wait for
 * others of their grid take turns, those that wait for another grid wait for ever; grids and blocks
 * of more than one dimension, shared memory that a launch asks for, textures, surfaces, clusters,
 * cooperative launches; images are not looked into: whichever is loaded has the kernels above
 * - streams: what names a thread's default stream without CU_STREAM_PER_THREAD (functions that end
 * in _ptds and _ptsz), priorities, graphs (event.c; a thread's capture mode is kept, and has no
 * meaning), host functions, waits for a value in memory; events of other processes, and times
 * - device memory: mapped by hand in two places, in part, read-only, or shared as a file; pools
 * but the device's own, which free in no stream's order, and sharing of that one; arrays, copies of
 * more than one dimension, sets of more than bytes; peer access and copies between devices: memory
 * is reached by its own device alone
 * - host memory: registration of I/O memory; all that is pinned is portable and
 * mapped, whatever was asked for
 * - managed memory that moves: it is ordinary memory, which the program may touch at any time
 * - contexts: limits and flags (who waits neither spins nor sleeps); an error of a green context
 * is its own, and it has all processors
 * - cuGetProcAddress, without which CUDA's runtime does not start, most attributes of devices and
 * pointers, the multi-process service, and errors of the hardware but for a device that is lost
 *
 * From the environment, read in cuInit:
 *   SOFTCUDA_VERSION=N      what cuDriverGetVersion says, 12040 for 12.4
 *   SOFTCUDA_DEVICES=N      devices; default 2; 0: cuInit says that there are none
 *   SOFTCUDA_HIDDEN=N       so many devices of the machine come before these, and are hidden, as by
 *                           CUDA_VISIBLE_DEVICES
 *   SOFTCUDA_FAIL=KIND:N    the Nth operation of a kind fails, see softcuda_fail; N+: all from then
 *                           on
 *   SOFTCUDA_READ_ONLY=1    host memory may be registered for reading alone, which drivers for
 *                           machines with PCIe refuse
 *   SOFTCUDA_LINKED=0       there is no NVLink between devices (cuDeviceGetP2PAttribute)
 * with each context that is made:
 *   SOFTCUDA_REUSE=1        it gets the handle of one that has gone
 * with each question about a pointer:
 *   SOFTCUDA_GREEN_MEMORY=1 memory that was allocated in a green context says that context
 * and with each launch:
 *   SOFTCUDA_STAGED=1       kernels do not find in the memory of other processes what copies, which
 *                           a driver stages, do; 2: copies do not, and change nothing
 *   SOFTCUDA_LATE=MS        kernels are carried out so many milliseconds after something waits for
 *                           them
 *   SOFTCUDA_BLOCKS=ORDER   in which order blocks run: forward, reverse, or a number that seeds a
 *                           shuffle; default: a number of each process's own, named on stderr
 *   SOFTCUDA_ORDER=ORDER    in which order the threads of a block run; default: forward
 *
 * These functions are in libcuda.so.1 beside the driver's; a test finds them with dlsym, and where
 * it does not it runs on a real driver. */
#ifndef SOFTCUDA_H
#define SOFTCUDA_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum softcuda_kind {
    SOFTCUDA_ALLOC,     /* cuMemAlloc, cuMemAllocHost, cuMemHostAlloc, cuMemHostRegister, streams,
                           events,  modules: CUDA_ERROR_OUT_OF_MEMORY */
    SOFTCUDA_COPY,      /* cuMemcpy*, cuMemset*: CUDA_ERROR_UNKNOWN, nothing is copied */
    SOFTCUDA_LAUNCH,    /* cuLaunchKernel: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES */
    SOFTCUDA_ASYNC,     /* as a copy or launch is carried out: sticky, CUDA_ERROR_ILLEGAL_ADDRESS */
    SOFTCUDA_LOST,      /* any call of the driver: sticky, CUDA_ERROR_DEVICE_UNAVAILABLE */
    SOFTCUDA_IPC,       /* cuIpcGetMemHandle, cuIpcOpenMemHandle: CUDA_ERROR_NOT_SUPPORTED */
    SOFTCUDA_READ_ONLY, /* cuMemHostRegister of memory for reading alone: the same */
    SOFTCUDA_PIN,       /* cuMemHostRegister: CUDA_ERROR_NOT_PERMITTED */
    SOFTCUDA_ROWS,      /* cuMemcpy2DUnaligned: CUDA_ERROR_INVALID_VALUE */
    SOFTCUDA_KINDS
};

/* The NTH operation of KIND from now on (1: the next) fails, and if SO_ON all after it. 0: none,
 * and a lost device is back. */
void softcuda_fail(enum softcuda_kind kind, unsigned nth, bool so_on);

/* What happened so far. */
struct softcuda_counts {
    unsigned long long operations[SOFTCUDA_KINDS]; /* those that failed included */
    unsigned long long launches;
    unsigned long long bytes_to_device, bytes_to_host; /* copied */
    unsigned long long modules;                        /* loaded */
    unsigned long long attributes;                     /* of pointers, asked for */
    /* Allocations, registrations, streams, events not freed, memory of other processes not closed.
     * Modules go with their context. */
    unsigned long long live;
    unsigned long long shared; /* of these, allocations whose handles were asked for */
};
void softcuda_count(struct softcuda_counts *counts);

/* A function of the driver, and how often the program has called it. */
struct softcuda_call {
    const char *name; /* as it is exported */
    unsigned long long count;
};

/* ON: counts the calls of all threads from now on, beginning with none; each costs a few us more.
 * softcuda_calls gives those counted so far, MOST at the most; returns how many functions. */
void softcuda_record_calls(bool on);
size_t softcuda_calls(struct softcuda_call *calls, size_t most);

/* ---- inside ---- */

/* Runs KERNEL, a kernel of kernels.cu or of a test compiled with device.h, on a grid of BLOCKS
 * blocks of THREADS threads, one block after the other in the order that SOFTCUDA_BLOCKS says; ARGS
 * is its argument. False if the threads of a block do not meet at a barrier, a shuffle or a ballot
 * (a message says where). */
typedef void softcuda_kernel(const void *args);
bool softcuda_run(softcuda_kernel *kernel, const void *args, unsigned blocks, unsigned threads);

/* A grid of a kernel. */
struct softcuda_grid {
    softcuda_kernel *kernel;
    const void *args;
    unsigned blocks, threads;
};

/* What has become of a block, or of a grid. */
enum softcuda_ran { SOFTCUDA_ENDED, SOFTCUDA_WAITS, SOFTCUDA_FAILED };

/* Runs BLOCK of GRID alone. After each round, in which all of its threads that could went on, and
 * some with PROGRESS, not only with softcuda_poll, BETWEEN is called; false: the block is given up,
 * and so says the result. In builds with SOFTCUDA_RESIDENT, which have nothing of the above. */
typedef bool softcuda_between(bool progress);
bool softcuda_run_block(const struct softcuda_grid *grid, unsigned block,
                        softcuda_between *between);

#ifdef __cplusplus
}
#endif

#endif
