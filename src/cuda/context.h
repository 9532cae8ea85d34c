/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Contexts that the calling thread works in. */
#ifndef CGX_CUDA_CONTEXT_H
#define CGX_CUDA_CONTEXT_H

#include "cuda/driver.h"
#include "cuda/memory.h"

/* Makes CONTEXT current; leave with cgx_cuda_leave. Until then the calling thread does not disturb
 * streams that other threads capture. Entries nest, and the driver hears only of those that change
 * something: a context within itself costs nothing. What the caller had current, and how its thread
 * captures, is restored with the first entry's end, whatever failed in between. */
enum cgx_status cgx_cuda_push(CUcontext context);
void cgx_cuda_leave(void);

/* The context to use POINTER's memory in: that it was allocated in or, where it belongs to none,
 * the current one if it is of the same device and no green one (green.h), else the device's primary
 * one. The current one is preferred though both could be used, since a program that made it queues
 * its work on its default stream. CGX_ERR_DEVICE: the driver does not know the memory, or has no
 * such context. */
enum cgx_status cgx_cuda_context(const struct cgx_pointer *pointer, CUcontext *context);

/* Makes that context current. CGX_OK: leave with cgx_cuda_leave. */
enum cgx_status cgx_cuda_enter(const struct cgx_pointer *pointer);

#endif
