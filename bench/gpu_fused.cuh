// SPDX-FileCopyrightText: the libcgxpmpi developers
// SPDX-License-Identifier: BSD-3-Clause

// What gpu_fused.cu sums: its kernels, and the memory of ranks that share a GPU.
#ifndef CGX_BENCH_GPU_FUSED_CUH
#define CGX_BENCH_GPU_FUSED_CUH

#define CGX_NO_KERNELS
#include "cuda/kernels.cu"

#include "cuda/fused.cuh"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

namespace
{

const uint32_t kPieces = 2; // of a part
const unsigned kBuckets = 512, kWidth = 4, kRotated = 16 + 2;

void must(cudaError_t code, const char *what)
{
    if (code == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(code));
    exit(1);
}

template <class Args>
void launch(void (*kernel)(Args), unsigned blocks, cudaStream_t stream, const Args &args)
{
    kernel<<<blocks, CGX_KERNEL_THREADS, 0, stream>>>(args);
    must(cudaGetLastError(), "a launch");
}

// ---- the three kernels, one after the other ----

template <class Type, enum fused_step STEP, bool ROTATED>
__global__ void __launch_bounds__(CGX_KERNEL_THREADS, STEP == FUSED_REDUCE ? 4 : 8)
    step(const struct cgx_kernel_args args)
{
    if (ROTATED)
        do_rotated_tile<Type, STEP, NOTHING>(args, blockIdx.x);
    else
        do_tile<Type, STEP, NOTHING>(args, blockIdx.x);
}

typedef void step_kernel(const struct cgx_kernel_args);
typedef void fused_kernel(const struct cgx_fused_args);

struct Kernels {
    const char *type;
    size_t size;           // of an element
    uint32_t bits, varied; // of elements from 1/2 to 1 and their negatives, in words
    fused_kernel *fused;
    step_kernel *steps[3][2]; // by step and family
};

template <class Type>
Kernels kernels_of(const char *type, uint32_t bits, uint32_t varied, fused_kernel *fused)
{
    return {type,
            sizeof(typename Type::element),
            bits,
            varied,
            fused,
            {{step<Type, FUSED_ENCODE, false>, step<Type, FUSED_ENCODE, true>},
             {step<Type, FUSED_REDUCE, false>, step<Type, FUSED_REDUCE, true>},
             {step<Type, FUSED_DECODE, false>, step<Type, FUSED_DECODE, true>}}};
}

const Kernels kKernels[] = {
    kernels_of<cgx_type_float32>("float32", 0x3F000000, 0x807FFFFF, cgx_fused_float32),
    kernels_of<cgx_type_float16>("float16", 0x38003800, 0x83FF83FF, cgx_fused_float16),
    kernels_of<cgx_type_bfloat16>("bfloat16", 0x3F003F00, 0x807F807F, cgx_fused_bfloat16)};

// ---- memory ----

std::vector<void *> memory; // of the scene

template <class T> T *allocate(size_t count)
{
    void *made;

    must(cudaMalloc(&made, count * sizeof(T)), "cudaMalloc");
    must(cudaMemset(made, 0, count * sizeof(T)), "cudaMemset");
    memory.push_back(made);
    return (T *)made;
}

template <class T> T *copied(const std::vector<T> &from)
{
    T *made = allocate<T>(from.size());

    must(cudaMemcpy(made, from.data(), from.size() * sizeof(T), cudaMemcpyDefault), "cudaMemcpy");
    return made;
}

std::vector<unsigned char> fetched(const unsigned char *from, size_t bytes)
{
    std::vector<unsigned char> made(bytes);

    must(cudaMemcpy(made.data(), from, bytes, cudaMemcpyDefault), "cudaMemcpy");
    return made;
}

struct Rank {
    unsigned char *input, *output, *wanted;
    unsigned char *mirrors[2]; // of one kernel, and of three
    const int64_t *sources[2];
    uint64_t *flags;
    cudaStream_t stream;
};

// A buffer of each rank, cut into a part for each, and each part into pieces of both families, or
// one.
struct Scene {
    const Kernels *kernels;
    size_t bytes, share, message; // of a buffer; elements of a part; bytes of its payload
    struct cgx_fused_part part;   // of the first owner: those of others are as many entries behind
    cgx_kernel_piece *pieces;
    std::vector<Rank> ranks;
    unsigned blocks;
    uint32_t *words; // the host's: stop, stopped, status
    uint64_t epoch;
};

unsigned char *elements(const Scene &scene, uint32_t rank)
{
    std::vector<uint32_t> words(scene.bytes / sizeof(uint32_t));
    uint64_t state = rank + 1;

    for (uint32_t &word : words) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        word = scene.kernels->bits | ((uint32_t)(state >> 32) & scene.kernels->varied);
    }
    return (unsigned char *)copied(words);
}

// MAXMIN of 2 halves of each part are max-min quantised, the others rotated.
void make_pieces(Scene *scene, unsigned maxmin)
{
    const uint32_t tiles = (uint32_t)(scene->share / 2 / CGX_KERNEL_TILE);
    std::vector<cgx_kernel_piece> pieces;
    const uint32_t counts[2] = {maxmin, 2 - maxmin};

    for (size_t owner = 0; owner < scene->ranks.size(); owner++)
        for (unsigned i = 0; i < 2; i++) {
            bool rotated = i >= maxmin;

            pieces.push_back({owner * scene->share + i * scene->share / 2, scene->share / 2,
                              i * scene->message / 2, 0, 0, rotated ? kRotated : kWidth,
                              (rotated ? i - maxmin : i) * tiles});
        }
    for (unsigned family = 0; family < 2; family++)
        scene->part.tables[family] = {family * maxmin, counts[family], counts[family] * tiles};
    scene->pieces = copied(pieces);
}

void make_ranks(Scene *scene)
{
    const size_t ranks = scene->ranks.size();

    for (Rank &rank : scene->ranks) {
        rank.input = elements(*scene, (uint32_t)(&rank - scene->ranks.data()));
        rank.output = allocate<unsigned char>(scene->bytes);
        rank.wanted = allocate<unsigned char>(scene->bytes);
        for (unsigned char *&mirror : rank.mirrors)
            mirror = allocate<unsigned char>(scene->message * ranks);
        rank.flags = allocate<uint64_t>(CGX_FUSED_FLAGS);
        must(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking), "cudaStreamCreate");
    }
    for (size_t owner = 0; owner < ranks; owner++)
        for (int i = 0; i < 2; i++) {
            std::vector<int64_t> sources;

            for (size_t r = 0; r < ranks; r++)
                sources.push_back(
                    r == owner ? 0
                               : (int64_t)(scene->ranks[r].mirrors[i] + owner * scene->message));
            scene->ranks[owner].sources[i] = copied(sources);
        }
}

// As many blocks of each rank as are certain to be resident with all others'.
unsigned resident_blocks(const Scene &scene)
{
    cudaDeviceProp properties;
    int fit = 0;

    must(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    must(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, scene.kernels->fused,
                                                       CGX_KERNEL_THREADS, 0),
         "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    return std::min((unsigned)fit * properties.multiProcessorCount / (unsigned)scene.ranks.size(),
                    (unsigned)CGX_FUSED_BLOCKS);
}

} // namespace

#endif
