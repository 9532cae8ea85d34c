/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/rules/override.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/step/recurrence.h"
#include "util/hash.h"
#include "util/parse.h"
#include "util/settings.h"

/* ---- words ---- */

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
    if (*token == '\0') /* the character at AT ends words */
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

/* ---- values ---- */

#define FIELD(member)                                \
    .offset = offsetof(struct cgx_override, member), \
    .size = sizeof(((struct cgx_override *)NULL)->member)
#define ABOUT(key, allowed) .about = {.name = (key), .values = (allowed)}

/* A word of a list stands for its value in the enums of override.h; these count from 1. */
const struct cgx_key cgx_action_keys[CGX_HINTS] = {
    {ABOUT("cgx_enable", "1, 0, true, false"), cgx_value_choice, 1, 2, FIELD(enable)},
    {ABOUT("cgx_bits", "1-8, exact"), cgx_value_bits, 1, 8, FIELD(bits)},
    {ABOUT("cgx_codec", CGX_CODECS), cgx_value_codec, 1, FIELD(codec)},
    {ABOUT("cgx_layers", "SIZE[:BITS],... with SIZE at least 1, BITS 1-8, exact"), NULL, 1, 8,
     FIELD(layers)},
    {ABOUT("cgx_recurs", "always, never"), cgx_value_choice, 1, FIELD(recurs)},
    {ABOUT("cgx_consensus", "on, off"), cgx_value_choice, 1, FIELD(consensus)},
    {ABOUT("cgx_step", "1-4096 calls"), cgx_value_integer, 1, CGX_STEP_LONGEST, FIELD(step)},
    {ABOUT("cgx_op", "float16, bfloat16"), cgx_value_choice, CGX_FLOAT16, FIELD(op)},
};

static bool read_layer(struct cgx_scan *scan, const struct cgx_key *key,
                       struct cgx_layer_size *layer)
{
    const char *at = scan->at;
    char token[CGX_TOKEN_BYTES];
    uint64_t bits = 0;
    char *colon;
    bool good = true;

    cgx_scan_token(scan, ",;", token);
    colon = strchr(token, ':');
    if (colon) {
        *colon = '\0';
        good = cgx_value_width(key, colon + 1, &bits);
    }
    layer->bits = (unsigned)bits;
    if (good && cgx_parse_unsigned(token, &layer->count) && layer->count > 0)
        return true;
    return cgx_scan_refuse(scan, at, key->about.values);
}

static struct cgx_layer_list *make_list(const struct cgx_scan *scan)
{
    struct cgx_layer_list *list;
    size_t most = 1;

    for (const char *at = scan->at; at < scan->end && *at != ';' && *at != '#'; at++)
        most += *at == ',';
    return calloc(1, sizeof *list + most * sizeof list->layers[0]);
}

static bool read_list(struct cgx_scan *scan, const struct cgx_key *key, struct cgx_layer_list *list)
{
    struct cgx_layer_size *layer;

    for (;; scan->at++, cgx_scan_blanks(scan)) {
        const char *at = scan->at;

        layer = &list->layers[list->nlayers++];
        if (!read_layer(scan, key, layer))
            return false;
        if (__builtin_add_overflow(list->total, layer->count, &list->total))
            return cgx_scan_fail(scan, at, "the sizes add up to 2^64 or more");
        if (scan->at == scan->end || *scan->at != ',')
            return true;
    }
}

/* Appends a list of layers to LISTS, which the caller frees even if the list is refused. */
static bool read_layers(struct cgx_scan *scan, const struct cgx_key *key,
                        struct cgx_layer_list **lists)
{
    const char *at = scan->at;
    struct cgx_layer_list *list = make_list(scan), **last = lists;

    if (!list)
        return cgx_scan_fail(scan, at, "out of memory");
    while (*last)
        last = &(*last)->next;
    *last = list;
    if (!read_list(scan, key, list))
        return false;
    for (; *lists != list; lists = &(*lists)->next)
        if ((*lists)->total == list->total)
            return cgx_scan_fail(scan, at,
                                 "refused: two lists add up to the same number of elements");
    return true;
}

bool cgx_scan_value(struct cgx_scan *scan, const struct cgx_key *key, void *fields)
{
    const char *at = scan->at, *successor;
    char token[CGX_TOKEN_BYTES];

    if (!key->parse)
        return read_layers(scan, key, &((struct cgx_override *)fields)->layers);
    cgx_scan_token(scan, "", token);
    successor =
        key->parse == cgx_value_codec ? cgx_names_value("CGX_CODEC", token).successor : NULL;
    if (!cgx_key_read(key, successor ? successor : token, fields))
        return cgx_scan_refuse(scan, at, key->about.values);
    if (successor)
        ((struct cgx_override *)fields)->retired = "codec: retired value, uniform is used";
    else if (key->parse == cgx_value_bits && strchr(token, ':'))
        ((struct cgx_override *)fields)->retired =
            "bits: ranges are retired, the greatest width is used; bits follow the data by "
            "themselves, layer by layer";
    return true;
}

