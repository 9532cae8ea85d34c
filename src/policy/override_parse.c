/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/override_parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/recurrence.h"
#include "util/parse.h"

static bool is_blank(char character)
{
    return character == ' ' || character == '\t';
}

bool cgx_scan_fail(struct cgx_scan *scan, const char *at, const char *format, ...)
{
    struct cgx_rules_error *error = scan->error;
    int used = 0;
    va_list arguments;

    error->line = scan->line;
    error->column = (unsigned)(at - scan->begin) + 1;
    if (scan->key)
        used = snprintf(error->message, sizeof error->message, "%s: ", scan->key);
    va_start(arguments, format);
    vsnprintf(error->message + used, sizeof error->message - (size_t)used, format, arguments);
    va_end(arguments);
    return false;
}

bool cgx_scan_refuse(struct cgx_scan *scan, const char *at, const char *allowed)
{
    struct cgx_scan rest = *scan;
    char token[CGX_TOKEN_BYTES];

    rest.at = at;
    if (at == scan->end || is_blank(*at))
        return cgx_scan_fail(scan, at, "something is missing here: allowed: %s", allowed);
    cgx_scan_token(&rest, "", token);
    if (*token == '\0') /* it ends words */
        snprintf(token, sizeof token, "%.*s", cgx_scan_arrow(&rest) ? 2 : 1, at);
    return cgx_scan_fail(scan, at, "\"%s\" refused: allowed: %s", token, allowed);
}

void cgx_scan_blanks(struct cgx_scan *scan)
{
    while (scan->at < scan->end && is_blank(*scan->at))
        scan->at++;
}

bool cgx_scan_over(const struct cgx_scan *scan)
{
    return scan->at == scan->end || *scan->at == '#';
}

bool cgx_scan_arrow(const struct cgx_scan *scan)
{
    return scan->end - scan->at >= 2 && memcmp(scan->at, "->", 2) == 0;
}

bool cgx_scan_ends(const struct cgx_scan *scan)
{
    return cgx_scan_over(scan) || is_blank(*scan->at) || cgx_scan_arrow(scan);
}

void cgx_scan_token(struct cgx_scan *scan, const char *stops, char token[CGX_TOKEN_BYTES])
{
    static const char cut[] = "...";
    size_t length = 0;

    for (; !cgx_scan_ends(scan) && *scan->at != '"'; scan->at++) {
        unsigned char byte = (unsigned char)*scan->at;
        bool control = byte < ' ' || byte == 0x7F;

        if (!control && strchr(stops, byte))
            break;
        if (length < CGX_TOKEN_BYTES - 1)
            token[length] = (char)(control ? '?' : byte);
        length++;
    }
    if (length < CGX_TOKEN_BYTES)
        token[length] = '\0';
    else
        strcpy(token + CGX_TOKEN_BYTES - sizeof cut, cut);
}

static bool parse_width(const char *text, unsigned *bits)
{
    uint64_t number;

    if (cgx_parse_choice(text, "exact", &number)) {
        *bits = CGX_BITS_EXACT;
        return true;
    }
    if (!cgx_parse_unsigned(text, &number) || number < 1 || number > 8)
        return false;
    *bits = (unsigned)number;
    return true;
}

bool cgx_scan_bits(struct cgx_scan *scan, struct cgx_actions *actions)
{
    const char *at = scan->at;
    char token[CGX_TOKEN_BYTES];
    uint64_t least, most;
    unsigned bits;

    cgx_scan_token(scan, "", token);
    if (parse_width(token, &bits))
        least = most = bits;
    else if (!cgx_parse_pair(token, ':', &least, &most) || least < 1 || most > 8 || least > most)
        return cgx_scan_refuse(scan, at, "1-8, MIN:MAX with both 1-8, exact");
    actions->bits = (struct cgx_widths){(unsigned)least, (unsigned)most};
    return true;
}

static bool read_layer(struct cgx_scan *scan, struct cgx_layer_size *layer)
{
    const char *at = scan->at;
    char token[CGX_TOKEN_BYTES];
    char *colon;
    bool good = true;

    cgx_scan_token(scan, ",;", token);
    colon = strchr(token, ':');
    *layer = (struct cgx_layer_size){.bits = 0};
    if (colon) {
        *colon = '\0';
        good = parse_width(colon + 1, &layer->bits);
    }
    if (good && cgx_parse_unsigned(token, &layer->count) && layer->count > 0)
        return true;
    return cgx_scan_refuse(scan, at, "SIZE[:BITS],... with SIZE at least 1, BITS 1-8, exact");
}

