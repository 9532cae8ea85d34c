/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "util/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/cookie.h"

/* As fopen has it; the user's umask takes from it. */
#define PERMISSIONS 0666

/* ---- opening ---- */

static bool is_ours(const struct stat *about)
{
    return about->st_uid == geteuid() || about->st_uid == 0;
}

/* What is there is looked at before and after it is opened, without any effect on it: where folders
 * let only owners rename, nobody else can put something of ours in its place. */
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
        /* By now somebody may have made one, another rank of this job even. */
        if (file >= 0 || errno != EEXIST || lstat(path, &about) != 0)
            return file;
    }
    return open_there(path, &about);
}

/* FILE, which is closed where that fails. */
static FILE *stream_of(int file)
{
    FILE *stream = file >= 0 ? fdopen(file, "w") : NULL;

    if (file >= 0 && !stream)
        close(file);
    return stream;
}

FILE *cgx_output_stream(const char *path)
{
    int file = cgx_output_open(path);
    struct stat about;

    if (file >= 0 && fstat(file, &about) == 0 && S_ISREG(about.st_mode) &&
        ftruncate(file, 0) != 0) {
        close(file);
        return NULL;
    }
    return stream_of(file);
}

/* ---- replacing ---- */

static bool is_replaceable(const char *path)
{
    struct stat about;

    return lstat(path, &about) != 0 || S_ISREG(about.st_mode);
}

static bool write_to(FILE *file, cgx_output_writer *write, const void *state)
{
    bool written;

    write(file, state);
    written = ferror(file) == 0;
    return fclose(file) == 0 && written;
}

/* A new file beside that at PATH, whose name nobody can guess, nor have taken; NAME is to be freed
 * in any case. */
static FILE *open_beside(const char *path, char **name)
{
    size_t bytes = strlen(path) + sizeof ".0123456789abcdef";

    *name = malloc(bytes);
    if (!*name)
        return NULL;
    snprintf(*name, bytes, "%s.%016" PRIx64, path, cgx_cookie());
    return stream_of(open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, PERMISSIONS));
}

bool cgx_output_replace(const char *path, cgx_output_writer *write, const void *state)
{
    char *beside = NULL;
    FILE *file = is_replaceable(path) ? open_beside(path, &beside) : NULL;
    bool written;
    int saved;

    if (file) {
        written = write_to(file, write, state) && rename(beside, path) == 0;
        saved = errno;
        if (!written)
            unlink(beside);
    } else {
        file = cgx_output_stream(path);
        written = file && write_to(file, write, state);
        saved = errno;
    }
    free(beside);
    errno = saved;
    return written;
}
