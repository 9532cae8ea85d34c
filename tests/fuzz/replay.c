/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The main program that gives a fuzzing program the files of its corpus, corpus/NAME, one after the
 * other. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>

#include "fuzz/fuzz.h"
#include "lib/tap.h"

/* In a block of its own size. */
static void replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data;
    long size = -1;

    if (file && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    data = size >= 0 ? malloc((size_t)size) : NULL;
    if (!file || size < 0 || (size > 0 && !data))
        bail_out("%s cannot be read", path);
    rewind(file);
    if (fread(data, 1, (size_t)size, file) != (size_t)size)
        bail_out("%s cannot be read", path);
    fclose(file);
    LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
}

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
    const char *top = getenv("top_srcdir"), *name = strrchr(argv[0], '/');
    char folder[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];
    struct dirent **entries;
    int count;

    (void)argc;
    snprintf(folder, sizeof folder, "%s/tests/fuzz/corpus/%s", top ? top : ".",
             name ? name + 1 : argv[0]);
    count = scandir(folder, &entries, is_input, alphasort);
    if (count < 0)
        bail_out("%s: %s", folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        replay(path);
        ok(true, "%s", entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return done_testing();
}
