/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "util/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Well below PIPE_BUF, so that ranks that share a pipe to the launcher do not split lines. */
#define LINE_BYTES 1024

static const char *const level_names[] = {"error", "warn", "info", "debug"};

static atomic_int level_in_force = CGX_LOG_WARN;
static atomic_int world_rank = -1;

/* Whether stderr was open when the process began. If not, nothing is logged, since another file
 * that the program or its MPI has opened may have its number. */
static bool has_stderr = true;

__attribute__((constructor)) static void find_stderr(void)
{
    has_stderr = fcntl(STDERR_FILENO, F_GETFD) >= 0;
}

enum cgx_log_level cgx_log_level(void)
{
    return (enum cgx_log_level)atomic_load_explicit(&level_in_force, memory_order_relaxed);
}

void cgx_log_set_level(enum cgx_log_level level)
{
    atomic_store_explicit(&level_in_force, (int)level, memory_order_relaxed);
}

void cgx_log_set_rank(int rank)
{
    atomic_store_explicit(&world_rank, rank, memory_order_relaxed);
}

static size_t put_prefix(char line[LINE_BYTES], enum cgx_log_level level)
{
    int rank = atomic_load_explicit(&world_rank, memory_order_relaxed);
    int length;

    if (rank < 0)
        length = snprintf(line, LINE_BYTES, "cgx[?]: %s: ", level_names[level]);
    else
        length = snprintf(line, LINE_BYTES, "cgx[%d]: %s: ", rank, level_names[level]);
    return (size_t)length;
}

/* Appends the message and a newline and returns the line's length. A message that is too long is
 * cut and ends in "...". If it cannot be printed, for which vsnprintf returns -1, the line is the
 * prefix. */
static size_t put_message(char line[LINE_BYTES], size_t used, const char *format, va_list arguments)
{
    static const char cut[] = "...\n";
    size_t room = LINE_BYTES - used;
    int length = vsnprintf(line + used, room, format, arguments);

    if ((size_t)length + 1 > room) {
        memcpy(line + LINE_BYTES - (sizeof cut - 1), cut, sizeof cut - 1);
        used = LINE_BYTES;
    } else {
        used += (size_t)length;
        line[used++] = '\n';
    }
    /* The program chooses names of communicators and files, which must not break the line or
     * control the terminal. */
    for (size_t i = 0; i + 1 < used; i++)
        if (line[i] == '\n' || line[i] == '\r')
            line[i] = ' ';
        else if ((unsigned char)line[i] < ' ' || line[i] == 0x7F)
            line[i] = '?';
    return used;
}

void cgx_log(enum cgx_log_level level, const char *format, ...)
{
    char line[LINE_BYTES];
    int saved_errno = errno;
    va_list arguments;
    size_t length;

    if (level > cgx_log_level() || !has_stderr)
        return;
    length = put_prefix(line, level);
    va_start(arguments, format);
    length = put_message(line, length, format, arguments);
    va_end(arguments);
    /* One write per line. A failed write cannot be reported. It is repeated only if a signal
     * interrupted it before the first byte. */
    while (write(STDERR_FILENO, line, length) < 0 && errno == EINTR)
        continue;
    errno = saved_errno;
}
