/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Parses values of settings and hints. In cgx_parse_*, TEXT must be the value alone: no blanks, no
 * sign, nothing behind it. The locale is ignored. Results are set only if true is returned. */
#ifndef CGX_UTIL_PARSE_H
#define CGX_UTIL_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* Decimal digits, below 2^64. */
bool cgx_parse_unsigned(const char *text, uint64_t *value);

/* Two such numbers with SEPARATOR in between, as "3:8" or "4x2". */
bool cgx_parse_pair(const char *text, char separator, uint64_t *first, uint64_t *second);

/* One word of LIST ("auto, flat"), ignoring case. INDEX counts from 0. */
bool cgx_parse_choice(const char *text, const char *list, uint64_t *index);

/* Converts A to Z to lower case, in any locale. */
char cgx_parse_lower(char character);

/* Copies the user's TEXT for a message: shortened, without control characters. Returns COPY. */
#define CGX_PRINTABLE_BYTES 64
const char *cgx_printable(const char *text, char copy[CGX_PRINTABLE_BYTES]);

#endif
