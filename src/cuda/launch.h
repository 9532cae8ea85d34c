/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Queues one operation on one slot: its table and its kernels. */
#ifndef CGX_CUDA_LAUNCH_H
#define CGX_CUDA_LAUNCH_H

#include "cuda/kernels.h"
#include "cuda/work.h"

/* Queues REQUEST behind what was stored on SLOT. The context must be current. *LAUNCHED has a bit
 * for each family whose kernel was queued, also if others failed. */
enum cgx_status cgx_cuda_launch(struct cgx_cuda_work *work, struct cgx_cuda_slot *slot,
                                const struct cgx_work *request, unsigned *launched);

/* Queues the kernels that encode or sum the uniform pieces of REQUEST, in TILES tiles, with ARGS.
 * CGX_ERR_INVALID, as from the host codec: a piece cannot be encoded. */
enum cgx_status cgx_cuda_launch_uniform(struct cgx_cuda_work *work, const struct cgx_work *request,
                                        uint32_t tiles, struct cgx_kernel_args *args);

/* Orders what is queued next on STREAM behind SLOT's work on the previous stream. */
enum cgx_status cgx_cuda_follow(const struct cgx_cuda_work *work, const struct cgx_cuda_slot *slot,
                                enum cgx_cuda_stream stream);

/* Marks the end of SLOT's work on STREAM so far. */
enum cgx_status cgx_cuda_record(const struct cgx_cuda_work *work, struct cgx_cuda_slot *slot,
                                enum cgx_cuda_stream stream);

/* The device address that mirrors DATA, in the staging memory of SLOT. */
static inline CUdeviceptr cgx_cuda_mirrored(const struct cgx_cuda_slot *slot,
                                            const unsigned char *data)
{
    return slot->mirror + (CUdeviceptr)(data - slot->host);
}

/* The device address of DATA, which belongs to the staging memory of SLOT: in a local peer's
 * memory, or in the mirror. *LAST is NULL, or the borrowed memory that the last call found, which
 * is tried first. */
CUdeviceptr cgx_cuda_find(const struct cgx_cuda_slot *slot, const unsigned char *data,
                          const struct cgx_cuda_borrowed **last);

/* Decodes on the processor the pieces that no kernel of LAUNCHED has decoded, which must be done.
 * Otherwise this rank alone would lack a result, and these kernels have changed the history. */
enum cgx_status cgx_cuda_decode_on_host(struct cgx_cuda_work *work, unsigned slot,
                                        const struct cgx_work *request, unsigned launched);

#endif
