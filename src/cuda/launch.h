/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* One operation on one slot: its table and its kernel, queued. */
#ifndef CGX_CUDA_LAUNCH_H
#define CGX_CUDA_LAUNCH_H

#include "cuda/work.h"

/* Queues REQUEST behind what was stored on SLOT. The context is current. *LAUNCHED: the families
 * whose kernels are queued, a bit each, though others may have failed. */
enum cgx_status cgx_cuda_launch(struct cgx_cuda_work *work, struct cgx_cuda_slot *slot,
                                const struct cgx_work *request, unsigned *launched);

/* What is queued next on STREAM comes after what SLOT has on the one before. */
enum cgx_status cgx_cuda_follow(const struct cgx_cuda_work *work, const struct cgx_cuda_slot *slot,
                                enum cgx_cuda_stream stream);

/* Marks what is queued for SLOT on STREAM so far. */
enum cgx_status cgx_cuda_record(const struct cgx_cuda_work *work, struct cgx_cuda_slot *slot,
                                enum cgx_cuda_stream stream);

/* The device address of DATA, which lies in the staging memory of SLOT. */
static inline CUdeviceptr cgx_cuda_mirrored(const struct cgx_cuda_slot *slot,
                                            const unsigned char *data)
{
    return slot->mirror + (CUdeviceptr)(data - slot->host);
}

/* Where the device finds DATA, which belongs into the staging memory of SLOT: where a local peer
 * has it, or in the mirror. *LAST: NULL, or what was set here before, which is looked at first. */
CUdeviceptr cgx_cuda_find(const struct cgx_cuda_slot *slot, const unsigned char *data,
                          const struct cgx_cuda_borrowed **last);

/* Decodes as REQUEST says by the processor what no kernel of LAUNCHED, as above, does: a rank
 * without a result would be alone, and a kernel that has run has changed the history. */
enum cgx_status cgx_cuda_decode_on_host(struct cgx_cuda_work *work, unsigned slot,
                                        const struct cgx_work *request, unsigned launched);

#endif
