/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* NaN, infinities and overflow never become finite numbers: "nonfinite [TYPE]". */

#include <stdlib.h>

#include "lib/bound.h"
#include "lib/check.h"
#include "lib/sum.h"
#include "lib/traffic.h"

#define ROUNDS 3

static void test_kind(enum data_kind kind, enum element type, size_t count)
{
    struct scheme scheme = scheme_from_environment(type);
    size_t bytes = count * element_size(type);
    double buckets = (double)((count + scheme.bucket - 1) / scheme.bucket);
    const char *name = data_name(kind);
    char *result = check_memory(bytes);
    uint64_t before = traffic_messages();
    struct outcome outcome = {0, 0, 0, 0, 0};
    bool same = true;

    for (int i = 0; i < ROUNDS; i++) {
        struct sum sum = {kind, type, (uint64_t)i, count, (enum sum_shape)(i % SUM_SHAPES)};

        same = sum_reduce(&sum, MPI_COMM_WORLD, result) && same;
        same = check_same(result, bytes, MPI_COMM_WORLD) && same;
        bound_compare(&scheme, kind, sum.seed, count, result, MPI_COMM_WORLD, &outcome);
    }
    bound_gather(&outcome, MPI_COMM_WORLD);
    check(outcome.fragile > 0 && outcome.fragile < ROUNDS * buckets,
          "%s, %zu: the data has buckets of both sorts", name, count);
    check(traffic_messages() > before, "%s, %zu: compressed", name, count);
    check(same, "%s, %zu: all ranks have the same bytes", name, count);
    check(outcome.laundered == 0, "%s, %zu: where the exact sum is not finite the result is not",
          name, count);
    check(outcome.worst <= 1, "%s, %zu: other buckets are unharmed", name, count);
    free(result);
}

int main(int argc, char **argv)
{
    enum element type = ELEMENT_FLOAT32;

    check_begin(&argc, &argv);
    if (argc > 1)
        element_parse(argv[1], &type);
    if (!element_has_datatype(type))
        return check_end();
    test_kind(DATA_NONFINITE, type, 20001);
    test_kind(DATA_NONFINITE, type, 100003);
    test_kind(DATA_LIMIT, type, 20001);
    test_kind(DATA_LIMIT, type, 100003);
    return check_end();
}
