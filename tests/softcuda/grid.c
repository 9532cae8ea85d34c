/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A grid: its blocks run one after the other. One whose threads poll in vain is put aside for the
 * next one, as many as a device holds. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fibers.h"

/* ---- the order of blocks and threads ---- */

enum kind { FORWARD, REVERSE, RANDOM };

struct order {
    enum kind kind;
    uint64_t seed, random;
};

static SOFTCUDA_LOCAL struct {
    struct order threads, blocks;
    unsigned *shuffled; /* blocks of this launch, by turn; kept for later launches */
    unsigned count, room;
} state;

/* ---- what is wanted ---- */

/* TEXT is what VARIABLE says. */
static bool read_order(struct order *order, const char *variable, const char *text)
{
    char *end;

    if (strcmp(text, "forward") == 0) {
        order->kind = FORWARD;
        return true;
    }
    if (strcmp(text, "reverse") == 0) {
        order->kind = REVERSE;
        return true;
    }
    order->kind = RANDOM;
    order->seed = strtoull(text, &end, 10);
    if (*text != '\0' && *end == '\0')
        return true;
    fprintf(stderr, "softcuda: %s is neither forward, reverse nor a number: %s\n", variable, text);
    return false;
}

/* The seed of a process that is given none. */
static void choose_seed(struct order *order)
{
    static uint64_t seed;

    if (seed == 0) {
        seed = ((uint64_t)time(NULL) * 1000003 + (uint64_t)getpid()) % 1000000000 + 1;
        fprintf(stderr, "softcuda: blocks run in the order of SOFTCUDA_BLOCKS=%llu\n",
                (unsigned long long)seed);
    }
    order->kind = RANDOM;
    order->seed = seed;
}

/* An order of threads begins anew in each launch; one of blocks only where the seed is another. */
static bool read_environment(unsigned blocks)
{
    const char *threads = getenv("SOFTCUDA_ORDER"), *text = getenv("SOFTCUDA_BLOCKS");
    struct order before = state.blocks;

    if (!read_order(&state.threads, "SOFTCUDA_ORDER", threads && *threads ? threads : "forward"))
        return false;
    state.threads.random = state.threads.seed;
    if (blocks < 2)
        return true;
    if (text == NULL || *text == '\0')
        choose_seed(&state.blocks);
    else if (!read_order(&state.blocks, "SOFTCUDA_BLOCKS", text))
        return false;
    if (before.kind != RANDOM || before.seed != state.blocks.seed)
        state.blocks.random = state.blocks.seed;
    return true;
}

/* ---- turns ---- */

/* The top bits of a linear congruential generator. */
static unsigned draw(struct order *order, unsigned below)
{
    order->random = order->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((order->random >> 32) * below >> 32);
}

static void take_turns(struct order *order, unsigned *turns, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned other = order->kind == RANDOM ? draw(order, i + 1) : i;

        if (other < i)
            turns[i] = turns[other];
        turns[other] = order->kind == REVERSE ? count - 1 - i : i;
    }
}

bool softcuda_order_begin(unsigned blocks)
{
    unsigned *larger;

    if (!read_environment(blocks))
        return false;
    state.count = blocks;
    if (blocks > state.room) {
        larger = realloc(state.shuffled, blocks * sizeof *larger);
        if (larger == NULL) {
            fprintf(stderr, "softcuda: no memory for the order of %u blocks\n", blocks);
            return false;
        }
        state.shuffled = larger;
        state.room = blocks;
    }
    take_turns(&state.blocks, state.shuffled, blocks);
    return true;
}

unsigned softcuda_order_block(unsigned turn)
{
    return state.shuffled[turn];
}

void softcuda_order_threads(unsigned *turns, unsigned threads)
{
    take_turns(&state.threads, turns, threads);
}

/* ---- the grid ---- */

/* The section of the kernels' shared memory, if there are such kernels here. */
extern unsigned char __start_softcuda_shared[] __attribute__((weak, visibility("hidden")));
extern unsigned char __stop_softcuda_shared[] __attribute__((weak, visibility("hidden")));

