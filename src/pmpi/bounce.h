/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Exact calls on device buffers, with an MPI that cannot read device memory: it gets copies in host
 * memory, whole, and one call. */
#ifndef CGX_PMPI_BOUNCE_H
#define CGX_PMPI_BOUNCE_H

#include <stdbool.h>
#include <stddef.h>

#include "pmpi/call.h"

/* A buffer of the call and what stands in for it. */
struct cgx_bounce_buffer {
    char *device; /* the lowest byte that the call may touch; NULL: it is no device memory */
    struct cgx_pointer where;
    void *block; /* NULL: the caller's own is passed on */
    char *host;  /* where that byte is in the block */
};

struct cgx_bounce {
    struct cgx_call call; /* for the MPI library: its buffers were not looked at */
    size_t bytes;         /* of each buffer, gaps of the datatype included */
    struct cgx_bounce_buffer send, receive;
};

/* Whether a buffer of CALL is device memory and the MPI must not be given it: it is not CUDA-aware,
 * or, if ON_HOST, whoever does the call is the processor. Managed memory is passed on. False too
 * for calls in which the MPI touches no buffer, and those that it refuses. This rank's affair:
 * others may have host buffers. Without a CUDA driver in the process costs less than 0.05 us. */
bool cgx_bounce_needed(const struct cgx_call *call, bool on_host);

/* Makes BOUNCE->call, CALL on host memory. An error was raised on the communicator: nothing is held
 * and this rank must not take part; others wait for it, as for a rank whose buffers MPI refuses.
 * MPI_ERR_BUFFER: the call's bytes are not all there, or are named by absolute addresses
 * (MPI_BOTTOM). MPI_ERR_NO_MEM: no host memory. */
int cgx_bounce_begin(const struct cgx_call *call, struct cgx_bounce *bounce);

/* The MPI library returned CODE for BOUNCE->call: brings the result to device memory and releases
 * all that BOUNCE holds. Gaps in a derived datatype get the values that they had when the call
 * began. Returns CODE, or an error that was raised. */
int cgx_bounce_end(struct cgx_bounce *bounce, int code);

#endif
