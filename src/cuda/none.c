/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "cuda/memory.h"

enum cgx_memory cgx_cuda_memory(const void *pointer)
{
    (void)pointer;
    return CGX_MEMORY_HOST;
}

const char *cgx_cuda_build(void)
{
    return "none";
}
