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

static const char *shown(const char *initial)
{
    return *initial == '\0' ? "unset" : initial;
}

static void print_row(FILE *out, size_t index, char *const environment[], enum cgx_profile profile)
{
    const struct cgx_setting *row = cgx_settings_row(index);
    const char *bytegrad = cgx_settings_initial(index, CGX_PROFILE_BYTEGRAD);
    const char *text = environment == NULL ? NULL : cgx_environment_find(environment, row->name);
    char copy[CGX_PRINTABLE_BYTES];

    fprintf(out, "%s\n    %s\n", row->name, row->meaning);
    fprintf(out, "    values: %s; default: %s", row->values, shown(row->initial));
    if (bytegrad != row->initial)
        fprintf(out, "; with CGX_PROFILE=bytegrad: %s", shown(bytegrad));
    fputc('\n', out);
    if (text != NULL)
        fprintf(out, "    now: \"%s\"%s\n", cgx_printable(text, copy),
                cgx_settings_accepts(index, text) ? "" : " (refused)");
    else if (environment != NULL)
        fprintf(out, "    now: the default%s\n",
                bytegrad != row->initial && profile == CGX_PROFILE_BYTEGRAD
                    ? " with CGX_PROFILE=bytegrad"
                    : "");
}

void cgx_settings_print(FILE *out, char *const environment[])
{
    struct cgx_settings settings;

    cgx_settings_parse(environment, ignore, NULL, &settings);
    for (size_t i = 0; cgx_settings_row(i) != NULL; i++)
        print_row(out, i, environment, settings.profile);
}
