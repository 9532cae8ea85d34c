/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How much the sums of a program change from call to call, and how near its ranks are to their
 * mean. It is preloaded in the place of the library:
 *
 *     mpicc -O2 -shared -fPIC -o change.so bench/change.c
 *     mpiexec -n 4 env LD_PRELOAD=$PWD/change.so CHANGE_STEP=3 CHANGE_CSV=FILE PROGRAM
 *
 * Float sums of CHANGE_LEAST (1024) elements and more are looked at. A step has CHANGE_STEP of
 * them, each a call site; without it sums of one count are a site. FILE has a line for each sum:
 *
 *     site, count, call
 *     change: |s - s'|^2 / |s|^2, where s' is the site's sum before; sampled: on 8 buckets
 *     near, far: d_r = |x_r - s/P|^2 / |s/P|^2 of the rank with the least and of that with the most
 *     near_sampled, far_sampled: on 8 buckets
 *
 * Buckets have 512 elements and are not all zeros; there is one in 64 where that is more than 8.
 * -1: there are nothing but zeros, or no sum before. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SITES = 512, BUCKET = 512, GROUP = 64, LEAST_BUCKETS = 8 };

static struct site {
    size_t count;
    unsigned long calls;
    float *last;
} sites[SITES];

/* The elements that are looked at: COUNT of them in all, or buckets. */
struct sample {
    size_t count;
    const float *not_zero; /* NULL: all elements */
};

static double ratio(double a, double b)
{
    return b > 0 ? a / b : -1;
}

/* The elements from *AT on that are looked at next; *END is behind them. */
static int next(const struct sample *sample, size_t *group, size_t *at, size_t *end)
{
    size_t buckets = sample->count / BUCKET, looked = buckets / GROUP, each;

    looked = looked < LEAST_BUCKETS ? LEAST_BUCKETS : looked;
    each = buckets / looked ? buckets / looked : 1;
    if (!sample->not_zero || sample->count < BUCKET) {
        *at = 0;
        *end = sample->count;
        return (*group)++ == 0;
    }
    for (; *group < looked && *group * each < buckets; (*group)++) {
        for (size_t i = 0; i < each && *group * each + i < buckets; i++) {
            *at = (*group * each + (*group * 37 + i) % each) * BUCKET;
            *end = *at + BUCKET;
            for (size_t k = *at; k < *end; k++) {
                if (sample->not_zero[k] != 0) {
                    (*group)++;
                    return 1;
                }
            }
        }
    }
    return 0;
}

/* |a - share b|^2 / |share b|^2 */
static double apart(const float *a, const float *b, double share, const struct sample *sample)
{
    double difference = 0, square = 0;
    size_t group = 0, at, end;

    while (next(sample, &group, &at, &end)) {
        for (; at < end; at++) {
            double of_a = (double)a[at], of_b = share * (double)b[at];

            difference += (of_a - of_b) * (of_a - of_b);
            square += of_b * of_b;
        }
    }
    return ratio(difference, square);
}

static struct site *find(size_t count, unsigned long number, unsigned long step)
{
    size_t i = step > 0 ? number % step : 0;

    while (step == 0 && i < SITES - 1 && sites[i].count > 0 && sites[i].count != count)
        i++;
    if (i >= SITES || (sites[i].count > 0 && sites[i].count != count)) {
        fprintf(stderr, "change: CHANGE_STEP is not the number of sums in a step\n");
        exit(EXIT_FAILURE);
    }
    sites[i].count = count;
    return &sites[i];
}

static unsigned long setting(const char *name, unsigned long otherwise)
{
    const char *value = getenv(name);

    return value ? strtoul(value, NULL, 10) : otherwise;
}

/* Collective. Takes note of what a rank put in, and of the SUM. */
static void look(struct site *site, const float *input, const float *sum, MPI_Comm comm)
{
    static FILE *csv;
    const struct sample all = {site->count, NULL}, some = {site->count, sum};
    double mine[4], least[4];
    int rank, ranks;

    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &ranks);
    mine[0] = apart(input, sum, 1.0 / ranks, &all);
    mine[1] = apart(input, sum, 1.0 / ranks, &some);
    mine[2] = -mine[0];
    mine[3] = -mine[1];
    PMPI_Reduce(mine, least, 4, MPI_DOUBLE, MPI_MIN, 0, comm);
    if (rank != 0)
        return;
    if (!csv) {
        csv = fopen(getenv("CHANGE_CSV") ? getenv("CHANGE_CSV") : "/dev/stderr", "w");
        if (!csv)
            exit(EXIT_FAILURE);
        fprintf(csv, "site,count,call,change,sampled,near,far,near_sampled,far_sampled\n");
    }
    fprintf(csv, "%d,%zu,%lu,%.4g,%.4g,%.4g,%.4g,%.4g,%.4g\n", (int)(site - sites), site->count,
            site->calls, site->last ? apart(site->last, sum, 1, &all) : -1,
            site->last ? apart(site->last, sum, 1, &some) : -1, least[0], -least[2], least[1],
            -least[3]);
    fflush(csv);
}

int MPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    static unsigned long number;
    size_t bytes = (size_t)count * sizeof(float);
    struct site *site;
    float *input;
    int code;

    if (type != MPI_FLOAT || op != MPI_SUM || (size_t)count < setting("CHANGE_LEAST", 1024))
        return PMPI_Allreduce(sendbuf, recvbuf, count, type, op, comm);
    site = find((size_t)count, number++, setting("CHANGE_STEP", 0));
    input = malloc(bytes);
    if (!input)
        return MPI_ERR_NO_MEM;
    memcpy(input, sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, bytes);
    code = PMPI_Allreduce(sendbuf, recvbuf, count, type, op, comm);
    look(site, input, recvbuf, comm);
    memcpy(input, recvbuf, bytes);
    free(site->last);
    site->last = input;
    site->calls++;
    return code;
}
