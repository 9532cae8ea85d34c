/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The kernels, loaded into a context: once in its life, for they are 4 MB and some 60 look-ups. */
#ifndef CGX_CUDA_MODULE_H
#define CGX_CUDA_MODULE_H

#include "codec/codec.h"
#include "codec/quantiser.h"
#include "cuda/driver.h"

/* Variants of an operation's kernel. All but the second round to the nearest. */
enum cgx_variant {
    CGX_VARIANT_NEAREST,
    CGX_VARIANT_STOCHASTIC,
    CGX_VARIANT_RESIDUALS,
    CGX_VARIANT_HISTORY,
    CGX_VARIANTS
};

struct cgx_cuda_module {
    struct cgx_cuda_module *next;
    CUcontext context;
    unsigned long long id; /* of the life of the context; 0: the driver does not tell */
    unsigned users;
    CUmodule module;
    CUfunction ranges;
    CUfunction kernels[CGX_FAMILIES][CGX_MEASURE + 1][CGX_VARIANTS][CGX_BFLOAT16 + 1];
};

/* Sets *MODULE to the kernels in CONTEXT, which is current. They are loaded when they are first
 * asked for and stay as long as the context; with a driver before CUDA 12.0, which does not tell
 * the lives of a context apart, until they are given back. Thread-safe. CGX_ERR_DEVICE: there are
 * none for this device or driver (said once; a warning where the driver is older than the kernels);
 * CGX_ERR_NOMEM. */
enum cgx_status cgx_cuda_module_take(CUcontext context, struct cgx_cuda_module **module);

/* Gives MODULE (or NULL) back. ENTERED: its context is current; else it has gone, or is broken. */
void cgx_cuda_module_give(struct cgx_cuda_module *module, bool entered);

/* The kernel of FAMILY that WORK needs: its operation, coding, residuals and history say which. */
CUfunction cgx_cuda_module_kernel(const struct cgx_cuda_module *module, enum cgx_family family,
                                  const struct cgx_work *work);

#endif
