/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/step/recurrence.h"

#include <stddef.h>

#include "policy/step/bursts.h"
#include "policy/step/pattern.h"
#include "policy/step/periods.h"
#include "policy/step/resemblance.h"
#include "policy/step/sums.h"
#include "util/hash.h"
#include "util/pages.h"

/* How often a sum must have come to be known. */
#define KNOWN 2

/* Ranks compare their pauses first after so many large sums. A step set by the user is checked
 * first after so many sums and so many steps. */
#define FIRST_COMPARED 4
#define FIRST_CONTRADICTED 32
#define STEPS_CONTRADICTED 4

/* An undecided period is reported from this large sum on, after so many repeats. */
#define FIRST_UNDECIDED 16
#define REPEATS_UNDECIDED 6

/* A search takes time in proportion to the log. In a log longer than SHORT_LOG it is made once per
 * 1/SEARCH_PART of the length, so that the cost of a call is constant. */
#define SHORT_LOG 256
#define SEARCH_PART 32

/* What every call touches comes first and arrays come last, so that few pages are touched early. */
struct cgx_recurrence {
    struct cgx_recurrence_rule rule;
    enum cgx_evidence evidence;
    uint32_t since_search;
    uint64_t calls;
    uint64_t established;
    uint32_t paced;         /* the step's length as all ranks found it, in large sums; 0: unknown */
    enum cgx_evidence pace; /* how all ranks found it */
    /* The total of a step is known, but its sums differ from step to step. */
    bool has_variable_size;
    bool logged;                        /* the latest large sum is in the log */
    struct cgx_resemblance resemblance; /* results of the latest sums in the log */
    struct cgx_sums sums;
    struct cgx_sum_log log;
    struct cgx_pattern pattern;
};

_Static_assert(sizeof(struct cgx_recurrence) <= 256 * 1024, "a communicator's memory");

struct cgx_recurrence *cgx_recurrence_create(const struct cgx_recurrence_rule *rule)
{
    struct cgx_recurrence *recurrence = cgx_sparse_map(sizeof *recurrence);

    if (!recurrence)
        return NULL;
    recurrence->rule = *rule;
    if (rule->warmup == 0)
        recurrence->evidence = CGX_EVIDENCE_USER;
    if (rule->warmup < 2)
        recurrence->rule.warmup = 2;
    return recurrence;
}

void cgx_recurrence_free(struct cgx_recurrence *recurrence)
{
    cgx_sparse_unmap(recurrence, sizeof *recurrence);
}

void cgx_recurrence_set_step(struct cgx_recurrence *recurrence, size_t step)
{
    if (step == recurrence->rule.step)
        return;
    recurrence->rule.step = step;
    if (recurrence->pattern.length > 0)
        recurrence->pattern.generation++;
    cgx_pattern_drop(&recurrence->pattern, &recurrence->sums);
}

static bool is_established(const struct cgx_recurrence *recurrence)
{
    return recurrence->evidence != CGX_EVIDENCE_NONE;
}

static void establish_steps(struct cgx_recurrence *recurrence, enum cgx_evidence evidence)
{
    recurrence->evidence = evidence;
    recurrence->established = recurrence->calls;
}

/* Follows the step that all ranks have found, unless that or a longer one is followed. */
static bool follow_paced(struct cgx_recurrence *recurrence, unsigned warmup)
{
    struct cgx_pattern *pattern = &recurrence->pattern;
    struct cgx_period period;

    if (recurrence->rule.step > 0 || recurrence->paced == 0 ||
        (pattern->tellable && pattern->length >= recurrence->paced))
        return false;
    period = cgx_period_set(&recurrence->log, recurrence->paced, warmup);
    if (period.length == 0)
        return false;
    if (!is_established(recurrence))
        establish_steps(recurrence, recurrence->pace);
    cgx_pattern_adopt(pattern, &recurrence->sums, &recurrence->log, &period, CGX_STEP_PACED);
    recurrence->has_variable_size = false;
    return true;
}

