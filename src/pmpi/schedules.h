/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How calls of one count are run: their plan and shape, kept for the counts that came last. What a
 * schedule is follows from count, type and rule alone, so that a count which is new on all ranks
 * needs no agreement. */
#ifndef CGX_PMPI_SCHEDULES_H
#define CGX_PMPI_SCHEDULES_H

#include "coll/coll.h"
#include "policy/recurrence.h"

struct cgx_schedule {
    uint64_t call;         /* cgx_recurrence_key */
    unsigned rule;         /* of CGX_RULES; 0: none */
    uint64_t used;         /* look-up number; 0: this place is empty */
    struct cgx_plan *plan; /* base widths */
    struct cgx_shape shape;
};

/* What all schedules of a communicator have in common. */
struct cgx_schedule_basis {
    const struct cgx_settings *settings;
    struct cgx_scheme scheme;
};

/* Makes the schedule of CALL, elements of DTYPE, for all that its plan may become; SAY is what
 * rules and hints say of it. False if memory is short. The caller frees the plan. */
bool cgx_schedules_make(const struct cgx_schedule_basis *basis, uint64_t call, enum cgx_dtype dtype,
                        const struct cgx_say *say, struct cgx_schedule *schedule);

struct cgx_schedules;
struct cgx_schedules *cgx_schedules_create(void); /* NULL if memory is short */
void cgx_schedules_free(struct cgx_schedules *table);

/* Forgets all. */
void cgx_schedules_clear(struct cgx_schedules *table);

/* The schedule of CALL, made if it is not kept. Valid until the next call of this function. NULL if
 * memory is short, and cgx_schedules_reserve was not called for as much. */
const struct cgx_schedule *cgx_schedules_get(struct cgx_schedules *table,
                                             const struct cgx_schedule_basis *basis, uint64_t call,
                                             enum cgx_dtype dtype, const struct cgx_say *say);

/* Sets memory aside that a schedule whose plan is made in BYTES (cgx_plan_most_bytes) is made in
 * where no other is left: a rank must not lack it when others have begun. False if memory is
 * short. */
bool cgx_schedules_reserve(struct cgx_schedules *table, size_t bytes);

#endif
