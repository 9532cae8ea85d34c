/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/step/recurrence.h"

#include <string.h>

#include "util/hash.h"
#include "util/integers.h"
#include "util/pages.h"

/* How often a sum must have come before to be known. */
#define KNOWN 2

/* Ranks compare their pauses first after so many large sums. */
#define FIRST_COMPARED 4

/* An epoch has at least so many steps. Looks tell so many kinds of sums in turn apart at one
 * position. */
#define EPOCH 12

/* A search takes time in proportion to the log. In a log longer than SHORT_LOG it is made once per
 * 1/SEARCH_PART of the length, so that the cost of a call is constant. */
#define SHORT_LOG 256
#define SEARCH_PART 32

/* A step set by the user is checked first after so many sums and so many steps. */
#define FIRST_CONTRADICTED 32
#define STEPS_CONTRADICTED 4

/* An undecided period is reported from this large sum on, after so many repeats. */
#define FIRST_UNDECIDED 16
#define REPEATS_UNDECIDED 6

_Static_assert(sizeof(struct cgx_recurrence) <= 256 * 1024, "a communicator's memory");

struct cgx_recurrence *cgx_recurrence_create(unsigned warmup, uint64_t minimal_size)
{
    struct cgx_recurrence *recurrence = cgx_sparse_map(sizeof *recurrence);

    if (!recurrence)
        return NULL;
    recurrence->warmup = (unsigned)cgx_larger(warmup, 2);
    recurrence->minimal_size = minimal_size;
    if (warmup == 0)
        recurrence->evidence = CGX_EVIDENCE_USER;
    return recurrence;
}

void cgx_recurrence_free(struct cgx_recurrence *recurrence)
{
    cgx_sparse_unmap(recurrence, sizeof *recurrence);
}

static void establish_steps(struct cgx_recurrence *recurrence, enum cgx_evidence evidence)
{
    recurrence->evidence = evidence;
    recurrence->established = recurrence->calls;
}

/* Whether PERIOD, which pauses have shown, is an epoch: it just repeats the step that is followed.
 * A few repeats may be sums of one count and of different kinds, as a gradient and its moments. */
static bool is_epoch(const struct cgx_recurrence *recurrence, const struct cgx_period *period)
{
    const struct cgx_pattern *pattern = &recurrence->pattern;

    return recurrence->pace == CGX_EVIDENCE_PAUSES && pattern->length > 0 && pattern->tellable &&
           period->length >= EPOCH * pattern->length &&
           cgx_period_set(&recurrence->log, pattern->length, 0).run >= period->run;
}

/* Follows the step that all ranks have found, unless that or a longer one is followed, or it is an
 * epoch. */
static bool follow_paced(struct cgx_recurrence *recurrence, unsigned warmup)
{
    struct cgx_pattern *pattern = &recurrence->pattern;
    struct cgx_period period;

    if (recurrence->step > 0 || recurrence->paced == 0 ||
        (pattern->tellable && pattern->length >= recurrence->paced))
        return false;
    period = cgx_period_set(&recurrence->log, recurrence->paced, warmup);
    if (period.length == 0)
        return false;
    if (is_epoch(recurrence, &period)) {
        recurrence->paced = pattern->length;
        return false;
    }
    if (!recurrence->evidence)
        establish_steps(recurrence, recurrence->pace);
    period.tellable = true;
    cgx_pattern_adopt(pattern, &recurrence->log, &period);
    recurrence->has_variable_size = false;
    return true;
}

static void search_steps(struct cgx_recurrence *recurrence)
{
    struct cgx_sum_log *log = &recurrence->log;
    struct cgx_pattern *pattern = &recurrence->pattern;
    const size_t step = recurrence->step;
    unsigned warmup = recurrence->evidence ? 0 : recurrence->warmup;
    struct cgx_period period;

    if (follow_paced(recurrence, warmup) || (recurrence->has_variable_size && step == 0))
        return;
    period = step > 0 ? cgx_period_set(log, step, warmup) : cgx_period_find(log, warmup);
    if (period.length == 0)
        return;
    if (!recurrence->evidence)
        establish_steps(recurrence, CGX_EVIDENCE_PERIOD);
    else if (pattern->length > 0 && !cgx_pattern_gives_way(pattern, log, &period))
        return;
    if (step > 0)
        period.firm = period.tellable = true;
    cgx_pattern_adopt(pattern, log, &period);
}

/* Once steps are known to come, every sum recurs except off-step sums of a step that is followed
 * well. */
static bool sum_recurs(const struct cgx_recurrence *recurrence, uint16_t sum)
{
    if (!recurrence->evidence)
        return false;
    return recurrence->evidence == CGX_EVIDENCE_USER || recurrence->pattern.length == 0 ||
           recurrence->log.sums[sum].times > 0 || !cgx_pattern_is_whole(&recurrence->pattern);
}

/* Learns from a sum after its answer was given, so that no answer depends on itself. */
static void learn_sum(struct cgx_recurrence *recurrence, uint16_t sum, bool placed)
{
    const struct cgx_pattern *pattern = &recurrence->pattern;
    struct cgx_sum_log *log = &recurrence->log;

    /* In the log, new sums would hide the period of the others from later searches. */
    recurrence->logged = !recurrence->evidence || log->sums[sum].seen > KNOWN;
    if (recurrence->logged) {
        cgx_sum_log_add(log, sum);
        cgx_resemblance_add(&recurrence->resemblance);
    }
    recurrence->since_search++;
    if (recurrence->evidence && pattern->length > 0 && placed && pattern->firm)
        return;
    if (log->length < SHORT_LOG || recurrence->since_search > log->length / SEARCH_PART) {
        recurrence->since_search = 0;
        search_steps(recurrence);
    }
}

