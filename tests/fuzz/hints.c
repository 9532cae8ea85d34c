/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Hints of any bytes, a value a line in the order of their keys, "-" for a key that is not there:
 * they are refused with the place of an error, or say of any call what can be said of it, the same
 * if they are set again, and nothing once all are taken back. */
#include "fuzz/fuzz.h"

/* TEXT becomes lines. */
static void split(char *text, const char *values[CGX_HINTS])
{
    char *rest = text;

    for (int i = 0; i < CGX_HINTS; i++) {
        char *line = strsep(&rest, "\n");

        values[i] = line && strcmp(line, "-") != 0 ? line : NULL;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const nothing[CGX_HINTS] = {"", "", "", "", "", "", ""};
    const char *values[CGX_HINTS];
    struct cgx_rules_error error = {0};
    char *text = malloc(size + 1);
    struct cgx_override hints = {.bits = 0};
    uint32_t hash;

    fuzz_require(text != NULL, "there is memory");
    memcpy(text, data, size);
    text[size] = '\0';
    split(text, values);
    if (cgx_hints_parse(&hints, values, &error)) {
        fuzz_says(&hints, NULL);
        hash = cgx_hints_hash(&hints);
        fuzz_require(cgx_hints_parse(&hints, values, &error) && cgx_hints_hash(&hints) == hash,
                     "set again they say the same");
        fuzz_require(cgx_hints_parse(&hints, nothing, &error) && hints.enable != CGX_SWITCH_OFF,
                     "they can be taken back");
    } else {
        fuzz_error(&error);
    }
    cgx_override_clear(&hints);
    free(text);
    return 0;
}
