/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Device memory of backends. If shared, other processes may open it (CUDA IPC). CUDA leaves
 * undefined what happens if it is freed before the last of them has closed it, and a rank is not
 * told when they have. So memory that was offered to local peers is kept when its backend goes, and
 * reused by the next backend of the same context that needs as much. The driver frees it when the
 * process exits.
 *
 * A local peer may open such memory again while it is still open for a communicator that is about
 * to go; since CUDA 11 drivers count openings (cuIpcOpenMemHandle). If a driver refuses, ranks
 * learn that they cannot connect (comm/connect.c). Each offer has a new cookie, which identifies
 * old offers. */
#ifndef CGX_CUDA_EXPORTED_H
#define CGX_CUDA_EXPORTED_H

#include "cuda/driver.h"

struct cgx_exported {
    struct cgx_exported *next;
    CUcontext context;
    CUdeviceptr address;
    size_t bytes;
    unsigned long long id; /* id of the memory, which goes with its context */
    bool may_be_open;      /* set once another process may have opened it */
};

/* Sets *TAKEN to memory of at least BYTES in the current context, CONTEXT. Sizes of SHARED memory
 * are powers of two of the driver's sharing unit, so that what growing buffers leave behind is no
 * larger than the last. CGX_ERR_NOMEM, CGX_ERR_DEVICE: no memory. */
enum cgx_status cgx_exported_take(CUcontext context, size_t bytes, bool shared,
                                  struct cgx_exported **taken);

/* Whether the memory exists, and whether it has gone with its context; both false if the driver
 * does not say. These calls need no context, whose handle may be stale. */
bool cgx_exported_is_there(const struct cgx_exported *exported);
bool cgx_exported_is_gone(const struct cgx_exported *exported);

/* Returns EXPORTED (or NULL). ENTERED says that its context is current; otherwise the context is
 * gone or broken, and the memory is never used again. */
void cgx_exported_give(struct cgx_exported *exported, bool entered);

#endif