static struct cgx_occurrence take_sum(struct cgx_recurrence *recurrence, uint64_t key)
{
    struct cgx_occurrence occurrence = {.position = CGX_POSITION_NONE};
    struct cgx_pattern *pattern = &recurrence->pattern;
    const uint16_t sum = cgx_sum_log_count(&recurrence->log, key);
    const uint64_t generation = pattern->generation;
    bool placed = false;

    recurrence->calls++;
    if (pattern->length > 0)
        placed = cgx_pattern_follow(pattern, &recurrence->log, sum, &occurrence);
    occurrence.recurs = sum_recurs(recurrence, sum);
    learn_sum(recurrence, sum, placed);
    /* A position in the previous pattern has no meaning in the new one. */
    if (pattern->generation != generation) {
        occurrence.begins_step = false;
        occurrence.position = CGX_POSITION_NONE;
    }
    return occurrence;
}

struct cgx_occurrence cgx_recurrence_next(struct cgx_recurrence *recurrence, uint64_t count,
                                          unsigned type)
{
    if (count >= recurrence->minimal_size)
        return take_sum(recurrence, cgx_callsite_word(count, type));
    if (count < CGX_RECURRENCE_LEAST)
        recurrence->log.ignored += count;
    else
        cgx_sum_log_add_small(&recurrence->log, count);
    return (struct cgx_occurrence){.position = CGX_POSITION_NONE};
}

void cgx_recurrence_set_step(struct cgx_recurrence *recurrence, size_t step)
{
    if (step == recurrence->step)
        return;
    recurrence->step = step;
    cgx_pattern_drop(&recurrence->pattern, &recurrence->log);
}

/* ---- what ranks compare ---- */

void cgx_recurrence_wait(struct cgx_recurrence *recurrence, int64_t nanoseconds)
{
    cgx_sum_log_wait(&recurrence->log, cgx_pause(nanoseconds));
}

bool cgx_recurrence_needs_pauses(const struct cgx_recurrence *recurrence)
{
    const struct cgx_pattern *pattern = &recurrence->pattern;

    return recurrence->evidence != CGX_EVIDENCE_USER && recurrence->step == 0 &&
           (pattern->length == 0 || !pattern->tellable ||
            (pattern->length == recurrence->paced && !pattern->firm));
}

bool cgx_recurrence_should_compare(const struct cgx_recurrence *recurrence)
{
    const uint64_t calls = recurrence->calls, part = calls % 3 == 0 ? calls / 3 : calls;

    return calls >= FIRST_COMPARED && (part & (part - 1)) == 0 &&
           cgx_recurrence_needs_pauses(recurrence);
}

bool cgx_recurrence_samples(const struct cgx_recurrence *recurrence)
{
    return recurrence->logged && recurrence->calls <= CGX_RECURRENCE_RESULTS &&
           cgx_recurrence_needs_pauses(recurrence);
}

void cgx_recurrence_result(struct cgx_recurrence *recurrence, const float *values, size_t count)
{
    cgx_resemblance_take(&recurrence->resemblance, values, count);
}

struct cgx_burst cgx_recurrence_burst(const struct cgx_recurrence *recurrence)
{
    const uint32_t length = cgx_resemblance_judge(&recurrence->resemblance, &recurrence->log);

    return length > 0 ? (struct cgx_burst){CGX_BURST_RESULTS, length, CGX_HASH_START}
                      : cgx_bursts_judge(&recurrence->log);
}

bool cgx_recurrence_take_burst(struct cgx_recurrence *recurrence, const struct cgx_burst *burst,
                               struct cgx_occurrence *latest)
{
    const struct cgx_pattern *pattern = &recurrence->pattern;
    size_t length = burst->length;

    if (burst->kind == CGX_BURST_TOTAL && !recurrence->evidence) {
        establish_steps(recurrence, CGX_EVIDENCE_PAUSES);
        recurrence->has_variable_size = true;
        *latest = (struct cgx_occurrence){.recurs = true, .position = CGX_POSITION_NONE};
        return true;
    }
    if (length <= recurrence->paced || length > CGX_STEP_LONGEST)
        return false;
    recurrence->paced = burst->length;
    recurrence->pace =
        burst->kind == CGX_BURST_RESULTS ? CGX_EVIDENCE_RESULTS : CGX_EVIDENCE_PAUSES;
    if (!follow_paced(recurrence, recurrence->evidence ? 0 : recurrence->warmup))
        return false;
    *latest = (struct cgx_occurrence){.recurs = true,
                                      .position = (pattern->candidates[0] + length - 1) % length};
    return true;
}

/* ---- queries ---- */

struct cgx_callsite_key cgx_recurrence_expects(const struct cgx_recurrence *recurrence,
                                               size_t position)
{
    const uint64_t word = recurrence->log.sums[recurrence->pattern.sums[position]].key;

    return (struct cgx_callsite_key){.count = word >> CGX_CALLSITE_TYPE_BITS,
                                     .type = word & ((1u << CGX_CALLSITE_TYPE_BITS) - 1),
                                     .position = (uint32_t)position};
}

/* ---- what users are told of steps ---- */

size_t cgx_recurrence_undecided(struct cgx_recurrence *recurrence, size_t *times, uint64_t *counts,
                                size_t most)
{
    struct cgx_sum_log *log = &recurrence->log;
    struct cgx_period period;

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
    const uint64_t calls = recurrence->calls;

    if (recurrence->step == 0 || recurrence->pattern.length > 0 || calls < FIRST_CONTRADICTED ||
        calls < STEPS_CONTRADICTED * recurrence->step || (calls & (calls - 1)) != 0)
        return 0;
    return cgx_period_find(&recurrence->log, 0).length;
}
