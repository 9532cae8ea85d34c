/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Contexts that the calling thread works in. */
#ifndef CGX_CUDA_CONTEXT_H
#define CGX_CUDA_CONTEXT_H

#include "cuda/driver.h"
#include "cuda/memory.h"

/* As cgx_cuda_enter (memory.h), of CONTEXT. */
enum cgx_status cgx_cuda_push(CUcontext context);

/* Copies BYTES to the device; they have arrived on return. */
enum cgx_status cgx_cuda_upload(CUdeviceptr to, const void *from, size_t bytes);

/* The context to use POINTER's memory in: that it was allocated in or, where it belongs to none,
 * the current one if it is of the same device and no green one (green.h), else the device's primary
 * one. The current one is preferred though both could be used, since a program that made it queues
 * its work on its default stream. CGX_ERR_DEVICE: the driver does not know the memory, or has no
 * such context. */
enum cgx_status cgx_cuda_context(const struct cgx_pointer *pointer, CUcontext *context);

#endif
