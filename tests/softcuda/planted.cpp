/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Kernels with a planted error: each is caught, by the engine or by the sanitizer of this build
 * (the others are skipped), in a process of its own; and what depends on an order shows. */

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include "lib/tap.h"
}

#define ALL 0xFFFFFFFFu

enum { THREADS = 256 };

struct arguments {
    unsigned *data; /* THREADS elements, 0, 1, 2 ... */
    unsigned *out;  /* twice as many zeros */
    unsigned count; /* THREADS */
};

static unsigned data[THREADS], out[2 * THREADS];
static const arguments usual = {data, out, THREADS};

#define KERNEL(name) SOFTCUDA_KERNEL(name, arguments)
#define RUN(name, blocks, threads) softcuda_run(KERNEL(name), &usual, (blocks), (threads))

/* Sets the order of the runs to come and fills the memory. */
static void set_order(const char *order)
{
    setenv("SOFTCUDA_ORDER", order, 1);
    for (unsigned i = 0; i < THREADS; i++)
        data[i] = i;
    memset(out, 0, sizeof out);
}

__global__ static void race(const arguments args)
{
    __shared__ unsigned shared[THREADS];

    shared[threadIdx.x] = args.data[threadIdx.x];
    args.out[threadIdx.x] = shared[(threadIdx.x + 1) % THREADS];
}

/* The lanes meet, which orders nothing. */
__global__ static void race_shuffle(const arguments args)
{
    args.out[threadIdx.x] = __shfl_xor_sync(ALL, threadIdx.x, 1);
    __shfl_xor_sync(ALL, 0, 1);
    args.data[threadIdx.x] = args.out[threadIdx.x ^ 1];
}

__global__ static void no_race(const arguments args)
{
    for (unsigned round = 0; round < 4; round++) {
        args.out[threadIdx.x] = round;
        __syncthreads();
        args.data[threadIdx.x] = args.out[(threadIdx.x + 1) % THREADS];
        __syncthreads();
        args.out[threadIdx.x ^ 1] = args.data[threadIdx.x];
        __syncwarp();
        args.out[threadIdx.x ^ 2] = args.data[threadIdx.x ^ 3];
        __syncwarp(0xFFFFu << threadIdx.x % 32 / 16 * 16);
        args.data[threadIdx.x] = args.out[threadIdx.x ^ 4];
        __syncthreads();
    }
}

__global__ static void beyond_global(const arguments args)
{
    args.data[threadIdx.x + 1] = 1;
}

/* Out of sight of UndefinedBehaviorSanitizer. */
__device__ __noinline__ static void store(unsigned *address, unsigned value)
{
    *address = value;
}

__global__ static void beyond_shared(const arguments args)
{
    __shared__ unsigned shared[THREADS];

    shared[threadIdx.x] = 0;
    store(shared + threadIdx.x + args.count - THREADS + 1, 1);
    __syncthreads();
    args.out[threadIdx.x] = shared[threadIdx.x];
}

__global__ static void misaligned(const arguments args)
{
    *reinterpret_cast<uint2 *>(args.data + 1) = make_uint2(threadIdx.x, 0);
}

__global__ static void divergent_barrier(const arguments args)
{
    if (threadIdx.x < 128) {
        args.out[threadIdx.x] = 1;
        __syncthreads();
    } else {
        __syncthreads();
    }
}

__global__ static void half_barrier(const arguments args)
{
    if (threadIdx.x < 128)
        __syncthreads();
    args.out[threadIdx.x] = __shfl_xor_sync(ALL, threadIdx.x, 1);
    __syncthreads();
}

__global__ static void exited_lane(const arguments args)
{
    if (threadIdx.x == 37)
        return;
    args.out[threadIdx.x] = __ballot_sync(ALL, 1);
}

__global__ static void unnamed_lane(const arguments args)
{
    args.out[threadIdx.x] = __shfl_xor_sync(0xFFFFu, threadIdx.x, 1);
}

