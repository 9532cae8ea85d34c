/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "info.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/parse.h"

#define NUMBER_BYTES 32
#define UNIT_BYTES 8
#define MOST_BYTES_PER_SECOND 1e14

bool info_positive_parse(const char *text, double *value)
{
    bool number_begins = (*text >= '0' && *text <= '9') || *text == '.';
    double number;
    char *end;

    /* strtod also takes blanks, signs, hexadecimal numbers, "inf" and "nan". */
    if (!number_begins || text[strspn(text, "0123456789.eE+-")] != '\0')
        return false;
    number = strtod(text, &end);
    if (*end != '\0' || !isfinite(number) || number <= 0)
        return false;
    *value = number;
    return true;
}

static bool find_unit(const char *text, double *bytes)
{
    char lower[UNIT_BYTES] = "";

    for (size_t i = 0; text[i] != '\0' && i < UNIT_BYTES - 1; i++)
        lower[i] = cgx_parse_lower(text[i]);
    if (strcmp(lower, "mbit") == 0)
        *bytes = 1e6 / 8;
    else if (strcmp(lower, "gbit") == 0 || lower[0] == '\0')
        *bytes = 1e9 / 8;
    else if (strcmp(text, "MB") == 0) /* "Mb" would be anyone's guess */
        *bytes = 1e6;
    else if (strcmp(text, "GB") == 0)
        *bytes = 1e9;
    else
        return false;
    return true;
}

bool info_link_parse(const char *text, double *bytes_per_second)
{
    size_t digits = strspn(text, "0123456789."), letters = strlen(text) - digits;
    char number[NUMBER_BYTES], unit[UNIT_BYTES];
    double amount, bytes;

    if (letters > 2 && strcmp(text + digits + letters - 2, "/s") == 0)
        letters -= 2;
    if (digits >= sizeof number || letters >= sizeof unit)
        return false;
    snprintf(number, sizeof number, "%.*s", (int)digits, text);
    snprintf(unit, sizeof unit, "%.*s", (int)letters, text + digits);
    if (!info_positive_parse(number, &amount) || !find_unit(unit, &bytes) ||
        amount * bytes > MOST_BYTES_PER_SECOND)
        return false;
    *bytes_per_second = amount * bytes;
    return true;
}
