/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Which place of a table of CGX_LRU_PLACES a key has: when all are taken, the key that was looked
 * up least recently gives way. Any so many keys fit, whatever they are. Constant cost; what gives
 * way depends on the sequence of look-ups alone. */
#ifndef CGX_UTIL_LRU_H
#define CGX_UTIL_LRU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CGX_LRU_PLACES 1024

/* All zeros: empty. Places are numbered from 1 in here, 0 is none: it lies between the newest,
 * which is its older one, and the oldest. */
struct cgx_lru {
    uint16_t used;                   /* places that have a key */
    uint16_t chains[CGX_LRU_PLACES]; /* by hash */
    struct {
        uint64_t key;
        uint16_t next; /* in its chain */
        uint16_t newer, older;
    } places[CGX_LRU_PLACES + 1];
};

/* The place of KEY, from 0, which is looked up now. *NEW: it had none; what was at this place is
 * forgotten. */
size_t cgx_lru_find(struct cgx_lru *lru, uint64_t key, bool *is_new);

#endif
