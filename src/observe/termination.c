/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "observe/termination.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "util/thread.h"

#define TRIES 100

static const struct timespec between_tries = {.tv_nsec = 10 * 1000 * 1000};
static sem_t came;
static _Atomic pid_t process;

/* SIGTERM has its default action again (SA_RESETHAND), and is blocked in the handler. */
static void on_signal(int number)
{
    int saved = errno;

    if (getpid() == atomic_load(&process))
        sem_post(&came);
    else
        raise(number); /* a forked process has no thread to wake */
    errno = saved;
}

static void *wait_and_write(void *argument)
{
    bool (*const *write)(void) = argument;

    while (sem_wait(&came) != 0)
        ;
    for (int i = 0; i < TRIES && !(*write)(); i++)
        nanosleep(&between_tries, NULL);
    kill(getpid(), SIGTERM);
    return NULL;
}

static bool is_default(void)
{
    struct sigaction action;

    return sigaction(SIGTERM, NULL, &action) == 0 && !(action.sa_flags & SA_SIGINFO) &&
           action.sa_handler == SIG_DFL;
}

void cgx_termination_begin(bool (*write)(void))
{
    static bool (*writer)(void);
    static atomic_flag begun = ATOMIC_FLAG_INIT;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND | SA_RESTART};

    if (!is_default() || atomic_flag_test_and_set(&begun))
        return;
    writer = write;
    atomic_store(&process, getpid());
    sigemptyset(&action.sa_mask);
    if (sem_init(&came, 0, 0) == 0 && cgx_thread_start(wait_and_write, &writer))
        sigaction(SIGTERM, &action, NULL);
}
