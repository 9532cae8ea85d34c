/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What users are told of steps. */
#include "policy/step/recurrence.h"
#include "policy/step/recurrence_state.h"

/* A step set by the user is checked first after so many sums and so many steps. */
#define FIRST_CONTRADICTED 32
#define STEPS_CONTRADICTED 4

/* An undecided period is reported from this large sum on, after so many repeats. */
#define FIRST_UNDECIDED 16
#define REPEATS_UNDECIDED 6

size_t cgx_recurrence_undecided(struct cgx_recurrence *recurrence, size_t *times, uint64_t *counts,
                                size_t most)
{
    struct cgx_sum_log *log = &recurrence->log;
    struct cgx_period period;

    cgx_recurrence_learn(recurrence);
    if (recurrence->evidence || recurrence->calls < FIRST_UNDECIDED)
        return 0;
    period = cgx_period_find(log, 0);
    if (period.length == 0 || period.run < REPEATS_UNDECIDED * period.length ||
        4 * period.run < 3 * (size_t)log->length)
        return 0;
    *times = period.run / period.length;
    for (size_t i = 0; i < most && i < period.length; i++)
        counts[i] = cgx_sum_elements(log, cgx_sum_log_ago(log, period.length - 1 - i));
    return period.length;
}

size_t cgx_recurrence_contradicts(struct cgx_recurrence *recurrence)
{
    uint64_t calls = recurrence->calls; /* exact, since no step is followed */

    if (recurrence->rule.step == 0 || recurrence->pattern.length > 0 ||
        calls < FIRST_CONTRADICTED || calls < STEPS_CONTRADICTED * recurrence->rule.step ||
        (calls & (calls - 1)) != 0)
        return 0;
    return cgx_period_find(&recurrence->log, 0).length;
}
