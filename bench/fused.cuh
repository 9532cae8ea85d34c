/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* An experiment: the compressed all-reduce of a node's ranks as one kernel on each of them. Tiles,
 * codes and payloads are those of encode, reduce and decode; flags in the memory of peers order the
 * three steps, and nothing is copied. Rounds to nearest, without residuals or history. Include
 * cuda/kernels.cu with CGX_NO_KERNELS first.
 *
 * A rank's mirror holds what it encodes of each part of the buffer and, of the part that it owns,
 * the sum. Block I of every rank works on tiles I, I + G, ... of all parts, G being the size of the
 * grid, and waits for block I of the other ranks only:
 *
 *   encode the foreign parts into its own mirror, raise a flag at each part's owner
 *   wait for all ranks' flags, sum the own part from their mirrors, raise flags at all ranks
 *   for each part: wait for its owner's flag, decode the sum in the owner's mirror
 *
 * What the hosts must see to:
 * - All ranks launch with the same grid, parts and epoch, and each grid is resident as a whole: a
 *   block that is not on a multiprocessor would be waited for in vain.
 * - A rank launches when it knows that all kernels that used these mirrors and flags have ended on
 *   all ranks. So no flag is ahead of the epoch, and no mirror is written while it is read.
 * - The host sets *STOP if a rank does not come. Kernels that still wait then set *STOPPED and end.
 *   No element has been written as long as some rank has not launched. After any other stop the
 *   output of a rank with *STOPPED is lost. Flags and mirrors must not be used again. */
#ifndef CGX_BENCH_FUSED_CUH
#define CGX_BENCH_FUSED_CUH

#define FUSED_RANKS 8
#define FUSED_BLOCKS 1024 /* of a grid at most; where flags are does not depend on the grid */
#define FUSED_PATIENCE 64 /* looks at a flag between two at the host's word */

enum fused_stage { FUSED_ENCODED, FUSED_SUMMED, FUSED_STAGES };
enum fused_step { FUSED_ENCODE, FUSED_REDUCE, FUSED_DECODE };

/* The entries of one family in the table of pieces. */
struct fused_table {
    uint32_t first, count;
    uint32_t tiles;
};

/* A part of the buffer. Offsets of its pieces are from the start of its payload. */
struct fused_part {
    struct fused_table tables[2]; /* of pieces that are not rotated, and that are */
};

/* Pointers are device pointers; memory of peers is as this rank reaches it. */
struct fused_args {
    struct cgx_kernel_args work; /* the pieces of all parts; BUFFER is the input; SOURCES are the
                                    ranks' payloads of the own part, 0 for this rank */
    void *output;                /* may be the input */
    uint32_t self, ranks;
    uint64_t epoch;                         /* that of the last launch + 1 */
    struct fused_part parts[FUSED_RANKS];   /* by owner */
    unsigned char *encoded[FUSED_RANKS];    /* in this rank's mirror; its own part: the sum */
    const unsigned char *sums[FUSED_RANKS]; /* in the owners' mirrors */
    uint64_t *flags[FUSED_RANKS];  /* each rank's, FUSED_FLAGS: any epoch before the first */
    const volatile uint32_t *stop; /* the host's */
    volatile uint32_t *stopped;    /* the host's */
};

#define FUSED_FLAGS (FUSED_STAGES * FUSED_RANKS * FUSED_BLOCKS)

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
CGX_DEVICE uint64_t *flag_at(const struct fused_args &args, uint32_t at, enum fused_stage stage,
                             uint32_t from)
{
    return args.flags[at] + (stage * FUSED_RANKS + from) * FUSED_BLOCKS + blockIdx.x;
}

/* The rank that is TURN ranks after this one. */
CGX_DEVICE uint32_t rank_in(const struct fused_args &args, uint32_t turn)
{
    const uint32_t rank = args.self + turn;

    return rank < args.ranks ? rank : rank - args.ranks;
}

/* What the threads of a block share: the host has stopped it, or else the part at hand. */
struct fused_block {
    uint32_t stopped;
    struct fused_part part;
    void *buffer;
    unsigned char *payload;
};

