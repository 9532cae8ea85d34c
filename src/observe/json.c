/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "observe/json.h"

#include <inttypes.h>
#include <math.h>

static void begin_value(struct cgx_json *json, const char *name)
{
    if (json->more)
        fputs(json->line ? "," : ", ", json->out);
    if (json->line)
        fprintf(json->out, "\n%*s", 2 * json->depth, "");
    json->more = true;
    json->line = false;
    if (name)
        fprintf(json->out, "\"%s\": ", name);
}

void cgx_json_open(struct cgx_json *json, const char *name, char bracket)
{
    begin_value(json, name);
    fputc(bracket, json->out);
    json->depth++;
    json->more = false;
}

void cgx_json_begin(struct cgx_json *json, const char *name, char bracket)
{
    json->line = true;
    cgx_json_open(json, name, bracket);
}

void cgx_json_close(struct cgx_json *json, char bracket)
{
    fputc(bracket, json->out);
    json->depth--;
    json->more = true;
    json->line = true;
}

void cgx_json_count(struct cgx_json *json, const char *name, uint64_t value)
{
    begin_value(json, name);
    fprintf(json->out, "%" PRIu64, value);
}

void cgx_json_bool(struct cgx_json *json, const char *name, bool value)
{
    begin_value(json, name);
    fputs(value ? "true" : "false", json->out);
}

void cgx_json_number(struct cgx_json *json, const char *name, double value)
{
    begin_value(json, name);
    if (isfinite(value))
        fprintf(json->out, "%.9g", value);
    else
        fputs("null", json->out);
}

/* The length of the UTF-8 sequence at TEXT; 0: it is invalid. */
static size_t sequence_length(const unsigned char *text)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = text[0];
    size_t bytes = lead < 0x80             ? 1
                   : (lead & 0xE0) == 0xC0 ? 2
                   : (lead & 0xF0) == 0xE0 ? 3
                   : (lead & 0xF8) == 0xF0 ? 4
                                           : 0;
    uint32_t point = lead & (0x7Fu >> bytes);

    if (bytes <= 1)
        return bytes;
    for (size_t i = 1; i < bytes; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 0;
        point = point << 6 | (text[i] & 0x3F);
    }
    if (point < least[bytes] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF))
        return 0;
    return bytes;
}

void cgx_json_string(struct cgx_json *json, const char *name, const char *value)
{
    const unsigned char *text = (const unsigned char *)value;
    size_t bytes;

    begin_value(json, name);
    if (!value) {
        fputs("null", json->out);
        return;
    }
    fputc('"', json->out);
    for (; *text != '\0'; text += bytes ? bytes : 1) {
        bytes = sequence_length(text);
        if (*text == '"' || *text == '\\')
            fprintf(json->out, "\\%c", *text);
        else if (bytes == 0 || *text < 0x20 || *text == 0x7F)
            fprintf(json->out, "\\u%04x", *text);
        else
            fwrite(text, 1, bytes, json->out);
    }
    fputc('"', json->out);
}
