/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Decoding by the processor what a kernel could not: a rank without a result would be alone. */
#ifndef CGX_CUDA_HOST_FALLBACK_H
#define CGX_CUDA_HOST_FALLBACK_H

#include "cuda/launch.h"

/* Decodes as REQUEST says. Nothing is queued on SLOT. */
enum cgx_status cgx_cuda_decode_on_host(struct cgx_cuda_work *work, unsigned slot,
                                        const struct cgx_work *request);

#endif
