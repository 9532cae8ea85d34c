/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the library, linked into the benchmark, asks of the CUDA driver: its calls are counted, and
 * on request timed on the device. */
#ifndef BENCH_DRIVER_CALLS_H
#define BENCH_DRIVER_CALLS_H

#include "device.h"

/* Numbers alone, so that they can be summed over the ranks. */
struct bench_calls {
    double launches;
    double down, up, across; /* bytes copied to the host, to the device, from device to device */
    double kernels, copies;  /* seconds between events around each; 0: not timed */
};

/* From now on DEVICE's calls by the library are counted. Returns the driver without that. */
const struct cgx_cuda *bench_calls_begin(const struct bench_device *device);

/* Starts counting anew, and if TIMED puts an event before and after each launch and copy. */
void bench_calls_reset(bool timed);

/* What was asked since then; waits for what is timed. */
struct bench_calls bench_calls_end(void);

#endif
