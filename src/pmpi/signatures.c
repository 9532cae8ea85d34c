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

void cgx_signatures_clear(struct cgx_signatures *table)
{
    for (size_t set = 0; set < SETS; set++) {
        for (size_t way = 0; way < WAYS; way++)
            cgx_plan_free(table->entries[set][way].plan);
    }
    memset(table, 0, sizeof *table);
}

void cgx_signatures_free(struct cgx_signatures *table)
{
    if (table)
        cgx_signatures_clear(table);
    free(table);
}

/* Counts are often multiples of powers of two: Fibonacci hashing spreads them. */
static size_t set_of(uint64_t key)
{
    return (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 32) % SETS;
}

static bool is_entry(const struct cgx_signature *entry, uint64_t key, unsigned rule)
{
    return entry->used && entry->key == key && entry->rule == rule;
}

struct cgx_signature *cgx_signatures_find(struct cgx_signatures *table, uint64_t key, unsigned rule)
{
    struct cgx_signature *set = table->entries[set_of(key)];
    struct cgx_signature *oldest = &set[0];

    table->lookups++;
    for (size_t way = 0; way < WAYS; way++) {
        if (is_entry(&set[way], key, rule)) {
            set[way].used = table->lookups;
            return &set[way];
        }
        if (set[way].used < oldest->used)
            oldest = &set[way];
    }
    cgx_plan_free(oldest->plan);
    memset(oldest, 0, sizeof *oldest);
    oldest->key = key;
    oldest->rule = rule;
    oldest->used = table->lookups;
    oldest->next_wait = FIRST_WAIT;
    return oldest;
}

const struct cgx_signature *cgx_signatures_peek(const struct cgx_signatures *table, uint64_t key,
                                                unsigned rule)
{
    const struct cgx_signature *set = table->entries[set_of(key)];

    for (size_t way = 0; way < WAYS; way++) {
        if (is_entry(&set[way], key, rule))
            return &set[way];
    }
    return NULL;
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
