/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The threads of a block as fibers: each runs until it waits for others or exits, and then the next
 * one in order that can run does. A block that leaves nobody able to run before all have exited is
 * stuck, and that is reported. One whose threads poll in vain is put aside for the next one, as
 * many as a device holds. One grid at a time; its run may be left by siglongjmp. With
 * SOFTCUDA_RESIDENT each thread of the process runs a block of its own (resident.c). */

#include "fibers.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softcuda.h"
#include "threads.h"

enum { WARP = 32, MAX_THREADS = 1024 };

enum state {
    STATE_NONE, /* not started */
    STATE_EXITED,
    STATE_READY,
    STATE_BARRIER,
    STATE_SHUFFLE,
    STATE_BALLOT,
    STATE_SYNCWARP,
    STATE_POLL
};

struct thread {
    struct softcuda_fiber fiber;
    enum state state;
    const char *file; /* where it waits */
    int line;
    unsigned mask;   /* of the lanes it meets, */
    uint64_t value;  /* to which it gives this, */
    unsigned source; /* and the lane from which it wants a value */
    uint64_t result;
    unsigned late; /* a lane of the warp whose first thread this is, which others waited for */
};

SOFTCUDA_LOCAL struct softcuda_place softcuda_here;

#ifdef SOFTCUDA_RESIDENT
enum { HELD = 1 };
#else
enum { HELD = SOFTCUDA_HELD };
#endif

struct engine {
    softcuda_kernel *kernel;
    const void *args;
    unsigned block;
    unsigned running; /* the thread */
    unsigned begun;   /* threads, and ... */
    unsigned left;    /* ... those that have not exited */
    unsigned barrier; /* those of them at a barrier */
    unsigned phase;   /* of barriers: 0, 1, 0 ... */
    /* Names for what happens before: a block, its end, a barrier in each phase. */
    char begin, end, phases[2];
    bool failed;
    softcuda_between *between; /* rounds of the block; NULL: nothing */
    struct softcuda_fiber scheduler;
    unsigned turns[MAX_THREADS];
    struct thread threads[MAX_THREADS];
};
static SOFTCUDA_LOCAL struct engine engines[HELD];
static SOFTCUDA_LOCAL struct engine *engine = NULL; /* of the block that runs */

