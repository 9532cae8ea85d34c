/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* usage: supervise [-n RANKS] SECONDS COMMAND [ARGUMENT...]
 *
 * Runs a command that may hang, and ends it with all its descendants after SECONDS. These are the
 * sum of
 * - the processor time that they have used, divided by RANKS (1), and
 * - the time in which no thread of theirs was running, ready to run, or with a disk.
 * Ranks that poll for ever use the former, a deadlock the latter, and ranks that nap between polls
 * both. Neither runs on while a processor is busy with something else, so that a limit means the
 * same on a busy machine. Says how much it was of each and what each process was at, and exits with
 * 124; else with the command's status, or 128 and the number of the signal that ended it. On
 * SIGHUP, SIGINT and SIGTERM all end too. A child that the command leaves behind is its descendant,
 * whatever its session; those that are there when the command ends by itself are left alone. */

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GRACE 10 /* seconds from SIGTERM to SIGKILL */

struct process {
    int pid, parent;
    char state;
    double used; /* seconds, with those of children that it has waited for */
    bool is_ours;
};

static struct process *processes;
static size_t nprocesses, room;

static pid_t command;
static int ended; /* its status from waitpid, once COMMAND is 0 */

/* ---- /proc ---- */

/* The first LENGTH - 1 bytes of /proc/PID/NAME, in which zeros become spaces; empty if there are
 * none. */
static void read_file(int pid, const char *name, char *text, size_t length)
{
    char path[300];
    FILE *file;
    size_t got = 0;

    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    file = fopen(path, "r");
    if (file != NULL) {
        got = fread(text, 1, length - 1, file);
        fclose(file);
    }
    for (size_t i = 0; i < got; i++) {
        if (text[i] == '\0')
            text[i] = ' ';
    }
    text[got] = '\0';
}

static bool read_process(int pid, const char *name, struct process *process)
{
    char text[1024], *rest;
    unsigned long user, system;
    long users, systems;

    read_file(pid, name, text, sizeof text);
    rest = strrchr(text, ')'); /* the command's name may have anything in it */
    if (rest == NULL ||
        sscanf(rest + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld",
               &process->state, &process->parent, &user, &system, &users, &systems) != 6)
        return false;
    process->pid = pid;
    process->used = ((double)user + (double)system + (double)users + (double)systems) /
                    (double)sysconf(_SC_CLK_TCK);
    process->is_ours = process->parent == getpid();
    return true;
}

static void add_process(const char *name)
{
    if (nprocesses == room) {
        room = room * 2 + 64;
        processes = realloc(processes, room * sizeof *processes);
        if (processes == NULL)
            exit(125);
    }
    nprocesses += read_process(atoi(name), "stat", &processes[nprocesses]);
}

/* Those whose parent is ours are ours, wherever they stand. */
static void find_descendants(void)
{
    bool found = true;

    while (found) {
        found = false;
        for (size_t i = 0; i < nprocesses; i++) {
            for (size_t j = 0; j < nprocesses && !processes[i].is_ours; j++)
                found |= processes[i].is_ours =
                    processes[j].is_ours && processes[j].pid == processes[i].parent;
        }
    }
}

/* All processes of the machine; ours are marked. */
static void look(void)
{
    DIR *directory = opendir("/proc");
    const struct dirent *entry;

    nprocesses = 0;
    while (directory && (entry = readdir(directory))) {
        if (isdigit((unsigned char)entry->d_name[0]))
            add_process(entry->d_name);
    }
    if (directory)
        closedir(directory);
    find_descendants();
}

static bool is_busy(char state)
{
    return state == 'R' || state == 'D';
}

/* Whether some thread of PROCESS runs, or would if it had a processor. */
static bool runs(const struct process *process)
{
    bool is_running = is_busy(process->state);
    const struct dirent *entry;
    DIR *directory;
    char path[300];

    snprintf(path, sizeof path, "/proc/%d/task", process->pid);
    directory = is_running ? NULL : opendir(path);
    while (directory && !is_running && (entry = readdir(directory))) {
        struct process thread;

        snprintf(path, sizeof path, "task/%s/stat", entry->d_name);
        is_running = isdigit((unsigned char)entry->d_name[0]) &&
                     read_process(process->pid, path, &thread) && is_busy(thread.state);
    }
    if (directory)
        closedir(directory);
    return is_running;
}

