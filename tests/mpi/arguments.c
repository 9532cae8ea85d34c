/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Odd arguments have the same result with the library as with the MPI alone, on a communicator
 * whose float sums are compressed:
 *
 *   arguments [CRASHING ...]
 *   arguments alone FILE [CRASHING ...]
 *
 * CRASHING are errors to leave out, since the MPI alone crashes on them. To find these, "alone"
 * tries the errors one after the other, without the library, and writes the name of the latest to
 * FILE. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bound.h"
#include "lib/check.h"
#include "lib/sum.h"
#include "lib/traffic.h"

enum { COUNT = 4096 };

static void test_counts(void)
{
    static const size_t counts[] = {1, 511, 512, 513, 1023, 1024, 1025, 99991, 3000017};
    struct scheme scheme = scheme_from_environment(ELEMENT_FLOAT32);

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        float *result = check_memory(counts[i] * sizeof(float));
        float *exact = check_memory(counts[i] * sizeof(float));

        for (int shape = 0; shape < SUM_SHAPES; shape++) {
            struct sum sum = {DATA_GAUSSIAN, ELEMENT_FLOAT32, i, counts[i], (enum sum_shape)shape};
            uint64_t before = traffic_messages();
            bool good = sum_reduce(&sum, MPI_COMM_WORLD, result);

            sum_exact(&sum, MPI_COMM_WORLD, exact);
            if (counts[i] < 1024)
                good = good && memcmp(result, exact, counts[i] * sizeof(float)) == 0 &&
                       traffic_messages() == before;
            else
                good = good && memcmp(result, exact, counts[i] * sizeof(float)) != 0 &&
                       check_same(result, counts[i] * sizeof(float), MPI_COMM_WORLD);
            good = bound_holds(&scheme, sum.kind, i, counts[i], result, MPI_COMM_WORLD) && good;
            check(good, "%zu elements, %s", counts[i], sum_shape_name(sum.shape));
        }
        free(result);
        free(exact);
    }
}

static int error_class(int code)
{
    int class;

    MPI_Error_class(code, &class);
    return class;
}

/* From the command line. */
static const char *note; /* FILE */
static char **crashing;

static bool crashes(const char *name)
{
    for (char **other = crashing; *other; other++) {
        if (strcmp(*other, name) == 0)
            return true;
    }
    return false;
}

/* Not through the launcher, which may lose it when a rank crashes. */
static void write_note(const char *name)
{
    FILE *file = check_rank == 0 ? fopen(note, "w") : NULL;

    if (file) {
        fprintf(file, "%s\n", name);
        fclose(file);
    }
    PMPI_Barrier(MPI_COMM_WORLD);
}

/* The library's error class is that of the MPI alone. */
static void test_error(const char *name, const void *from, void *to, MPI_Datatype datatype,
                       MPI_Op op, MPI_Comm comm)
{
    bool here = !crashes(name);
    int class;

    if (note) {
        write_note(name);
        if (here)
            PMPI_Allreduce(from, to, COUNT, datatype, op, comm);
        return;
    }
    if (!check_has(here, name, "the MPI alone crashes on it"))
        return;
    class = error_class(MPI_Allreduce(from, to, COUNT, datatype, op, comm));
    check(class == error_class(PMPI_Allreduce(from, to, COUNT, datatype, op, comm)),
          "%s: error class %d, as from the MPI alone", name, class);
}

static void test_empty(void)
{
    check(MPI_Allreduce(NULL, NULL, 0, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS,
          "no elements and NULL buffers");
    check(MPI_Allreduce(MPI_IN_PLACE, NULL, 0, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS,
          "no elements in place, NULL buffer");
}

/* Errors that the MPI finds before it sends anything; those that it crashes on are in forward.c. */
static void test_errors(float *buffer, float *other)
{
    MPI_Comm comm = MPI_COMM_WORLD;

    test_error("aliased buffers", buffer, buffer, MPI_FLOAT, MPI_SUM, comm);
    test_error("NULL send buffer", NULL, other, MPI_FLOAT, MPI_SUM, comm);
    test_error("NULL receive buffer", buffer, NULL, MPI_FLOAT, MPI_SUM, comm);
    test_error("MPI_IN_PLACE as receive buffer", buffer, MPI_IN_PLACE, MPI_FLOAT, MPI_SUM, comm);
    test_error("no op", buffer, other, MPI_FLOAT, MPI_OP_NULL, comm);
    test_error("no communicator", buffer, other, MPI_FLOAT, MPI_SUM, MPI_COMM_NULL);
    test_error("an op that floats do not have", buffer, other, MPI_FLOAT, MPI_BAND, comm);
}

int main(int argc, char **argv)
{
    float *buffer = calloc(2 * COUNT, sizeof(float));

    check_begin(&argc, &argv);
    note = argc > 2 && strcmp(argv[1], "alone") == 0 ? argv[2] : NULL;
    crashing = argv + (note ? 3 : 1);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (note) {
        test_errors(buffer, buffer + COUNT);
        return MPI_Finalize();
    }
    test_empty();
    test_errors(buffer, buffer + COUNT);
    test_counts();
    test_errors(buffer, buffer + COUNT);
    test_empty();
    free(buffer);
    return check_end();
}
