/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The compressed all-reduce of a node's ranks as one kernel on each of them (kernels.h). Tiles,
 * codes and payloads are those of encode, reduce and decode; flags in the memory of local peers
 * order the three steps, and nothing is copied.
 *
 * A rank's mirror holds what it encodes of each part of the buffer and, of the part that it owns,
 * the sum. Block I of every rank works on tiles I, I + G, ... of all parts, G being the size of the
 * grid, and waits for block I of the other ranks only:
 *
 *   encode the foreign parts into its own mirror, raise a flag at each part's owner
 *   wait for all ranks' flags, sum the own part from their mirrors, raise flags at all ranks
 *   for each part: wait for its owner's flag, decode the sum in the owner's mirror
 *
 * One block does all that happens to a tile on a rank, so that history needs no flags. */
#ifndef CGX_CUDA_FUSED_CUH
#define CGX_CUDA_FUSED_CUH

#define FUSED_PATIENCE 64 /* polls of a flag between two of the host's word */

enum fused_stage { FUSED_ENCODED, FUSED_SUMMED, FUSED_STAGES };
enum fused_step { FUSED_ENCODE, FUSED_REDUCE, FUSED_DECODE };

static_assert(CGX_FUSED_FLAGS == FUSED_STAGES * CGX_FUSED_RANKS * CGX_FUSED_BLOCKS, "flags");

/* ---- flags ---- */

#ifdef __CUDACC__
/* Orders the store behind what this thread has written and, before a barrier, its block. */
CGX_DEVICE void fused_raise(uint64_t *flag, uint64_t epoch)
{
    asm volatile("st.release.sys.global.u64 [%0], %1;" : : "l"(flag), "l"(epoch) : "memory");
}

/* Orders the load before what this thread reads and, after a barrier, its block. */
CGX_DEVICE uint64_t fused_look(const uint64_t *flag)
{
    uint64_t value;

    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(flag) : "memory");
    return value;
}
#endif

/* Where rank AT is told of a stage by rank FROM, block by block. */
CGX_DEVICE uint64_t *flag_at(const struct cgx_fused_args &args, uint32_t at, enum fused_stage stage,
                             uint32_t from)
{
    return args.flags[at] + (stage * CGX_FUSED_RANKS + from) * CGX_FUSED_BLOCKS + blockIdx.x;
}

/* The rank that is TURN ranks after this one. */
CGX_DEVICE uint32_t rank_in(const struct cgx_fused_args &args, uint32_t turn)
{
    const uint32_t rank = args.self + turn;

    return rank < args.ranks ? rank : rank - args.ranks;
}

/* What the threads of a block share: the host has stopped it, or else the part at hand. */
struct fused_block {
    uint32_t stopped;
    struct cgx_fused_part part;
    void *buffer;
    unsigned char *payload;
};

/* Waits for STAGE of COUNT ranks from turn FIRST on. False: the host has stopped the kernel. */
CGX_DEVICE bool await(const struct cgx_fused_args &args, struct fused_block *block,
                      enum fused_stage stage, uint32_t first, uint32_t count)
{
    if (threadIdx.x < count) {
        const uint64_t *flag = flag_at(args, args.self, stage, rank_in(args, first + threadIdx.x));

        for (uint32_t looks = 1; fused_look(flag) != args.epoch; looks++) {
            if (looks % FUSED_PATIENCE != 0 || *args.stop == 0)
                continue;
            block->stopped = 1;
            *args.stopped = 1;
            break;
        }
    }
    __syncthreads();
    return block->stopped == 0;
}

/* ---- tiles ---- */

template <class Type, enum fused_step STEP, enum kept KEPT>
CGX_DEVICE void do_tile(const struct cgx_kernel_args &work, uint32_t number)
{
    if (STEP == FUSED_ENCODE)
        encode<Type, false, KEPT>(work, number);
    else if (STEP == FUSED_REDUCE)
        reduce<Type, false, KEPT>(work, number);
    else
        decode<Type, KEPT>(work, number);
}

template <class Type, enum fused_step STEP, enum kept KEPT>
CGX_DEVICE void do_rotated_tile(const struct cgx_kernel_args &work, uint32_t number)
{
    if (STEP == FUSED_ENCODE)
        encode_rotated<Type, KEPT>(work, number);
    else if (STEP == FUSED_REDUCE)
        reduce_rotated<Type, KEPT>(work, number);
    else
        decode_rotated<Type, KEPT>(work, number);
}

