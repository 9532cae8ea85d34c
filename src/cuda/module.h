/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The kernels, loaded into a context. */
#ifndef CGX_CUDA_MODULE_H
#define CGX_CUDA_MODULE_H

#include "codec/codec.h"
#include "cuda/driver.h"

struct cgx_cuda_module {
    CUmodule module;
    CUfunction kernels[CGX_OPERATIONS][CGX_ROUNDING_STOCHASTIC + 1][CGX_BFLOAT16 + 1];
    CUfunction rotated[CGX_DECODE + 1][CGX_BFLOAT16 + 1]; /* of pieces that are rotated */
    /* With residuals, rounding to the nearest: of the others and of those that are rotated. */
    CUfunction residuals[2][CGX_REDUCE + 1][CGX_BFLOAT16 + 1];
    CUfunction history[CGX_MEASURE + 1]
                      [CGX_BFLOAT16 + 1]; /* with history, which is so rounded too */
};

/* Loads the kernels into the current context. CGX_ERR_DEVICE: there are none for this device or
 * driver (said once; a warning where the driver is older than the kernels); CGX_ERR_NOMEM. */
enum cgx_status cgx_cuda_module_load(struct cgx_cuda_module *module);

void cgx_cuda_module_unload(struct cgx_cuda_module *module);

#endif
