/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>
#include <stdlib.h>

#include "policy/rules/rules.h"
#include "util/hash.h"

static char *read_file(const char *path, size_t *length)
{
    enum { STEP = 1 << 16 };
    FILE *file = fopen(path, "re");
    char *text = NULL, *larger;
    size_t got = 0;

    *length = 0;
    while (file && (larger = realloc(text, *length + STEP)) != NULL) {
        text = larger;
        got = fread(text + *length, 1, STEP, file);
        *length += got;
        if (got < STEP)
            break;
    }
    if (file && (ferror(file) || got == STEP)) {
        free(text);
        text = NULL;
    }
    if (file)
        fclose(file);
    return text;
}

struct cgx_rules *cgx_rules_read(const char *path, uint32_t *hash, cgx_rules_warn *warn,
                                 void *context, struct cgx_rules_error *error)
{
    struct cgx_rules *rules = NULL;
    size_t length;
    char *text = read_file(path, &length);

    *error = (struct cgx_rules_error){0, 0, "the file cannot be read"};
    if (text) {
        *hash = cgx_hash(CGX_HASH_START, text, length);
        rules = cgx_rules_parse(text, length, warn, context, error);
    }
    free(text);
    return rules;
}
