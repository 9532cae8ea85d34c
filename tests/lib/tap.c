/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "tap.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned results, failures, announced;

void plan(unsigned tests)
{
    announced = tests;
    printf("1..%u\n", tests);
    fflush(stdout);
}

void ok(bool holds, const char *name, ...)
{
    va_list arguments;

    results++;
    failures += !holds;
    printf("%s %u - ", holds ? "ok" : "not ok", results);
    va_start(arguments, name);
    vprintf(name, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
}

void skip(const char *name, const char *why)
{
    results++;
    printf("ok %u - %s # SKIP %s\n", results, name, why);
    fflush(stdout);
}

unsigned one_of(unsigned usual)
{
    const char *all = getenv("TEST_ALL");

    return all && strcmp(all, "yes") == 0 ? 1 : usual;
}

void diag(const char *format, ...)
{
    char text[4096];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);

    fputs("# ", stdout);
    for (const char *c = text; *c; c++) {
        putchar(*c);
        if (*c == '\n' && c[1])
            fputs("# ", stdout);
    }
    putchar('\n');
    fflush(stdout);
}

void bail_out(const char *why, ...)
{
    va_list arguments;

    fputs("Bail out! ", stdout);
    va_start(arguments, why);
    vprintf(why, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
    exit(EXIT_FAILURE);
}

int done_testing(void)
{
    if (!announced)
        plan(results);
    if (failures)
        diag("%u of %u failed", failures, results);
    if (results != announced)
        diag("%u results, but %u were announced", results, announced);
    return results && !failures && results == announced ? EXIT_SUCCESS : EXIT_FAILURE;
}