static void search_steps(struct cgx_recurrence *recurrence)
{
    const struct cgx_recurrence_rule *rule = &recurrence->rule;
    struct cgx_sum_log *log = &recurrence->log;
    struct cgx_pattern *pattern = &recurrence->pattern;
    unsigned warmup = is_established(recurrence) ? 0 : rule->warmup;
    struct cgx_period period;

    if (follow_paced(recurrence, warmup) || (recurrence->has_variable_size && rule->step == 0))
        return;
    period = rule->step > 0 ? cgx_period_set(log, rule->step, warmup)
                            : cgx_period_find(log, &recurrence->sums, warmup);
    if (period.length == 0)
        return;
    if (!is_established(recurrence))
        establish_steps(recurrence, CGX_EVIDENCE_PERIOD);
    else if (pattern->length > 0 &&
             !cgx_pattern_gives_way(pattern, &recurrence->sums, log, &period))
        return;
    cgx_pattern_adopt(pattern, &recurrence->sums, log, &period,
                      rule->step > 0 ? CGX_STEP_SET : CGX_STEP_FOUND);
}

/* Returns the index of the sum of KEY, and counts the sum once more. *KNOWN: the sum was known
 * before. */
static uint16_t count_sum(struct cgx_recurrence *recurrence, uint64_t key, bool *known)
{
    struct cgx_sums *sums = &recurrence->sums;
    uint16_t sum = cgx_sums_find(sums, key);

    if (sum == 0) {
        cgx_sums_forget(sums);
        cgx_sum_log_forget(&recurrence->log, sums);
        sum = cgx_sums_find(sums, key);
    }
    *known = sums->sums[sum].seen >= KNOWN;
    sums->sums[sum].seen = (uint16_t)(sums->sums[sum].seen + (sums->sums[sum].seen < UINT16_MAX));
    return sum;
}

/* Once steps are known to come, every sum recurs except off-step sums of a step that is followed
 * well. */
static bool sum_recurs(const struct cgx_recurrence *recurrence, uint16_t sum)
{
    if (!is_established(recurrence))
        return false;
    return recurrence->evidence == CGX_EVIDENCE_USER || recurrence->pattern.length == 0 ||
           recurrence->sums.sums[sum].times > 0 || !cgx_pattern_is_whole(&recurrence->pattern);
}

/* Learns from a sum after its answer was given, so that no answer depends on itself. */
static void learn_sum(struct cgx_recurrence *recurrence, uint16_t sum, bool known, bool placed)
{
    const struct cgx_pattern *pattern = &recurrence->pattern;
    struct cgx_sum_log *log = &recurrence->log;

    /* In the log, new sums would hide the period of the others from later searches. */
    recurrence->logged = !is_established(recurrence) || known;
    if (recurrence->logged) {
        cgx_sum_log_add(log, &recurrence->sums, sum);
        cgx_resemblance_add(&recurrence->resemblance);
    }
    recurrence->since_search++;
    if (is_established(recurrence) && pattern->length > 0 && placed && pattern->firm)
        return;
    if (log->length < SHORT_LOG || recurrence->since_search > log->length / SEARCH_PART) {
        recurrence->since_search = 0;
        search_steps(recurrence);
    }
}

struct cgx_occurrence cgx_recurrence_next(struct cgx_recurrence *recurrence, uint64_t count,
                                          unsigned type)
{
    struct cgx_occurrence occurrence = {.position = CGX_POSITION_NONE};
    struct cgx_pattern *pattern = &recurrence->pattern;
    struct cgx_step_place place = {.position = CGX_POSITION_NONE};
    uint64_t generation;
    uint16_t sum;
    bool known;

    if (count < CGX_RECURRENCE_LEAST) {
        recurrence->log.ignored += count;
        return occurrence;
    }
    if (count < recurrence->rule.minimal_size) {
        cgx_sum_log_add_small(&recurrence->log, count);
        return occurrence;
    }
    recurrence->calls++;
    sum = count_sum(recurrence, cgx_callsite_word(count, type), &known);
    if (pattern->length > 0)
        place = cgx_pattern_follow(pattern, &recurrence->sums, sum);
    occurrence.recurs = sum_recurs(recurrence, sum);
    generation = pattern->generation;
    learn_sum(recurrence, sum, known, place.known);
    /* A position in the previous pattern has no meaning in the new one. */
    if (pattern->generation == generation) {
        occurrence.begins_step = place.begins_step;
        occurrence.position = place.position;
    }
    return occurrence;
}

/* ---- what ranks compare ---- */

void cgx_recurrence_wait(struct cgx_recurrence *recurrence, int64_t nanoseconds)
{
    cgx_sum_log_wait(&recurrence->log, cgx_pause(nanoseconds));
}

