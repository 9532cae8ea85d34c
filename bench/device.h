/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The device that benchmarks run on. What fails ends the program with a message. */
#ifndef BENCH_DEVICE_H
#define BENCH_DEVICE_H

#include <stdio.h>

#include "cuda/driver.h"

struct bench_device {
    const struct cgx_cuda *cuda;
    /* What the library itself does not need of the driver. */
    CUresult (*copy)(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
    CUresult (*elapsed)(float *milliseconds, CUevent start, CUevent end);
    bool soft; /* a driver in software, for tests: it is no measure of speed */
    char name[256];
    int driver;       /* version, as cuDriverGetVersion gives it */
    int major, minor; /* compute capability */
    int multiprocessors;
    double clock;            /* Hz, the highest */
    size_t memory, l2_cache; /* bytes */
};

/* Opens device INDEX, modulo their number, with its primary context current. False: there is no
 * driver or no device, which is printed. */
bool bench_device_open(struct bench_device *device, int index);

/* What was measured on; with a software driver, in capitals, that nothing is. */
void bench_device_print(const struct bench_device *device, FILE *file);

void bench_must(CUresult code, const char *what);

/* Of zeros. Ends with the process. */
CUdeviceptr bench_allocate(const struct bench_device *device, size_t bytes);

/* A table for others to read, of which every line is written at once, so that what was measured is
 * there however the program ends. An existing one is continued where APPEND. HEADS are the first
 * line of a new one. NULL, after printing why, if it cannot be written. */
FILE *bench_table(const char *name, bool append, const char *heads);

#endif
