/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "util/settings_values.h"

#include <stdlib.h>
#include <string.h>

#include "util/hash.h"
#include "util/output.h"
#include "util/parse.h"

bool cgx_value_integer(const struct cgx_key *row, const char *text, uint64_t *value)
{
    return cgx_parse_unsigned(text, value) && *value >= row->least && *value <= row->most;
}

bool cgx_value_elements(const struct cgx_key *row, const char *text, uint64_t *value)
{
    if (cgx_parse_choice(text, "auto", value)) {
        *value = row->most | CGX_MINIMAL_AUTO;
        return true;
    }
    if (!cgx_parse_unsigned(text, value))
        return false;
    if (*value < row->least)
        *value = row->least;
    if (*value > ~CGX_MINIMAL_AUTO) /* no call has more */
        *value = ~CGX_MINIMAL_AUTO;
    return true;
}

bool cgx_value_mebibytes(const struct cgx_key *row, const char *text, uint64_t *value)
{
    if (!cgx_value_integer(row, text, value))
        return false;
    *value <<= 20;
    return true;
}

bool cgx_value_codec(const struct cgx_key *row, const char *text, uint64_t *value)
{
    if (!cgx_parse_choice(text, row->about.values, value))
        return false;
    *value = row->least + (*value < 2 ? CGX_FAMILY_UNIFORM : CGX_FAMILY_MAXMIN);
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

bool cgx_value_width(const struct cgx_key *row, const char *text, uint64_t *value)
{
    if (!cgx_parse_choice(text, "exact", value))
        return cgx_value_integer(row, text, value);
    *value = CGX_BITS_EXACT;
    return true;
}

bool cgx_value_bits(const struct cgx_key *row, const char *text, uint64_t *value)
{
    uint64_t least;

    return cgx_value_width(row, text, value) ||
           (cgx_parse_pair(text, ':', &least, value) && least >= row->least && least <= *value &&
            *value <= row->most);
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
    size_t length;
    char *content = cgx_value_path(row, text, value) ? cgx_file_read(text, &length) : NULL;

    if (!content)
        return false;
    *value = cgx_hash(CGX_HASH_START, content, length);
    free(content);
    return true;
}

bool cgx_value_path(const struct cgx_key *row, const char *text, uint64_t *value)
{
    (void)row;
    *value = 1;
    return strlen(text) < CGX_SETTINGS_PATH_BYTES;
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the first bytes of a value are its field, be it bool or of 32 or 64 bits");

bool cgx_key_read(const struct cgx_key *row, const char *text, void *fields)
{
    uint64_t value = 0;

    if (*text == '\0' || !row->parse(row, text, &value))
        return false;
    memcpy((unsigned char *)fields + row->offset, &value, row->size);
    return true;
}
