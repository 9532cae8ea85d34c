/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A grid: its blocks run one after the other. One whose threads poll in vain is put aside for the
 * next one, as many as a device holds. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "order.h"

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
