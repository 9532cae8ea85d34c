/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "info.h"

#include <stdio.h>
#include <string.h>

#include "util/parse.h"

extern char **environ;

static void print_row(const struct cgx_setting *row, const char *text, bool taken)
{
    const char *initial = row->initial[0] == '\0' ? "unset" : row->initial;
    char copy[CGX_PRINTABLE_BYTES];

    printf("%s\n    %s\n    values: %s; default: %s", row->name, row->meaning, row->values,
           initial);
    if (text)
        printf("\n    now: \"%s\"%s\n", cgx_printable(text, copy), taken ? "" : " (refused)");
    else
        printf("\n    now: %s (the default)\n", initial);
}

static void print_change(const struct cgx_setting *row, const char *text, bool taken)
{
    char copy[CGX_PRINTABLE_BYTES];

    printf("%s=\"%s\" (%sdefault: %s)\n    %s\n", row->name, cgx_printable(text, copy),
           taken ? "" : "refused; ", row->initial[0] == '\0' ? "unset" : row->initial,
           row->meaning);
}

void info_print_settings(bool all)
{
    const struct cgx_setting *row;
    bool changed = false;

    for (size_t i = 0; (row = cgx_settings_row(i)) != NULL; i++) {
        const char *text;
        bool taken = cgx_settings_text(i, environ, &text);

        if (all) {
            print_row(row, text, taken);
        } else if (text && strcmp(text, row->initial) != 0) {
            print_change(row, text, taken);
            changed = true;
        }
    }
    if (!all && !changed)
        printf("all settings have their defaults: cgx-info --settings --all prints them\n");
}
