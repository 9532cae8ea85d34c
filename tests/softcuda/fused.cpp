// SPDX-FileCopyrightText: the libcgxpmpi developers
// SPDX-License-Identifier: BSD-3-Clause

// The one-kernel sum of cuda/fused.cuh, all blocks of 2 to 8 ranks at once in random order: what
// is in every mirror and output must be what the host codec makes step by step, to the last byte.
// Calls follow each other on the same mirrors and flags. Ranks that do not launch, or die at any
// point, leave nobody waiting and nobody with wrong sums. And each wait, fence and barrier is
// needed: without it a process of its own has other bytes, or ThreadSanitizer sees the race.
extern "C" {
#include "codec/codec.h"
#include "codec/encoding.h"
#include "codec/rotated/rotated.h"
#include "lib/tap.h"
}

#define CGX_NO_KERNELS
#include "cuda/kernels.cu"

static unsigned mutant; // which wait, fence or barrier is left out; 0: none

static void fused_meet(unsigned number);
static void fused_raise(uint64_t *flag, uint64_t epoch);
static uint64_t fused_look(const uint64_t *flag);

#define __syncthreads() fused_meet(__COUNTER__ - FUSED_FIRST)
enum { FUSED_FIRST = __COUNTER__ + 1 };
#include "cuda/fused.cuh"
enum { BARRIERS = __COUNTER__ - FUSED_FIRST };
#undef __syncthreads

#include <sys/wait.h>
#include <unistd.h>

#include "fused_scene.h"
#include "softcuda/resident.h"

#ifdef __SANITIZE_THREAD__
static const bool sees_races = true;
#else
static const bool sees_races = false;
#endif

enum { CALLS = 4 }; // on the same flags

// What is left out. The first barrier is that of waits, the others follow.
enum { NO_ENCODED = 1, NO_SUMMED, NO_WAIT_BARRIER, NO_RELEASE, NO_ACQUIRE, NO_BARRIER };

static uint64_t launch; // the epoch of the last one

static void fused_meet(unsigned number)
{
    if (mutant != (number == 0 ? (unsigned)NO_WAIT_BARRIER : NO_BARRIER + number))
        softcuda_barrier("fused.cuh", (int)number);
}

static void fused_raise(uint64_t *flag, uint64_t epoch)
{
    softcuda_poll(); // so that others overtake
    __atomic_store_n(flag, epoch, mutant == NO_RELEASE ? __ATOMIC_RELAXED : __ATOMIC_RELEASE);
}

static uint64_t fused_look(const uint64_t *flag)
{
    softcuda_poll();
    for (const rank &r : scene.all)
        if (flag >= r.flags && flag < r.flags + CGX_FUSED_FLAGS &&
            mutant == NO_ENCODED + (flag - r.flags) / (CGX_FUSED_RANKS * CGX_FUSED_BLOCKS))
            return launch;
    return __atomic_load_n(flag, mutant == NO_ACQUIRE ? __ATOMIC_RELAXED : __ATOMIC_ACQUIRE);
}

// What hosts do that learn that a rank is missing; a second time it is of no use.
static bool stop_all(void *)
{
    bool helps = scene.all[0].stop == 0;

    for (rank &r : scene.all)
        r.stop = 1;
    return helps;
}

// With rank MISSING, unless it is none, gone after ROUNDS of its blocks; 0: not launched. False:
// blocks wait in vain.
static bool run(uint32_t missing, unsigned long rounds)
{
    static cgx_fused_args args[CGX_FUSED_RANKS];
    static int64_t sources[CGX_FUSED_RANKS][CGX_FUSED_RANKS];
    static softcuda_kernel *const kernels[][3] = {
        {SOFTCUDA_KERNEL(cgx_fused_float32, cgx_fused_args),
         SOFTCUDA_KERNEL(cgx_fused_float16, cgx_fused_args),
         SOFTCUDA_KERNEL(cgx_fused_bfloat16, cgx_fused_args)},
        {SOFTCUDA_KERNEL(cgx_fused_float32_history, cgx_fused_args),
         SOFTCUDA_KERNEL(cgx_fused_float16_history, cgx_fused_args),
         SOFTCUDA_KERNEL(cgx_fused_bfloat16_history, cgx_fused_args)}};
    static const unsigned bursts[] = {0, 3, 30, 300};
    softcuda_grid grids[CGX_FUSED_RANKS];
    softcuda_together together = {grids, 0, state, bursts[draw(4)], nullptr, nullptr};
    char order[32];

    launch++;
    snprintf(order, sizeof order, "%u", draw(1000000));
    setenv("SOFTCUDA_ORDER", order, 1);
    for (uint32_t r = 0; r < scene.ranks; r++) {
        list_args(r, launch, sources[r], &args[r]);
        if (r != missing || rounds > 0)
            grids[together.ngrids++] = {kernels[scene.has_history][scene.coding.dtype], &args[r],
                                        scene.blocks, CGX_KERNEL_THREADS,
                                        r == missing ? rounds : 0};
    }
    if (missing < scene.ranks)
        together.idle = stop_all;
    return softcuda_run_together(&together);
}

// ---- what is compared ----

static unsigned char *output_of(uint32_t r)
{
    return scene.in_place ? scene.all[r].input : scene.all[r].output;
}