bool cgx_recurrence_is_told(const struct cgx_recurrence *recurrence)
{
    return recurrence->rule.step > 0;
}

bool cgx_recurrence_needs_pauses(const struct cgx_recurrence *recurrence)
{
    const struct cgx_pattern *pattern = &recurrence->pattern;

    return recurrence->evidence != CGX_EVIDENCE_USER && recurrence->rule.step == 0 &&
           (pattern->length == 0 || !pattern->tellable ||
            (pattern->length == recurrence->paced && !pattern->firm));
}

bool cgx_recurrence_should_compare(const struct cgx_recurrence *recurrence)
{
    uint64_t calls = recurrence->calls, part = calls % 3 == 0 ? calls / 3 : calls;

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
                      : cgx_bursts_judge(&recurrence->log, &recurrence->sums);
}

bool cgx_recurrence_take_burst(struct cgx_recurrence *recurrence, const struct cgx_burst *burst,
                               struct cgx_occurrence *latest)
{
    const struct cgx_pattern *pattern = &recurrence->pattern;
    size_t length = burst->length;

    if (burst->kind == CGX_BURST_TOTAL && !is_established(recurrence)) {
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
    if (!follow_paced(recurrence, is_established(recurrence) ? 0 : recurrence->rule.warmup))
        return false;
    *latest = (struct cgx_occurrence){.recurs = true,
                                      .position = (pattern->candidates[0] + length - 1) % length};
    return true;
}

size_t cgx_recurrence_undecided(struct cgx_recurrence *recurrence, size_t *times)
{
    struct cgx_sum_log *log = &recurrence->log;
    struct cgx_period period;

    if (is_established(recurrence) || recurrence->calls < FIRST_UNDECIDED)
        return 0;
    period = cgx_period_find(log, &recurrence->sums, 0);
    if (period.length == 0 || period.run < REPEATS_UNDECIDED * period.length ||
        4 * period.run < 3 * (size_t)log->length)
        return 0;
    *times = period.run / period.length;
    return period.length;
}

uint64_t cgx_recurrence_elements(const struct cgx_recurrence *recurrence, size_t ago)
{
    return cgx_sum_elements(&recurrence->sums.sums[cgx_sum_log_ago(&recurrence->log, ago)]);
}

size_t cgx_recurrence_contradicts(struct cgx_recurrence *recurrence)
{
    uint64_t calls = recurrence->calls;
    struct cgx_period period;

    if (recurrence->rule.step == 0 || recurrence->pattern.length > 0 ||
        calls < FIRST_CONTRADICTED || calls < STEPS_CONTRADICTED * recurrence->rule.step ||
        (calls & (calls - 1)) != 0)
        return 0;
    period = cgx_period_find(&recurrence->log, &recurrence->sums, 0);
    return period.length;
}

/* ---- queries ---- */

size_t cgx_recurrence_period(const struct cgx_recurrence *recurrence)
{
    return recurrence->pattern.length;
}

uint64_t cgx_recurrence_generation(const struct cgx_recurrence *recurrence)
{
    return recurrence->pattern.generation;
}

struct cgx_callsite_key cgx_recurrence_expects(const struct cgx_recurrence *recurrence,
                                               size_t position)
{
    uint64_t word = recurrence->sums.sums[recurrence->pattern.sums[position]].key;

    return (struct cgx_callsite_key){.count = word >> CGX_CALLSITE_TYPE_BITS,
                                     .type = word & ((1u << CGX_CALLSITE_TYPE_BITS) - 1),
                                     .position = (uint32_t)position};
}

uint64_t cgx_recurrence_sums(const struct cgx_recurrence *recurrence)
{
    return recurrence->calls;
}

enum cgx_evidence cgx_recurrence_evidence(const struct cgx_recurrence *recurrence, uint64_t *sums)
{
    if (sums)
        *sums = recurrence->established;
    return recurrence->evidence;
}

const char *cgx_evidence_name(enum cgx_evidence evidence)
{
    static const char *const names[] = {
        [CGX_EVIDENCE_NONE] = "nothing yet", [CGX_EVIDENCE_USER] = "the user",
        [CGX_EVIDENCE_PAUSES] = "pauses",    [CGX_EVIDENCE_RESULTS] = "results",
        [CGX_EVIDENCE_PERIOD] = "a period",
    };

    return names[evidence];
}
