/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The kernels, loaded into a context. */
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
    CUmodule module;
    CUfunction ranges;
    CUfunction kernels[CGX_FAMILIES][CGX_MEASURE + 1][CGX_VARIANTS][CGX_BFLOAT16 + 1];
};

/* Loads the kernels into the current context. CGX_ERR_DEVICE: there are none for this device or
 * driver (said once; a warning where the driver is older than the kernels); CGX_ERR_NOMEM. */
enum cgx_status cgx_cuda_module_load(struct cgx_cuda_module *module);

void cgx_cuda_module_unload(struct cgx_cuda_module *module);

/* The kernel of FAMILY that WORK needs: its operation, coding, residuals and history say which. */
CUfunction cgx_cuda_module_kernel(const struct cgx_cuda_module *module, enum cgx_family family,
                                  const struct cgx_work *work);

#endif
