/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* stderr is a datagram socket here: every write(2) to it is received as one piece. */

#include "util/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/tap.h"

#define MOST 4096

static int received_from;
static int true_stderr;

static void redirect_stderr(void)
{
    const struct timeval patience = {.tv_sec = 10};
    int ends[2];

    true_stderr = dup(STDERR_FILENO);
    if (true_stderr < 0 || socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0 ||
        dup2(ends[1], STDERR_FILENO) < 0 ||
        setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0)
        bail_out("stderr cannot be redirected");
    close(ends[1]);
    received_from = ends[0];
}

/* The next write, or "" if there was none. */
static const char *next_write(void)
{
    static char text[MOST + 1];
    ssize_t length = recv(received_from, text, MOST, MSG_DONTWAIT);

    text[length < 0 ? 0 : length] = '\0';
    return text;
}

static void log_at_every_level(void)
{
    cgx_log(CGX_LOG_ERROR, "x");
    cgx_log(CGX_LOG_WARN, "x");
    cgx_log(CGX_LOG_INFO, "x");
    cgx_log(CGX_LOG_DEBUG, "x");
}

static bool levels_printed(const char *const *names, size_t count)
{
    char expected[64];

    for (size_t i = 0; i < count; i++) {
        snprintf(expected, sizeof expected, "cgx[?]: %s: x\n", names[i]);
        if (strcmp(next_write(), expected) != 0)
            return false;
    }
    return *next_write() == '\0';
}

static void test_levels(void)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};

    log_at_every_level();
    ok(levels_printed(names, 2), "errors and warnings are printed by default, nothing else");
    for (int level = CGX_LOG_ERROR; level <= CGX_LOG_DEBUG; level++) {
        cgx_log_set_level((enum cgx_log_level)level);
        log_at_every_level();
        ok(levels_printed(names, (size_t)level + 1) && (int)cgx_log_level() == level,
           "level %s prints its own lines and those of graver levels", names[level]);
    }
}

static void test_prefix(void)
{
    cgx_log(CGX_LOG_ERROR, "%d of %s", 3, "four");
    ok(strcmp(next_write(), "cgx[?]: error: 3 of four\n") == 0,
       "the rank is a question mark until it is known");
    cgx_log_set_rank(12);
    cgx_log(CGX_LOG_WARN, "%d of %s", 3, "four");
    ok(strcmp(next_write(), "cgx[12]: warn: 3 of four\n") == 0,
       "a line begins with rank and level");
}

static void test_lengths(void)
{
    char text[MOST];
    const char *line;
    size_t longest;

    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    cgx_log(CGX_LOG_ERROR, "%s", text);
    line = next_write();
    longest = strlen(line);
    ok(longest >= 256 && longest <= 1024 && strcmp(line + longest - 5, "a...\n") == 0,
       "a long line is cut to at most 1024 bytes and says so");
    ok(*next_write() == '\0', "a long line is one write");
    text[longest - strlen("cgx[12]: error: ") - 1] = '\0';
    cgx_log(CGX_LOG_ERROR, "%s", text);
    line = next_write();
    ok(strlen(line) == longest && strcmp(line + longest - 5, "aaaa\n") == 0,
       "a line that just fits is not cut");
    cgx_log(CGX_LOG_ERROR, "%s", "one\ntwo\r\nthree");
    ok(strcmp(next_write(), "cgx[12]: error: one two  three\n") == 0,
       "line ends within a message become blanks");
    cgx_log(CGX_LOG_ERROR, "%s", "one\033[2J\177");
    ok(strcmp(next_write(), "cgx[12]: error: one?[2J?\n") == 0,
       "control characters in a message reach no terminal");
    cgx_log(CGX_LOG_ERROR, "%s", "");
    ok(strcmp(next_write(), "cgx[12]: error: \n") == 0, "an empty message is a line");
}

static void test_errno(void)
{
    int full[2];

    /* A write that fails: the peer is gone. */
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, full) != 0)
        bail_out("no socket pair");
    close(full[0]);
    dup2(full[1], STDERR_FILENO);
    errno = ERANGE;
    cgx_log(CGX_LOG_ERROR, "x");
    ok(errno == ERANGE, "a stderr that takes nothing is no error and leaves errno alone");
}

#define THREADS 4
#define LINES 1000

static void *write_lines(void *letter)
{
    char text[65];

    memset(text, *(const char *)letter, sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < LINES; i++)
        cgx_log(CGX_LOG_ERROR, "%s", text);
    return NULL;
}

static void test_threads(void)
{
    static const char letters[] = "abcd";
    pthread_t threads[THREADS];
    unsigned whole[THREADS] = {0};
    bool complete = true;

    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, write_lines, (void *)&letters[i]) != 0)
            bail_out("no threads");
    /* The socket holds few datagrams: lines are read while they are written. */
    for (int i = 0; i < THREADS * LINES; i++) {
        char line[MOST];
        ssize_t length = recv(received_from, line, sizeof line, 0);
        size_t prefix = strlen("cgx[12]: error: ");
        const char *letter;

        if (length != (ssize_t)prefix + 65 || line[prefix] != line[length - 2])
            continue;
        letter = strchr(letters, line[prefix]);
        if (letter != NULL && *letter != '\0')
            whole[letter - letters]++;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        complete = complete && whole[i] == LINES;
    ok(complete, "lines of threads do not mix");
}

int main(void)
{
    redirect_stderr();
    test_levels();
    test_prefix();
    test_lengths();
    test_threads();
    test_errno();
    dup2(true_stderr, STDERR_FILENO);
    return done_testing();
}
