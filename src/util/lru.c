/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "util/lru.h"

/* Fibonacci hashing spreads keys, which are often multiples of powers of two. */
static uint16_t *chain_of(struct cgx_lru *lru, uint64_t key)
{
    return &lru->chains[(key * UINT64_C(0x9E3779B97F4A7C15) >> 32) % CGX_LRU_PLACES];
}

static uint16_t find_place(struct cgx_lru *lru, uint64_t key)
{
    uint16_t place = *chain_of(lru, key);

    while (place && lru->places[place].key != key)
        place = lru->places[place].next;
    return place;
}

static void unchain_place(struct cgx_lru *lru, uint16_t place)
{
    uint16_t *link = chain_of(lru, lru->places[place].key);

    while (*link != place)
        link = &lru->places[*link].next;
    *link = lru->places[place].next;
}

static void leave_order(struct cgx_lru *lru, uint16_t place)
{
    uint16_t newer = lru->places[place].newer, older = lru->places[place].older;

    lru->places[newer].older = older;
    lru->places[older].newer = newer;
}

static void join_order(struct cgx_lru *lru, uint16_t place)
{
    uint16_t newest = lru->places[0].older;

    lru->places[place].newer = 0;
    lru->places[place].older = newest;
    lru->places[newest].newer = lru->places[0].older = place;
}

/* Gives KEY, which has no place, an unused place or the least recently used one. */
static uint16_t take_place(struct cgx_lru *lru, uint64_t key)
{
    uint16_t *chain = chain_of(lru, key), place;

    if (lru->used < CGX_LRU_PLACES) {
        place = ++lru->used;
    } else {
        place = lru->places[0].newer;
        unchain_place(lru, place);
        leave_order(lru, place);
    }
    lru->places[place].key = key;
    lru->places[place].next = *chain;
    *chain = place;
    return place;
}

size_t cgx_lru_find(struct cgx_lru *lru, uint64_t key, bool *is_new)
{
    uint16_t place = find_place(lru, key);

    *is_new = place == 0;
    if (place)
        leave_order(lru, place);
    else
        place = take_place(lru, key);
    join_order(lru, place);
    return place - 1u;
}
