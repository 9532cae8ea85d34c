/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Maps keys to CGX_LRU_PLACES places. When all places are taken, a new key replaces the least
 * recently used one. Any set of as many keys fits. The cost is constant, and replacements depend
 * only on the sequence of look-ups. */
#ifndef CGX_UTIL_LRU_H
#define CGX_UTIL_LRU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CGX_LRU_PLACES 1024

/* All zeros: empty. Inside, places count from 1; place 0 links the newest, its older neighbour, and
 * the oldest. */
struct cgx_lru {
    uint16_t used;                   /* places with a key */
    uint16_t chains[CGX_LRU_PLACES]; /* the first place of each chain, by hash */
    struct {
        uint64_t key;
        uint16_t next;
        uint16_t newer, older;
    } places[CGX_LRU_PLACES + 1];
};

/* Returns the place of KEY, from 0, and counts that as a use. *NEW: KEY had no place, so the caller
 * must forget the place's content. */
size_t cgx_lru_find(struct cgx_lru *lru, uint64_t key, bool *is_new);

#endif
