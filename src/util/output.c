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

/* ---- reading ---- */

char *cgx_file_read(const char *path, size_t *length)
{
    enum { BLOCK = 1 << 16 };
    /* O_NONBLOCK, since opening a FIFO must not wait for a writer. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat about;
    char *text = NULL, *larger;
    bool good = file >= 0 && fstat(file, &about) == 0 && S_ISREG(about.st_mode);
    ssize_t got = 1;

    for (*length = 0; good && got > 0; *length += (size_t)got) {
        larger = realloc(text, *length + BLOCK);
        text = larger ? larger : text;
        got = larger ? read(file, text + *length, BLOCK) : -1;
        good = got >= 0;
    }
    if (file >= 0)
        close(file);
    if (good)
        return text;
    free(text);
    return NULL;
}

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

/* Opens the file as cgx_output_open does and empties it. */
static int open_empty(const char *path)
{
    int file = cgx_output_open(path);
    struct stat about;

    if (file < 0 || fstat(file, &about) != 0 || !S_ISREG(about.st_mode) || ftruncate(file, 0) == 0)
        return file;
    close(file);
    return -1;
}

/* ---- replacing ---- */

/* Lets WRITE write FILE, and closes it. False with errno if not everything was written, or FILE is
 * negative. A SIGXFSZ that writing raises is consumed, unless one was pending before. */
static bool write_to(int file, cgx_output_writer *write, const void *state)
{
    static const struct timespec at_once = {0, 0};
    FILE *stream = file >= 0 ? fdopen(file, "w") : NULL;
    sigset_t signals, pending, mask;
    bool was_pending, good;
    int saved;

    if (!stream) {
        if (file >= 0)
            close(file);
        return false;
    }
    sigemptyset(&signals);
    sigaddset(&signals, SIGXFSZ);
    was_pending = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &signals, &mask);
    write(stream, state);
    good = ferror(stream) == 0;
    good = fclose(stream) == 0 && good;
    saved = errno;
    if (!was_pending)
        sigtimedwait(&signals, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    errno = saved;
    return good;
}

static bool is_replaceable(const char *path)
{
    struct stat about;

    return lstat(path, &about) != 0 || S_ISREG(about.st_mode);
}

/* Creates a file beside PATH under a name that nobody can guess or occupy. The caller frees *NAME
 * in any case. */
static int open_beside(const char *path, char **name)
{
    size_t bytes = strlen(path) + sizeof ".0123456789abcdef";

    *name = malloc(bytes);
    if (!*name)
        return -1;
    snprintf(*name, bytes, "%s.%016" PRIx64, path, cgx_cookie());
    return open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, PERMISSIONS);
}

bool cgx_output_replace(const char *path, cgx_output_writer *write, const void *state)
{
    char *name = NULL;
    int beside = is_replaceable(path) ? open_beside(path, &name) : -1;
    bool written = write_to(beside < 0 ? open_empty(path) : beside, write, state);
    int saved;

    written = written && (beside < 0 || rename(name, path) == 0);
    saved = errno;
    if (beside >= 0 && !written)
        unlink(name);
    free(name);
    errno = saved;
    return written;
}
