// SPDX-FileCopyrightText: the libcgxpmpi developers
// SPDX-License-Identifier: BSD-3-Clause

// The one-kernel sum of fused.cuh on one GPU: ranks are kernels on streams of one process, in place
// of processes on GPUs of their own. What each rank has in the end must be what encode, reduce and
// decode give one after the other; both are timed, with no host between their kernels. Then a rank
// does not launch: the others must end at the host's word and have written nothing.
//
//     nvcc -O3 -std=c++17 -fmad=false -ftz=false -arch=native -Isrc -I. bench/gpu_fused.cu
//     ./a.out [RANKS]
//
// Prints CSV: the best times of all ranks in microseconds. Exits 1 if bytes differ or kernels hang.

#include "bench/gpu_fused.cuh"

#include <chrono>
#include <thread>

namespace
{

const int kCalls = 12;
const double kHang = 2; // seconds

// ---- calls ----

struct cgx_kernel_args work_of(const Scene &scene)
{
    struct cgx_kernel_args work = {};

    work.status = scene.words + 2;
    work.bucket_size = kBuckets;
    work.nsources = (uint32_t)scene.ranks.size();
    work.call = (uint32_t)scene.epoch;
    work.key = cgx_call_key(0, work.call);
    return work;
}

struct cgx_fused_args args_of(const Scene &scene, uint32_t r)
{
    const Rank &rank = scene.ranks[r];
    struct cgx_fused_args args = {};

