/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Host memory for a device: pinned (some containers, virtual machines and devices in confidential
 * mode refuse this) and near the device. */
#ifndef CGX_CUDA_HOST_MEMORY_H
#define CGX_CUDA_HOST_MEMORY_H

#include <stddef.h>

#include "cuda/driver.h"

/* Pins BYTES at MEMORY, whole pages, in the current context, portable and with additional FLAGS
 * (cuMemHostRegister). Returns the driver's code. A refusal that would affect other memory too is
 * logged once per process, as a warning. */
CUresult cgx_cuda_pin(void *memory, size_t bytes, unsigned flags);

/* False: the driver may still hold MEMORY's pages and would treat later memory there as pinned. */
bool cgx_cuda_unpin(void *memory);

/* Asks the system for memory near the device of the current context, for the pages of BYTES at
 * MEMORY, which are about to be pinned: copies across NUMA nodes take longer and slow down others.
 * It is only a hint. Pages that were touched before, as by calls on host buffers, stay in place. If
 * the node is full, hwloc is missing, the device's location is unknown or the system refuses, pages
 * may be anywhere; a line at debug level says so once per process.
 *
 * On a machine with one NUMA node the only cost is one look at its processors (4 ms on two cores).
 * Other machines are also searched for devices once (up to some 100 ms on large servers, in the
 * first call that pins memory), and then each call costs a system call. */
void cgx_cuda_bind_numa(void *memory, size_t bytes);

#endif
