/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* One operation on one slot: its table and its kernel, queued. */
#ifndef CGX_CUDA_LAUNCH_H
#define CGX_CUDA_LAUNCH_H

#include "cuda/work.h"

/* Queues REQUEST behind what was stored on SLOT. The context is current. */
enum cgx_status cgx_cuda_launch(struct cgx_cuda_work *work, struct cgx_cuda_slot *slot,
                                const struct cgx_work *request);

/* Marks what is queued on STREAM so far. */
enum cgx_status cgx_cuda_record(struct cgx_cuda_mark *mark, CUstream stream);

/* What is queued on STREAM from now on comes after the event AFTER. */
enum cgx_status cgx_cuda_order(CUstream stream, CUevent after);

/* The device address of DATA, which lies in the staging memory of SLOT. */
static inline CUdeviceptr cgx_cuda_mirrored(const struct cgx_cuda_slot *slot,
                                            const unsigned char *data)
{
    return slot->mirror + (CUdeviceptr)(data - slot->host);
}

#endif
