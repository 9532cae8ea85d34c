/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Host memory for devices; memory that replaces device memory for an MPI that cannot read device
 * memory, and copies between the two. Thread-safe. WHERE describes the device memory. Functions
 * work in its context, which they enter unless the caller has (cgx_cuda_enter). In no_cuda.c all of
 * them fail, but for those at the end. */
#ifndef CGX_CUDA_PINNED_POOL_H
#define CGX_CUDA_PINNED_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "codec/backend.h"
#include "cuda/memory.h"
#include "util/status.h"

/* The most memory that stays pinned for later calls: a process that sums gradients soon needs as
 * much again, and pinning costs more than the copy. */
#define CGX_PINNED_KEPT_BYTES ((size_t)512 << 20)
#define CGX_PINNED_KEPT_BLOCKS 16

/* Whether device memory can exist: the program has loaded a driver. Without one as cheap as
 * cgx_cuda_pointer. */
bool cgx_pinned_possible(void);

/* At least BYTES of host memory, page-aligned, that outlives its context; pinned unless the driver
 * refuses. CGX_ERR_NOMEM: no memory. Return with cgx_pinned_give. */
enum cgx_status cgx_pinned_take(const struct cgx_pointer *where, size_t bytes, void **memory);
void cgx_pinned_give(const struct cgx_pointer *where, void *memory);

/* Waits as fetch does (below). Waiting for the whole context would void captures of any stream. */
enum cgx_status cgx_pinned_wait(const struct cgx_pointer *where);

/* Copy BYTES from or to DEVICE after all earlier work of the legacy default stream and of streams
 * that synchronise with it; complete on return. */
enum cgx_status cgx_pinned_fetch(const struct cgx_pointer *where, void *host, const void *device,
                                 size_t bytes);
/* Like fetch, for RUNS, which become contiguous. */
enum cgx_status cgx_pinned_gather(const struct cgx_pointer *where, void *host,
                                  const struct cgx_strided *runs);

enum cgx_status cgx_pinned_store(const struct cgx_pointer *where, void *device, const void *host,
                                 size_t bytes);

/* ---- inside: host memory that the device backend has ---- */

/* Pins BYTES at MEMORY, whole pages, in the current context and for all others, near the context's
 * device. Some containers, virtual machines and devices in confidential mode refuse this, which is
 * logged once per process, as a warning. CGX_ERR_INVALID: it is pinned already. */
enum cgx_status cgx_cuda_pin(void *memory, size_t bytes);

/* False: the driver may still hold MEMORY's pages and would treat later memory there as pinned. */
bool cgx_cuda_unpin(void *memory);

#endif
