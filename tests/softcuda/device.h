/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What nvcc gives to a kernel, for g++: included before a .cu file (g++ -x c++ -include device.h),
 * it compiles the kernel for softcuda_run. Only what kernels need of CUDA is here: one dimension,
 * no dynamic shared memory, no textures. Compile with -ffp-contract=off, as nvcc with -fmad=false.
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

#include "arithmetic.h"
#include "softcuda.h"
#include "threads.h"

/* A softcuda_kernel that calls the kernel NAME with its argument, a TYPE. */
#define SOFTCUDA_KERNEL(name, type) \
    ([](const void *softcuda_args) { name(*static_cast<const type *>(softcuda_args)); })

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __grid_constant__

/* Blocks run one after the other. A section of its own lets the engine fill it between them; with
 * AddressSanitizer, -fsanitize-sections=softcuda_shared puts red zones around each variable. */
#define __shared__ static __attribute__((section("softcuda_shared")))

#define warpSize 32

/* ---- types ---- */

#define SOFTCUDA_VECTORS(base, name)                                     \
    struct __align__(2 * sizeof(base)) name##2                           \
    {                                                                    \
        base x, y;                                                       \
    };                                                                   \
    struct name##3                                                       \
    {                                                                    \
        base x, y, z;                                                    \
    };                                                                   \
    struct __align__(4 * sizeof(base)) name##4                           \
    {                                                                    \
        base x, y, z, w;                                                 \
    };                                                                   \
    static inline name##2 make_##name##2(base x, base y)                 \
    {                                                                    \
        return {x, y};                                                   \
    }                                                                    \
    static inline name##3 make_##name##3(base x, base y, base z)         \
    {                                                                    \
        return {x, y, z};                                                \
    }                                                                    \
    static inline name##4 make_##name##4(base x, base y, base z, base w) \
    {                                                                    \
        return {x, y, z, w};                                             \
    }

SOFTCUDA_VECTORS(unsigned char, uchar)
SOFTCUDA_VECTORS(unsigned short, ushort)
SOFTCUDA_VECTORS(int, int)
SOFTCUDA_VECTORS(unsigned, uint)
SOFTCUDA_VECTORS(float, float)

struct __align__(16) ulonglong2
{
    unsigned long long x, y;
};

static inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y)
{
    return {x, y};
}

typedef softcuda_dim dim3;

/* ---- threads ---- */

#define threadIdx (static_cast<const dim3 &>(softcuda_here.thread))
#define blockIdx (static_cast<const dim3 &>(softcuda_here.block))
#define blockDim (static_cast<const dim3 &>(softcuda_here.threads))
#define gridDim (static_cast<const dim3 &>(softcuda_here.blocks))

/* Where the kernel calls, as a default argument. */
#define SOFTCUDA_FROM const char *file = __builtin_FILE(), int line = __builtin_LINE()

static inline void __syncthreads(SOFTCUDA_FROM)
{
    softcuda_barrier(file, line, false);
}

static inline int __syncthreads_count(int predicate, SOFTCUDA_FROM)
{
    return static_cast<int>(softcuda_barrier(file, line, predicate != 0) & 0xFFFFFFFFu);
}

static inline int __syncthreads_or(int predicate, SOFTCUDA_FROM)
{
    return (softcuda_barrier(file, line, predicate != 0) & 0xFFFFFFFFu) != 0;
}

static inline int __syncthreads_and(int predicate, SOFTCUDA_FROM)
{
    uint64_t counts = softcuda_barrier(file, line, predicate != 0);

    return (counts & 0xFFFFFFFFu) == counts >> 32;
}

static inline void __syncwarp(unsigned mask = 0xFFFFFFFFu, SOFTCUDA_FROM)
{
    softcuda_syncwarp(file, line, mask);
}

static inline unsigned __ballot_sync(unsigned mask, int predicate, SOFTCUDA_FROM)
{
    return softcuda_ballot(file, line, mask, predicate != 0);
}

