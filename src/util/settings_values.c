/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "util/settings_values.h"

#include <stdio.h>
#include <string.h>

#include "util/hash.h"
#include "util/parse.h"

/* No known word is longer. */
#define WORD_BYTES 64

static bool cut_word(const char *text, size_t length, char word[WORD_BYTES])
{
    if (length >= WORD_BYTES)
        return false;
    memcpy(word, text, length);
    word[length] = '\0';
    return true;
}

bool cgx_value_integer(const struct cgx_key *row, const char *text, uint64_t *value)
{
    return cgx_parse_unsigned(text, value) && *value >= row->least && *value <= row->most;
}

bool cgx_value_power(const struct cgx_key *row, const char *text, uint64_t *value)
{
    return cgx_value_integer(row, text, value) && (*value & (*value - 1)) == 0;
}

bool cgx_value_elements(const struct cgx_key *row, const char *text, uint64_t *value)
{
    if (cgx_parse_choice(text, "auto", value)) {
        *value = row->most | CGX_SETTINGS_SIGN; /* CGX_MINIMAL_AUTO */
        return true;
    }
    if (!cgx_parse_unsigned(text, value))
        return false;
    if (*value < row->least)
        *value = row->least;
    if (*value > ~CGX_SETTINGS_SIGN) /* no call has more */
        *value = ~CGX_SETTINGS_SIGN;
    return true;
}

bool cgx_value_mebibytes(const struct cgx_key *row, const char *text, uint64_t *value)
{
    if (!cgx_value_integer(row, text, value))
        return false;
    *value <<= 20;
    return true;
}

static bool parse_boolean(const char *list, const char *text, uint64_t *value)
{
    if (strncmp(list, "0, 1", 4) != 0 ||
        !cgx_parse_choice(text, "false, true, off, on, no, yes", value))
        return false;
    *value %= 2;
    return true;
}

bool cgx_value_choice(const struct cgx_key *row, const char *text, uint64_t *value)
{
    if (!cgx_parse_choice(text, row->about.values, value) &&
        !parse_boolean(row->about.values, text, value))
        return false;
    *value = row->least + (row->most != 0 ? *value % row->most : *value);
    return true;
}

static bool parse_range(const struct cgx_key *row, const char *text, uint64_t *value)
{
    uint64_t least, most;

    if (!cgx_parse_pair(text, ':', &least, &most) || least < row->least || most > row->most ||
        least > most)
        return false;
    *value = least << 16 | most;
    return true;
}

bool cgx_value_widths(const struct cgx_key *row, const char *text, uint64_t *value)
{
    return cgx_parse_choice(text, "auto", value) || parse_range(row, text, value);
}

bool cgx_value_width(const struct cgx_key *row, const char *text, uint64_t *value)
{
    if (!cgx_parse_choice(text, "exact", value))
        return cgx_value_integer(row, text, value);
    *value = CGX_BITS_EXACT;
    return true;
}

bool cgx_value_bits(const struct cgx_key *row, const char *text, uint64_t *value)
{
    if (!cgx_value_width(row, text, value))
        return parse_range(row, text, value);
    *value |= *value << 16;
    return true;
}

bool cgx_value_share(const struct cgx_key *row, const char *text, uint64_t *value)
{
    double number;

    if (!cgx_parse_nonnegative(text, &number) || number > (double)row->most)
        return false;
    memcpy(value, &number, sizeof number);
    return true;
}

bool cgx_value_positive(const struct cgx_key *row, const char *text, uint64_t *value)
{
    double number;

    (void)row;
    if (!cgx_parse_positive(text, &number))
        return false;
    memcpy(value, &number, sizeof number);
    return true;
}

bool cgx_value_reduction(const struct cgx_key *row, const char *text, uint64_t *value)
{
    if (!cgx_parse_choice(text, row->about.values, value))
        return false;
    if (*value == row->most)
        *value = row->least | CGX_SETTINGS_SIGN;
    return true;
}

bool cgx_value_topology(const struct cgx_key *row, const char *text, uint64_t *value)
{
    uint64_t nodes, ranks;

    if (cgx_parse_choice(text, "auto, flat", value)) /* CGX_TOPOLOGY_AUTO, CGX_TOPOLOGY_FLAT */
        return true;
    if (!cgx_parse_pair(text, 'x', &nodes, &ranks) || nodes < row->least || nodes > row->most ||
        ranks < row->least || ranks > row->most)
        return false;
    *value = nodes << 32 | ranks;
    return true;
}

bool cgx_value_content(const struct cgx_key *row, const char *text, uint64_t *value)
{
    uint32_t hash = 0;

    if (!cgx_value_path(row, text, value) || (*text != '\0' && !cgx_hash_file(text, &hash)))
        return false;
    *value = hash;
    return true;
}

bool cgx_value_path(const struct cgx_key *row, const char *text, uint64_t *value)
{
    (void)row;
    *value = *text != '\0';
    return strlen(text) < CGX_SETTINGS_PATH_BYTES;
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the first bytes of a value are its field, be it bool or of 32 or 64 bits");

/* Sets the field of ROW from TEXT, but not the fields of its words. */
static bool read_value(const struct cgx_key *row, const char *text, void *fields)
{
    unsigned char *bytes = fields;
    uint64_t value = 0;
    uint32_t kind;

    if (*text == '\0' || !row->parse(row, text, &value))
        return false;
    if (row->kind != 0) {
        kind = (value & CGX_SETTINGS_SIGN) != 0;
        memcpy(bytes + row->kind, &kind, sizeof kind);
        value &= ~CGX_SETTINGS_SIGN;
    }
    memcpy(bytes + row->offset, &value, row->size);
    return true;
}

/* Reads one "KEY=VALUE". */
static bool read_word(const struct cgx_key *words, char *word, void *fields)
{
    char *value = strchr(word, '=');
    uint64_t index;

    if (!value)
        return false;
    *value++ = '\0';
    while (words->about.name && !cgx_parse_choice(word, words->about.name, &index))
        words++;
    return words->about.name && read_value(words, value, fields);
}

static bool read_words(const struct cgx_key *words, const char *text, void *fields)
{
    char word[WORD_BYTES];
    size_t length;

    for (;; text += length + 1) {
        length = strcspn(text, ",");
        if (!cut_word(text, length, word) || !read_word(words, word, fields))
            return false;
        if (text[length] == '\0')
            return true;
    }
}

bool cgx_key_read(const struct cgx_key *row, const char *text, void *fields)
{
    const struct cgx_key *words = row->words;
    bool has_words = words && strchr(text, '=');

    if (!read_value(row, has_words ? "1" : text, fields))
        return false;
    for (const struct cgx_key *word = words; word && word->about.name; word++)
        read_value(word, word->about.initial, fields);
    return !has_words || read_words(words, text, fields);
}