/* Waits for STAGE of COUNT ranks from turn FIRST on. False: the host has stopped the kernel. */
CGX_DEVICE bool await(const struct fused_args &args, struct fused_block *block,
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

template <class Type, enum fused_step STEP>
CGX_DEVICE void do_tile(const struct cgx_kernel_args &work, uint32_t number)
{
    if (STEP == FUSED_ENCODE)
        encode<Type, false, NOTHING>(work, number);
    else if (STEP == FUSED_REDUCE)
        reduce<Type, false, NOTHING>(work, number);
    else
        decode<Type, NOTHING>(work, number);
}

template <class Type, enum fused_step STEP>
CGX_DEVICE void do_rotated_tile(const struct cgx_kernel_args &work, uint32_t number)
{
    if (STEP == FUSED_ENCODE)
        encode_rotated<Type, NOTHING>(work, number);
    else if (STEP == FUSED_REDUCE)
        reduce_rotated<Type, NOTHING>(work, number);
    else
        decode_rotated<Type, NOTHING>(work, number);
}

/* The block's tiles of one family in the part at hand. What tiles need is read again for each: in
 * registers it would cost more than it takes. */
template <class Type, enum fused_step STEP, bool ROTATED>
static __device__ __noinline__ void do_tiles(const struct fused_args &args,
                                             const struct fused_block *block)
{
    const struct fused_table *table = &block->part.tables[ROTATED];

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
            do_rotated_tile<Type, STEP>(work, number);
        else
            do_tile<Type, STEP>(work, number);
        __syncthreads();
    }
}

/* Rank OWNER's part. */
template <class Type, enum fused_step STEP>
CGX_DEVICE void do_part(const struct fused_args &args, struct fused_block *block, uint32_t owner)
{
    if (threadIdx.x == 0) {
        block->part = args.parts[owner];
        block->buffer = STEP == FUSED_DECODE ? args.output : args.work.buffer;
        block->payload =
            STEP == FUSED_DECODE ? (unsigned char *)args.sums[owner] : args.encoded[owner];
    }
    __syncthreads();
    do_tiles<Type, STEP, false>(args, block);
    do_tiles<Type, STEP, true>(args, block);
    __syncthreads();
}

template <class Type> CGX_DEVICE void fused(const struct fused_args &args)
{
    __shared__ struct fused_block block;

    if (threadIdx.x == 0)
        block.stopped = 0;
#pragma unroll 1
    for (uint32_t turn = 1; turn < args.ranks; turn++) {
        const uint32_t owner = rank_in(args, turn);

        do_part<Type, FUSED_ENCODE>(args, &block, owner);
        if (threadIdx.x == 0)
            fused_raise(flag_at(args, owner, FUSED_ENCODED, args.self), args.epoch);
    }
    if (!await(args, &block, FUSED_ENCODED, 1, args.ranks - 1))
        return;
    do_part<Type, FUSED_REDUCE>(args, &block, args.self);
    if (threadIdx.x < args.ranks && threadIdx.x != args.self)
        fused_raise(flag_at(args, threadIdx.x, FUSED_SUMMED, args.self), args.epoch);
#pragma unroll 1
    for (uint32_t turn = 0; turn < args.ranks; turn++) {
        if (turn > 0 && !await(args, &block, FUSED_SUMMED, turn, 1))
            return;
        do_part<Type, FUSED_DECODE>(args, &block, rank_in(args, turn));
    }
}

/* ---- the kernels ---- */

#ifndef __CUDACC__
#define __grid_constant__
#endif

#define FUSED_KERNEL(type)                                               \
    extern "C" __global__ void __launch_bounds__(CGX_KERNEL_THREADS, 4)  \
        cgx_fused_##type(const __grid_constant__ struct fused_args args) \
    {                                                                    \
        fused<cgx_type_##type>(args);                                    \
    }

FUSED_KERNEL(float32)
FUSED_KERNEL(float16)
FUSED_KERNEL(bfloat16)

#endif