static struct {
    struct softcuda_grid grid;
    unsigned begun; /* blocks, in their order */
    unsigned place; /* of the block that shared memory belongs to */
    bool held[SOFTCUDA_PLACES];
    unsigned char *shared[SOFTCUDA_PLACES]; /* the other blocks' shared memory */
} all;

/* ---- shared memory: volatile words, since red zones are among them and AddressSanitizer watches
 * memset and memcpy ---- */

/* Wherever the section begins. */
struct __attribute__((packed)) word {
    uint64_t bits;
};

static ptrdiff_t shared_bytes(void)
{
    return __stop_softcuda_shared - __start_softcuda_shared;
}

/* Whatever was in it is lost. */
__attribute__((no_sanitize_address)) static void spoil_shared(void)
{
    volatile unsigned char *shared = __start_softcuda_shared;
    ptrdiff_t i = 0;

    for (; i + 8 <= shared_bytes(); i += 8)
        ((volatile struct word *)(shared + i))->bits = 0xE7E7E7E7E7E7E7E7;
    for (; i < shared_bytes(); i++)
        shared[i] = 0xE7;
}

__attribute__((no_sanitize_address)) static void copy(volatile unsigned char *to,
                                                      const volatile unsigned char *from)
{
    ptrdiff_t i = 0;

    for (; i + 8 <= shared_bytes(); i += 8)
        ((volatile struct word *)(to + i))->bits = ((const volatile struct word *)(from + i))->bits;
    for (; i < shared_bytes(); i++)
        to[i] = from[i];
}

/* Keeps what the last block has there, and brings what that at PLACE had. False: no memory. */
static bool turn_shared(unsigned place)
{
    unsigned char **kept = &all.shared[all.place];

    if (place == all.place || shared_bytes() == 0)
        return true;
    if (all.held[all.place]) {
        if (*kept == NULL)
            *kept = malloc((size_t)shared_bytes());
        if (*kept == NULL)
            return false;
        copy(*kept, __start_softcuda_shared);
    }
    if (all.held[place])
        copy(__start_softcuda_shared, all.shared[place]);
    all.place = place;
    return true;
}

/* ---- blocks ---- */

static bool begin_next(unsigned place)
{
    if (!turn_shared(place) ||
        !softcuda_block_begin(place, &all.grid, softcuda_order_block(all.begun++)))
        return false;
    all.held[place] = true;
    spoil_shared();
    return true;
}

static bool turn_to(unsigned place)
{
    if (!turn_shared(place))
        return false;
    softcuda_block_turn(place);
    return true;
}

/* Runs the block at PLACE, or the next ones there, until one waits or none is left. */
static enum softcuda_ran go_on_at(unsigned place)
{
    enum softcuda_ran ran = SOFTCUDA_ENDED;

    if (all.held[place] && !turn_to(place))
        return SOFTCUDA_FAILED;
    while (ran == SOFTCUDA_ENDED && (all.held[place] || all.begun < all.grid.blocks)) {
        if (!all.held[place] && !begin_next(place))
            return SOFTCUDA_FAILED;
        ran = softcuda_block_go_on();
        all.held[place] = ran == SOFTCUDA_WAITS;
    }
    return ran;
}

/* Runs all blocks as far as they come. */
static enum softcuda_ran go_on(void)
{
    bool waits = false;

    for (unsigned place = 0; place < SOFTCUDA_HELD; place++) {
        enum softcuda_ran ran = go_on_at(place);

        if (ran == SOFTCUDA_FAILED)
            return ran;
        waits |= ran == SOFTCUDA_WAITS;
    }
    return waits ? SOFTCUDA_WAITS : SOFTCUDA_ENDED;
}

bool softcuda_run(softcuda_kernel *kernel, const void *args, unsigned blocks, unsigned threads)
{
    enum softcuda_ran ran = SOFTCUDA_WAITS;

    all.grid = (struct softcuda_grid){kernel, args, blocks, threads};
    all.begun = 0;
    memset(all.held, 0, sizeof all.held);
    if (!softcuda_order_begin(blocks))
        return false;
    while (ran == SOFTCUDA_WAITS)
        ran = go_on();
    return ran == SOFTCUDA_ENDED;
}
