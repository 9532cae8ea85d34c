/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A program that opens an MPI session and sums on a communicator of it. Without an argument it
 * never calls MPI_Init or MPI_Finalize. "after": it opens the session after it has called both.
 * "around": it also opens a session before them, sums on MPI_COMM_WORLD between them, and ends the
 * first session after them. In both MPI begins again after all has ended, which each rank says. */

#include <stdio.h>
#include <string.h>

#include "../lib/tap.h"
#include "lib/bound.h"
#include "lib/check.h"
#include "lib/sum.h"

#if MPI_VERSION >= 4

/* The verdict of all ranks; those other than rank 0 print nothing. */
static void report(MPI_Comm comm, bool here, const char *name)
{
    int mine = here, all, rank;

    PMPI_Comm_rank(comm, &rank);
    PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, comm);
    if (rank == 0)
        ok(all, "in a session %s", name);
}

static bool are_compressed(MPI_Comm comm)
{
    struct sum sum = {DATA_GAUSSIAN, ELEMENT_FLOAT32, 3, 30011, SUM_SEPARATE};
    bool good = true;

    for (int i = 0; i < 5; i++) {
        struct judged judged = bound_judge(&sum, comm);

        good = judged.right && judged.compressed && good;
    }
    return good;
}

struct opened {
    MPI_Session session;
    MPI_Comm comm;
};

static struct opened open_session(void)
{
    struct opened opened;
    MPI_Group group;

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &opened.session);
    MPI_Group_from_session_pset(opened.session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "cgx-test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                               &opened.comm);
    MPI_Group_free(&group);
    return opened;
}

static void close_session(struct opened *opened)
{
    MPI_Comm_free(&opened->comm);
    MPI_Session_finalize(&opened->session);
}

/* Sums on MPI_COMM_WORLD, and then in the session of BEFORE, which is open all the while. */
static void live_in_world(const struct opened *before)
{
    bool good;
    int rank;

    MPI_Init(NULL, NULL);
    good = are_compressed(MPI_COMM_WORLD);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Finalize();
    if (rank == 0)
        ok(good, "sums on MPI_COMM_WORLD are right and compressed");
    report(before->comm, are_compressed(before->comm), "behind MPI_Finalize too");
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "alone";
    struct opened opened;
    int rank;

    if (strcmp(how, "around") == 0) {
        opened = open_session();
        report(opened.comm, are_compressed(opened.comm), "sums are right and compressed");
        live_in_world(&opened);
        close_session(&opened);
    } else if (strcmp(how, "after") == 0) {
        MPI_Init(NULL, NULL);
        MPI_Finalize();
    }
    if (strcmp(how, "alone") != 0)
        fputs("MPI begins again\n", stderr);
    opened = open_session();
    if (strcmp(how, "alone") != 0)
        fputs("MPI has begun again\n", stderr);
    report(opened.comm, are_compressed(opened.comm), "sums are right and compressed");
    PMPI_Comm_rank(opened.comm, &rank);
    close_session(&opened);
    return rank == 0 ? done_testing() : 0;
}

#else

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    check_has(false, "sessions", "the MPI has none");
    return check_end();
}

#endif
