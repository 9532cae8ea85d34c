/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A program that never calls MPI_Init but opens a session: it sums on a communicator of that and
 * ends without MPI_Finalize, which it does not need. */

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

int main(void)
{
    struct sum sum = {DATA_GAUSSIAN, ELEMENT_FLOAT32, 3, 30011, SUM_SEPARATE};
    bool good = true;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int rank;

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "cgx-test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    for (int i = 0; i < 5; i++) {
        struct judged judged = bound_judge(&sum, comm);

        good = judged.right && judged.compressed && good;
    }
    report(comm, good, "sums are right and compressed");
    PMPI_Comm_rank(comm, &rank);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
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
