/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Where a buffer is. The CUDA driver is queried only if the program has loaded it, since otherwise
 * there are no device buffers. memory.c queries; no_cuda.c is for builds without CUDA, where all
 * memory is host memory. */
#ifndef CGX_CUDA_MEMORY_H
#define CGX_CUDA_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "util/status.h"

enum cgx_memory {
    CGX_MEMORY_HOST, /* host memory, pinned or not, and unknown memory */
    CGX_MEMORY_DEVICE,
    CGX_MEMORY_MANAGED,
};

/* What the driver says about an address. All zero: host memory unknown to it. */
struct cgx_pointer {
    enum cgx_memory memory;
    bool known;    /* the fields below are valid; false if the driver does not answer */
    int device;    /* the device that accesses the memory */
    void *context; /* the context in which it was allocated; NULL: it belongs to a device only */
    /* The start of the allocation, or of the reserved address range if memory was mapped by hand
     * (cuMemMap). BYTES of 0: unknown. */
    const char *start;
    size_t bytes;
};

/* Queries ADDRESS: one driver call, and a second if the driver knows the memory. Called for every
 * call of the program: thread-safe, holds no lock for long, and takes less than 0.05 us without a
 * CUDA driver in the process. */
struct cgx_pointer cgx_cuda_pointer(const void *address);

/* Whether BYTES from ADDRESS on, described by POINTER, may be used. Device and managed memory: the
 * allocation must not end before, and if it was mapped by hand its last byte must exist. Host
 * memory, if a driver is loaded: the first and last byte must be readable (a freed device buffer
 * looks like host memory). Needs no current context. */
bool cgx_cuda_reaches(const struct cgx_pointer *pointer, const void *address, size_t bytes);

/* Makes the context of POINTER's memory current to the calling thread (context.h); its legacy
 * default stream waits for the caller's green context. Until it leaves, the thread does not disturb
 * non-blocking streams that other threads capture. Entries nest, and the driver is called only for
 * changes: entering a context within itself is free. Leaving the outermost entry restores the
 * caller's context and capture mode, whatever failed in between. After CGX_OK, leave must be
 * called. */
enum cgx_status cgx_cuda_enter(const struct cgx_pointer *pointer);
void cgx_cuda_leave(void);

/* The version of the CUDA header at build time, or "none". */
const char *cgx_cuda_build(void);

#endif