/* Makes place in *LIST, NULL at first, for one more layer. */
static bool make_place(struct cgx_layer_list **list)
{
    size_t n = *list ? (*list)->nlayers : 0;
    struct cgx_layer_list *larger;

    if ((n & (n - 1)) != 0) /* places are doubled at powers of two */
        return true;
    larger = realloc(*list, sizeof *larger + (n == 0 ? 1 : 2 * n) * sizeof larger->layers[0]);
    if (!larger)
        return false;
    if (n == 0)
        *larger = (struct cgx_layer_list){.total = 0};
    *list = larger;
    return true;
}

static bool add_list(struct cgx_scan *scan, const char *at, struct cgx_layer_list **lists,
                     struct cgx_layer_list *list)
{
    for (; *lists; lists = &(*lists)->next)
        if ((*lists)->total == list->total)
            return cgx_scan_fail(scan, at,
                                 "refused: two lists add up to the same number of elements");
    *lists = list;
    return true;
}

bool cgx_scan_layers(struct cgx_scan *scan, struct cgx_actions *actions)
{
    const char *first = scan->at, *at;
    struct cgx_layer_list *list = NULL;
    struct cgx_layer_size layer;

    for (;;) {
        at = scan->at;
        if (!read_layer(scan, &layer))
            break;
        if (!make_place(&list)) {
            cgx_scan_fail(scan, at, "out of memory");
            break;
        }
        if (__builtin_add_overflow(list->total, layer.count, &list->total)) {
            cgx_scan_fail(scan, at, "the sizes add up to 2^64 or more");
            break;
        }
        list->layers[list->nlayers++] = layer;
        if (scan->at == scan->end || *scan->at != ',') {
            if (!add_list(scan, first, &actions->layers, list))
                break;
            return true;
        }
        scan->at++;
        cgx_scan_blanks(scan);
    }
    free(list);
    return false;
}

bool cgx_scan_choice(struct cgx_scan *scan, const char *list, uint64_t *index)
{
    const char *at = scan->at;
    char token[CGX_TOKEN_BYTES];

    cgx_scan_token(scan, "", token);
    return cgx_parse_choice(token, list, index) || cgx_scan_refuse(scan, at, list);
}

bool cgx_scan_recurs(struct cgx_scan *scan, struct cgx_actions *actions)
{
    uint64_t index;

    if (!cgx_scan_choice(scan, "always, never", &index))
        return false;
    actions->recurs = index == 0 ? CGX_RECURS_ALWAYS : CGX_RECURS_NEVER;
    return true;
}

bool cgx_scan_consensus(struct cgx_scan *scan, struct cgx_actions *actions)
{
    uint64_t index;

    if (!cgx_scan_choice(scan, "off, on", &index))
        return false;
    actions->consensus = index == 0 ? CGX_SAID_OFF : CGX_SAID_ON;
    return true;
}

bool cgx_scan_codec(struct cgx_scan *scan, struct cgx_actions *actions)
{
    static const enum cgx_said_codec codecs[] = {CGX_CODEC_MAXMIN, CGX_CODEC_ROTATED,
                                                 CGX_CODEC_AUTO};
    uint64_t index;

    if (!cgx_scan_choice(scan, "maxmin, rotated, auto", &index))
        return false;
    actions->codec = codecs[index];
    return true;
}

bool cgx_scan_step(struct cgx_scan *scan, struct cgx_actions *actions)
{
    const char *at = scan->at;
    char token[CGX_TOKEN_BYTES];
    uint64_t number;

    cgx_scan_token(scan, "", token);
    if (!cgx_parse_unsigned(token, &number) || number < 1 || number > CGX_STEP_LONGEST)
        return cgx_scan_refuse(scan, at, "1-4096 calls"); /* CGX_STEP_LONGEST */
    actions->step = (size_t)number;
    return true;
}

struct cgx_override cgx_actions_override(const struct cgx_actions *actions, uint64_t count)
{
    struct cgx_override override = {.recurs = actions->recurs,
                                    .consensus = actions->consensus,
                                    .exact = actions->bits.least == CGX_BITS_EXACT,
                                    .codec = actions->codec,
                                    .layers = actions->layers};

    if (!override.exact) {
        override.least = actions->bits.least;
        override.most = actions->bits.most;
    }
    while (override.layers && override.layers->total != count)
        override.layers = override.layers->next;
    return override;
}

void cgx_actions_clear(struct cgx_actions *actions)
{
    struct cgx_layer_list *list;

    while ((list = actions->layers) != NULL) {
        actions->layers = list->next;
        free(list);
    }
}
