/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "util/parse.h"
#include "util/settings.h"

static void ignore(void *context, int level, const char *message)
{
    (void)context;
    (void)level;
    (void)message;
}

/* Whether NAME=TEXT, alone in an environment, is accepted. */
static bool accepted(const char *name, const char *text)
{
    char entry[8192];
    char *environment[] = {entry, NULL};
    struct cgx_settings settings;

    if ((size_t)snprintf(entry, sizeof entry, "%s=%s", name, text) >= sizeof entry)
        return false;
    cgx_settings_parse(environment, ignore, NULL, &settings);
    return settings.valid;
}

static void print_row(FILE *out, const struct cgx_setting *row, char *const environment[])
{
    const char *text = environment == NULL ? NULL : cgx_environment_find(environment, row->name);
    char copy[CGX_PRINTABLE_BYTES];

    fprintf(out, "%s\n    %s\n", row->name, row->meaning);
    fprintf(out, "    values: %s; default: %s\n", row->values,
            *row->initial == '\0' ? "unset" : row->initial);
    if (row->instead != NULL)
        fprintf(out, "    no effect in this version: %s\n", row->instead);
    if (text != NULL)
        fprintf(out, "    now: \"%s\"%s\n", cgx_printable(text, copy),
                accepted(row->name, text) ? "" : " (refused)");
    else if (environment != NULL)
        fprintf(out, "    now: the default\n");
}

void cgx_settings_print(FILE *out, char *const environment[])
{
    const struct cgx_setting *row;

    for (size_t i = 0; (row = cgx_settings_row(i)) != NULL; i++)
        print_row(out, row, environment);
}
