/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Where a buffer lives. The CUDA driver is asked only where the program itself has loaded it: a
 * program that has not can have no device buffers. memory.c asks; none.c is for builds without
 * CUDA, where everything is host memory. */
#ifndef CGX_CUDA_MEMORY_H
#define CGX_CUDA_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "util/status.h"

enum cgx_memory {
    CGX_MEMORY_HOST, /* pinned and unknown memory too */
    CGX_MEMORY_DEVICE,
    CGX_MEMORY_MANAGED,
};

/* What the driver says of an address; all zero: host memory that it does not know. */
struct cgx_pointer {
    enum cgx_memory memory;
    bool known;        /* what follows is said; false too where the driver does not answer */
    int device;        /* that the memory is reached from */
    void *context;     /* that it was allocated in; NULL: it belongs to the device alone */
    const char *start; /* of the allocation, and its length; 0: not said. Of memory that was mapped
                        * by hand (cuMemMap): of the address space that was reserved */
    size_t bytes;
};

/* Asks of ADDRESS: one call of the driver, and one more where it knows the memory. For every call
 * of the program: thread-safe, takes no lock that is held for long, and without a CUDA driver in
 * the process costs less than 0.05 us. */
struct cgx_pointer cgx_cuda_pointer(const void *address);

/* The same where no more is wanted. */
static inline enum cgx_memory cgx_cuda_memory(const void *address)
{
    return cgx_cuda_pointer(address).memory;
}

/* Whether BYTES from ADDRESS on, of which the driver says POINTER, may be used: device and managed
 * memory, that the allocation does not end before, and where it was mapped by hand, that there is
 * memory at the last byte; host memory, where a driver is loaded, that its first and last byte can
 * be read (a device buffer that was freed passes for host memory). Needs no current context. */
bool cgx_cuda_reaches(const struct cgx_pointer *pointer, const void *address, size_t bytes);

/* Makes the context of POINTER's memory current to the calling thread (context.h), which until it
 * leaves does not disturb non-blocking streams that other threads capture. Entries nest, and the
 * driver hears only of those that change something: a context within itself costs nothing. What the
 * caller had current, and how its thread captures, is restored with the first entry's end, whatever
 * failed in between. CGX_OK: leave. */
enum cgx_status cgx_cuda_enter(const struct cgx_pointer *pointer);
void cgx_cuda_leave(void);

/* The version of the CUDA header that this was built with, or "none". */
const char *cgx_cuda_build(void);

#endif