static inline int __any_sync(unsigned mask, int predicate, SOFTCUDA_FROM)
{
    return softcuda_ballot(file, line, mask, predicate != 0) != 0;
}

static inline int __all_sync(unsigned mask, int predicate, SOFTCUDA_FROM)
{
    return softcuda_ballot(file, line, mask, predicate != 0) == mask;
}

template <typename T>
static inline T softcuda_exchange(const char *file, int line, unsigned mask, T value,
                                  unsigned source)
{
    uint64_t bits = 0;

    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles take 4 or 8 bytes");
    memcpy(&bits, &value, sizeof value);
    bits = softcuda_shuffle(file, line, mask, bits, source);
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Which lane is read follows the PTX ISA, shfl.sync: the own one where there is none. WIDTH is a
 * power of two up to 32. */
template <typename T>
static inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, SOFTCUDA_FROM)
{
    unsigned lane = softcuda_here.thread.x % 32, last = static_cast<unsigned>(width) - 1;

    return softcuda_exchange(file, line, mask, value,
                             (lane & ~last) | (static_cast<unsigned>(source) & last));
}

template <typename T>
static inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, SOFTCUDA_FROM)
{
    unsigned lane = softcuda_here.thread.x % 32, last = static_cast<unsigned>(width) - 1;
    unsigned source = lane ^ (static_cast<unsigned>(bits) & 31);

    return softcuda_exchange(file, line, mask, value, source <= (lane | last) ? source : lane);
}

template <typename T>
static inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                                 SOFTCUDA_FROM)
{
    unsigned lane = softcuda_here.thread.x % 32, last = static_cast<unsigned>(width) - 1;
    unsigned source = lane + (delta & 31);

    return softcuda_exchange(file, line, mask, value, source <= (lane | last) ? source : lane);
}

template <typename T>
static inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                               SOFTCUDA_FROM)
{
    unsigned lane = softcuda_here.thread.x % 32, last = static_cast<unsigned>(width) - 1;

    delta &= 31;
    return softcuda_exchange(file, line, mask, value, (lane & last) >= delta ? lane - delta : lane);
}

/* ---- memory ---- */

/* As with CUDA's overloads, the pointer alone decides on the type. */
template <typename T> struct softcuda_identity {
    typedef T type;
};
template <typename T> using softcuda_like = typename softcuda_identity<T>::type;

template <typename T> static inline T atomicAdd(T *address, softcuda_like<T> value)
{
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}

template <typename T> static inline T atomicOr(T *address, softcuda_like<T> value)
{
    return __atomic_fetch_or(address, value, __ATOMIC_RELAXED);
}

template <typename T> static inline T atomicAnd(T *address, softcuda_like<T> value)
{
    return __atomic_fetch_and(address, value, __ATOMIC_RELAXED);
}

template <typename T> static inline T atomicExch(T *address, softcuda_like<T> value)
{
    return __atomic_exchange_n(address, value, __ATOMIC_RELAXED);
}

template <typename T>
static inline T atomicCAS(T *address, softcuda_like<T> expected, softcuda_like<T> value)
{
    __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    return expected;
}

template <typename T> static inline T atomicMax(T *address, softcuda_like<T> value)
{
    T old = __atomic_load_n(address, __ATOMIC_RELAXED);

    while (old < value && !__atomic_compare_exchange_n(address, &old, value, false,
                                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return old;
}

template <typename T> static inline T atomicMin(T *address, softcuda_like<T> value)
{
    T old = __atomic_load_n(address, __ATOMIC_RELAXED);

    while (value < old && !__atomic_compare_exchange_n(address, &old, value, false,
                                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return old;
}

template <typename T> static inline T __ldg(const T *address)
{
    return *address;
}

template <typename T> static inline T __ldcs(const T *address)
{
    return *address;
}

template <typename T> static inline T __ldcg(const T *address)
{
    return *address;
}

template <typename T> static inline void __stcs(T *address, T value)
{
    *address = value;
}

template <typename T> static inline void __stcg(T *address, T value)
{
    *address = value;
}

#endif
