// SPDX-FileCopyrightText: the libcgxpmpi developers
// SPDX-License-Identifier: BSD-3-Clause

// Blocks that tell each other how many words their tiles have (cuda/uniform.cuh) find where their
// own begin, whatever block goes on when: all blocks run at once, in random order.
#include <stdlib.h>

#define CGX_NO_KERNELS
#include "cuda/kernels.cu"

extern "C" {
#include "lib/tap.h"
#include "softcuda/resident.h"
}

enum { TILES = SOFTCUDA_RESIDENTS, PIECES = 4 };

static const uint32_t firsts[PIECES + 1] = {0, 1, 40, 41, TILES}; // tiles
static struct cgx_kernel_mark marks[TILES + 1];
static uint64_t begins[TILES][CGX_KERNEL_GROUPS];
static uint32_t counts[TILES][CGX_KERNEL_GROUPS];

static void tell(const struct cgx_kernel_args args)
{
    const uint32_t number = take_tile(args), warp = threadIdx.x / 32;
    uint32_t piece = 0;
    uint64_t begin;

    while (firsts[piece + 1] <= number)
        piece++;
    begin = find_begin(args.marks + 1 + number, number - firsts[piece], counts[number][warp]);
    if (threadIdx.x % 32 == 31)
        begins[number][warp] = begin;
}

static bool is_right(void)
{
    uint64_t begin = 0;

    for (uint32_t tile = 0, piece = 0; tile < TILES; tile++) {
        if (tile == firsts[piece + 1]) {
            piece++;
            begin = 0;
        }
        for (uint32_t warp = 0; warp < CGX_KERNEL_GROUPS; warp++) {
            if (begins[tile][warp] != begin) {
                diag("tile %u, group %u: %llu instead of %llu", tile, warp,
                     (unsigned long long)begins[tile][warp], (unsigned long long)begin);
                return false;
            }
            begin += counts[tile][warp];
        }
    }
    return true;
}

static bool run(uint64_t seed)
{
    static const unsigned bursts[] = {0, 3, 30};
    struct cgx_kernel_args args = {};
    softcuda_grid grid = {SOFTCUDA_KERNEL(tell, cgx_kernel_args), &args, TILES, CGX_KERNEL_THREADS};
    char order[32];

    args.marks = marks;
    memset(marks, 0, sizeof marks);
    memset(begins, 0xAA, sizeof begins);
    for (uint32_t i = 0; i < TILES * CGX_KERNEL_GROUPS; i++)
        counts[i / CGX_KERNEL_GROUPS][i % CGX_KERNEL_GROUPS] =
            cgx_mix(i * 77 + (uint32_t)seed) % 129;
    snprintf(order, sizeof order, "%u", (unsigned)seed);
    setenv("SOFTCUDA_ORDER", order, 1);
    return softcuda_run_together(&grid, seed, bursts[seed % 3]) && is_right();
}

int main(void)
{
    bool right = true;

    for (uint64_t seed = 1; seed <= 30 / one_of(3) && right; seed++)
        right = run(seed);
    ok(right, "each block finds where its words begin");
    return done_testing();
}
