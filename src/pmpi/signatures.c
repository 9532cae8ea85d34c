/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/signatures.h"

#include <stdlib.h>
#include <string.h>

/* Set-associative, least recently used first: constant cost, and a step of several hundred
 * different calls fits. */
#define SETS 128
#define WAYS 8

#define FIRST_WAIT 4

struct cgx_signatures {
    uint64_t lookups;
    struct cgx_signature entries[SETS][WAYS];
};

struct cgx_signatures *cgx_signatures_create(void)
{
    return calloc(1, sizeof(struct cgx_signatures));
}

void cgx_signatures_free(struct cgx_signatures *table)
{
    if (!table)
        return;
    for (size_t set = 0; set < SETS; set++) {
        for (size_t way = 0; way < WAYS; way++)
            cgx_plan_free(table->entries[set][way].plan);
    }
    free(table);
}

/* Counts are often multiples of powers of two: Fibonacci hashing spreads them. */
static size_t set_of(uint64_t key)
{
    return (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 32) % SETS;
}

struct cgx_signature *cgx_signatures_find(struct cgx_signatures *table, uint64_t key)
{
    struct cgx_signature *set = table->entries[set_of(key)];
    struct cgx_signature *oldest = &set[0];

    table->lookups++;
    for (size_t way = 0; way < WAYS; way++) {
        if (set[way].used && set[way].key == key) {
            set[way].used = table->lookups;
            return &set[way];
        }
        if (set[way].used < oldest->used)
            oldest = &set[way];
    }
    cgx_plan_free(oldest->plan);
    memset(oldest, 0, sizeof *oldest);
    oldest->key = key;
    oldest->used = table->lookups;
    oldest->next_wait = FIRST_WAIT;
    return oldest;
}

void cgx_signature_forget(struct cgx_signature *signature)
{
    cgx_plan_free(signature->plan);
    signature->plan = NULL;
    signature->agreed = false;
    signature->wait = 0;
}

void cgx_signature_refuse(struct cgx_signature *signature)
{
    cgx_signature_forget(signature);
    signature->wait = signature->next_wait;
    if (signature->next_wait < UINT64_MAX / 2)
        signature->next_wait *= 2;
}

bool cgx_signature_due(struct cgx_signature *signature)
{
    if (signature->wait == 0)
        return true;
    signature->wait--;
    return false;
}
