/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How much a recurring sum changes from call to call: gradients change, state hardly does
 * (consensus.h). The last four sums of a call site are kept, a sample of each. With s the present
 * sum and s' that of the second to fourth last which is nearest to it,
 *
 *     change = |s - s'|^2 / |s|^2
 *
 * over the sampled elements: 2 for independent sums, 0 for equal ones. A site may have two to four
 * kinds of sums in turn, such as the three components of forces, since a step of sums of one count
 * is a step of one call. Not the last, so that gradients that are formed twice with one batch are
 * not held. Sums that are decoded have the noise of quantisation in them, which is
 * subtracted. */
#ifndef CGX_POLICY_RECENT_H
#define CGX_POLICY_RECENT_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CGX_RECENT_SUMS 4
#define CGX_RECENT_NEAREST 2 /* the last but one; the last is kept to become that */

/* Elements that are kept of each sum at most, as bfloat16, in up to so many runs: for looks at
 * exact calls, which are few, and for those within compressed calls. */
#define CGX_RECENT_EXACT 16384
#define CGX_RECENT_COMPRESSED 2048
#define CGX_RECENT_RUNS 32

struct cgx_recent {
    size_t most;                   /* elements of a sum that there is memory for */
    uint32_t places;               /* stands for those that elements were taken from */
    unsigned count;                /* sums that are kept, of ... */
    size_t elements;               /* ... so many elements each, ... */
    unsigned next;                 /* ... and where the next one goes, in place of the oldest */
    double noise[CGX_RECENT_SUMS]; /* the squared error of these elements */
    uint16_t kept[];               /* one sum after the other */
};

/* Memory for sums of MOST elements, of which none is kept; NULL if it is short. Freed by free. */
struct cgx_recent *cgx_recent_create(size_t most);

/* Of the present sum. */
struct cgx_change {
    double difference; /* |s - s'|^2; infinite: there is no such sum */
    double squares;    /* |s|^2 */
};

#define CGX_CHANGE_UNKNOWN ((struct cgx_change){INFINITY, 0})

/* The sum that is taken now. */
struct cgx_taking {
    struct cgx_recent *recent; /* NULL: none is */
    size_t every, run;         /* of every so many buckets, so many elements in a row */
    size_t bucket;             /* the next one */
    size_t taken;
    double noise, squares;
    double difference[CGX_RECENT_SUMS - CGX_RECENT_NEAREST +
                      1]; /* from each sum that it is compared with */
};

/* Forgets all sums. */
static inline void cgx_recent_forget(struct cgx_recent *recent)
{
    recent->count = 0;
}

/* Begins to take a sum, from a sample of BUCKETS buckets. PLACES stands for where they are: sums of
 * other places cannot be compared, and are forgotten. RECENT: NULL if there is no memory. A sum of
 * which not all can be taken is not ended: cgx_recent_forget. */
struct cgx_taking cgx_recent_begin(struct cgx_recent *recent, uint32_t places, size_t buckets);

/* Whether elements of the next bucket are taken. Else it is passed over. */
bool cgx_recent_wants(struct cgx_taking *taking);

/* Takes elements of the bucket that is wanted, of COUNT VALUES. VARIANCE: the squared error of one
 * of them. */
void cgx_recent_take(struct cgx_taking *taking, const float *values, size_t count, double variance);

/* Keeps the sum, in place of the oldest, and returns how much it has changed. */
struct cgx_change cgx_recent_end(struct cgx_taking *taking);

/* The change, of some parts of a sum added up in CHANGE; infinite if it is not known. */
static inline double cgx_change_of(const struct cgx_change *change)
{
    return change->squares > 0 && !isnan(change->difference) ? change->difference / change->squares
                                                             : INFINITY;
}

#endif