static void complain(unsigned thread, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* One line on stderr, once per run. */
static void complain(unsigned thread, const char *format, ...)
{
    char text[512];
    va_list list;

    if (!engine->failed) {
        va_start(list, format);
        vsnprintf(text, sizeof text, format, list);
        va_end(list);
        fprintf(stderr, "softcuda: block %u, thread %u %s\n", softcuda_here.block.x, thread, text);
    }
    engine->failed = true;
}

/* What a thread waits at, or that it has exited. Returns TEXT, of SIZE bytes. */
static const char *describe(const struct thread *thread, char *text, size_t size)
{
    switch (thread->state) {
    case STATE_BARRIER:
        snprintf(text, size, "waits at the barrier of %s:%d", thread->file, thread->line);
        break;
    case STATE_SHUFFLE:
    case STATE_BALLOT:
    case STATE_SYNCWARP:
        snprintf(text, size, "waits at the %s with mask 0x%08x of %s:%d",
                 thread->state == STATE_SHUFFLE  ? "shuffle"
                 : thread->state == STATE_BALLOT ? "ballot"
                                                 : "__syncwarp",
                 thread->mask, thread->file, thread->line);
        break;
    default:
        snprintf(text, size, "has exited");
    }
    return text;
}

/* ---- a thread's side ---- */

/* A fiber outlives blocks and runs: it waits, exited, for its next kernel. */
static void thread_main(void)
{
    struct engine *mine = engine;
    struct thread *thread = &mine->threads[mine->running];

    for (;;) {
        softcuda_fiber_acquire(&mine->begin);
        mine->kernel(mine->args);
        softcuda_fiber_release(&mine->end);
        thread->state = STATE_EXITED;
        softcuda_fiber_switch(&thread->fiber, &mine->scheduler);
    }
}

/* Gives way. Returns when the scheduler lets the thread go on. */
static struct thread *wait_as(enum state state, const char *file, int line, unsigned mask,
                              uint64_t value, unsigned source)
{
    struct thread *thread = &engine->threads[engine->running];

    thread->state = state;
    thread->file = file;
    thread->line = line;
    thread->mask = mask;
    thread->value = value;
    thread->source = source;
    softcuda_fiber_switch(&thread->fiber, &engine->scheduler);
    return thread;
}

void softcuda_barrier(const char *file, int line)
{
    const void *here = &engine->phases[engine->phase];

    softcuda_fiber_release(here);
    wait_as(STATE_BARRIER, file, line, 0, 0, 0);
    softcuda_fiber_acquire(here);
}

uint64_t softcuda_shuffle(const char *file, int line, unsigned mask, uint64_t value,
                          unsigned source)
{
    return wait_as(STATE_SHUFFLE, file, line, mask, value, source)->result;
}

unsigned softcuda_ballot(const char *file, int line, unsigned mask, bool predicate)
{
    return (unsigned)wait_as(STATE_BALLOT, file, line, mask, predicate, 0)->result;
}

/* What each lane did before is released under its own name. */
void softcuda_syncwarp(const char *file, int line, unsigned mask)
{
    unsigned first = engine->running - engine->running % WARP;

    softcuda_fiber_release(&engine->threads[engine->running]);
    wait_as(STATE_SYNCWARP, file, line, mask, 0, 0);
    for (unsigned lane = 0; lane < WARP; lane++) {
        if (mask >> lane & 1)
            softcuda_fiber_acquire(&engine->threads[first + lane]);
    }
}

/* Outside of kernels there is nobody to give way to. */
void softcuda_poll(void)
{
    if (engine)
        wait_as(STATE_POLL, NULL, 0, 0, 0, 0);
}

/* ---- the scheduler's side ---- */

/* Sanitizers watch each byte that strcmp reads, and a kernel's names are mostly one. */
static bool is_at(const struct thread *thread, const struct thread *other)
{
    return thread->line == other->line &&
           (thread->file == other->file || strcmp(thread->file, other->file) == 0);
}

/* All threads left are at a barrier. */
static void open_barrier(unsigned threads)
{
    const struct thread *first = NULL;
    char text[256];

    for (unsigned i = 0; i < threads; i++) {
        struct thread *thread = &engine->threads[i];

        if (thread->state != STATE_BARRIER)
            continue;
        if (first == NULL)
            first = thread;
        if (!is_at(thread, first)) {
            complain(i, "%s, thread %u at that of %s:%d", describe(thread, text, sizeof text),
                     (unsigned)(first - engine->threads), first->file, first->line);
            return;
        }
    }
    for (unsigned i = 0; i < threads; i++) {
        if (engine->threads[i].state == STATE_BARRIER)
            engine->threads[i].state = STATE_READY;
    }
    engine->barrier = 0;
    engine->phase ^= 1;
}

static bool meets(const struct thread *thread, const struct thread *other)
{
    return thread->state == other->state && thread->mask == other->mask && is_at(thread, other);
}

/* The thread waits for lanes of its warp: if all have come, they go on. Looks first at the lane
 * that had not come the last time. */
static void open_warp(unsigned index, unsigned threads)
{
    struct thread *thread = &engine->threads[index];
    struct thread *warp = thread - index % WARP;
    unsigned lanes = threads - (index - index % WARP);
    unsigned mask = thread->mask, ballot = 0;
    bool ballots = thread->state == STATE_BALLOT;
    char text[256];

    if ((mask >> index % WARP & 1) == 0) {
        complain(index, "%s, which does not name it", describe(thread, text, sizeof text));
        return;
    }
    if (thread->state == STATE_SHUFFLE &&
        (thread->source >= WARP || (mask >> thread->source & 1) == 0)) {
        complain(index, "%s and reads lane %u", describe(thread, text, sizeof text),
                 thread->source);
        return;
    }
    for (unsigned i = 0, first = warp->late; i < WARP; i++) {
        unsigned lane = (first + i) % WARP;

        if ((mask >> lane & 1) == 0)
            continue;
        if (lane >= lanes || !meets(thread, &warp[lane])) {
            warp->late = lane;
            return;
        }
        ballot |= (unsigned)warp[lane].value << lane;
    }
    for (unsigned lane = 0; lane < WARP; lane++) {
        if ((mask >> lane & 1) == 0)
            continue;
        warp[lane].result = ballots ? ballot : warp[warp[lane].source].value;
        warp[lane].state = STATE_READY;
    }
}

/* No thread can run and not all have exited: says of one whom it waits for. */
static void complain_stuck(unsigned threads)
{
    char text[256], other[256];

    for (unsigned i = 0; i < threads; i++) {
        const struct thread *thread = &engine->threads[i];

        if (thread->state == STATE_EXITED || thread->state == STATE_BARRIER)
            continue;
        for (unsigned lane = 0; lane < WARP; lane++) {
            unsigned missed = i - i % WARP + lane;

            if ((thread->mask >> lane & 1) == 0)
                continue;
            if (missed >= threads)
                complain(i, "%s; the block has no thread %u", describe(thread, text, sizeof text),
                         missed);
            else if (!meets(thread, &engine->threads[missed]))
                complain(i, "%s; thread %u %s", describe(thread, text, sizeof text), missed,
                         describe(&engine->threads[missed], other, sizeof other));
        }
    }
}

static void run_thread(unsigned index)
{
    struct thread *thread = &engine->threads[index];

    engine->running = index;
    softcuda_here.thread.x = index;
    softcuda_fiber_switch(&engine->scheduler, &thread->fiber);
}

/* A turn of each thread that can run. PROGRESS: some thread did more than poll once again. False:
 * none can. */
static bool run_round(unsigned threads, bool *progress)
{
    bool ran = false;

    *progress = false;
    softcuda_order_threads(engine->turns, threads);
    for (unsigned turn = 0; turn < threads && !engine->failed; turn++) {
        unsigned index = engine->turns[turn];
        struct thread *thread = &engine->threads[index];
        bool polled = thread->state == STATE_POLL;

        if (thread->state != STATE_READY && !polled)
            continue;
        ran = true;
        run_thread(index);
        *progress |= !polled || thread->state != STATE_POLL;
        if (thread->state == STATE_BARRIER)
            engine->barrier++;
        else if (thread->state == STATE_EXITED)
            engine->left--;
        else if (thread->state != STATE_POLL)
            open_warp(index, threads);
        if (engine->barrier > 0 && engine->barrier == engine->left)
            open_barrier(threads);
    }
    return ran;
}

enum softcuda_ran softcuda_block_go_on(void)
{
    const unsigned threads = engine->begun;
    bool ran = true, progress = true;

    while (engine->left > 0 && ran && !engine->failed && (progress || engine->between)) {
        ran = run_round(threads, &progress);
        if (engine->between && !engine->between(progress))
            return SOFTCUDA_FAILED;
    }
    if (engine->left > 0 && !ran)
        complain_stuck(threads);
    if (engine->left == 0)
        softcuda_fiber_acquire(&engine->end);
    return engine->failed ? SOFTCUDA_FAILED : engine->left > 0 ? SOFTCUDA_WAITS : SOFTCUDA_ENDED;
}

void softcuda_block_turn(unsigned place)
{
    engine = &engines[place];
    softcuda_here.block.x = engine->block;
    softcuda_fiber_adopt(&engine->scheduler);
}

bool softcuda_block_begin(unsigned place, const struct softcuda_grid *grid, unsigned block)
{
    if (grid->threads < 1 || grid->threads > MAX_THREADS) {
        fprintf(stderr, "softcuda: a block has 1 to %d threads, not %u\n", MAX_THREADS,
                grid->threads);
        return false;
    }
    engine = &engines[place];
    engine->kernel = grid->kernel;
    engine->args = grid->args;
    engine->block = block;
    engine->left = engine->begun = grid->threads;
    engine->barrier = 0;
    engine->failed = false;
    softcuda_here = (struct softcuda_place){{0}, {block}};
    for (unsigned i = 0; i < grid->threads; i++) {
        struct thread *thread = &engine->threads[i];

        if (thread->state != STATE_EXITED && !softcuda_fiber_start(&thread->fiber, thread_main)) {
            fprintf(stderr, "softcuda: no memory for the stack of thread %u\n", i);
            return false;
        }
        thread->state = STATE_READY;
    }
    softcuda_fiber_adopt(&engine->scheduler);
    softcuda_fiber_release(&engine->begin);
    return true;
}

#ifdef SOFTCUDA_RESIDENT
bool softcuda_run_block(const struct softcuda_grid *grid, unsigned block, softcuda_between *between)
{
    if (!softcuda_order_begin(1) || !softcuda_block_begin(0, grid, block))
        return false;
    engine->between = between;
    return softcuda_block_go_on() == SOFTCUDA_ENDED;
}
#endif
