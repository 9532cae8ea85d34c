/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Pinning of the host's memory for a device, which some systems refuse: containers and virtual
 * machines, devices in confidential mode, a limit of locked memory. */
#ifndef CGX_CUDA_PIN_H
#define CGX_CUDA_PIN_H

#include "cuda/driver.h"

/* Pins BYTES at MEMORY, whole pages, in the current context, portable and with FLAGS more
 * (cuMemHostRegister). The driver's answer; a refusal that other memory would meet with too is
 * said, once in the process, as a warning. */
CUresult cgx_cuda_pin(void *memory, size_t bytes, unsigned flags);

/* False: the driver may still hold the pages of MEMORY, and would take what comes to lie there for
 * pinned. */
bool cgx_cuda_unpin(void *memory);

#endif
