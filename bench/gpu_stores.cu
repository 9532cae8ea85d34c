// SPDX-FileCopyrightText: the libcgxpmpi developers
// SPDX-License-Identifier: BSD-3-Clause

// How a warp's loads and stores fare where each thread has 32 bytes: as the kernels have them for
// float32, two times 16 bytes, 32 bytes apart between lanes; 16 bytes next to each other; and with
// halves exchanged between neighbouring lanes, so that each store fills whole sectors.
//
//     nvcc -O3 -arch=native bench/gpu_stores.cu -o gpu_stores && ./gpu_stores
//
// Prints CSV, the best of some runs; the driver's own copy, which reads and writes, is beside them.

#include <cstdio>

#include <cuda_runtime.h>

namespace
{

const size_t kBytes = (size_t)256 << 20;
const unsigned kThreads = 128, kBlockVectors = 1024; // of 16 bytes
const int kRounds = 3, kRepeats = 12;

enum Pattern { kPairs, kSideBySide, kExchanged };

// Makes pairs of 32 bytes of two lanes into whole sectors: even lanes get the first half of their
// neighbour's, odd ones the second.
__device__ void store_exchanged(uint4 *at, unsigned lane, uint4 first, uint4 second)
{
    bool odd = lane & 1;
    uint4 give = odd ? first : second, got;
    unsigned pair = (lane & ~1u) * 2 + odd;

    got.x = __shfl_xor_sync(~0u, give.x, 1);
    got.y = __shfl_xor_sync(~0u, give.y, 1);
    got.z = __shfl_xor_sync(~0u, give.z, 1);
    got.w = __shfl_xor_sync(~0u, give.w, 1);
    at[pair] = odd ? got : first;
    at[pair + 2] = odd ? second : got;
}

// Each warp writes four runs of 1024 bytes, as it does of a tile.
template <Pattern P> __global__ void __launch_bounds__(kThreads, 8) store(uint4 *to)
{
    unsigned lane = threadIdx.x % 32;
    uint4 *base = to + (size_t)blockIdx.x * kBlockVectors + threadIdx.x / 32 * 256;

#pragma unroll
    for (unsigned i = 0; i < 4; i++) {
        unsigned x = threadIdx.x + i, y = threadIdx.x * 3 + i;
        uint4 first = make_uint4(x, x ^ 1, x ^ 2, x ^ 3),
              second = make_uint4(y, y ^ 1, y ^ 2, y ^ 3);
        uint4 *at = base + i * 64;

        if (P == kPairs) {
            at[lane * 2] = first;
            at[lane * 2 + 1] = second;
        } else if (P == kSideBySide) {
            at[lane] = first;
            at[lane + 32] = second;
        } else {
            store_exchanged(at, lane, first, second);
        }
    }
}

template <Pattern P>
__global__ void __launch_bounds__(kThreads, 8) load(const uint4 *from, unsigned *sink)
{
    unsigned lane = threadIdx.x % 32, sum = 0;
    const uint4 *base = from + (size_t)blockIdx.x * kBlockVectors + threadIdx.x / 32 * 256;
    uint4 found[8];

#pragma unroll
    for (unsigned i = 0; i < 4; i++) {
        const uint4 *at = base + i * 64;

        found[2 * i] = P == kPairs ? at[lane * 2] : at[lane];
        found[2 * i + 1] = P == kPairs ? at[lane * 2 + 1] : at[lane + 32];
    }
#pragma unroll
    for (unsigned i = 0; i < 8; i++)
        sum += found[i].x ^ found[i].y ^ found[i].z ^ found[i].w;
    if (sum == 0x12345678) // so that nothing is left out
        *sink = sum;
}

struct Memory {
    uint4 *from, *to;
    unsigned *sink;
};

struct Access {
    const char *name;
    int passes; // over the memory
    void (*run)(const Memory &memory, unsigned blocks);
};

const Access accesses[] = {
    {"store, pairs 32 bytes apart", 1,
     [](const Memory &memory, unsigned blocks) { store<kPairs><<<blocks, kThreads>>>(memory.to); }},
    {"store, side by side", 1,
     [](const Memory &memory, unsigned blocks) {
         store<kSideBySide><<<blocks, kThreads>>>(memory.to);
     }},
    {"store, halves exchanged", 1,
     [](const Memory &memory, unsigned blocks) {
         store<kExchanged><<<blocks, kThreads>>>(memory.to);
     }},
    {"load, pairs 32 bytes apart", 1,
     [](const Memory &memory, unsigned blocks) {
         load<kPairs><<<blocks, kThreads>>>(memory.from, memory.sink);
     }},
    {"load, side by side", 1,
     [](const Memory &memory, unsigned blocks) {
         load<kSideBySide><<<blocks, kThreads>>>(memory.from, memory.sink);
     }},
    {"copy by the driver", 2,
     [](const Memory &memory, unsigned) {
         cudaMemcpyAsync(memory.to, memory.from, kBytes, cudaMemcpyDeviceToDevice);
     }},
};

float best_milliseconds(const Access &access, const Memory &memory, cudaEvent_t begin,
                        cudaEvent_t end)
{
    float best = 1e9f;

    for (int i = 0; i < kRepeats; i++) {
        float milliseconds = 0;

        cudaEventRecord(begin);
        access.run(memory, kBytes / (kBlockVectors * sizeof(uint4)));
        cudaEventRecord(end);
        cudaEventSynchronize(end);
        cudaEventElapsedTime(&milliseconds, begin, end);
        best = milliseconds < best ? milliseconds : best;
    }
    return best;
}

} // namespace

int main()
{
    Memory memory;
    cudaEvent_t begin, end;

    if (cudaMalloc(&memory.from, kBytes) != cudaSuccess ||
        cudaMalloc(&memory.to, kBytes) != cudaSuccess ||
        cudaMalloc(&memory.sink, sizeof(unsigned)) != cudaSuccess) {
        fprintf(stderr, "no device, or no memory: %s\n", cudaGetErrorString(cudaGetLastError()));
        return 77;
    }
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    cudaMemset(memory.from, 1, kBytes);
    printf("access,gb_per_s\n");
    for (int round = 0; round < kRounds; round++) {
        for (const Access &access : accesses) {
            float best = best_milliseconds(access, memory, begin, end);

            if (round == kRounds - 1) {
                printf("\"%s\",%.1f\n", access.name, access.passes * (double)kBytes / best * 1e-6);
                fflush(stdout);
            }
        }
    }
    if (cudaDeviceSynchronize() != cudaSuccess) {
        fprintf(stderr, "%s\n", cudaGetErrorString(cudaGetLastError()));
        return 1;
    }
    return 0;
}
