/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Where statistics go: a file, which is never seen half-written, or stderr. */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpi/config.h"
#include "observe/stats.h"

#define BESIDE ".new"

static bool write_file(FILE *file, const struct cgx_stats_world *world)
{
    bool written;

    cgx_stats_json(file, world);
    written = ferror(file) == 0;
    return fclose(file) == 0 && written;
}

/* A pipe, a device or a link stays what it is. */
static bool is_replaceable(const char *path)
{
    struct stat about;

    return lstat(path, &about) != 0 || S_ISREG(about.st_mode);
}

/* Where the folder takes no new file, what is there is overwritten. */
static bool put_file(const char *path, const struct cgx_stats_world *world)
{
    char beside[CGX_CONFIG_PATH_BYTES + sizeof BESIDE];
    FILE *file = NULL;
    bool written;
    int saved;

    snprintf(beside, sizeof beside, "%s" BESIDE, path);
    if (is_replaceable(path)) {
        unlink(beside);
        file = fopen(beside, "wxe");
    }
    if (!file) {
        file = fopen(path, "we");
        return file && write_file(file, world);
    }
    written = write_file(file, world) && rename(beside, path) == 0;
    saved = errno;
    if (!written)
        unlink(beside);
    errno = saved;
    return written;
}

/* In one piece: other ranks, and the program, may write to stderr too. */
static bool put_table(const struct cgx_stats_world *world)
{
    char *text = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&text, &length);
    bool written = false;

    if (memory) {
        cgx_stats_table(memory, world);
        written = fclose(memory) == 0 && fwrite(text, 1, length, stderr) == length;
    }
    free(text);
    return written;
}

/* Numbers are written with a point whatever the program's locale says. */
bool cgx_stats_put(const char *path, const struct cgx_stats_world *world)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", 0), before = 0;
    bool written;
    int saved;

    if (plain)
        before = uselocale(plain);
    written = strcmp(path, "-") == 0 ? put_table(world) : put_file(path, world);
    saved = errno;
    if (plain) {
        uselocale(before);
        freelocale(plain);
    }
    errno = saved;
    return written;
}
