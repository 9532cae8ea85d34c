/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Kernels that are right give on the fiber engine what CUDA gives, in any order of the threads, and
 * those that count on an order of blocks do not. */

#include <setjmp.h>

#include "trust.h"

__global__ static void sum(const arguments args)
{
    __shared__ unsigned warps[THREADS / 32];
    unsigned value = args.data[threadIdx.x] + blockIdx.x;

    for (int lanes = 16; lanes > 0; lanes /= 2)
        value += __shfl_xor_sync(ALL, value, lanes);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0;
    for (unsigned warp = 0; warp < THREADS / 32; warp++)
        value += warps[warp];
    args.out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

static void test_sum(const char *order)
{
    bool right = true;

    set_order(order);
    right = RUN(sum, 2, THREADS);
    for (unsigned i = 0; i < 2 * THREADS; i++)
        right = right && out[i] == 255 * 128 + THREADS * (i / THREADS);
    ok(right, "a sum through shuffles and shared memory is right, order %s", order);
}

/* Groups of 8 lanes, each with its number of shuffles. */
__global__ static void groups(const arguments args)
{
    unsigned group = threadIdx.x / 8, mask = 0xFFu << threadIdx.x % 32 / 8 * 8;
    unsigned value = args.data[threadIdx.x];

    for (unsigned i = 0; i <= group % 4; i++)
        value = __shfl_xor_sync(mask, value, static_cast<int>(i + 1));
    args.out[threadIdx.x] = value;
}

static void test_groups(const char *order)
{
    static const unsigned moved[] = {1, 1 ^ 2, 1 ^ 2 ^ 3, 1 ^ 2 ^ 3 ^ 4};
    bool right = true;

    set_order(order);
    right = RUN(groups, 1, THREADS);
    for (unsigned i = 0; i < THREADS; i++)
        right = right && out[i] == (i ^ moved[i / 8 % 4]);
    ok(right, "groups of lanes shuffle on their own, order %s", order);
}

__global__ static void votes(const arguments args)
{
    unsigned thread = threadIdx.x, half = thread % 32 < 16 ? 0xFFFFu : 0xFFFF0000u;

    args.out[thread] = __ballot_sync(ALL, thread % 3 == 0);
    args.out[THREADS + thread] = __ballot_sync(half, thread >= 17);
}

static void test_votes(const char *order)
{
    bool right = true;

    set_order(order);
    right = RUN(votes, 1, THREADS);
    for (unsigned i = 0; i < THREADS; i++) {
        unsigned ballot = 0, half = i % 32 < 16 ? 0xFFFFu : 0xFFFF0000u;

        for (unsigned lane = 0; lane < 32; lane++)
            ballot |= static_cast<unsigned>((i / 32 * 32 + lane) % 3 == 0) << lane;
        right = right && out[i] == ballot &&
                out[THREADS + i] == (i < 16   ? 0
                                     : i < 32 ? half & ~0x10000u
                                              : half);
    }
    ok(right, "ballots are right, order %s", order);
}

/* A thread's turn at COUNTER, whatever the order: sanitizers watch the engine's threads too. */
static unsigned take_turn(unsigned *counter)
{
    return __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* Half of the threads leave before the barrier, which then waits for the others alone. */
__global__ static void leave(const arguments args)
{
    if (threadIdx.x % 64 < 32)
        return;
    take_turn(&args.out[0]);
    __syncthreads();
    args.out[threadIdx.x] = args.out[0];
}

static void test_leave(void)
{
    bool right = true;

    set_order("reverse");
    right = RUN(leave, 1, THREADS);
    for (unsigned i = 32; i < THREADS; i++)
        right = right && out[i] == (i % 64 < 32 ? 0 : THREADS / 2);
    ok(right, "a barrier does not wait for threads that have exited");
}

__global__ static void enter(const arguments args)
{
    args.out[take_turn(args.data)] = threadIdx.x;
}

/* Runs KERNEL, in which each of COUNT threads or blocks takes a turn: WHO are they, in their order.
 */
static bool run_turns(softcuda_kernel *kernel, unsigned blocks, unsigned threads, unsigned *who)
{
    unsigned count = blocks * threads;
    bool seen[THREADS] = {false}, right = softcuda_run(kernel, &usual, blocks, threads);

    memcpy(who, out, count * sizeof *who);
    for (unsigned i = 0; i < count; i++) {
        right = right && who[i] < count && !seen[who[i]];
        seen[who[i] % count] = true;
    }
    return right;
}

static bool run_order(const char *order, unsigned *who)
{
    set_order(order);
    return run_turns(SOFTCUDA_KERNEL(enter, arguments), 1, THREADS, who);
}

static void test_order(void)
{
    unsigned forward[THREADS], reverse[THREADS], first[THREADS], again[THREADS], other[THREADS];
    bool right = run_order("forward", forward) && run_order("reverse", reverse) &&
                 run_order("1", first) && run_order("1", again) && run_order("2", other);

    ok(right, "in every order each thread runs once");
    for (unsigned i = 0; i < THREADS; i++)
        right = right && forward[i] == i && reverse[i] == THREADS - 1 - i;
    ok(right, "forward is by number and reverse against it");
    ok(memcmp(first, again, sizeof first) == 0 && memcmp(first, other, sizeof first) != 0 &&
           memcmp(first, forward, sizeof first) != 0,
       "a seed gives one order, another seed another");
}

/* ---- the order of blocks ---- */

enum { BLOCKS = 50 };

__global__ static void visit(const arguments args)
{
    args.out[take_turn(args.data)] = blockIdx.x;
}

static bool run_blocks(const char *order, unsigned *who)
{
    set_order("forward");
    setenv("SOFTCUDA_BLOCKS", order, 1);
    return run_turns(SOFTCUDA_KERNEL(visit, arguments), BLOCKS, 1, who);
}

static void test_blocks(void)
{
    unsigned forward[BLOCKS], reverse[BLOCKS], first[BLOCKS], next[BLOCKS], other[BLOCKS];
    unsigned again[BLOCKS];
    bool right = run_blocks("forward", forward) && run_blocks("reverse", reverse) &&
                 run_blocks("1", first) && run_blocks("1", next) && run_blocks("2", other) &&
                 run_blocks("1", again);

    ok(right, "in every order each block runs once");
    for (unsigned i = 0; i < BLOCKS; i++)
        right = right && forward[i] == i && reverse[i] == BLOCKS - 1 - i;
    ok(right, "forward is by number and reverse against it, of blocks too");
    ok(memcmp(first, again, sizeof first) == 0 && memcmp(first, other, sizeof first) != 0,
       "a seed gives blocks one order, another seed another");
    ok(memcmp(first, next, sizeof first) != 0, "and each launch has one of its own");
}

/* Right where block after block runs. */
__global__ static void overlap(const arguments args)
{
    args.data[blockIdx.x + 1] += args.data[blockIdx.x];
}

static void test_overlap(void)
{
    static const char *const orders[] = {"reverse", "1", "2"};
    unsigned forward[THREADS];
    bool run;

    set_order("forward");
    setenv("SOFTCUDA_BLOCKS", "forward", 1);
    run = RUN(overlap, BLOCKS, 1);
    memcpy(forward, data, sizeof data);
    for (const char *order : orders) {
        set_order("forward");
        setenv("SOFTCUDA_BLOCKS", order, 1);
        run = run && RUN(overlap, BLOCKS, 1) && memcmp(forward, data, sizeof data) != 0;
    }
    unsetenv("SOFTCUDA_BLOCKS");
    ok(run, "a block that reads what another one writes gives something else in another order");
}

/* ---- between blocks ---- */

__global__ static void garbage(const arguments args)
{
    __shared__ unsigned shared[THREADS];

    args.out[blockIdx.x * THREADS + threadIdx.x] = shared[threadIdx.x];
    __syncthreads();
    shared[threadIdx.x] = 1;
}

static void test_garbage(void)
{
    bool right = true;

    set_order("forward");
    right = RUN(garbage, 2, THREADS);
    for (unsigned i = 0; i < 2 * THREADS; i++)
        right = right && out[i] > 1;
    ok(right, "a block does not find in shared memory what another left");
}

static sigjmp_buf out_of_kernel;

__global__ static void leap(const arguments args)
{
    __syncthreads();
    if (threadIdx.x == 100)
        siglongjmp(out_of_kernel, 1);
    args.out[threadIdx.x] = 1;
}

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
static const bool sanitized = true;
#else
static const bool sanitized = false;
#endif

/* As a handler of SIGSEGV may. The sanitizers do not follow a jump from one stack to another. */
static void test_leap(void)
{
    static const char name[] = "after a jump out of a kernel the next one runs";

    if (sanitized) {
        skip(name, "built with a sanitizer");
        return;
    }
    set_order("forward");
    if (sigsetjmp(out_of_kernel, 1) == 0)
        RUN(leap, 1, THREADS);
    ok(RUN(sum, 2, THREADS) && out[0] == 255 * 128 && out[2 * THREADS - 1] == 255 * 128 + 256,
       name);
}

int main(void)
{
    static const char *const orders[] = {"forward", "reverse", "1", "2"};

    for (const char *order : orders) {
        test_sum(order);
        test_groups(order);
        test_votes(order);
    }
    test_leave();
    test_order();
    test_blocks();
    test_overlap();
    test_garbage();
    test_leap();
    return done_testing();
}
