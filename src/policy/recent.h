/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How much a recurring sum changes from call to call: gradients change, state hardly does
 * (consensus.h). A sample of each of the last four sums of a call site is kept. With s the present
 * sum and s' the nearest to it of the second to fourth last,
 *
 *     change = |s - s'|^2 / |s|^2
 *
 * over the sampled elements: 2 for independent sums, 0 for equal ones. Two to four kinds of sums
 * may alternate at a site, such as the three components of forces, since a step of sums with one
 * count is a step of one call. The last sum is not compared, so that a gradient computed twice with
 * one batch is not blocked. The quantisation noise of decoded sums is subtracted. */
#ifndef CGX_POLICY_RECENT_H
#define CGX_POLICY_RECENT_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CGX_RECENT_SUMS 4
#define CGX_RECENT_NEAREST 2 /* the first sum compared is the second last */

/* The most elements kept of each sum, as bfloat16: for samples of exact calls, which are rare, and
 * of compressed calls; and the most runs of adjacent elements in a sample. */
#define CGX_RECENT_EXACT 16384
#define CGX_RECENT_COMPRESSED 2048
#define CGX_RECENT_RUNS 32

struct cgx_recent {
    size_t most;                   /* capacity in elements of a sum */
    uint32_t places;               /* identifies the sampled places */
    unsigned count;                /* sums kept, each of ... */
    size_t elements;               /* ... this many elements */
    unsigned next;                 /* where the next sum goes, replacing the oldest */
    double noise[CGX_RECENT_SUMS]; /* the squared error of each */
    uint16_t kept[];               /* one sum after the other */
};

/* Memory for sums of MOST elements, empty; NULL if memory is short. Free with free. */
struct cgx_recent *cgx_recent_create(size_t most);

/* The change of the present sum. */
struct cgx_change {
    double difference; /* |s - s'|^2; infinite: no earlier sum */
    double squares;    /* |s|^2 */
};

#define CGX_CHANGE_UNKNOWN ((struct cgx_change){INFINITY, 0})

/* The sum that is being recorded. */
struct cgx_taking {
    struct cgx_recent *recent; /* NULL: not recorded */
    size_t every, run;         /* of every so many buckets, a run of so many elements */
    size_t bucket;             /* the next bucket */
    size_t taken;
    double noise, squares;
    double difference[CGX_RECENT_SUMS - CGX_RECENT_NEAREST + 1]; /* from each earlier sum */
};

/* Forgets all sums. */
static inline void cgx_recent_forget(struct cgx_recent *recent)
{
    recent->count = 0;
}

/* Begins to record a sum from a sample of BUCKETS buckets. PLACES identifies the sampled places;
 * sums sampled elsewhere are forgotten. RECENT may be NULL. If not the whole sample can be
 * recorded, call cgx_recent_forget instead of end. */
struct cgx_taking cgx_recent_begin(struct cgx_recent *recent, uint32_t places, size_t buckets);

/* Whether elements of the next bucket are recorded; otherwise it is skipped. */
bool cgx_recent_wants(struct cgx_taking *taking);

/* Records elements of the wanted bucket, of COUNT VALUES. VARIANCE: the squared error of one. */
void cgx_recent_take(struct cgx_taking *taking, const float *values, size_t count, double variance);

/* The elements of the wanted bucket, of COUNT, that are recorded; and the same as cgx_recent_take
 * from their COUNT upper halves alone. */
struct cgx_run {
    size_t first, count;
};
struct cgx_run cgx_recent_run(const struct cgx_taking *taking, size_t count);
void cgx_recent_take_run(struct cgx_taking *taking, const uint16_t *halves, size_t count,
                         double variance);

/* Stores the sum in place of the oldest and returns its change: none, of no squares, if more than
 * half of it is noise. */
struct cgx_change cgx_recent_end(struct cgx_taking *taking);

/* The change as a number, for parts of a sum added up in CHANGE; infinite if unknown. */
static inline double cgx_change_of(const struct cgx_change *change)
{
    return change->squares > 0 && !isnan(change->difference) ? change->difference / change->squares
                                                             : INFINITY;
}

#endif
