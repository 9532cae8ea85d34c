/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Where a buffer lives. The CUDA driver is asked only where the program itself has loaded it: a
 * program that has not can have no device buffers. driver.c asks; none.c is for builds without
 * CUDA, where everything is host memory. */
#ifndef CGX_CUDA_MEMORY_H
#define CGX_CUDA_MEMORY_H

enum cgx_memory {
    CGX_MEMORY_HOST, /* pinned and unknown memory too */
    CGX_MEMORY_DEVICE,
    CGX_MEMORY_MANAGED,
};

/* For every call of the program: thread-safe, takes no lock that is held for long, and without a
 * CUDA driver in the process costs less than 0.05 us. */
enum cgx_memory cgx_cuda_memory(const void *pointer);

/* The version of the CUDA header that this was built with, or "none". */
const char *cgx_cuda_build(void);

#endif
