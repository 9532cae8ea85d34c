/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The sum of a node's ranks by one kernel on each of their devices (kernels.h), which reads the
 * mirrors of local peers and waits for their kernels by flags there. The driver waits for such a
 * kernel in vain if a local peer does not come, so nothing but cgx_cuda_fused_wait may wait for the
 * slot's work. */
#ifndef CGX_CUDA_FUSED_H
#define CGX_CUDA_FUSED_H

#include "codec/backend.h"
#include "cuda/kernels.h"

/* ---- whether ranks can do so; BACKEND is connected for CGX_PULL_DEVICE ---- */

/* The blocks of these kernels that BACKEND's device certainly holds at once. 0: none, since the
 * memory was not made for that (struct cgx_area), the device runs kernels for a limited time or for
 * several processes at once or may do so, or the driver refuses. */
unsigned cgx_cuda_fused_blocks(struct cgx_backend *backend);

/* Two steps between which all local peers have done the first: a kernel writes to the flags of all
 * local peers, then what theirs have written here is read, and flags are set to zero. Errors: flags
 * do not arrive, or a kernel does not reach all local peers as fast as copies do. */
enum cgx_status cgx_cuda_fused_greet(struct cgx_backend *backend);
enum cgx_status cgx_cuda_fused_greeted(struct cgx_backend *backend);

/* ---- a sum ---- */

/* The part of the buffer that a local peer, or this rank, owns. */
struct cgx_fused_block {
    const struct cgx_piece *pieces; /* offsets from the start of this rank's staging memory */
    size_t npieces;
    size_t payload; /* there; ... */
    size_t bytes;   /* ... its size */
    /* Of the owner, from the start of its staging memory: the payloads of the own part and of what
     * it brings to this rank's part. Unused for this rank itself. */
    size_t sum, brought;
};

struct cgx_fused_sum {
    const struct cgx_coding *coding; /* rounds to nearest */
    struct cgx_history history;
    const void *in;
    void *out;
    const unsigned char *staging; /* of the slot */
    unsigned self, ranks;         /* 2 to CGX_FUSED_RANKS */
    unsigned blocks;              /* the most that all devices hold */
    uint64_t epoch;               /* larger than all before on these flags */
    struct cgx_fused_block parts[CGX_FUSED_RANKS];
};

/* A process has one call at a time whose slices are such kernels: those of two calls could wait for
 * each other on several devices. False: there is one, until it is released. */
bool cgx_cuda_fused_claim(void);
void cgx_cuda_fused_release(void);

/* Queues the kernel. After an error none is queued, or it ends without a result. */
enum cgx_status cgx_cuda_fused_launch(struct cgx_backend *backend, unsigned slot,
                                      const struct cgx_fused_sum *sum);

/* Whether the kernel, which was queued, has not ended. */
bool cgx_cuda_fused_runs(struct cgx_backend *backend, unsigned slot);

/* Makes the kernel end, if it still waits for others. */
void cgx_cuda_fused_stop(struct cgx_backend *backend, unsigned slot);

/* To be called once for each kernel that was queued, when it has ended or was told to.
 * CGX_ERR_BUSY: it was stopped before it had all elements. Other errors are those of the backend's
 * wait. */
enum cgx_status cgx_cuda_fused_wait(struct cgx_backend *backend, unsigned slot);

#endif
