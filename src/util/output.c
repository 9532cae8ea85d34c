/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "util/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "util/hash.h"

/* The mode that fopen uses; the user's umask applies. */
#define PERMISSIONS 0666

/* ---- opening ---- */

static bool is_ours(const struct stat *about)
{
    return about->st_uid == geteuid() || about->st_uid == 0;
}

/* Opens the file at PATH without truncating it, and checks its owner before and after. If the
 * folder lets only owners rename files, no other user can exchange the file for another file of
 * ours in between. */
static int open_there(const char *path, const struct stat *before)
{
    bool is_link = S_ISLNK(before->st_mode);
    int file = is_ours(before)
                   ? open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | (is_link ? O_CREAT : O_NOFOLLOW),
                          PERMISSIONS)
                   : -1;
    struct stat after;

    if (!is_ours(before))
        errno = EACCES;
    if (file < 0 || is_link || (fstat(file, &after) == 0 && is_ours(&after)))
        return file;
    close(file);
    errno = EACCES;
    return -1;
}

int cgx_output_open(const char *path)
{
    struct stat about;
    int file = -1;

    if (lstat(path, &about) != 0) {
        file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, PERMISSIONS);
        /* Another process, perhaps a rank of this job, may have created the file meanwhile. */
        if (file >= 0 || errno != EEXIST || lstat(path, &about) != 0)
            return file;
    }
    return open_there(path, &about);
}

/* ---- streams ---- */

struct output {
    FILE *stream;
    sigset_t mask; /* the thread's signal mask, without SIGXFSZ */
    bool was_pending;
};

static sigset_t file_size_signal(void)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGXFSZ);
    return signals;
}

static void block_signal(struct output *output)
{
    sigset_t signals = file_size_signal(), pending;

    output->was_pending = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &signals, &output->mask);
}

/* Consumes a SIGXFSZ that writing raised, unless one was pending before. */
static void release_signal(const struct output *output)
{
    static const struct timespec at_once = {0, 0};
    sigset_t signals = file_size_signal();

    if (!output->was_pending)
        sigtimedwait(&signals, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &output->mask, NULL);
}

/* Takes over FILE, which is negative if opening it failed. On failure FILE is closed. */
static bool begin_file(struct output *output, int file)
{
    output->stream = file >= 0 ? fdopen(file, "w") : NULL;
    if (output->stream)
        block_signal(output);
    else if (file >= 0)
        close(file);
    return output->stream != NULL;
}

/* Opens the file as cgx_output_open does and empties it. */
static bool begin_there(struct output *output, const char *path)
{
    int file = cgx_output_open(path);
    struct stat about;

    if (file >= 0 && fstat(file, &about) == 0 && S_ISREG(about.st_mode) &&
        ftruncate(file, 0) != 0) {
        close(file);
        file = -1;
    }
    return begin_file(output, file);
}

/* Lets WRITE write and closes the file. False with errno if not everything was written. */
static bool write_to(struct output *output, cgx_output_writer *write, const void *state)
{
    bool failed, closed;
    int saved;

    write(output->stream, state);
    failed = ferror(output->stream) != 0;
    closed = fclose(output->stream) == 0;
    saved = errno;
    release_signal(output);
    errno = saved;
    return !failed && closed;
}

/* ---- replacing ---- */

static bool is_replaceable(const char *path)
{
    struct stat about;

    return lstat(path, &about) != 0 || S_ISREG(about.st_mode);
}

/* Creates a file beside PATH under a name that nobody can guess or occupy. The caller frees *NAME
 * in any case. */
static bool begin_beside(struct output *output, const char *path, char **name)
{
    size_t bytes = strlen(path) + sizeof ".0123456789abcdef";

    *name = malloc(bytes);
    if (!*name)
        return false;
    snprintf(*name, bytes, "%s.%016" PRIx64, path, cgx_cookie());
    return begin_file(output, open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, PERMISSIONS));
}

bool cgx_output_replace(const char *path, cgx_output_writer *write, const void *state)
{
    struct output output;
    char *beside = NULL;
    bool written;
    int saved;

    if (is_replaceable(path) && begin_beside(&output, path, &beside)) {
        written = write_to(&output, write, state) && rename(beside, path) == 0;
        saved = errno;
        if (!written)
            unlink(beside);
    } else {
        written = begin_there(&output, path) && write_to(&output, write, state);
        saved = errno;
    }
    free(beside);
    errno = saved;
    return written;
}
