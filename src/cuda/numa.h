/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Staging memory on the NUMA node that is nearest to the GPU: copies over another one's links take
 * longer, and take from what others have of them. */
#ifndef CGX_CUDA_NUMA_H
#define CGX_CUDA_NUMA_H

#include <stddef.h>

/* Asks the system for memory near the device of the current context, for the pages that hold BYTES
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
