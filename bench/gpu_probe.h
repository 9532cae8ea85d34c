/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Questions to the CUDA driver of this machine: what tests/softcuda can only assume, and what the
 * library's calls of it cost. Each answer is a line of stdout, "question: answer". */
#ifndef BENCH_GPU_PROBE_H
#define BENCH_GPU_PROBE_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

/* (A macro of cuda.h may give a name its version.) */
#define PROBE_FUNCTIONS(X)      \
    X(cuCtxGetCurrent)          \
    X(cuCtxPopCurrent)          \
    X(cuCtxPushCurrent)         \
    X(cuCtxSetCurrent)          \
    X(cuCtxSynchronize)         \
    X(cuDeviceGet)              \
    X(cuDeviceGetAttribute)     \
    X(cuDeviceGetName)          \
    X(cuDevicePrimaryCtxReset)  \
    X(cuDevicePrimaryCtxRetain) \
    X(cuDriverGetVersion)       \
    X(cuEventCreate)            \
    X(cuEventDestroy)           \
    X(cuEventRecord)            \
    X(cuEventSynchronize)       \
    X(cuGetErrorName)           \
    X(cuInit)                   \
    X(cuIpcGetMemHandle)        \
    X(cuMemAddressReserve)      \
    X(cuMemAlloc)               \
    X(cuMemAllocAsync)          \
    X(cuMemAllocManaged)        \
    X(cuMemCreate)              \
    X(cuMemFree)                \
    X(cuMemGetAddressRange)     \
    X(cuMemHostAlloc)           \
    X(cuMemHostRegister)        \
    X(cuMemHostUnregister)      \
    X(cuMemMap)                 \
    X(cuMemSetAccess)           \
    X(cuMemcpyDtoH)             \
    X(cuMemcpyDtoHAsync)        \
    X(cuMemcpyHtoD)             \
    X(cuMemcpyHtoDAsync)        \
    X(cuMemsetD8Async)          \
    X(cuModuleGetFunction)      \
    X(cuModuleLoadData)         \
    X(cuPointerGetAttribute)    \
    X(cuPointerGetAttributes)   \
    X(cuStreamCreate)           \
    X(cuStreamQuery)            \
    X(cuStreamSynchronize)      \
    X(cuStreamWaitEvent)        \
    X(cuThreadExchangeStreamCaptureMode)

/* What all questions are asked with. A function that the driver lacks is NULL. */
struct probe {
#define PROBE_FIELD(name) __typeof__(name) *name;
    PROBE_FUNCTIONS(PROBE_FIELD)
#undef PROBE_FIELD
    bool soft; /* a driver in software: sizes are small */
    CUdevice device;
    CUcontext context;
    CUstream blocking, apart; /* apart: it does not synchronise with the legacy stream */
    CUevent event;
    size_t bytes;       /* of each of the following */
    CUdeviceptr memory; /* of cuMemAlloc */
    void *heap;
    void *pinned;       /* of cuMemHostAlloc, or NULL */
    void *shared;       /* of a file in memory */
    const void *mapped; /* the same pages, for reading alone, as a mate has them */
};

extern struct probe probe;

/* A line of stdout. */
__attribute__((format(printf, 1, 2))) void probe_say(const char *format, ...);

/* The name of CODE. */
const char *probe_name(CUresult code);

/* Seconds of CLOCK_MONOTONIC. */
double probe_now(void);

/* What the driver says of kinds of memory, with and without a context. */
void probe_kinds(void);

/* Whose memory and which streams green contexts have. */
void probe_green(void);

/* What calls of the driver cost. */
void probe_costs(void);

/* What an event on the legacy stream waits for. */
void probe_order(void);

/* What pinning costs, how fast copies are, and whose page it is after a fork. */
void probe_pins(void);

/* How long the fat binary in the file IMAGE takes to load. */
void probe_module(const char *image);

#endif
