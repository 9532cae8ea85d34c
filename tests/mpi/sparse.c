/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The gradient of an embedding, in which a step touches one row in ten: "sparse WIDTH TIMES" sums
 * tables of float32 with rows of WIDTH elements, full tables and sparse ones; tables with the same
 * rows on all ranks take at least TIMES fewer bytes. "sparse WIDTH full" and "sparse WIDTH shared"
 * sum one kind. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/data.h"
#include "lib/traffic.h"

enum { COUNT = 1 << 20 };

enum rows { ROWS_FULL, ROWS_SHARED, ROWS_OWN };

/* Whether a step of RANK touches ROW. */
static bool is_touched(enum rows rows, int rank, size_t row)
{
    return rows == ROWS_FULL ||
           data_random(5, rows == ROWS_OWN ? (uint64_t)rank : 0, row) % 10 == 0;
}

static void fill(enum rows rows, int rank, size_t width, float *table)
{
    data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, 9, rank, COUNT, table);
    for (size_t i = 0; i < COUNT; i++) {
        if (!is_touched(rows, rank, i / width))
            table[i] = 0;
    }
}

struct errors {
    double relative; /* the squared error by the square of the sum */
    bool zeros;      /* rows that no rank touches are zeros */
};

static struct errors compare(enum rows rows, size_t width, const float *result)
{
    double *exact = check_memory(COUNT * sizeof *exact), error = 0, power = 0;
    float *table = check_memory(COUNT * sizeof *table);
    struct errors errors = {.zeros = true};

    for (size_t i = 0; i < COUNT; i++)
        exact[i] = 0;
    for (int rank = 0; rank < check_size; rank++) {
        fill(rows, rank, width, table);
        for (size_t i = 0; i < COUNT; i++)
            exact[i] += (double)table[i];
    }
    for (size_t i = 0; i < COUNT; i++) {
        bool touched = false;

        for (int rank = 0; rank < check_size && !touched; rank++)
            touched = is_touched(rows, rank, i / width);
        errors.zeros = errors.zeros && (touched || result[i] == 0);
        error += pow((double)result[i] - exact[i], 2);
        power += exact[i] * exact[i];
    }
    errors.relative = error / power;
    free(exact);
    free(table);
    return errors;
}

/* The bytes that all ranks send for a sum. */
static uint64_t reduce(enum rows rows, size_t width, float *result)
{
    float *table = check_memory(COUNT * sizeof *table);
    uint64_t before = traffic_bytes(), sent, all;

    fill(rows, check_rank, width, table);
    MPI_Allreduce(table, result, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    sent = traffic_bytes() - before;
    PMPI_Allreduce(&sent, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    free(table);
    return all;
}

static uint64_t test_rows(enum rows rows, size_t width)
{
    static const char *const names[] = {"full", "shared", "of each rank"};
    const char *name = names[rows];
    float *result = check_memory(COUNT * sizeof *result);
    uint64_t sent = reduce(rows, width, result);
    struct errors errors = compare(rows, width, result);

    check(check_same(result, COUNT * sizeof *result, MPI_COMM_WORLD),
          "%s: all ranks have the same bytes", name);
    check(errors.relative < 0.2, "%s: the error is that of quantisation", name);
    check(errors.zeros, "%s: rows that no rank touches are zeros", name);
    check_note("%s: %llu bytes, error %.4f", name, (unsigned long long)sent, errors.relative);
    free(result);
    return sent;
}

int main(int argc, char **argv)
{
    size_t width = argc > 1 ? (size_t)atol(argv[1]) : 64;
    const char *what = argc > 2 ? argv[2] : "5";
    double times = atof(what);
    uint64_t full, shared;

    check_begin(&argc, &argv);
    if (times == 0) {
        test_rows(strcmp(what, "full") == 0 ? ROWS_FULL : ROWS_SHARED, width);
        return check_end();
    }
    full = test_rows(ROWS_FULL, width);
    shared = test_rows(ROWS_SHARED, width);
    test_rows(ROWS_OWN, width);
    check(full > 0 && (double)full >= times * (double)shared,
          "one row in ten: at least %g times fewer bytes", times);
    check_note("%.2f times fewer", (double)full / (double)shared);
    return check_end();
}
