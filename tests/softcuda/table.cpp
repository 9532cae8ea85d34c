/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The kernels by name: those of src/cuda/kernels.cu, and one for tests of the driver itself.
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
DECLARE(cgx_runs)
#undef DECLARE

/* Each thread adds ADDEND to its element. */
struct add_args {
    unsigned *elements;
    unsigned addend;
};

static void softcuda_test_add(const struct add_args args)
{
    args.elements[threadIdx.x] += args.addend;
}

#define ENTRY_OF(name, type) {#name, SOFTCUDA_KERNEL(name, struct type), sizeof(struct type)},
#define ENTRY(name) ENTRY_OF(name, cgx_kernel_args)

const struct softcuda_entry softcuda_table[] = {
    FOR_KERNELS(ENTRY, float32) FOR_KERNELS(ENTRY, float16) FOR_KERNELS(ENTRY, bfloat16)
        ENTRY(cgx_begin) ENTRY(cgx_heads) ENTRY(cgx_runs)
            ENTRY_OF(softcuda_test_add, add_args){nullptr, nullptr, 0}};