__global__ static void unnamed_source(const arguments args)
{
    unsigned mask = threadIdx.x % 32 < 16 ? 0xFFFFu : 0xFFFF0000u;

    args.out[threadIdx.x] = __shfl_xor_sync(mask, threadIdx.x, 16);
}

__global__ static void different_masks(const arguments args)
{
    args.out[threadIdx.x] = __shfl_xor_sync(threadIdx.x % 32 == 9 ? ALL - 1 : ALL, threadIdx.x, 1);
}

__global__ static void barrier_and_ballot(const arguments args)
{
    if (threadIdx.x == 3)
        __syncthreads();
    else
        args.out[threadIdx.x] = __ballot_sync(ALL, 1);
}

/* ---- what becomes of them ---- */

#if defined __SANITIZE_ADDRESS__
#define SANITIZER "AddressSanitizer"
#elif defined __SANITIZE_THREAD__
#define SANITIZER "ThreadSanitizer"
#else
#define SANITIZER ""
#endif

enum memory { USUAL, HEAP, GUARDED };

struct planted {
    const char *what;
    const char *catcher; /* a sanitizer; "engine": one line with all of WORDS; "fault" */
    softcuda_kernel *kernel;
    unsigned threads;
    enum memory memory; /* where args.data is */
    const char *words;  /* between bars */
};

static const struct planted rows[] = {
    {"a barrier in two branches", "engine", KERNEL(divergent_barrier), THREADS, USUAL,
     "block 0, thread 128 |thread 0 |barrier of |planted.cpp:"},
    {"a barrier for half of the threads", "engine", KERNEL(half_barrier), THREADS, USUAL,
     "thread 128 waits at the barrier of |thread 0 "},
    {"a ballot that misses a thread that has exited", "engine", KERNEL(exited_lane), THREADS, USUAL,
     "thread 32 |mask 0xffffffff|thread 37 has exited"},
    {"a shuffle whose mask does not name the caller", "engine", KERNEL(unnamed_lane), 32, USUAL,
     "thread 16 |does not name it"},
    {"a shuffle from a lane outside the mask", "engine", KERNEL(unnamed_source), 32, USUAL,
     "thread 0 |mask 0x0000ffff|reads lane 16"},
    {"a shuffle with different masks", "engine", KERNEL(different_masks), 32, USUAL,
     "thread 0 |thread 9 waits|0xfffffffe"},
    {"a ballot while a lane is at the barrier", "engine", KERNEL(barrier_and_ballot), 32, USUAL,
     "thread 0 |thread 3 waits at the barrier"},
    {"an access to a page without access", "fault", KERNEL(beyond_global), THREADS, GUARDED,
     "SEGV"},
    {"an access beyond global memory", "AddressSanitizer", KERNEL(beyond_global), THREADS, HEAP,
     "heap-buffer-overflow"},
    {"an access beyond shared memory", "AddressSanitizer", KERNEL(beyond_shared), THREADS, USUAL,
     "global-buffer-overflow"},
    {"a misaligned access to a vector", "AddressSanitizer", KERNEL(misaligned), THREADS, USUAL,
     "misaligned address"},
    {"a missing barrier", "ThreadSanitizer", KERNEL(race), THREADS, USUAL, "data race"},
    {"a shuffle in place of __syncwarp", "ThreadSanitizer", KERNEL(race_shuffle), THREADS, USUAL,
     "data race"},
};

enum { ROWS = sizeof rows / sizeof *rows };

