/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The large sums that a communicator has seen: in a table by key, where each has an index, and the
 * recent ones in a log, in which periods are found. Memory is constant: a full table forgets the
 * sums that were seen once or twice or, if that is not enough, all sums but those of the step. */
#ifndef CGX_POLICY_STEP_SUMS_H
#define CGX_POLICY_STEP_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest step that is recognised, in large sums. */
#define CGX_STEP_LONGEST 4096

/* The position of a sum without a certain position. */
#define CGX_POSITION_NONE UINT32_MAX

/* Space for the longest step, and enough more to make forgetting rare. */
#define CGX_SUMS_MOST 6144
#define CGX_SUMS_CHAINS 4096

/* An upper limit of counts, larger than any real one, so that counts times the length of a log do
 * not overflow. */
#define CGX_SUMS_ELEMENTS_MOST (UINT64_C(1) << 40)

/* The log always reaches back over two of the longest steps; older entries go in parts. */
#define CGX_HISTORY_PART (CGX_STEP_LONGEST / 4)
#define CGX_HISTORY_MOST (2 * CGX_STEP_LONGEST + CGX_HISTORY_PART)

struct cgx_sum {
    uint64_t key;
    uint16_t seen;  /* how often the sum has come; saturates; 0: unused */
    uint16_t times; /* how often the sum is in the step that is followed */
    uint16_t next;  /* the next index in its chain; 0: the last */
};

/* All zeros: empty. */
struct cgx_sum_log {
    uint64_t end;     /* elements up to the latest large sum, since creation, small sums included */
    uint64_t ignored; /* elements of sums too small to count, since creation */
    uint32_t length;  /* number of large sums in the log */
    uint32_t elements; /* elements of small sums since the latest large one; saturates */
    uint32_t before;   /* elements of small sums before the longest pause since then */
    uint16_t pause;    /* the longest pause before one of these sums, as cgx_pause */
    uint16_t added;    /* the index that was added last to the table; lower ones are in use */
    bool dropped;      /* the log no longer reaches back to its creation */
    uint16_t chains[CGX_SUMS_CHAINS];
    struct cgx_sum sums[CGX_SUMS_MOST + 1]; /* the table, from index 1 on */
    struct {
        uint32_t elements; /* elements of the small sums just before the large one */
        uint32_t before;   /* elements of small sums before the longest pause */
        uint16_t pause;    /* the longest pause before one of them, or before the large one */
        uint16_t sum;
    } calls[CGX_HISTORY_MOST];
    uint16_t match[CGX_STEP_LONGEST + 1]; /* room for a search */
};

/* ---- the table ---- */

/* The index, from 1, of the sum of KEY, which is counted as seen once more. */
uint16_t cgx_sum_log_count(struct cgx_sum_log *log, uint64_t key);

static inline uint64_t cgx_sum_elements(const struct cgx_sum_log *log, uint16_t sum)
{
    uint64_t elements = log->sums[sum].key >> 4;

    return elements < CGX_SUMS_ELEMENTS_MOST ? elements : CGX_SUMS_ELEMENTS_MOST;
}

/* ---- the log ---- */

/* A pause is stored on a logarithmic scale, 8 values per octave of nanoseconds; the last one stands
 * for all longer pauses. */
#define CGX_PAUSE_OCTAVE 8
#define CGX_PAUSES 320
static inline uint16_t cgx_pause(int64_t nanoseconds)
{
    uint64_t ns = nanoseconds < 8 ? 8 : (uint64_t)nanoseconds;
    unsigned octave = 63 - (unsigned)__builtin_clzll(ns); /* at least 3 */
    unsigned pause = (octave - 3) * CGX_PAUSE_OCTAVE + (unsigned)(ns >> (octave - 3) & 7);

    return (uint16_t)(pause < CGX_PAUSES ? pause : CGX_PAUSES - 1);
}

/* Adds a PAUSE, as cgx_pause gives it, before the next sum. */
static inline void cgx_sum_log_wait(struct cgx_sum_log *log, uint16_t pause)
{
    if (pause > log->pause) {
        log->pause = pause;
        log->before = log->elements;
    }
}

void cgx_sum_log_add_small(struct cgx_sum_log *log, uint64_t count);
void cgx_sum_log_add(struct cgx_sum_log *log, uint16_t sum);

/* The index in the table of the sum that came AGO sums before the latest. */
static inline uint16_t cgx_sum_log_ago(const struct cgx_sum_log *log, size_t ago)
{
    return log->calls[log->length - 1 - ago].sum;
}

/* ---- periods (periods.c) ----
 *
 * A single pass over a model's weights also repeats itself, layer by layer. So a period counts as a
 * step only if it closes, with whole steps before it, and is of buckets, too long, or too diverse
 * for layers. */

/* A period with which the latest sums repeat. */
struct cgx_period {
    size_t length; /* in large sums; 0: none */
    size_t run;    /* large sums that it explains, the first period included */
    bool firm;     /* it is too long, or has too many kinds of sums, for a layer of a model */
    bool tellable; /* likewise, or it has hardly any small sums: the program sums buckets */
};

/* The number of kinds among the latest LENGTH sums, up to CGX_PERIOD_KINDS. STRANGE: only of those
 * that are not in the step that is followed. */
#define CGX_PERIOD_KINDS 16
size_t cgx_period_kinds(const struct cgx_sum_log *log, size_t length, bool strange);

/* The period of the latest sums, if it is a step's: WARMUP of them have passed, and it is no pass
 * over layers. WARMUP 0: the sums are known to be of steps, and the period that explains most of
 * them is returned. */
struct cgx_period cgx_period_find(struct cgx_sum_log *log, unsigned warmup);

/* The period of LENGTH large sums, if the latest sums have had it for at least WARMUP steps. */
struct cgx_period cgx_period_set(const struct cgx_sum_log *log, size_t length, unsigned warmup);

#endif
