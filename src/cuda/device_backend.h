/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The device backend: codec/backend.h on the GPU of the caller's buffer. */
#ifndef CGX_CUDA_DEVICE_BACKEND_H
#define CGX_CUDA_DEVICE_BACKEND_H

#include "codec/backend.h"
#include "cuda/memory.h"

/* The device backends for one staging memory, one for each context that has had a buffer. */
struct cgx_cuda_backends;

/* The backend for BUFFER, device or managed memory, found in *ALL or added to it (*ALL is NULL at
 * first). AREA must be the same in all calls with *ALL and outlive it. Operations wait for the
 * legacy default stream before they read buffers. CGX_ERR_NOMEM, CGX_ERR_DEVICE: no backend. */
enum cgx_status cgx_cuda_backend(struct cgx_cuda_backends **all, const struct cgx_pointer *buffer,
                                 const struct cgx_area *area, struct cgx_backend **backend);

/* Frees all backends. Nothing may be queued; contexts may have gone already. False: the staging
 * memory may still be pinned in a broken context and must never be freed. */
bool cgx_cuda_backends_free(struct cgx_cuda_backends *all);

#endif