static bool is_right(uint32_t r)
{
    const rank &mine = scene.all[r];
    const char *what = nullptr;

    if (mine.status != 0 || mine.stopped != 0)
        what = "an error";
    else if (memcmp(mine.mirror, mine.expected, scene.message[scene.ranks] + GUARD) != 0)
        what = "other payloads";
    else if (memcmp(output_of(r), scene.decoded, buffer_bytes()) != 0)
        what = "other elements";
    else if (memcmp(mine.history, scene.history, history_bytes()) != 0)
        what = "another history";
    if (what != nullptr)
        diag("rank %u of %u, %u blocks, type %d, bucket %u: %s", r, scene.ranks, scene.blocks,
             scene.coding.dtype, scene.coding.bucket_size, what);
    return what == nullptr;
}

static bool are_right(void)
{
    bool right = true;

    for (uint32_t r = 0; r < scene.ranks; r++)
        right = is_right(r) && right;
    return right;
}

// Flags begin anywhere in the range of epochs, also where these wrap.
static void begin_flags(void)
{
    static const uint64_t firsts[] = {0, UINT32_MAX - 2, UINT64_MAX - 2, (uint64_t)1 << 63};

    launch = firsts[draw(4)];
    for (rank &r : scene.all)
        for (uint32_t i = 0; i < CGX_FUSED_FLAGS; i++)
            r.flags[i] = launch;
}

static bool test_calls(unsigned calls, uint32_t most)
{
    bool right = true;

    for (unsigned call = 0; call < calls && right; call++) {
        if (call % CALLS == 0)
            begin_flags();
        draw_scene(most);
        right = run(CGX_FUSED_RANKS, 0) && are_right();
    }
    return right;
}

// ---- ranks that do not come, or die ----

// As long as a rank has not launched, nobody's elements are written.
static bool test_absent(void)
{
    uint32_t missing;
    bool right;

    begin_flags();
    draw_scene(CGX_FUSED_RANKS);
    missing = draw(scene.ranks);
    right = true;
    unsigned char *before[CGX_FUSED_RANKS];
    for (uint32_t r = 0; r < scene.ranks; r++) {
        before[r] = memory(buffer_bytes());
        memcpy(before[r], output_of(r), buffer_bytes());
    }
    right = run(missing, 0);
    for (uint32_t r = 0; r < scene.ranks; r++) {
        right = right && memcmp(before[r], output_of(r), buffer_bytes()) == 0 &&
                scene.all[r].stopped == (r != missing);
        free(before[r]);
    }
    return right;
}

// A rank dies somewhere: all others end, and who was not stopped has the sums.
static bool test_death(unsigned *ended, unsigned *stopped)
{
    uint32_t missing;
    bool right;

    begin_flags();
    draw_scene(CGX_FUSED_RANKS);
    missing = draw(scene.ranks);
    right = run(missing, 1 + draw(draw(2) ? 60 : 3000));
    for (uint32_t r = 0; r < scene.ranks; r++) {
        if (r == missing)
            continue;
        *(scene.all[r].stopped ? stopped : ended) += 1;
        right = right &&
                (scene.all[r].stopped || memcmp(output_of(r), scene.decoded, buffer_bytes()) == 0);
    }
    return right;
}

static void test_faults(unsigned times)
{
    bool right = true, saved = true;
    unsigned ended = 0, stopped = 0;

    if (sees_races) {
        skip("ranks that do not come", "what a host writes is no atomic");
        return;
    }
    for (unsigned i = 0; i < times; i++) {
        saved = saved && test_absent();
        right = right && test_death(&ended, &stopped);
    }
    ok(saved, "%u times a rank does not launch: all others end, and no element was written", times);
    ok(right && ended > 0 && stopped > 0,
       "%u times a rank dies: all others end, and who was not stopped has the sums (%u of %u)",
       times, ended, ended + stopped);
}

// ---- what is needed ----

// In a process of its own, run from its start: ThreadSanitizer is of no use after a fork.
static bool is_found(unsigned number)
{
    char text[16], *const arguments[] = {const_cast<char *>("fused"), text, nullptr};
    int status;
    pid_t child;

    snprintf(text, sizeof text, "%u", number);
    setenv("TSAN_OPTIONS", "halt_on_error=1", 1);
    child = fork();
    if (child == 0) {
        if (freopen("/dev/null", "w", stderr) && freopen("/dev/null", "w", stdout))
            execv("/proc/self/exe", arguments);
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status != 0;
}

// Races: what the other builds, whose ranks may be stopped, do not see.
static void test_mutants(bool races)
{
    static const char *const names[] = {nullptr,
                                        "the wait for payloads",
                                        "the wait for sums",
                                        "the barrier of waits",
                                        "the release of flags",
                                        "the acquire of flags"};

    for (unsigned i = races ? NO_RELEASE : NO_ENCODED;
         i < (races ? NO_BARRIER + BARRIERS : NO_RELEASE); i++) {
        if (i < NO_BARRIER)
            ok(is_found(i), "without %s sums fail", names[i]);
        else if (i > NO_BARRIER)
            ok(is_found(i), "without barrier %u of %d sums fail", i - NO_BARRIER + 1, BARRIERS);
    }
}

int main(int argc, char **argv)
{
    const char *seed = getenv("FUSED_SEED"), *calls = getenv("FUSED_CALLS");
    unsigned count = calls        ? (unsigned)atoi(calls)
                     : sees_races ? 30 / one_of(5)
                                  : 10000 / one_of(50);

    state = seed ? strtoull(seed, nullptr, 10) : 1;
    make_ranks();
    if (argc > 1) {
        mutant = (unsigned)atoi(argv[1]);
        return test_calls(10, 3) && (sees_races || test_absent()) ? 0 : 1;
    }
    ok(test_calls(count, sees_races ? 3 : CGX_FUSED_RANKS),
       "%u calls of one kernel: the host codec's bytes", count);
    test_faults(count < 100 ? 20 : count / 5);
    test_mutants(sees_races);
    return done_testing();
}
