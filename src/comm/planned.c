/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/planned.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "comm/nodes.h"
#include "mpi/config.h"
#include "util/integers.h"
#include "util/lru.h"
#include "util/pages.h"

struct cgx_planned_calls {
    struct cgx_planned spare; /* made in the reserve where it cannot be made otherwise */
    void *reserve;            /* for a plan and its widest */
    size_t reserved;          /* bytes of each */
    struct cgx_lru lru;
    struct cgx_planned kept[CGX_LRU_PLACES];
};

struct cgx_planned_calls *cgx_planned_calls_create(void)
{
    return cgx_sparse_map(sizeof(struct cgx_planned_calls));
}

static void forget(struct cgx_planned *planned)
{
    cgx_plan_free(planned->plan);
    planned->plan = NULL;
}

void cgx_planned_calls_clear(struct cgx_planned_calls *table)
{
    for (size_t i = 0; i < table->lru.used; i++)
        forget(&table->kept[i]);
    memset(&table->lru, 0, sizeof table->lru);
}

void cgx_planned_calls_free(struct cgx_planned_calls *table)
{
    if (!table)
        return;
    cgx_planned_calls_clear(table);
    free(table->reserve);
    cgx_sparse_unmap(table, sizeof *table);
}

/* PLAN may become as wide as WIDEST, which is needed here alone. */
static void set(struct cgx_planned *planned, const struct cgx_comm *state, struct cgx_plan *plan,
                const struct cgx_plan *widest)
{
    const struct cgx_scheme scheme = cgx_nodes_scheme(state);

    planned->plan = plan;
    planned->schedule = cgx_coll_schedule(plan, widest, &scheme, cgx_config()->fusion_buffer_bytes);
}

bool cgx_planned_make(const struct cgx_comm *state, uint64_t count, enum cgx_dtype dtype,
                      const struct cgx_override *override, struct cgx_planned *planned)
{
    struct cgx_plan *plan = cgx_plan_create(cgx_config(), override, dtype, (size_t)count);
    struct cgx_plan *widest = plan ? cgx_plan_widest(plan) : NULL;

    if (!widest) {
        cgx_plan_free(plan);
        return false;
    }
    set(planned, state, plan, widest);
    cgx_plan_free(widest);
    return true;
}

/* Makes the spare one that of RECURRING; NULL if the reserve is too small. */
static const struct cgx_planned *make_spare(const struct cgx_comm *state,
                                            const struct cgx_recurring *recurring,
                                            enum cgx_dtype dtype)
{
    struct cgx_planned_calls *table = state->planned;
    size_t count = (size_t)recurring->key.count;
    struct cgx_plan *plan, *widest;

    if (cgx_plan_most_bytes(&recurring->override, count) > table->reserved)
        return NULL;
    plan = cgx_plan_create_in(table->reserve, cgx_config(), &recurring->override, dtype, count);
    widest = (void *)((unsigned char *)table->reserve + table->reserved);
    memcpy(widest, plan, cgx_plan_bytes(plan));
    cgx_plan_widen(widest);
    set(&table->spare, state, plan, widest);
    return &table->spare;
}

const struct cgx_planned *
cgx_planned_get(struct cgx_comm *state, const struct cgx_recurring *recurring, enum cgx_dtype dtype)
{
    struct cgx_planned_calls *table = state->planned;
    const struct cgx_lru_key key = {recurring->key.count << 4 | recurring->key.type,
                                    recurring->key.rule};
    bool is_new;
    struct cgx_planned *kept = &table->kept[cgx_lru_find(&table->lru, key, &is_new)];

    if (!is_new && kept->plan && kept->plan->dtype == dtype)
        return kept;
    forget(kept);
    return cgx_planned_make(state, recurring->key.count, dtype, &recurring->override, kept)
               ? kept
               : make_spare(state, recurring, dtype);
}

const struct cgx_planned *cgx_planned_find(struct cgx_comm *state,
                                           const struct cgx_recurring *recurring)
{
    return cgx_planned_get(state, recurring, recurring->kind->dtype);
}

bool cgx_planned_reserve(struct cgx_comm *state, size_t bytes)
{
    struct cgx_planned_calls *table = state->planned;
    const size_t alignment = _Alignof(max_align_t);
    void *larger;

    bytes = cgx_round_up(bytes, alignment);
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
