/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CUDA contexts of the calling thread. */
#ifndef CGX_CUDA_CONTEXT_H
#define CGX_CUDA_CONTEXT_H

#include "cuda/driver.h"
#include "cuda/memory.h"

/* Like cgx_cuda_enter (memory.h), for CONTEXT. */
enum cgx_status cgx_cuda_push(CUcontext context);

/* The context for POINTER's memory: the one it was allocated in, or for a green one (below) the
 * device's primary context. Memory without a context uses the current context if it is on the same
 * device and not green, otherwise the device's primary one. The current one is preferred, since a
 * program that made it queues its work on its default stream. CGX_ERR_DEVICE: the driver does not
 * know the memory, or has no such context. */
enum cgx_status cgx_cuda_context(const struct cgx_pointer *pointer, CUcontext *context);

/* Sets BUS_ID, of SIZE bytes, to that of the current context's device. False: it is unknown. */
bool cgx_cuda_bus_id(char *bus_id, int size);

/* ---- green contexts ---- */

/* Green contexts (CUDA 12.4) are partitions of a device's processors that share the memory of its
 * primary context. The library does not work in them: they have few processors, can be current to
 * one thread at a time only, and take what was created in them along when they go, while the memory
 * stays. So memory allocated in one is summed in the primary context, whichever of the two a driver
 * reports.
 *
 * But a green context has its own default stream, for which the primary context's does not wait. So
 * an event marks the work that is queued there when a thread whose context is green enters another.
 * Within the entry this makes STREAM wait for that work. */
enum cgx_status cgx_green_order(CUstream stream);

#endif