/* In the child: 0 if nobody minds. */
static int run_row(const struct planted *row)
{
    size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    arguments args = usual;
    void *memory = nullptr;

    set_order("forward");
    if (row->memory == HEAP) {
        memory = malloc(THREADS * sizeof *data);
        args.data = static_cast<unsigned *>(memory);
    } else if (row->memory == GUARDED) {
        char *pages = static_cast<char *>(
            mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

        mprotect(pages + page, page, PROT_NONE);
        args.data = reinterpret_cast<unsigned *>(pages + page) - THREADS;
    }
    bool good = softcuda_run(row->kernel, &args, 1, row->threads);
    free(memory);
    return good ? 0 : 1;
}

/* Runs this program again for the row, from its start: ThreadSanitizer is of no use after a fork.
 * SAID is what the child wrote to stderr. Returns its status. */
static int run_apart(unsigned row, char *said, size_t size)
{
    int ends[2], status;
    char number[16];
    ssize_t got;
    FILE *from;

    snprintf(number, sizeof number, "%u", row);
    if (pipe(ends) != 0)
        bail_out("no pipe");
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        execl("/proc/self/exe", "planted", number, static_cast<char *>(nullptr));
        _exit(127);
    }
    close(ends[1]);
    from = fdopen(ends[0], "r");
    if (child < 0 || from == nullptr)
        bail_out("no child process");
    got = static_cast<ssize_t>(fread(said, 1, size - 1, from));
    said[got] = '\0';
    while (getc(from) != EOF)
        ;
    fclose(from);
    if (waitpid(child, &status, 0) != child)
        bail_out("the child process is lost");
    return status;
}

static bool is_line(const char *said)
{
    const char *end = strchr(said, '\n');

    return strncmp(said, "softcuda: ", 10) == 0 && end != nullptr && end[1] == '\0';
}

static bool has_all(const char *said, const char *words)
{
    char *copy = strdup(words);
    bool all = true;

    for (char *word = strtok(copy, "|"); word != nullptr; word = strtok(nullptr, "|"))
        all = all && strstr(said, word) != nullptr;
    free(copy);
    return all;
}

static void test_row(unsigned index)
{
    const struct planted *row = &rows[index];
    bool engine = strcmp(row->catcher, "engine") == 0, fault = strcmp(row->catcher, "fault") == 0;
    char said[16384], name[128];

    snprintf(name, sizeof name, "%s is caught", row->what);
    if (!engine && !fault && strcmp(row->catcher, SANITIZER) != 0) {
        skip(name, row->catcher);
        return;
    }
    int status = run_apart(index, said, sizeof said);
    bool caught = status != 0;
    if (engine)
        caught = WIFEXITED(status) && WEXITSTATUS(status) == 1 && is_line(said);
    if (fault && strcmp(SANITIZER, "") == 0) {
        caught = WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
    } else {
        caught = caught && has_all(said, row->words);
    }
    if (!caught)
        diag("status %d: %s", status, said);
    ok(caught, "%s", name);
}

/* Whether forward and reverse give different results. */
static bool differs(softcuda_kernel *kernel)
{
    unsigned results[THREADS], sums[THREADS];
    bool run;

    set_order("forward");
    run = softcuda_run(kernel, &usual, 1, THREADS);
    memcpy(results, out, sizeof results);
    memcpy(sums, data, sizeof sums);
    set_order("reverse");
    run = run && softcuda_run(kernel, &usual, 1, THREADS);
    return run && (memcmp(results, out, sizeof results) != 0 || memcmp(sums, data, sizeof sums));
}

/* ThreadSanitizer would fail this process for the races. */
static void test_orders(void)
{
    static const char name[] = "a missing barrier makes results differ between orders";

    ok(!differs(KERNEL(no_race)), "a kernel with its barriers gives one result in all orders");
    if (strcmp(SANITIZER, "ThreadSanitizer") == 0)
        skip(name, "the races are reported");
    else
        ok(differs(KERNEL(race)), name);
}

/* ---- between blocks ---- */

enum { BLOCKS = 50 };

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

static void test_again(void)
{
    int kept = dup(STDERR_FILENO);
    bool right;

    set_order("reverse");
    if (kept < 0 || freopen("/dev/null", "w", stderr) == nullptr)
        bail_out("stderr cannot be redirected");
    right = !RUN(half_barrier, 2, THREADS) && !RUN(exited_lane, 2, 64);
    dup2(kept, STDERR_FILENO);
    close(kept);
    ok(right && RUN(no_race, 2, THREADS), "after errors the next kernel runs");
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return run_row(&rows[atoi(argv[1])]);
    for (unsigned row = 0; row < ROWS; row++)
        test_row(row);
    test_orders();
    test_overlap();
    test_garbage();
    test_again();
    return done_testing();
}
