/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Device memory of backends, which other processes may open (CUDA IPC) if it is shared. CUDA leaves
 * undefined what becomes of it if it is freed before the last of them has closed it, and nothing
 * tells a rank that its local peers have: so memory that was offered to them is kept when its
 * backend goes, and serves the next one of the same context that needs as much. It is freed as the
 * process exits after MPI_Finalize (cgx_cuda_finalize), when every local peer has closed what it
 * had.
 *
 * A local peer may open such memory again while it still has it open for a communicator that is
 * about to go: drivers count that (cuIpcOpenMemHandle, since CUDA 11). From one that refuses
 * instead, ranks learn that they cannot connect (comm/connect.c). An offer of before is known by
 * its cookie, which is another one each time that memory is offered. */
#ifndef CGX_CUDA_EXPORTED_H
#define CGX_CUDA_EXPORTED_H

#include "cuda/driver.h"

struct cgx_exported {
    struct cgx_exported *next;
    CUcontext context;
    CUdeviceptr address;
    size_t bytes;
    unsigned long long id; /* of the memory: it goes with the context */
    bool shared;
    bool may_be_open; /* to be set once another process may have opened it */
};

/* Memory of at least BYTES for *TAKEN, in the current context, which is CONTEXT. Sizes of SHARED
 * memory are powers of two of what drivers share at a time, so that what ever larger buffers leave
 * behind is no more than the last. CGX_ERR_NOMEM, CGX_ERR_DEVICE: there is none. */
enum cgx_status cgx_exported_take(CUcontext context, size_t bytes, bool shared,
                                  struct cgx_exported **taken);

/* Whether the memory is there, and whether it is gone with its context; neither where the driver
 * does not say. By a question that needs no context, whose handle may be stale. */
bool cgx_exported_is_there(const struct cgx_exported *exported);
bool cgx_exported_is_gone(const struct cgx_exported *exported);

/* Takes EXPORTED (or NULL) back. ENTERED: its context is current; else it has gone, or is broken,
 * and nothing of it can be used again. */
void cgx_exported_give(struct cgx_exported *exported, bool entered);

#endif
