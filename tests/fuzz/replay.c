/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The main program that gives a fuzzing program the inputs of its name in corpus.txt, one after the
 * other, and each of them with damage of many kinds; TEST_ALL=yes: a hundred times as many.
 * "NAME SEED": damage of other kinds. A line of corpus.txt is PROGRAM NAME BYTES, where \0ooo,
 * three octal digits, stands for a byte, as for printf's %b. */
#include "fuzz/fuzz.h"
#include "lib/tap.h"

enum { MOST = 1 << 16, DAMAGED_BYTES = 100000000 }; /* of an input, and 100 with each */

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

static void replay(const uint8_t *data, size_t size, uint64_t seed)
{
    static uint8_t damaged[MOST];

    give(data, size);
    state = 88172645463325252u + seed;
    for (unsigned i = 0; i < DAMAGED_BYTES / one_of(100) / (size + 100); i++) {
        memcpy(damaged, data, size);
        give(damaged, damage(damaged, size));
    }
}

/* Returns how many bytes TEXT stands for. */
static size_t parse(const char *text, uint8_t *data)
{
    size_t size = 0;

    for (; *text != '\0' && *text != '\n'; size++) {
        bool is_octal = text[0] == '\\';

        if (size == MOST)
            bail_out("an input of the corpus is too long");
        data[size] = (uint8_t)(is_octal ? strtoul((char[]){text[2], text[3], text[4], 0}, NULL, 8)
                                        : (unsigned char)text[0]);
        text += is_octal ? 5 : 1;
    }
    return size;
}

int main(int argc, char **argv)
{
    static uint8_t data[MOST];
    const char *top = getenv("top_srcdir"), *name = strrchr(argv[0], '/');
    char path[4096], *line = NULL;
    size_t room = 0;
    FILE *file;

    name = name ? name + 1 : argv[0];
    snprintf(path, sizeof path, "%s/tests/fuzz/corpus.txt", top ? top : ".");
    file = fopen(path, "r");
    if (!file)
        bail_out("%s cannot be read", path);
    while (getline(&line, &room, file) > 0) {
        char *rest = line, *program = strsep(&rest, " "), *input = strsep(&rest, " ");

        if (!rest || strcmp(program, name) != 0)
            continue;
        replay(data, parse(rest, data), argc > 1 ? strtoull(argv[1], NULL, 10) : 0);
        ok(true, "%s", input);
    }
    free(line);
    fclose(file);
    return done_testing();
}
