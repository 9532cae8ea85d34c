/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Ranks that are not, or not only, those of one MPI_COMM_WORLD. They open an MPI session and sum on
 * a communicator of it, or spawn children:
 *   session                never calls MPI_Init or MPI_Finalize
 *   session after          opens the session after it has called both
 *   session around         also opens a session before them, sums on MPI_COMM_WORLD between them,
 *                          and ends the first session after them
 *   session looked         one thread looks up the library's state of its communicator, which
 *                          has none yet, while another frees the only one that has a state
 *   session looked world   the same on MPI_COMM_SELF
 *   session spawn          parents and spawned children merge into one and sum: exact
 * With "after" and "around" MPI begins again after all has ended, which each rank says. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

#include "../lib/tap.h"
#include "lib/bound.h"
#include "lib/check.h"

#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
struct opened {
    MPI_Session session;
    MPI_Comm comm;
};

/* A communicator of the process set NAME. THREADS: a level, or NULL. */
static struct opened open_session(const char *name, const char *threads)
{
    struct opened opened;
    MPI_Group group;
    MPI_Info info;

    MPI_Info_create(&info);
    if (threads)
        MPI_Info_set(info, "thread_level", threads);
    MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &opened.session);
    MPI_Info_free(&info);
    MPI_Group_from_session_pset(opened.session, name, &group);
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
#endif

/* ---- a state that is looked up ---- */

enum { COUNT = 1100 }; /* float32 that the library takes note of */

static pthread_t looker;
static const char looked_up[] = "a state is looked up while the only one goes";
static sem_t looks, freed;
static bool is_looking;

/* The library's own look-ups. */
int PMPI_Comm_get_attr(MPI_Comm comm, int keyval, void *value, int *flag)
{
    if (is_looking && pthread_equal(pthread_self(), looker)) {
        is_looking = false;
        sem_post(&looks);
        sem_wait(&freed);
    }
    return MPI_Comm_get_attr(comm, keyval, value, flag);
}

static void *look(void *argument)
{
    static int code;
    float values[COUNT] = {0};

    looker = pthread_self();
    is_looking = true;
    code = MPI_Allreduce(MPI_IN_PLACE, values, COUNT, MPI_FLOAT, MPI_SUM, *(MPI_Comm *)argument);
    return &code;
}

/* Of COMM's duplicates; returns the code of the first sum on one while the other goes. */
static int free_other(MPI_Comm comm)
{
    float values[COUNT] = {0};
    MPI_Comm first, second;
    pthread_t thread;
    void *code;

    MPI_Comm_dup(comm, &first);
    MPI_Comm_dup(comm, &second);
    MPI_Comm_set_errhandler(second, MPI_ERRORS_RETURN);
    MPI_Allreduce(MPI_IN_PLACE, values, COUNT, MPI_FLOAT, MPI_SUM, first);
    pthread_create(&thread, NULL, look, &second);
    sem_wait(&looks);
    MPI_Comm_free(&first);
    sem_post(&freed);
    pthread_join(thread, &code);
    MPI_Comm_free(&second);
    return *(int *)code;
}

static void judge(MPI_Comm comm)
{
    ok(free_other(comm) == MPI_SUCCESS && free_other(comm) == MPI_SUCCESS, "%s", looked_up);
}

static int look_up(int argc, char **argv, bool in_world)
{
    int level = MPI_THREAD_MULTIPLE;

    sem_init(&looks, 0, 0);
    sem_init(&freed, 0, 0);
    if (in_world) {
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
        if (level == MPI_THREAD_MULTIPLE)
            judge(MPI_COMM_SELF);
        else
            skip(looked_up, "MPI has no MPI_THREAD_MULTIPLE");
        MPI_Finalize();
    } else {
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
        struct opened opened = open_session("mpi://SELF", "MPI_THREAD_MULTIPLE");

        judge(opened.comm);
        close_session(&opened);
#else
        skip(looked_up, "MPI has no sessions");
#endif
    }
    return done_testing();
}

/* ---- sums ---- */

#if MPI_VERSION >= 4

/* The verdict of all ranks; those other than rank 0 print nothing. */
static void report(MPI_Comm comm, bool here, const char *name)
{
    bool all = check_everywhere(here, comm);
    int rank;

    PMPI_Comm_rank(comm, &rank);
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

static struct opened open_world(void)
{
    return open_session("mpi://WORLD", NULL);
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

static int sum(const char *how)
{
    struct opened opened;
    int rank;

    if (strcmp(how, "around") == 0) {
        opened = open_world();
        report(opened.comm, are_compressed(opened.comm), "sums are right and compressed");
        live_in_world(&opened);
        close_session(&opened);
    } else if (strcmp(how, "after") == 0) {
        MPI_Init(NULL, NULL);
        MPI_Finalize();
    }
    if (strcmp(how, "alone") != 0)
        fputs("MPI begins again\n", stderr);
    opened = open_world();
    if (strcmp(how, "alone") != 0)
        fputs("MPI has begun again\n", stderr);
    report(opened.comm, are_compressed(opened.comm), "sums are right and compressed");
    PMPI_Comm_rank(opened.comm, &rank);
    close_session(&opened);
    return rank == 0 ? done_testing() : 0;
}

#else

static int sum(const char *how)
{
    (void)how;
    check_begin(NULL, NULL);
    check_has(false, "sessions", "the MPI has none");
    return check_end();
}

#endif

/* ---- spawned children ---- */

enum { SPAWNED_COUNT = 5000 };

/* True if sums over COMM are PMPI_Allreduce's, to the bit, and nothing is sent besides. */
static bool sums_are_exact(MPI_Comm comm)
{
    static float input[SPAWNED_COUNT], result[SPAWNED_COUNT], exact[SPAWNED_COUNT];
    uint64_t before = traffic_messages();
    bool equal = true;
    int rank;

    MPI_Comm_rank(comm, &rank);
    data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, 1, rank, SPAWNED_COUNT, input);
    PMPI_Allreduce(input, exact, SPAWNED_COUNT, MPI_FLOAT, MPI_SUM, comm);
    for (int i = 0; i < 20; i++) {
        MPI_Allreduce(input, result, SPAWNED_COUNT, MPI_FLOAT, MPI_SUM, comm);
        equal = equal && memcmp(result, exact, sizeof exact) == 0;
    }
    return check_everywhere(equal && traffic_messages() == before, comm);
}

static int spawn(int argc, char **argv)
{
    MPI_Comm parent, across, merged;
    bool exact, across_exact;

    check_begin(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    across = parent;
    if (parent == MPI_COMM_NULL)
        MPI_Comm_spawn(argv[0], argv + 1, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &across,
                       MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(across, parent != MPI_COMM_NULL, &merged);
    exact = sums_are_exact(merged);
    across_exact = sums_are_exact(across);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&across);
    if (parent != MPI_COMM_NULL) {
        MPI_Finalize();
        return 0;
    }
    check(exact, "parents and children in one communicator: exact");
    check(across_exact, "parents and children across an intercommunicator: exact");
    return check_end();
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "alone";

    if (strcmp(how, "spawn") == 0)
        return spawn(argc, argv);
    return strcmp(how, "looked") == 0 ? look_up(argc, argv, argc > 2) : sum(how);
}