/* The block's tiles of one family in the part at hand. What tiles need is read again for each: in
 * registers it would cost more than it takes. */
template <class Type, enum fused_step STEP, enum kept KEPT, bool ROTATED>
static __device__ __noinline__ void do_tiles(const struct cgx_fused_args &args,
                                             const struct fused_block *block)
{
    const struct cgx_fused_table *table = &block->part.tables[ROTATED];

#pragma unroll 1
    for (uint32_t number = blockIdx.x; number < table->tiles; number += gridDim.x) {
        struct cgx_kernel_args work = args.work;

        work.pieces = args.work.pieces + table->first;
        work.npieces = table->count;
        work.buffer = block->buffer;
        work.payload = block->payload;
#ifdef __CUDA_ARCH__
        __builtin_assume(__isGlobal(work.pieces));
        __builtin_assume(__isGlobal(work.buffer));
        __builtin_assume(__isGlobal(work.payload));
#endif
        if (ROTATED)
            do_rotated_tile<Type, STEP, KEPT>(work, number);
        else
            do_tile<Type, STEP, KEPT>(work, number);
        __syncthreads();
    }
}

/* Rank OWNER's part. */
template <class Type, enum fused_step STEP, enum kept KEPT>
CGX_DEVICE void do_part(const struct cgx_fused_args &args, struct fused_block *block,
                        uint32_t owner)
{
    if (threadIdx.x == 0) {
        block->part = args.parts[owner];
        block->buffer = STEP == FUSED_DECODE ? args.output : args.work.buffer;
        block->payload =
            STEP == FUSED_DECODE ? (unsigned char *)args.sums[owner] : args.encoded[owner];
    }
    __syncthreads();
    do_tiles<Type, STEP, KEPT, false>(args, block);
    do_tiles<Type, STEP, KEPT, true>(args, block);
    __syncthreads();
}

/* This block's. */
CGX_DEVICE struct fused_block *fused_room()
{
    __shared__ struct fused_block block;

    return &block;
}

template <class Type, enum kept KEPT> CGX_DEVICE void fused(const struct cgx_fused_args &args)
{
    struct fused_block *block = fused_room();

    if (threadIdx.x == 0)
        block->stopped = 0;
#pragma unroll 1
    for (uint32_t turn = 1; turn < args.ranks; turn++) {
        const uint32_t owner = rank_in(args, turn);

        do_part<Type, FUSED_ENCODE, KEPT>(args, block, owner);
        if (threadIdx.x == 0)
            fused_raise(flag_at(args, owner, FUSED_ENCODED, args.self), args.epoch);
    }
    if (!await(args, block, FUSED_ENCODED, 1, args.ranks - 1))
        return;
    do_part<Type, FUSED_REDUCE, KEPT>(args, block, args.self);
    if (threadIdx.x < args.ranks && threadIdx.x != args.self)
        fused_raise(flag_at(args, threadIdx.x, FUSED_SUMMED, args.self), args.epoch);
#pragma unroll 1
    for (uint32_t turn = 0; turn < args.ranks; turn++) {
        if (turn > 0 && !await(args, block, FUSED_SUMMED, turn, 1))
            return;
        do_part<Type, FUSED_DECODE, KEPT>(args, block, rank_in(args, turn));
    }
}

/* ---- the kernels ---- */

#ifndef __CUDACC__
#define __grid_constant__
#endif

#define FUSED_KERNEL(name, ...)                                         \
    extern "C" __global__ void __launch_bounds__(CGX_KERNEL_THREADS, 4) \
        name(const __grid_constant__ struct cgx_fused_args args)        \
    {                                                                   \
        fused<__VA_ARGS__>(args);                                       \
    }

#define FUSED_KERNELS_OF(type)                               \
    FUSED_KERNEL(cgx_fused_##type, cgx_type_##type, NOTHING) \
    FUSED_KERNEL(cgx_fused_##type##_history, cgx_type_##type, HISTORY)

FUSED_KERNELS_OF(float32)
FUSED_KERNELS_OF(float16)
FUSED_KERNELS_OF(bfloat16)

#endif
