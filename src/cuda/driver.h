/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The CUDA driver that the program has loaded. Nothing is linked and nothing is loaded: its entry
 * points are put into one table when it is first seen. */
#ifndef CGX_CUDA_DRIVER_H
#define CGX_CUDA_DRIVER_H

#include <cuda.h>
#include <stdbool.h>

#include "util/status.h"

/* Every driver since CUDA 11 has these. (A macro of cuda.h may give a name its version.) */
#define CGX_CUDA_REQUIRED(X)      \
    X(cuCtxGetCurrent)            \
    X(cuCtxGetDevice)             \
    X(cuCtxPopCurrent)            \
    X(cuCtxPushCurrent)           \
    X(cuCtxSynchronize)           \
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
    /* Of CUDA 12.0 and 12.4, which the header may be older than; NULL: the driver is. */
    CUresult (*cuCtxGetId)(CUcontext context, unsigned long long *id);
    CUresult (*cuStreamGetGreenCtx)(CUstream stream, void **green);
};

/* The table, or NULL while the program has loaded no driver, or one too old (said once at info
 * level). For every call of the program: costs less than 0.05 us without a driver. */
const struct cgx_cuda *cgx_cuda(void);

/* CGX_OK, or CGX_ERR_DEVICE (running out of memory: CGX_ERR_NOMEM; what a stream capture of the
 * program forbids: CGX_ERR_BUSY), logged at debug level as "WHAT: name of CODE". */
enum cgx_status cgx_cuda_status(CUresult code, const char *what);

/* The status of a call of FUNCTION of the table. */
#define CGX_CUDA_CALL(function, ...) cgx_cuda_status(cgx_cuda()->function(__VA_ARGS__), #function)

#endif
