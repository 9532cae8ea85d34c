/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The device backend: codec/backend.h on the GPU that the caller's buffer is on. */
#ifndef CGX_CUDA_DEVICE_BACKEND_H
#define CGX_CUDA_DEVICE_BACKEND_H

#include "codec/backend.h"
#include "cuda/memory.h"

/* The device backends of one staging memory, one for each context whose buffers were seen. */
struct cgx_cuda_backends;

/* The backend for BUFFER, device or managed memory, from *ALL or made and put there (*ALL is NULL
 * at first). AREA is the same in all calls with *ALL; it must stay until *ALL is freed.
 * Before the buffers are read, what the legacy default stream has to do is waited for.
 * CGX_ERR_NOMEM, CGX_ERR_DEVICE: there is none. */
enum cgx_status cgx_cuda_backend(struct cgx_cuda_backends **all, const struct cgx_pointer *buffer,
                                 const struct cgx_area *area, struct cgx_backend **backend);

/* Nothing may be queued. Contexts may have gone before. False: the staging memory may still be
 * pinned in a broken context and must never be freed. */
bool cgx_cuda_backends_free(struct cgx_cuda_backends *all);

#endif
