/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* MPI_THREAD_MULTIPLE: while one thread looks up the library's state of its communicator, which has
 * none yet, another frees the only communicator that has a state. With "session" both communicators
 * belong to an MPI session, and MPI_COMM_WORLD does not exist. */

#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include <mpi.h>

#include "../lib/tap.h"

enum { COUNT = 1100 }; /* float32 that the library takes note of */

static pthread_t looker;
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

static void judge(bool can, MPI_Comm comm, const char *name)
{
    if (can)
        ok(free_other(comm) == MPI_SUCCESS && free_other(comm) == MPI_SUCCESS, "%s", name);
    else
        skip(name, "MPI has no MPI_THREAD_MULTIPLE");
}

static void judge_session(const char *name)
{
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
    MPI_Session session;
    MPI_Group group;
    MPI_Info info;
    MPI_Comm comm;

    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
    MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Info_free(&info);
    MPI_Group_from_session_pset(session, "mpi://SELF", &group);
    MPI_Comm_create_from_group(group, "cgx-test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    judge(true, comm, name);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
#else
    skip(name, "MPI has no sessions");
#endif
}

int main(int argc, char **argv)
{
    const char *name = "a state is looked up while the only one goes";
    int level;

    sem_init(&looks, 0, 0);
    sem_init(&freed, 0, 0);
    if (strcmp(argv[argc - 1], "session") == 0) {
        judge_session(name);
        return done_testing();
    }
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    judge(level == MPI_THREAD_MULTIPLE, MPI_COMM_SELF, name);
    MPI_Finalize();
    return done_testing();
}
