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

/* The context to use POINTER's memory in: that it was allocated in; of a green one (below), the
 * device's primary one; or, where it belongs to none, the current one if it is of the same device
 * and no green one, else the device's primary one. The current one is preferred though both could
 * be used, since a program that made it queues its work on its default stream. CGX_ERR_DEVICE: the
 * driver does not know the memory, or has no such context. */
enum cgx_status cgx_cuda_context(const struct cgx_pointer *pointer, CUcontext *context);

/* ---- green contexts ---- */

/* Green contexts (CUDA 12.4): parts of a device's processors, as contexts that share the memory of
 * its primary one. The library does not work in them: it would have a few processors alone, a green
 * context may be current to one thread at a time, and what is made in it goes with it while the
 * memory stays. So sums of what is allocated in one, whether a driver says that it is the green
 * context's or the primary one's, are done in the primary context.
 *
 * But a green context has a default stream of its own, which that of the primary context does not
 * wait for. What the program has queued there comes first all the same, through an event. */

/* Whether the calling thread's current context is a green one. */
bool cgx_green_is_current(void);

/* To be called before a context is entered for a call of the program, and when it is left:
 * remembers, for this thread, what the default stream of the program's current context has to do,
 * if that is a green one. Calls nest: only the first looks, and the
 * last forgets. */
void cgx_green_begin(void);
void cgx_green_end(void);

/* Between the two: has STREAM wait for what was remembered. */
enum cgx_status cgx_green_order(CUstream stream);

#endif
