/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Memory of the host for a device: pinned, which some systems refuse (containers and virtual
 * machines, devices in confidential mode), and near the device. */
#ifndef CGX_CUDA_HOST_MEMORY_H
#define CGX_CUDA_HOST_MEMORY_H

#include <stddef.h>

#include "cuda/driver.h"

/* Pins BYTES at MEMORY, whole pages, in the current context, portable and with FLAGS more
 * (cuMemHostRegister). The driver's answer; a refusal that other memory would meet with too is
 * said, once in the process, as a warning. */
CUresult cgx_cuda_pin(void *memory, size_t bytes, unsigned flags);

/* False: the driver may still hold the pages of MEMORY, and would take what comes to lie there for
 * pinned. */
bool cgx_cuda_unpin(void *memory);

/* Copies over another NUMA node's links take longer, and take from what others have of them.
 *
 * Asks the system for memory near the device of the current context, for the pages that hold BYTES
 * at MEMORY, whole pages that are about to be pinned. It is a wish: pages that were touched before,
 * as a call on host buffers leaves them, stay where they are, and where the node is full, hwloc is
 * missing, the device's place is unknown or the system refuses, they are anywhere; once per process
 * a line at debug level says so.
 *
 * On a machine with one NUMA node this is all: it is asked for its processors, once (4 ms on two
 * cores). On others it is looked through for devices too, once (up to some 100 ms on large servers,
 * in the first call of the process that pins memory), and then each call costs a system call. */
void cgx_cuda_bind_numa(void *memory, size_t bytes);

#endif
