/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A file of rules of any bytes is refused with the place of an error, or says of any call what can
 * be said of it. */
#include "fuzz/fuzz.h"

static void hear(unsigned line, const char *message)
{
    fuzz_require(line > 0 && message[0] != '\0', "a warning has its line");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cgx_rules_error error = {0};
    char *text = malloc(size);
    struct cgx_rules *rules;

    fuzz_require(text || size == 0, "there is memory");
    if (size > 0)
        memcpy(text, data, size);
    rules = cgx_rules_parse(text, size, hear, &error);
    if (rules)
        fuzz_says(&(struct cgx_override){.bits = 0}, rules);
    else
        fuzz_error(&error);
    cgx_rules_free(rules);
    free(text);
    return 0;
}