    args.work = work_of(scene);
    args.work.pieces = scene.pieces;
    args.work.sources = rank.sources[0];
    args.work.buffer = rank.input;
    args.output = rank.output;
    args.self = r;
    args.ranks = (uint32_t)scene.ranks.size();
    args.epoch = scene.epoch;
    args.stop = scene.words;
    args.stopped = scene.words + 1;
    for (uint32_t p = 0; p < args.ranks; p++) {
        args.parts[p] = scene.part;
        for (struct cgx_fused_table &table : args.parts[p].tables)
            table.first += p * kPieces;
        args.encoded[p] = rank.mirrors[0] + p * scene.message;
        args.sums[p] = scene.ranks[p].mirrors[0] + p * scene.message;
        args.flags[p] = scene.ranks[p].flags;
    }
    return args;
}

// The first COUNT ranks.
void launch_fused(const Scene &scene, uint32_t count)
{
    for (uint32_t r = 0; r < count; r++)
        launch(scene.kernels->fused, scene.blocks, scene.ranks[r].stream, args_of(scene, r));
}

void launch_step(const Scene &scene, enum fused_step step, const Rank &from, uint32_t owner,
                 void *buffer)
{
    for (int family = 0; family < 2; family++) {
        const struct cgx_fused_table &table = scene.part.tables[family];
        struct cgx_kernel_args work = work_of(scene);

        work.pieces = scene.pieces + owner * kPieces + table.first;
        work.npieces = table.count;
        work.sources = from.sources[1];
        work.buffer = buffer;
        work.payload = from.mirrors[1] + owner * scene.message;
        if (table.tiles > 0)
            launch(scene.kernels->steps[step][family], table.tiles, scene.ranks[0].stream, work);
    }
}

void launch_steps(const Scene &scene)
{
    const uint32_t ranks = (uint32_t)scene.ranks.size();

    for (const Rank &rank : scene.ranks)
        for (uint32_t owner = 0; owner < ranks; owner++)
            if (&rank != &scene.ranks[owner])
                launch_step(scene, FUSED_ENCODE, rank, owner, rank.input);
    for (uint32_t owner = 0; owner < ranks; owner++)
        launch_step(scene, FUSED_REDUCE, scene.ranks[owner], owner, scene.ranks[owner].input);
    for (const Rank &rank : scene.ranks)
        for (uint32_t owner = 0; owner < ranks; owner++)
            launch_step(scene, FUSED_DECODE, scene.ranks[owner], owner, rank.wanted);
}

// Waits for all ranks' streams, and tells kernels that hang to stop. False: they had to be told.
bool wait(const Scene &scene)
{
    volatile uint32_t *stop = scene.words;
    auto begin = std::chrono::steady_clock::now();
    bool in_time = true;

    for (const Rank &rank : scene.ranks)
        for (cudaError_t code; (code = cudaStreamQuery(rank.stream)) != cudaSuccess;) {
            if (code != cudaErrorNotReady)
                must(code, "cudaStreamQuery");
            std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
            if (waited.count() > kHang) {
                *stop = 1;
                in_time = false;
            }
        }
    return in_time;
}

// By one kernel or, else, by three. False: kernels hang.
bool sum(const Scene &scene, bool fused, double *best_us)
{
    auto begin = std::chrono::steady_clock::now();

    if (fused)
        launch_fused(scene, (uint32_t)scene.ranks.size());
    else
        launch_steps(scene);
    if (!wait(scene))
        return false;
    std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    *best_us = std::min(*best_us, took.count());
    return true;
}

// ---- results ----

bool are_same(const Scene &scene)
{
    const size_t payloads = scene.message * scene.ranks.size();
    bool same = scene.words[1] == 0 && scene.words[2] == 0;

    for (const Rank &rank : scene.ranks)
        same = same && fetched(rank.output, scene.bytes) == fetched(rank.wanted, scene.bytes) &&
               fetched(rank.mirrors[0], payloads) == fetched(rank.mirrors[1], payloads);
    return same;
}

// All ranks but the last are launched, and after a while told to stop.
bool stops(Scene *scene)
{
    const std::vector<unsigned char> zeros(scene->bytes);
    bool unwritten = true;

    for (Rank &rank : scene->ranks)
        must(cudaMemset(rank.output, 0, scene->bytes), "cudaMemset");
    must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    scene->epoch++;
    launch_fused(*scene, (uint32_t)scene->ranks.size() - 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    bool waited = cudaStreamQuery(scene->ranks[0].stream) == cudaErrorNotReady;
    *(volatile uint32_t *)scene->words = 1;
    must(cudaDeviceSynchronize(), "the stopped kernels");
    for (const Rank &rank : scene->ranks)
        unwritten = unwritten && fetched(rank.output, scene->bytes) == zeros;
    return waited && unwritten && scene->words[1] == 1;
}

void release(Scene *scene)
{
    for (Rank &rank : scene->ranks)
        must(cudaStreamDestroy(rank.stream), "cudaStreamDestroy");
    for (void *made : memory)
        must(cudaFree(made), "cudaFree");
    must(cudaFreeHost(scene->words), "cudaFreeHost");
    memory.clear();
}

bool measure(const Kernels &kernels, unsigned maxmin, unsigned ranks, size_t mib)
{
    static const char *const families[] = {"rotated 2 bits", "both", "max-min 4 bits"};
    Scene scene = {};
    double fused_us = 1e9, steps_us = 1e9;
    bool in_time = true;

    scene.kernels = &kernels;
    scene.share =
        (mib << 20) / kernels.size / ranks / (2 * CGX_KERNEL_TILE) * (2 * CGX_KERNEL_TILE);
    scene.bytes = scene.share * ranks * kernels.size;
    scene.message = scene.share;
    scene.ranks.resize(ranks);
    make_pieces(&scene, maxmin);
    make_ranks(&scene);
    scene.blocks = resident_blocks(scene);
    must(cudaHostAlloc(&scene.words, 3 * sizeof *scene.words, cudaHostAllocMapped),
         "cudaHostAlloc");
    memset(scene.words, 0, 3 * sizeof *scene.words);
    must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    while (in_time && scene.epoch < kCalls) {
        scene.epoch++;
        in_time = sum(scene, true, &fused_us) && sum(scene, false, &steps_us);
    }
    bool same = in_time && are_same(scene), ends = in_time && stops(&scene);
    printf("%s,%s,%u,%zu,%u,%s,%s,%.1f,%.1f\n", kernels.type, families[maxmin], ranks, mib,
           scene.blocks,
           !in_time ? "hang"
           : same   ? "same"
                    : "differ",
           ends ? "yes" : "no", fused_us, steps_us);
    fflush(stdout);
    release(&scene);
    return same && ends;
}

} // namespace

int main(int argc, char **argv)
{
    const unsigned ranks = argc > 1 ? (unsigned)atoi(argv[1]) : 4;
    bool good = true;

    if (ranks < 2 || ranks > CGX_FUSED_RANKS)
        return 2;
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1); // a queue for each stream
    printf("type,families,ranks,mib,blocks,bytes,stops,fused_us,kernels_us\n");
    for (const Kernels &kernels : kKernels)
        for (unsigned maxmin = 0; maxmin <= 2; maxmin++)
            for (size_t mib : {1, 16, 64})
                good = measure(kernels, maxmin, ranks, mib) && good;
    return good ? 0 : 1;
}
