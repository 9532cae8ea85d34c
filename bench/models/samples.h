/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The samples of a data set, by number: which of them each rank takes in each batch. */
#ifndef SAMPLES_H
#define SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

struct samples {
    int train, test;          /* the first of order are to train with, the others to test with */
    int *order;               /* the samples' numbers */
    int (*label)(int sample); /* what shards are sorted by; NULL: by the numbers */
};

/* A rank's way through an epoch. */
struct share {
    int *order, count;       /* what is shuffled before each epoch */
    int first, size, stride; /* batch i: SIZE samples from order[first + i * stride] on */
    int batches;             /* of an epoch, the same on all ranks; what fills none is left out */
};

/* Batches are of BATCH samples over all ranks. Without SHARDS every rank takes its part of batches
 * that are drawn from all samples. With them, each rank has samples of its own, which are
 * neighbours by label: SAMPLES is sorted for it. What its order points to must live on. */
struct share samples_share(const struct samples *samples, bool shards, int batch);

void samples_shuffle(int *order, int count, uint64_t *random);

#endif
