/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Where statistics go: a file, which is never seen half-written, or stderr. */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/stats.h"
#include "util/log.h"
#include "util/output.h"

static void write_json(FILE *file, const void *world)
{
    cgx_stats_json(file, world);
}

/* In one piece: other ranks, and the program, may write to stderr too. */
static bool put_table(const struct cgx_stats_world *world)
{
    char *text = NULL;
    size_t length = 0;
    FILE *memory;
    bool written = false;

    if (!cgx_log_has_stderr())
        return true;
    memory = open_memstream(&text, &length);
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
    written =
        strcmp(path, "-") == 0 ? put_table(world) : cgx_output_replace(path, write_json, world);
    saved = errno;
    if (plain) {
        uselocale(before);
        freelocale(plain);
    }
    errno = saved;
    return written;
}
