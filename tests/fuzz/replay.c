/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The main program that gives a fuzzing program the files of its corpus, corpus/NAME, one after the
 * other, and each of them with damage of many kinds; TEST_ALL=yes: a hundred times as many.
 * "NAME SEED": damage of other kinds. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>

#include "fuzz/fuzz.h"
#include "lib/tap.h"

enum { DAMAGED_BYTES = 100000000 }; /* of a file, and 100 with each */

static uint64_t state; /* of what is drawn */

/* xorshift64 (Marsaglia). */
static size_t draw(size_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state >> 11) % below;
}

/* In a block of its own size. */
static void give(const uint8_t *data, size_t size)
{
    uint8_t *block = malloc(size);

    if (size > 0 && !block)
        bail_out("memory is short");
    if (size > 0)
        memcpy(block, data, size);
    LLVMFuzzerTestOneInput(block, size);
    free(block);
}

/* Bytes become others, often such as mean something; or the end is gone. */
static size_t damage(uint8_t *data, size_t size)
{
    static const uint8_t telling[] = "\0\x01\x7f\x80\xff=->,:;#\"\t\n 09";

    for (size_t n = 1 + draw(4); n > 0 && size > 0; n--) {
        uint8_t *byte = &data[draw(size)];

        switch (draw(4)) {
        case 0:
            *byte = telling[draw(sizeof telling - 1)];
            break;
        case 1:
            *byte = (uint8_t)draw(256);
            break;
        case 2:
            *byte ^= (uint8_t)(1 << draw(8));
            break;
        default:
            size = draw(8) == 0 ? draw(size) : size;
        }
    }
    return size;
}

static void replay(const char *path, uint64_t seed)
{
    static uint8_t data[1 << 16], damaged[sizeof data];
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(data, 1, sizeof data, file) : 0;

    if (!file || !feof(file))
        bail_out("%s cannot be read", path);
    fclose(file);
    give(data, size);
    state = 88172645463325252u + seed;
    for (unsigned i = 0; i < DAMAGED_BYTES / one_of(100) / (size + 100); i++) {
        memcpy(damaged, data, size);
        give(damaged, damage(damaged, size));
    }
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

    snprintf(folder, sizeof folder, "%s/tests/fuzz/corpus/%s", top ? top : ".",
             name ? name + 1 : argv[0]);
    count = scandir(folder, &entries, is_input, alphasort);
    if (count < 0)
        bail_out("%s: %s", folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        replay(path, argc > 1 ? strtoull(argv[1], NULL, 10) : 0);
        ok(true, "%s", entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return done_testing();
}
