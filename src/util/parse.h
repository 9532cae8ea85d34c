/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Values of settings and hints as text. In cgx_parse_*, all of TEXT must be the value: no blanks,
 * no sign, nothing behind it. The program's locale plays no part. Results are set only where true
 * is returned. */
#ifndef CGX_UTIL_PARSE_H
#define CGX_UTIL_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* Decimal digits, below 2^64. */
bool cgx_parse_unsigned(const char *text, uint64_t *value);

/* Two of these with SEPARATOR between them, as "3:8" or "4x2". */
bool cgx_parse_pair(const char *text, char separator, uint64_t *first, uint64_t *second);

/* A positive finite decimal number: "1", "0.5", "2.5e-3". */
bool cgx_parse_positive(const char *text, double *value);

/* The same, or 0. */
bool cgx_parse_nonnegative(const char *text, double *value);

/* One word of LIST ("auto, flat"), upper and lower case alike; INDEX counts from 0. */
bool cgx_parse_choice(const char *text, const char *list, uint64_t *index);

/* A to Z become a to z, whatever the locale says. */
char cgx_parse_lower(char character);

/* What is behind "NAME=" in ENVIRONMENT, or NULL; the first of several, as in getenv. */
const char *cgx_environment_find(char *const environment[], const char *name);

/* TEXT from the user for a message: into COPY without control characters and cut, returned. */
#define CGX_PRINTABLE_BYTES 64
const char *cgx_printable(const char *text, char copy[CGX_PRINTABLE_BYTES]);

#endif
