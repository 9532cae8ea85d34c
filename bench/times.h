/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What benchmarks do with times and lists. */
#ifndef CGX_BENCH_TIMES_H
#define CGX_BENCH_TIMES_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Of processor time of this thread. */
static inline double bench_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Of COUNT values, an odd number, which it sorts. */
static inline double bench_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, bench_compare);
    return values[count / 2];
}

/* Whether NAME is in the comma-separated LIST; NULL is the list of all. */
static inline bool bench_is_listed(const char *list, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return list == NULL;
}

#endif