static bool some_run(void)
{
    for (size_t i = 0; i < nprocesses; i++) {
        if (processes[i].is_ours && runs(&processes[i]))
            return true;
    }
    return false;
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

/* By those that are there and those that have been waited for. */
static double time_used(void)
{
    struct rusage usage;
    double used;

    getrusage(RUSAGE_CHILDREN, &usage);
    used = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    for (size_t i = 0; i < nprocesses; i++)
        used += processes[i].is_ours ? processes[i].used : 0;
    return used;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- the command ---- */

static void start(char **arguments, const sigset_t *mask)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    command = fork();
    if (command == 0) {
        sigprocmask(SIG_SETMASK, mask, NULL);
        execvp(arguments[0], arguments);
        fprintf(stderr, "supervise: %s: %s\n", arguments[0], strerror(errno));
        _exit(127);
    }
    if (command < 0) {
        perror("supervise");
        exit(125);
    }
}

/* Sees who has ended. */
static void reap(void)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == command) {
            command = 0;
            ended = status;
        }
    }
}

/* True if some were there. */
static bool signal_descendants(int number)
{
    bool any = false;

    look();
    for (size_t i = 0; i < nprocesses; i++) {
        if (!processes[i].is_ours)
            continue;
        any = true;
        kill(processes[i].pid, number);
    }
    return any;
}

static void end_all(void)
{
    const struct timespec pause = {.tv_nsec = 100000000};

    if (command > 0)
        kill(command, SIGTERM);
    for (int i = 0; i < 10 * GRACE && command > 0; i++) {
        nanosleep(&pause, NULL);
        reap();
    }
    for (int i = 0; i < 10 * GRACE && signal_descendants(SIGKILL); i++) {
        nanosleep(&pause, NULL);
        reap();
    }
}

/* What each process is at: its state, its processor time, and what it waits for in the kernel. */
static void show(void)
{
    char line[200], place[80];

    for (size_t i = 0; i < nprocesses; i++) {
        if (!processes[i].is_ours)
            continue;
        read_file(processes[i].pid, "cmdline", line, sizeof line);
        read_file(processes[i].pid, "wchan", place, sizeof place);
        fprintf(stderr, "supervise: %d %c %.1f s %s: %s\n", processes[i].pid, processes[i].state,
                processes[i].used, place, line);
    }
}

/* ---- its limits ---- */

struct budget {
    double seconds, ranks;
    double waited, last; /* LAST is when we looked */
};

/* False once the limit is reached, with a message. */
static bool goes_on(struct budget *budget)
{
    double time = now(), passed = time - budget->last, used;

    budget->last = time;
    look();
    used = time_used();
    /* We may have had no processor ourselves. */
    if (!some_run())
        budget->waited += passed < 2 ? passed : 2;
    if (used / budget->ranks + budget->waited < budget->seconds)
        return true;
    fprintf(stderr,
            "supervise: stopped after %.0f s: %.1f s of processor time used, %.1f s waited:\n",
            budget->seconds, used, budget->waited);
    show();
    return false;
}

int main(int argc, char **argv)
{
    const bool has_ranks = argc > 3 && strcmp(argv[1], "-n") == 0;
    char **arguments = argv + (has_ranks ? 3 : 1);
    struct budget budget = {.seconds = argv + argc - arguments > 1 ? atof(arguments[0]) : 0,
                            .ranks = has_ranks ? atof(argv[2]) : 1,
                            .last = now()};
    const struct timespec second = {.tv_sec = 1};
    sigset_t awaited, mask;
    int number, stopped;

    if (budget.seconds <= 0 || budget.ranks <= 0) {
        fputs("usage: supervise [-n RANKS] SECONDS COMMAND [ARGUMENT...]\n", stderr);
        return 125;
    }
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    sigaddset(&awaited, SIGHUP);
    sigaddset(&awaited, SIGINT);
    sigaddset(&awaited, SIGTERM);
    sigprocmask(SIG_BLOCK, &awaited, &mask);
    start(arguments + 1, &mask);
    while (command > 0) {
        number = sigtimedwait(&awaited, NULL, &second);
        if (number == SIGCHLD)
            reap();
        stopped = number > 0 && number != SIGCHLD ? 128 + number : 0;
        if (stopped == 0 && command > 0 && now() - budget.last >= 1 && !goes_on(&budget))
            stopped = 124;
        if (stopped > 0) {
            end_all();
            return stopped;
        }
    }
    return WIFSIGNALED(ended) ? 128 + WTERMSIG(ended) : WEXITSTATUS(ended);
}
