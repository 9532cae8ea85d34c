/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "order.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fibers.h"

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
