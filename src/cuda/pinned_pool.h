/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Host memory that stands in for device memory while an MPI that cannot read the latter works on
 * it, and the copies between the two. Thread-safe. WHERE is what the driver says of the device
 * memory. The work is done in its context, which each function enters unless the caller has
 * (cgx_cuda_enter). none.c has no such memory, and all of this fails there. */
#ifndef CGX_CUDA_PINNED_POOL_H
#define CGX_CUDA_PINNED_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "cuda/memory.h"
#include "util/status.h"

/* What is kept pinned for later calls, at most: a process that sums gradients needs the same again
 * in a moment, and pinning costs more than the copy. */
#define CGX_PINNED_KEPT_BYTES ((size_t)512 << 20)
#define CGX_PINNED_KEPT_BLOCKS 16

/* Whether there can be device memory: the program has loaded a driver. Costs as much as
 * cgx_cuda_memory without one. */
bool cgx_pinned_possible(void);

/* At least BYTES of host memory, aligned to a page; pinned unless the driver refuses, and ordinary
 * memory in any case: it outlives its context. CGX_ERR_NOMEM: there is none. To be given back. */
enum cgx_status cgx_pinned_take(const struct cgx_pointer *where, size_t bytes, void **memory);
void cgx_pinned_give(const struct cgx_pointer *where, void *memory);

/* Waits for all work of the context. */
enum cgx_status cgx_pinned_wait(const struct cgx_pointer *where);

/* Copies BYTES from and to DEVICE, after all earlier work of the legacy default stream and of the
 * streams that it synchronises with; done when they return. */
enum cgx_status cgx_pinned_fetch(const struct cgx_pointer *where, void *host, const void *device,
                                 size_t bytes);
/* The same of COUNT runs of SIZE bytes, one every STRIDE bytes, which come one after the other. */
enum cgx_status cgx_pinned_gather(const struct cgx_pointer *where, void *host, const void *device,
                                  size_t size, size_t stride, size_t count);
enum cgx_status cgx_pinned_store(const struct cgx_pointer *where, void *device, const void *host,
                                 size_t bytes);

#endif
