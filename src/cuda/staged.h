/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Host memory that stands in for device memory while an MPI that cannot read the latter works on
 * it, and the copies between the two. Thread-safe. DEVICE is an address in device memory, whose
 * context the work is done in; none.c has no such memory, and all of this fails there. */
#ifndef CGX_CUDA_STAGED_H
#define CGX_CUDA_STAGED_H

#include <stdbool.h>
#include <stddef.h>

#include "util/status.h"

/* What is kept pinned for later calls, at most: a process that sums gradients needs the same again
 * in a moment, and pinning costs more than the copy. */
#define CGX_STAGED_KEPT_BYTES ((size_t)512 << 20)
#define CGX_STAGED_KEPT_BLOCKS 16

/* Whether there can be device memory: the program has loaded a driver. Costs as much as
 * cgx_cuda_memory without one. */
bool cgx_staged_possible(void);

/* At least BYTES of host memory, aligned to a page; pinned unless the driver refuses, and ordinary
 * memory in any case: it outlives its context. CGX_ERR_NOMEM: there is none. To be given back. */
enum cgx_status cgx_staged_take(const void *device, size_t bytes, void **memory);
void cgx_staged_give(const void *device, void *memory);

/* Waits for all work of the context. */
enum cgx_status cgx_staged_wait(const void *device);

/* Copies BYTES, after all earlier work of the legacy default stream and of the streams that it
 * synchronises with; done when they return. */
enum cgx_status cgx_staged_fetch(void *host, const void *device, size_t bytes);
enum cgx_status cgx_staged_store(void *device, const void *host, size_t bytes);

#endif
