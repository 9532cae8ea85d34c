/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The kernels, loaded into a context once in its life, since they are megabytes and take
 * dozens of look-ups. */
#ifndef CGX_CUDA_MODULE_H
#define CGX_CUDA_MODULE_H

#include "codec/encoding.h"
#include "cuda/driver.h"

struct cgx_cuda_module {
    struct cgx_cuda_module *next;
    CUcontext context;
    unsigned long long id; /* id of CONTEXT, whose handle another may get later; 0: unknown */
    unsigned users;
    CUmodule module;
    CUfunction begin, heads, runs;
    /* Without history and with it, by type. A family without history has the same kernels twice. */
    CUfunction squares[2][CGX_BFLOAT16 + 1]; /* for uniform quantisation */
    CUfunction kernels[CGX_FAMILIES][CGX_OPERATIONS][2][CGX_BFLOAT16 + 1];
};

/* Sets *MODULE to the kernels in CONTEXT, which is current. They are loaded on first use and stay
 * as long as the context; with drivers before CUDA 12.0, which do not tell the lives of a context
 * apart, until returned. Thread-safe. CGX_ERR_DEVICE: no kernels for this device or driver (logged
 * once; a warning if the driver is older than the kernels). CGX_ERR_NOMEM. */
enum cgx_status cgx_cuda_module_take(CUcontext context, struct cgx_cuda_module **module);

/* Returns MODULE (or NULL). ENTERED: its context is current; otherwise the context is gone or
 * broken. */
void cgx_cuda_module_give(struct cgx_cuda_module *module, bool entered);

/* The kernel of FAMILY for WORK, selected by its operation, coding and history. */
CUfunction cgx_cuda_module_kernel(const struct cgx_cuda_module *module, enum cgx_family family,
                                  const struct cgx_work *work);

/* The kernel that finds the squares from which the step sizes of WORK's uniform pieces follow. */
CUfunction cgx_cuda_module_squares(const struct cgx_cuda_module *module,
                                   const struct cgx_work *work);

#endif
