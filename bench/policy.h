/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the parts of bench/policy share. */
#ifndef CGX_BENCH_POLICY_H
#define CGX_BENCH_POLICY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define POLICY_BUCKET 512

struct policy_replay {
    const char *path;
    unsigned period; /* steps of a plan */
    unsigned base;   /* width */
    double alpha;    /* budget over the error of uniform base width */
    bool fused;      /* the tensors of a step are one buffer */
    FILE *csv;       /* may be NULL */
};

/* ---- policy_tape.c: recorded gradients ---- */

struct policy_tape {
    FILE *file;
    uint32_t ranks, steps, tensors;
    uint64_t *sizes; /* of tensors, elements */
    size_t elements; /* of one rank's step */
    float *values;   /* of all ranks, rank by rank */
};

/* NULL, or what is wrong. To be closed in either case. */
const char *policy_tape_open(struct policy_tape *tape, const char *path);

/* The next step's values; false: there are no more. */
bool policy_tape_read(struct policy_tape *tape);
void policy_tape_close(struct policy_tape *tape);

/* ---- policy_replay.c ---- */

/* The program's exit status. */
int policy_replay(const struct policy_replay *replay);

#endif