struct cgx_override cgx_override_for(const struct cgx_override *says, uint64_t count)
{
    struct cgx_override override = *says;

    while (override.layers && override.layers->total != count)
        override.layers = override.layers->next;
    return override;
}

void cgx_override_clear(struct cgx_override *says)
{
    struct cgx_layer_list *list;

    while ((list = says->layers) != NULL) {
        says->layers = list->next;
        free(list);
    }
}

/* ---- hints ---- */

static void copy_field(struct cgx_override *to, const struct cgx_override *from,
                       const struct cgx_key *key)
{
    memcpy((unsigned char *)to + key->offset, (const unsigned char *)from + key->offset, key->size);
}

/* Reads a value that is not empty. Lists of layers are separated by semicolons. Hints have no
 * comments, so # is refused. */
static bool read_value(struct cgx_scan *scan, const struct cgx_key *key, struct cgx_override *says)
{
    bool listed = key == &cgx_action_keys[CGX_HINT_LAYERS];
    char allowed[96];

    for (;; scan->at++) {
        cgx_scan_blanks(scan);
        if (!cgx_scan_value(scan, key, says))
            return false;
        cgx_scan_blanks(scan);
        if (scan->at == scan->end)
            return true;
        if (!listed || *scan->at != ';')
            break;
    }
    snprintf(allowed, sizeof allowed, "one value of %s", key->about.values);
    return cgx_scan_refuse(scan, scan->at,
                           listed ? "a comma and a size, or a semicolon and a list" : allowed);
}

bool cgx_hints_parse(struct cgx_override *hints, const char *const values[CGX_HINTS],
                     struct cgx_rules_error *error)
{
    struct cgx_override now = {.bits = 0};

    for (size_t i = 0; i < CGX_HINTS; i++) {
        const struct cgx_key *key = &cgx_action_keys[i];
        struct cgx_scan scan;

        if (!values[i])
            continue;
        scan = (struct cgx_scan){.begin = values[i],
                                 .end = values[i] + strlen(values[i]),
                                 .at = values[i],
                                 .key = key->about.name,
                                 .line = 1,
                                 .error = error};
        cgx_scan_blanks(&scan);
        if (scan.at < scan.end && !read_value(&scan, key, &now)) {
            cgx_override_clear(&now);
            return false;
        }
    }
    for (size_t i = 0; i < CGX_HINTS; i++)
        if (!values[i])
            copy_field(&now, hints, &cgx_action_keys[i]);
    if (!values[CGX_HINT_LAYERS])
        hints->layers = NULL;
    cgx_override_clear(hints);
    *hints = now;
    return true;
}

uint32_t cgx_hints_hash(const struct cgx_override *hints)
{
    uint64_t words[2];
    uint32_t hash;

    words[0] = (uint64_t)hints->op << 48 | (uint64_t)hints->enable << 32 | hints->bits;
    words[1] = (uint64_t)hints->codec << 48 | (uint64_t)hints->recurs << 32 |
               (uint64_t)hints->consensus << 16 | hints->step;
    if (words[0] == 0 && words[1] == 0 && !hints->layers)
        return 0;
    hash = cgx_hash(CGX_HASH_START, words, sizeof words);
    for (const struct cgx_layer_list *list = hints->layers; list; list = list->next) {
        hash = cgx_hash(hash, &list->total, sizeof list->total);
        for (size_t j = 0; j < list->nlayers; j++) {
            hash = cgx_hash(hash, &list->layers[j].count, sizeof list->layers[j].count);
            hash = cgx_hash(hash, &list->layers[j].bits, sizeof list->layers[j].bits);
        }
    }
    return hash == 0 ? 1 : hash;
}

/* Sets what FROM sets and TO does not. */
static void fill_unset(struct cgx_override *to, const struct cgx_override *from)
{
    static const unsigned char unset[sizeof(struct cgx_override)];

    for (size_t i = 0; i < CGX_HINTS; i++) {
        const struct cgx_key *key = &cgx_action_keys[i];

        if (memcmp((unsigned char *)to + key->offset, unset, key->size) == 0)
            copy_field(to, from, key);
    }
}

struct cgx_override cgx_override_merge(const struct cgx_override *hints,
                                       const struct cgx_override *set, uint64_t count)
{
    const struct cgx_override hinted = cgx_override_for(hints, count);
    struct cgx_override override = *set;

    fill_unset(&override, &hinted);
    /* A program that switches compression off knows that its data must not change, so rules cannot
     * switch compression on. */
    if (override.bits == CGX_BITS_EXACT || override.recurs == CGX_RECURS_NEVER ||
        hints->enable == CGX_SWITCH_OFF)
        override = (struct cgx_override){
            .bits = CGX_BITS_EXACT,
            .recurs = override.recurs == CGX_RECURS_NEVER ? CGX_RECURS_NEVER : CGX_RECURS_FOUND,
            .rule = override.rule};
    return override;
}
