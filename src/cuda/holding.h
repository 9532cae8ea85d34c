/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What a device backend keeps from call to call (codec/backend.h). */
#ifndef CGX_CUDA_HOLDING_H
#define CGX_CUDA_HOLDING_H

#include "cuda/work.h"

/* Those of struct cgx_backend_ops. */
enum cgx_status cgx_cuda_keep(const struct cgx_cuda_work *work, size_t bytes,
                              struct cgx_holding **holding);
bool cgx_cuda_holds(const struct cgx_cuda_work *work, const struct cgx_holding *holding);
enum cgx_status cgx_cuda_clear(const struct cgx_cuda_work *work, struct cgx_holding *holding);

#endif
