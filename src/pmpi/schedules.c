/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/schedules.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Set-associative, least recently used first: constant cost, and a step of several hundred
 * different calls fits. */
#define SETS 128
#define WAYS 8

struct cgx_schedules {
    uint64_t lookups;
    struct cgx_schedule spare; /* made in the reserve where it cannot be made otherwise */
    void *reserve;             /* for a plan and its widest */
    size_t reserved;           /* bytes of each */
    struct cgx_schedule entries[SETS][WAYS];
};

struct cgx_schedules *cgx_schedules_create(void)
{
    return calloc(1, sizeof(struct cgx_schedules));
}

static void forget(struct cgx_schedule *schedule)
{
    if (schedule->used)
        cgx_plan_free(schedule->plan);
    schedule->used = 0;
}

void cgx_schedules_clear(struct cgx_schedules *table)
{
    for (size_t set = 0; set < SETS; set++) {
        for (size_t way = 0; way < WAYS; way++) {
            if (table->entries[set][way].used)
                forget(&table->entries[set][way]);
        }
    }
}

void cgx_schedules_free(struct cgx_schedules *table)
{
    if (!table)
        return;
    cgx_schedules_clear(table);
    free(table->reserve);
    free(table);
}

/* Counts are often multiples of powers of two: Fibonacci hashing spreads them. */
static size_t set_of(uint64_t call)
{
    return (size_t)(call * UINT64_C(0x9E3779B97F4A7C15) >> 32) % SETS;
}

/* The entry of CALL and RULE, or the one that makes room for it. */
static struct cgx_schedule *look_up(struct cgx_schedules *table, uint64_t call, unsigned rule)
{
    struct cgx_schedule *set = table->entries[set_of(call)];
    struct cgx_schedule *oldest = &set[0];

    for (size_t way = 0; way < WAYS; way++) {
        if (set[way].used && set[way].call == call && set[way].rule == rule)
            return &set[way];
        if (set[way].used < oldest->used)
            oldest = &set[way];
    }
    return oldest;
}

static void set(struct cgx_schedule *schedule, const struct cgx_schedule_basis *basis,
                uint64_t call, unsigned rule, struct cgx_plan *plan, const struct cgx_plan *widest)
{
    *schedule = (struct cgx_schedule){.call = call, .rule = rule, .plan = plan};
    schedule->shape = cgx_coll_shape(widest, &basis->scheme, basis->settings->fusion_buffer_bytes);
    cgx_coll_follow(&schedule->shape, plan);
}

bool cgx_schedules_make(const struct cgx_schedule_basis *basis, uint64_t call, enum cgx_dtype dtype,
                        const struct cgx_say *say, struct cgx_schedule *schedule)
{
    struct cgx_plan *plan =
        cgx_plan_create(basis->settings, say, dtype, (size_t)cgx_recurrence_count(call));
    struct cgx_plan *widest = plan ? cgx_plan_widest(plan) : NULL;

    if (!widest) {
        cgx_plan_free(plan);
        return false;
    }
    set(schedule, basis, call, say->rule, plan, widest);
    cgx_plan_free(widest);
    return true;
}

/* Makes the spare schedule that of CALL; NULL if the reserve is too small. */
static const struct cgx_schedule *make_spare(struct cgx_schedules *table,
                                             const struct cgx_schedule_basis *basis, uint64_t call,
                                             enum cgx_dtype dtype, const struct cgx_say *say)
{
    size_t count = (size_t)cgx_recurrence_count(call);
    struct cgx_plan *plan, *widest;

    if (cgx_plan_most_bytes(say, count) > table->reserved)
        return NULL;
    plan = cgx_plan_create_in(table->reserve, basis->settings, say, dtype, count);
    widest = (void *)((unsigned char *)table->reserve + table->reserved);
    memcpy(widest, plan, cgx_plan_bytes(plan));
    cgx_plan_widen(widest);
    set(&table->spare, basis, call, say->rule, plan, widest);
    return &table->spare;
}

const struct cgx_schedule *cgx_schedules_get(struct cgx_schedules *table,
                                             const struct cgx_schedule_basis *basis, uint64_t call,
                                             enum cgx_dtype dtype, const struct cgx_say *say)
{
    struct cgx_schedule *found = look_up(table, call, say->rule);

    if (found->used && found->call == call && found->rule == say->rule &&
        found->plan->dtype == dtype) {
        found->used = ++table->lookups;
        return found;
    }
    forget(found);
    if (!cgx_schedules_make(basis, call, dtype, say, found))
        return make_spare(table, basis, call, dtype, say);
    found->used = ++table->lookups;
    return found;
}

bool cgx_schedules_reserve(struct cgx_schedules *table, size_t bytes)
{
    const size_t alignment = _Alignof(max_align_t);
    void *larger;

    bytes = (bytes + alignment - 1) / alignment * alignment;
    if (bytes <= table->reserved)
        return true;
    larger = malloc(2 * bytes);
    if (!larger)
        return false;
    free(table->reserve);
    table->reserve = larger;
    table->reserved = bytes;
    return true;
}
