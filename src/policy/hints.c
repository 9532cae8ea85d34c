/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/rules.h"
#include "policy/say_parse.h"
#include "util/hash.h"
#include "util/parse.h"

/* An empty value takes back what its key said. */
struct cgx_hints {
    enum { NOT_SAID, ON, OFF } enable;
    unsigned least, most; /* CGX_BITS_EXACT, or 0: not said */
    size_t nlists;
    struct cgx_layer_list **lists; /* no two have the same total */
};

/* ---- values ---- */

static struct cgx_scan begin(const char *key, const char *value, struct cgx_rules_error *error)
{
    struct cgx_scan scan = {.begin = value,
                            .end = value + strlen(value),
                            .at = value,
                            .key = key,
                            .line = 1,
                            .error = error};

    cgx_scan_blanks(&scan);
    return scan;
}

/* A # begins no comment here, so it is refused like anything else. */
static bool finish(struct cgx_scan *scan, const char *allowed)
{
    cgx_scan_blanks(scan);
    return scan->at == scan->end || cgx_scan_refuse(scan, scan->at, allowed);
}

static bool read_enable(struct cgx_hints *hints, const char *value, struct cgx_rules_error *error)
{
    static const char allowed[] = "0, 1, false, true";
    struct cgx_scan scan = begin("cgx_enable", value, error);
    const char *at = scan.at;
    char token[CGX_TOKEN_BYTES];
    uint64_t index;

    if (scan.at == scan.end)
        return true;
    cgx_scan_token(&scan, "", token);
    if (!cgx_parse_choice(token, allowed, &index))
        return cgx_scan_refuse(&scan, at, allowed);
    hints->enable = index % 2 == 0 ? OFF : ON;
    return finish(&scan, "one of 0, 1, false, true");
}

static bool read_bits(struct cgx_hints *hints, const char *value, struct cgx_rules_error *error)
{
    struct cgx_scan scan = begin("cgx_bits", value, error);

    if (scan.at == scan.end)
        return true;
    return cgx_scan_widths(&scan, &hints->least, &hints->most) && finish(&scan, "one value");
}

static struct cgx_layer_list *find_list(const struct cgx_hints *hints, uint64_t total)
{
    for (size_t i = 0; i < hints->nlists; i++)
        if (hints->lists[i]->total == total)
            return hints->lists[i];
    return NULL;
}

/* Reads one list and adds it to HINTS. */
static bool read_list(struct cgx_hints *hints, struct cgx_scan *scan)
{
    const char *at = scan->at;
    struct cgx_layer_list *list, **larger;

    if (!cgx_scan_layers(scan, &list))
        return false;
    if (find_list(hints, list->total) != NULL) {
        free(list);
        return cgx_scan_fail(scan, at, "refused: two lists add up to the same number of elements");
    }
    larger = realloc(hints->lists, (hints->nlists + 1) * sizeof(*larger));
    if (larger == NULL) {
        free(list);
        return cgx_scan_fail(scan, at, "out of memory");
    }
    hints->lists = larger;
    hints->lists[hints->nlists++] = list;
    return true;
}

static bool read_layers(struct cgx_hints *hints, const char *value, struct cgx_rules_error *error)
{
    struct cgx_scan scan = begin("cgx_layers", value, error);

    if (scan.at == scan.end)
        return true;
    for (;;) {
        if (!read_list(hints, &scan))
            return false;
        cgx_scan_blanks(&scan);
        if (scan.at == scan.end || *scan.at != ';')
            return finish(&scan, "a comma and a size, or a semicolon and a list");
        scan.at++;
        cgx_scan_blanks(&scan);
    }
}

/* ---- hints ---- */

/* Moves from OLD what was said before under keys that are not there now. */
static void take_over(struct cgx_hints *hints, struct cgx_hints *old, bool enable, bool bits,
                      bool layers)
{
    if (enable)
        hints->enable = old->enable;
    if (bits) {
        hints->least = old->least;
        hints->most = old->most;
    }
    if (layers) {
        hints->nlists = old->nlists;
        hints->lists = old->lists;
        old->nlists = 0;
        old->lists = NULL;
    }
}

struct cgx_hints *cgx_hints_parse(struct cgx_hints *hints, const char *enable, const char *bits,
                                  const char *layers, struct cgx_rules_error *error)
{
    struct cgx_hints *said = calloc(1, sizeof *said);

    if (said == NULL) {
        *error = (struct cgx_rules_error){1, 1, "cgx hints: out of memory"};
        return NULL;
    }
    if ((enable != NULL && !read_enable(said, enable, error)) ||
        (bits != NULL && !read_bits(said, bits, error)) ||
        (layers != NULL && !read_layers(said, layers, error))) {
        cgx_hints_free(said);
        return NULL;
    }
    if (hints != NULL)
        take_over(said, hints, enable == NULL, bits == NULL, layers == NULL);
    cgx_hints_free(hints);
    return said;
}

void cgx_hints_free(struct cgx_hints *hints)
{
    if (hints == NULL)
        return;
    for (size_t i = 0; i < hints->nlists; i++)
        free(hints->lists[i]);
    free(hints->lists);
    free(hints);
}

uint32_t cgx_hints_hash(const struct cgx_hints *hints)
{
    uint32_t hash = CGX_HASH_START;
    uint64_t word;

    if (hints == NULL || (hints->enable == NOT_SAID && hints->least == 0 && hints->nlists == 0))
        return 0;
    word = (uint64_t)hints->enable << 32 | hints->least << 16 | hints->most;
    hash = cgx_hash(hash, &word, sizeof word);
    for (size_t i = 0; i < hints->nlists; i++) {
        const struct cgx_layer_list *list = hints->lists[i];

        hash = cgx_hash(hash, &list->total, sizeof list->total);
        for (size_t j = 0; j < list->nlayers; j++) {
            hash = cgx_hash(hash, &list->layers[j].count, sizeof list->layers[j].count);
            hash = cgx_hash(hash, &list->layers[j].bits, sizeof list->layers[j].bits);
        }
    }
    return hash == 0 ? 1 : hash;
}

bool cgx_hints_enable(const struct cgx_hints *hints)
{
    return hints == NULL || hints->enable != OFF;
}

struct cgx_say cgx_say(const struct cgx_hints *hints, const struct cgx_rules *rules,
                       const struct cgx_rules_call *call)
{
    struct cgx_say say = cgx_rules_say(rules, call);

    if (hints != NULL && !say.exact) {
        if (say.least == 0 && hints->least == CGX_BITS_EXACT) {
            say.exact = true;
        } else if (say.least == 0) {
            say.least = hints->least;
            say.most = hints->most;
        }
        if (say.layers == NULL)
            say.layers = find_list(hints, call->count);
    }
    /* A program that switches compression off knows that its data must not change. */
    if (!cgx_hints_enable(hints))
        say.exact = true;
    if (say.exact) {
        say.least = say.most = 0;
        say.layers = NULL;
    }
    return say;
}
