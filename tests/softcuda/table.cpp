/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The kernels by name: those of src/cuda/kernels.cu, and a few for tests of the driver itself.
 * Compiled with device.h. */

#include "cuda/kernels.h"
#include "driver.h"

#define FOR_KERNELS(X, type)                \
    X(cgx_encode_##type)                    \
    X(cgx_reduce_##type)                    \
    X(cgx_decode_##type)                    \
    X(cgx_squares_uniform_##type)           \
    X(cgx_squares_uniform_##type##_history) \
    X(cgx_encode_uniform_##type)            \
    X(cgx_encode_uniform_##type##_history)  \
    X(cgx_reduce_uniform_##type)            \
    X(cgx_reduce_uniform_##type##_history)  \
    X(cgx_decode_uniform_##type)            \
    X(cgx_decode_uniform_##type##_history)

#define DECLARE(name) extern "C" void name(const struct cgx_kernel_args args);
FOR_KERNELS(DECLARE, float32)
FOR_KERNELS(DECLARE, float16)
FOR_KERNELS(DECLARE, bfloat16)
DECLARE(cgx_begin)
DECLARE(cgx_heads)
DECLARE(cgx_ranges)
#undef DECLARE

/* Each thread adds ADDEND to its element. */
struct add_args {
    unsigned *elements;
    unsigned addend;
};

static void softcuda_test_add(const struct add_args args)
{
    args.elements[blockIdx.x * blockDim.x + threadIdx.x] += args.addend;
}

/* The first thread does not come to the ballot. */
static void softcuda_test_stuck(const struct add_args args)
{
    if (threadIdx.x > 0)
        args.elements[threadIdx.x] = __ballot_sync(3, args.addend);
}

#define ENTRY(name) {#name, SOFTCUDA_KERNEL(name, struct cgx_kernel_args), sizeof(cgx_kernel_args)},
#define TEST_ENTRY(name) {#name, SOFTCUDA_KERNEL(name, struct add_args), sizeof(add_args)},

const struct softcuda_entry softcuda_table[] = {
    FOR_KERNELS(ENTRY, float32) FOR_KERNELS(ENTRY, float16) FOR_KERNELS(ENTRY, bfloat16)
        ENTRY(cgx_begin) ENTRY(cgx_heads) ENTRY(cgx_ranges) TEST_ENTRY(softcuda_test_add)
            TEST_ENTRY(softcuda_test_stuck){nullptr, nullptr, 0}};
