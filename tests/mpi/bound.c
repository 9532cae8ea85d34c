/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Every compressed sum is within its bound and the same on all ranks: "bound [TYPE [COUNT...]]",
 * under the settings in the environment. One test for each kind of data. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bound.h"
#include "lib/check.h"
#include "lib/sum.h"
#include "lib/traffic.h"

static const size_t usual_counts[] = {1024, 1025, 4607, 16384, 65537, 100003};

/* What came of all counts of one kind of data, on this rank. */
struct findings {
    bool ran;
    bool compressed;
    bool special; /* ones and zeros are exact; if rotated, zeros */
    uint64_t digest;
    struct outcome outcome;
};

static bool all_equal(const struct sum *sum, const void *result, double value)
{
    for (size_t i = 0; i < sum->count; i++) {
        if (element_load(sum->type, result, i) != value)
            return false;
    }
    return true;
}

static void try(const struct scheme *scheme, const struct sum *sum, struct findings *findings)
{
    size_t bytes = sum->count * element_size(sum->type);
    void *result = check_memory(bytes);
    uint64_t before = traffic_messages();

    findings->ran = sum_reduce(sum, MPI_COMM_WORLD, result) && findings->ran;
    findings->compressed = findings->compressed && traffic_messages() > before;
    findings->digest = findings->digest * 31 + check_digest(result, bytes);
    bound_compare(scheme, sum->kind, sum->seed, sum->count, result, MPI_COMM_WORLD,
                  &findings->outcome);
    if (sum->kind == DATA_ONES && scheme->rotated == 0)
        findings->special = findings->special && all_equal(sum, result, check_size);
    if (sum->kind == DATA_ZEROS)
        findings->special = findings->special && all_equal(sum, result, 0);
    free(result);
}

/* Measured error is what the width stands for: a coarser grid than the settings ask for would stay
 * within a bound that allows for every element being half a step off. The errors that a ring has
 * gathered widen its later grids a little, which the model leaves out. */
static void check_error(const struct scheme *scheme, const struct outcome *outcome, double elements)
{
    double ratio = outcome->square / outcome->model;
    bool known = scheme->type == ELEMENT_FLOAT32 && scheme->bits >= 3 && !scheme->stochastic;

    check_note("mean squared error %.6g, over model %.3f", outcome->square / elements, ratio);
    if (known)
        check(ratio > 0.9 && ratio < (scheme->ring ? 1.25 : 1.1),
              "gaussian: mean squared error is that of the width");
}

static void try_kind(const struct scheme *scheme, enum data_kind kind, const size_t *counts,
                     size_t ncounts)
{
    struct findings findings = {.ran = true, .compressed = true, .special = true};
    const char *name = data_name(kind);
    double elements = 0;

    for (size_t i = 0; i < ncounts; i++) {
        struct sum sum = {kind, scheme->type, i + 1, counts[i],
                          (enum sum_shape)((i + (size_t)kind) % SUM_SHAPES)};

        try(scheme, &sum, &findings);
        elements += (double)counts[i];
    }
    bound_gather(&findings.outcome, MPI_COMM_WORLD);
    check(findings.ran, "%s: calls succeed and touch no other memory", name);
    check(findings.compressed == (check_size > 1), "%s: calls are compressed", name);
    check(check_same(&findings.digest, sizeof findings.digest, MPI_COMM_WORLD),
          "%s: all ranks have the same bytes", name);
    check(findings.outcome.worst <= 1, "%s: within the bound", name);
    check_note("%s: max error / bound %.4f", name, findings.outcome.worst);
    if (kind == DATA_ONES || kind == DATA_ZEROS)
        check(findings.special, "%s: exact", name);
    if (kind == DATA_GAUSSIAN && check_size > 1)
        check_error(scheme, &findings.outcome, elements);
}

int main(int argc, char **argv)
{
    enum element type = ELEMENT_FLOAT32;
    size_t counts[16];
    size_t ncounts = 0;
    struct scheme scheme;

    check_begin(&argc, &argv);
    if (argc > 1 && !element_parse(argv[1], &type)) {
        fprintf(stderr, "%s is no type\n", argv[1]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (!element_has_datatype(type))
        return check_end();
    for (int i = 2; i < argc && ncounts < 16; i++)
        counts[ncounts++] = strtoull(argv[i], NULL, 10);
    if (ncounts == 0) {
        ncounts = sizeof usual_counts / sizeof usual_counts[0];
        memcpy(counts, usual_counts, sizeof usual_counts);
    }
    scheme = scheme_from_environment(type);
    for (int kind = 0; kind < DATA_TAME_KINDS; kind++)
        try_kind(&scheme, (enum data_kind)kind, counts, ncounts);
    return check_end();
}
