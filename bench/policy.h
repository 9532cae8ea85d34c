/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the parts of bench/policy share. */
#ifndef CGX_BENCH_POLICY_H
#define CGX_BENCH_POLICY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "policy/allocate.h"

#define POLICY_BUCKET 512

/* ---- policy_data.c: what widths cost in error, measured with the host codec ---- */

/* The sums of RANKS vectors of at most COUNT float32 elements; the vectors lie STRIDE apart. */
struct policy_meter;

struct policy_meter *policy_meter_create(unsigned ranks, size_t count);
void policy_meter_free(struct policy_meter *meter);

/* The squared error of quantising COUNT values once. */
double policy_quantise(struct policy_meter *meter, const float *values, size_t count,
                       unsigned bits);

/* The squared error of the compressed sum of all ranks' COUNT values, as the flat algorithm forms
 * it: all but OWNER's are quantised, then the sum. */
double policy_reduce(struct policy_meter *meter, const float *values, size_t stride, size_t count,
                     unsigned owner, unsigned bits);

/* The library's estimate of that, from its sample of buckets: the sum over all quantisations. */
double policy_sample(struct policy_meter *meter, const float *values, size_t stride, size_t count,
                     unsigned owner, unsigned bits);

/* ---- policy_replay.c ---- */

struct policy_replay {
    const char *path;
    size_t segment;  /* elements */
    unsigned period; /* steps of a plan */
    unsigned base;   /* width */
    double alpha;    /* budget over the error of uniform base width */
    bool fused;      /* the tensors of a step are one buffer */
    FILE *csv;       /* may be NULL */
};

/* The program's exit status. */
int policy_replay(const struct policy_replay *replay);

#endif
