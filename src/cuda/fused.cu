/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The kernels that wait for each other, in a module of their own, since few programs need them. */
#define CGX_NO_KERNELS
#include "cuda/kernels.cu"

#include "cuda/fused.cuh"
