/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What nvcc gives to a kernel, for g++: included before a .cu file (g++ -x c++ -include device.h),
 * it compiles the kernel for softcuda_run. Only what kernels here use of CUDA is here. Compile with
 * -ffp-contract=off, as nvcc with -fmad=false.
 *
 * Stricter than CUDA, so that a kernel that passes does not depend on luck:
 * - Threads meet only at the same line of the source.
 * - A lane that a mask names has to come: one that has exited, or that the block does not have, is
 *   missed. A value is read only from a lane that the mask names.
 * - Shared memory holds garbage when a block starts.
 * As in CUDA, __syncthreads waits for the threads that have not exited, and shuffles and ballots do
 * not order accesses to memory. */
#ifndef SOFTCUDA_DEVICE_H
#define SOFTCUDA_DEVICE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softcuda.h"
#include "threads.h"

/* A softcuda_kernel that calls the kernel NAME with its argument, a TYPE. */
#define SOFTCUDA_KERNEL(name, type) \
    ([](const void *softcuda_args) { name(*static_cast<const type *>(softcuda_args)); })

#define __global__
#define __device__
#define __host__
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
/* With a sanitizer's checks in all copies, kernels would take minutes to compile. */
#define __forceinline__ inline
#else
#define __forceinline__ inline __attribute__((always_inline))
#endif
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)

/* Blocks run one after the other, or take turns if they wait for each other. A section of its own
 * lets the engine fill it between them and keep what is in it; GCC does not put variables of
 * templates there, so a block that waits must have its variables in plain functions. With
 * AddressSanitizer, -fsanitize-sections=softcuda_shared puts red zones around each variable. */
#ifdef SOFTCUDA_RESIDENT /* a block is a thread of the process */
#define __shared__ static thread_local
#else
#define __shared__ static __attribute__((section("softcuda_shared")))
#endif

/* ---- types ---- */

struct __attribute__((aligned(8))) uint2 {
    unsigned x, y;
};

struct __attribute__((aligned(16))) uint4 {
    unsigned x, y, z, w;
};

static inline uint2 make_uint2(unsigned x, unsigned y)
{
    return {x, y};
}

static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
    return {x, y, z, w};
}

/* ---- threads ---- */

#define threadIdx (static_cast<const softcuda_dim &>(softcuda_here.thread))
#define blockIdx (static_cast<const softcuda_dim &>(softcuda_here.block))

/* Where the kernel calls, as a default argument. */
#define SOFTCUDA_FROM const char *file = __builtin_FILE(), int line = __builtin_LINE()

static inline void __syncthreads(SOFTCUDA_FROM)
{
    softcuda_barrier(file, line);
}

static inline void __syncwarp(unsigned mask = 0xFFFFFFFFu, SOFTCUDA_FROM)
{
    softcuda_syncwarp(file, line, mask);
}

static inline unsigned __ballot_sync(unsigned mask, int predicate, SOFTCUDA_FROM)
{
    return softcuda_ballot(file, line, mask, predicate != 0);
}

static inline unsigned __float_as_uint(float value)
{
    unsigned bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float __uint_as_float(unsigned bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Of 4 or 8 bytes. */
template <typename T>
static inline T softcuda_take(unsigned mask, T value, unsigned source, const char *file, int line)
{
    uint64_t bits = 0;

    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles take 4 or 8 bytes");
    memcpy(&bits, &value, sizeof value);
    bits = softcuda_shuffle(file, line, mask, bits, source);
    memcpy(&value, &bits, sizeof value);
    return value;
}

template <typename T>
static inline T __shfl_xor_sync(unsigned mask, T value, int lanes, SOFTCUDA_FROM)
{
    return softcuda_take(mask, value, (softcuda_here.thread.x ^ static_cast<unsigned>(lanes)) % 32,
                         file, line);
}

template <typename T> static inline T __shfl_sync(unsigned mask, T value, int lane, SOFTCUDA_FROM)
{
    return softcuda_take(mask, value, static_cast<unsigned>(lane) % 32, file, line);
}

/* ---- bits and integers ---- */

static inline int __popc(unsigned value)
{
    return __builtin_popcount(value);
}

static inline int __ffs(int value)
{
    return __builtin_ffs(value);
}

/* Each nibble of SELECTOR: a byte of HIGH:LOW (0 to 7) or, with 8 added, its sign. */
static inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector)
{
    uint64_t both = static_cast<uint64_t>(high) << 32 | low;
    unsigned result = 0;

    for (unsigned i = 0; i < 4; i++) {
        unsigned nibble = selector >> 4 * i & 15;
        unsigned byte = static_cast<unsigned>(both >> 8 * (nibble & 7)) & 255;

        if (nibble & 8)
            byte = byte & 128 ? 255 : 0;
        result |= byte << 8 * i;
    }
    return result;
}

static inline unsigned min(unsigned x, unsigned y)
{
    return y < x ? y : x;
}

static inline int min(int x, int y)
{
    return y < x ? y : x;
}

static inline unsigned max(unsigned x, unsigned y)
{
    return y > x ? y : x;
}

/* ---- atomics: relaxed; others may go on before ---- */

static inline unsigned atomicOr(unsigned *at, unsigned value)
{
    return __atomic_fetch_or(at, value, __ATOMIC_RELAXED);
}

static inline unsigned long long atomicOr(unsigned long long *at, unsigned long long value)
{
    softcuda_poll();
    return __atomic_fetch_or(at, value, __ATOMIC_RELAXED);
}

static inline unsigned long long atomicAdd(unsigned long long *at, unsigned long long value)
{
    softcuda_poll();
    return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}

static inline unsigned long long atomicExch(unsigned long long *at, unsigned long long value)
{
    softcuda_poll();
    return __atomic_exchange_n(at, value, __ATOMIC_RELAXED);
}

#endif
