/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The CUDA driver that the program has loaded. The library neither links nor loads it: a table of
 * its entry points is filled when it is first seen. */
#ifndef CGX_CUDA_DRIVER_H
#define CGX_CUDA_DRIVER_H

#include <cuda.h>
#include <stdbool.h>

#include "util/status.h"

/* Available in every driver since CUDA 11. (A macro of cuda.h may add a version to a name.) */
#define CGX_CUDA_REQUIRED(X)      \
    X(cuCtxGetCurrent)            \
    X(cuCtxGetDevice)             \
    X(cuCtxPopCurrent)            \
    X(cuCtxPushCurrent)           \
    X(cuDeviceGetAttribute)       \
    X(cuDeviceGetByPCIBusId)      \
    X(cuDeviceGetName)            \
    X(cuDeviceGetP2PAttribute)    \
    X(cuDeviceGetPCIBusId)        \
    X(cuDevicePrimaryCtxGetState) \
    X(cuDevicePrimaryCtxRelease)  \
    X(cuDevicePrimaryCtxRetain)   \
    X(cuDriverGetVersion)         \
    X(cuEventCreate)              \
    X(cuEventDestroy)             \
    X(cuEventRecord)              \
    X(cuEventSynchronize)         \
    X(cuGetErrorName)             \
    X(cuIpcCloseMemHandle)        \
    X(cuIpcGetMemHandle)          \
    X(cuIpcOpenMemHandle)         \
    X(cuLaunchKernel)             \
    X(cuMemAlloc)                 \
    X(cuMemFree)                  \
    X(cuMemFreeHost)              \
    X(cuMemGetInfo)               \
    X(cuMemHostAlloc)             \
    X(cuMemHostGetDevicePointer)  \
    X(cuMemHostRegister)          \
    X(cuMemHostUnregister)        \
    X(cuMemcpy2DUnaligned)        \
    X(cuMemcpyDtoDAsync)          \
    X(cuMemcpyDtoH)               \
    X(cuMemcpyDtoHAsync)          \
    X(cuMemcpyHtoD)               \
    X(cuMemcpyHtoDAsync)          \
    X(cuMemsetD8Async)            \
    X(cuModuleGetFunction)        \
    X(cuModuleLoadData)           \
    X(cuModuleUnload)             \
    X(cuPointerGetAttribute)      \
    X(cuPointerGetAttributes)     \
    X(cuStreamCreate)             \
    X(cuStreamDestroy)            \
    X(cuStreamSynchronize)        \
    X(cuStreamWaitEvent)          \
    X(cuThreadExchangeStreamCaptureMode)

struct cgx_cuda {
#define CGX_CUDA_FIELD(name) __typeof__(name) *name;
    CGX_CUDA_REQUIRED(CGX_CUDA_FIELD)
#undef CGX_CUDA_FIELD
    /* Of CUDA 12.0 and 12.4, for which the header may be too old; NULL if the driver is. */
    CUresult (*cuCtxGetId)(CUcontext context, unsigned long long *id);
    CUresult (*cuStreamGetGreenCtx)(CUstream stream, void **green);
};

/* The table; NULL while the program has loaded no driver, or one too old (logged once, level info).
 * Called for every call of the program: less than 0.05 us without a driver. */
const struct cgx_cuda *cgx_cuda(void);

/* CGX_OK, CGX_ERR_NOMEM (out of memory), CGX_ERR_BUSY (forbidden during a stream capture of the
 * program) or CGX_ERR_DEVICE. Errors are logged at debug level as "WHAT: name of CODE". */
enum cgx_status cgx_cuda_status(CUresult code, const char *what);

/* Calls FUNCTION of the table and returns its status. */
#define CGX_CUDA_CALL(function, ...) cgx_cuda_status(cgx_cuda()->function(__VA_ARGS__), #function)

#endif
