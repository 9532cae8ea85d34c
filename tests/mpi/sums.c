/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Compressed sums, under the settings in the environment:
 *   sums [bound] [TYPE [COUNT...]]   within their bounds and the same on all ranks
 *   sums bitwise [TYPE]              the same bytes in every shape of a call, with a digest
 *   sums nonfinite [TYPE]            NaN, infinities and overflow never become finite numbers
 *   sums many COUNT...               what all ranks send */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/bound.h"
#include "lib/check.h"

/* The type that is named, or float32. False, and a skip: the MPI has none. */
static bool has_type(const char *name, enum element *type)
{
    *type = ELEMENT_FLOAT32;
    if (name && !element_parse(name, type)) {
        fprintf(stderr, "%s is no type\n", name);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return element_has_datatype(*type);
}

/* ---- bound ---- */

static const size_t usual_counts[] = {1024, 1025, 4607, 16384, 65537, 100003};

/* What came of all counts of one kind of data, on this rank. */
struct findings {
    bool ran;
    bool compressed;
    bool right;   /* within their bounds */
    bool special; /* ones and zeros are exact */
    uint64_t digest;
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
    findings->right =
        bound_holds(scheme, sum->kind, sum->seed, sum->count, result, MPI_COMM_WORLD) &&
        findings->right;
    if (sum->kind == DATA_ONES)
        findings->special = findings->special && all_equal(sum, result, check_size);
    if (sum->kind == DATA_ZEROS)
        findings->special = findings->special && all_equal(sum, result, 0);
    free(result);
}

static void try_kind(const struct scheme *scheme, enum data_kind kind, const size_t *counts,
                     size_t ncounts)
{
    struct findings findings = {true, true, true, true, 0};
    const char *name = data_name(kind);

    for (size_t i = 0; i < ncounts; i++) {
        struct sum sum = {kind, scheme->type, i + 1, counts[i],
                          (enum sum_shape)((i + (size_t)kind) % SUM_SHAPES)};

        try(scheme, &sum, &findings);
    }
    check(findings.ran, "%s: calls succeed and touch no other memory", name);
    check(findings.compressed == (check_size > 1), "%s: calls are compressed", name);
    check(check_same(&findings.digest, sizeof findings.digest, MPI_COMM_WORLD),
          "%s: all ranks have the same bytes", name);
    check(findings.right, "%s: within the bound", name);
    if (kind == DATA_ONES || kind == DATA_ZEROS)
        check(findings.special, "%s: exact", name);
}

static void play_bound(void)
{
    size_t counts[16], ncounts = 0;
    struct scheme scheme;
    enum element type;

    if (!has_type(scene_argument(1), &type))
        return;
    while (ncounts < 16 && scene_argument((int)ncounts + 2)) {
        counts[ncounts] = strtoull(scene_argument((int)ncounts + 2), NULL, 10);
        ncounts++;
    }
    if (ncounts == 0) {
        ncounts = sizeof usual_counts / sizeof usual_counts[0];
        memcpy(counts, usual_counts, sizeof usual_counts);
    }
    scheme = scheme_from_environment(type);
    for (int kind = 0; kind < DATA_TAME_KINDS; kind++)
        try_kind(&scheme, (enum data_kind)kind, counts, ncounts);
}

/* ---- bitwise ---- */

/* The result depends only on settings, the sequence of calls and data. Every shape of a call is
 * made on a new communicator, so that it has the same place in its sequence. */

static const size_t counts[] = {1024, 5000, 65537, 1500007};

#define COUNTS (sizeof counts / sizeof counts[0])

/* Sums all counts, one after the other, on COMM; RESULTS receives them without gaps. */
static bool sum_all(enum element type, enum sum_shape shape, MPI_Comm comm, char *results)
{
    bool good = true;

    for (size_t i = 0; i < COUNTS; i++) {
        struct sum sum = {DATA_SCALES, type, i, counts[i], shape};

        good = sum_reduce(&sum, comm, results) && good;
        results += counts[i] * element_size(type);
    }
    return good;
}

static void play_bitwise(void)
{
    enum element type;
    char *first, *again;
    uint64_t before;
    size_t bytes = 0;

    if (!has_type(scene_argument(1), &type))
        return;
    for (size_t i = 0; i < COUNTS; i++)
        bytes += counts[i] * element_size(type);
    first = check_memory(bytes);
    again = check_memory(bytes);

    before = traffic_messages();
    for (int shape = 0; shape < SUM_SHAPES; shape++) {
        char *results = shape == 0 ? first : again;
        MPI_Comm comm;
        bool good;

        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        good = sum_all(type, (enum sum_shape)shape, comm, results);
        MPI_Comm_free(&comm);
        check(good && check_same(results, bytes, MPI_COMM_WORLD), "%s: the same on all ranks",
              sum_shape_name((enum sum_shape)shape));
        if (shape > 0)
            check(memcmp(first, again, bytes) == 0, "%s: as with separate buffers",
                  sum_shape_name((enum sum_shape)shape));
    }
    check(traffic_messages() > before || !traffic_has_all(), "the calls were compressed");
    check_note("digest %016llx", (unsigned long long)check_digest(first, bytes));
    free(first);
    free(again);
}

/* ---- nonfinite ---- */

#define ROUNDS 3

static void test_kind(enum data_kind kind, enum element type, size_t count)
{
    struct scheme scheme = scheme_from_environment(type);
    size_t bytes = count * element_size(type);
    const char *name = data_name(kind);
    char *result = check_memory(bytes);
    uint64_t before = traffic_messages();
    bool same = true, right = true;

    for (int i = 0; i < ROUNDS; i++) {
        struct sum sum = {kind, type, (uint64_t)i, count, (enum sum_shape)(i % SUM_SHAPES)};

        same = sum_reduce(&sum, MPI_COMM_WORLD, result) && same;
        same = check_same(result, bytes, MPI_COMM_WORLD) && same;
        right = bound_holds(&scheme, kind, sum.seed, count, result, MPI_COMM_WORLD) && right;
    }
    check(traffic_messages() > before, "%s, %zu: compressed", name, count);
    check(same, "%s, %zu: all ranks have the same bytes", name, count);
    check(right, "%s, %zu: what is beyond the type is not finite, other buckets are unharmed", name,
          count);
    free(result);
}

static void play_nonfinite(void)
{
    enum element type;

    if (!has_type(scene_argument(1), &type))
        return;
    test_kind(DATA_NONFINITE, type, 20001);
    test_kind(DATA_NONFINITE, type, 100003);
    test_kind(DATA_LIMIT, type, 20001);
    test_kind(DATA_LIMIT, type, 100003);
}

/* ---- many ---- */

/* Prints "sent BYTES FRAGMENTS MESSAGES": the sum's, and what all ranks have sent for it. */
static void test_many(size_t count)
{
    const struct sum sum = {DATA_GAUSSIAN, ELEMENT_FLOAT32, count, count, SUM_IN_PLACE};
    uint64_t before[] = {traffic_messages(), traffic_bytes()}, sent[2], all[2];
    struct judged judged = bound_judge(&sum, MPI_COMM_WORLD);

    sent[0] = traffic_messages() - before[0];
    sent[1] = traffic_bytes() - before[1];
    PMPI_Reduce(sent, all, 2, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    check(judged.same, "%zu elements: the same bytes on all ranks", count);
    /* Where there are many quantisations, errors are far below the bound. */
    check(judged.right && sent[0] > 0, "%zu elements: compressed, within the bound", count);
    check_note("sent %zu %llu %llu", count * sizeof(float), (unsigned long long)all[0],
               (unsigned long long)all[1]);
}

static void play_many(void)
{
    for (int i = 1; scene_argument(i); i++)
        test_many(strtoul(scene_argument(i), NULL, 10));
}

int main(int argc, char **argv)
{
    static const struct scene scenes[] = {
        {"bound", play_bound, NULL, false},
        {"bitwise", play_bitwise, NULL, false},
        {"nonfinite", play_nonfinite, NULL, false},
        {"many", play_many, NULL, false},
    };

    return scenes_main(argc, argv, scenes, sizeof scenes / sizeof scenes[0]);
}
