/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "util/parse.h"

#include <string.h>

/* Reads the digits at the start of TEXT. Returns their end, or NULL if there are none or the number
 * overflows. */
static const char *read_digits(const char *text, uint64_t *value)
{
    const char *end = text;
    uint64_t number = 0;

    for (; *end >= '0' && *end <= '9'; end++)
        if (__builtin_mul_overflow(number, 10u, &number) ||
            __builtin_add_overflow(number, (unsigned)(*end - '0'), &number))
            return NULL;
    *value = number;
    return end == text ? NULL : end;
}

bool cgx_parse_unsigned(const char *text, uint64_t *value)
{
    uint64_t number;
    const char *end = read_digits(text, &number);

    if (!end || *end != '\0')
        return false;
    *value = number;
    return true;
}

bool cgx_parse_pair(const char *text, char separator, uint64_t *first, uint64_t *second)
{
    uint64_t number;
    const char *end = read_digits(text, &number);

    if (!end || *end != separator || !cgx_parse_unsigned(end + 1, second))
        return false;
    *first = number;
    return true;
}

char cgx_parse_lower(char character)
{
    return (char)(character >= 'A' && character <= 'Z' ? character - 'A' + 'a' : character);
}

static bool same_word(const char *text, const char *word, size_t length)
{
    if (strlen(text) != length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (cgx_parse_lower(text[i]) != cgx_parse_lower(word[i]))
            return false;
    return true;
}

bool cgx_parse_choice(const char *text, const char *list, uint64_t *index)
{
    static const char separators[] = ", ";
    uint64_t position = 0;

    for (const char *word = list; *word != '\0'; position++) {
        size_t length = strcspn(word, separators);

        if (same_word(text, word, length)) {
            *index = position;
            return true;
        }
        word += length;
        word += strspn(word, separators);
    }
    return false;
}

const char *cgx_printable(const char *text, char copy[CGX_PRINTABLE_BYTES])
{
    static const char cut[] = "...";
    size_t length = 0;

    for (; text[length] != '\0' && length < CGX_PRINTABLE_BYTES - sizeof cut; length++) {
        bool control = (unsigned char)text[length] < ' ' || text[length] == 0x7F;

        copy[length] = (char)(control ? '?' : text[length]);
    }
    strcpy(copy + length, text[length] == '\0' ? "" : cut);
    return copy;
}
