/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/override_parse.h"
#include "policy/rules.h"
#include "util/hash.h"
#include "util/parse.h"

/* An empty value takes back what its key said. */
struct cgx_hints {
    enum cgx_said enable;
    unsigned least, most; /* CGX_BITS_EXACT, or 0: not said */
    size_t nlists;
    struct cgx_layer_list **lists; /* no two have the same total */
    enum cgx_recurs recurs;
    enum cgx_said consensus;
    size_t step; /* 0: not said */
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

static bool read_enable(struct cgx_hints *hints, struct cgx_scan *scan)
{
    static const char allowed[] = "0, 1, false, true";
    const char *at = scan->at;
    char token[CGX_TOKEN_BYTES];
    uint64_t index;

    cgx_scan_token(scan, "", token);
    if (!cgx_parse_choice(token, allowed, &index))
        return cgx_scan_refuse(scan, at, allowed);
    hints->enable = index % 2 == 0 ? CGX_SAID_OFF : CGX_SAID_ON;
    return finish(scan, "one of 0, 1, false, true");
}

static bool read_bits(struct cgx_hints *hints, struct cgx_scan *scan)
{
    return cgx_scan_widths(scan, &hints->least, &hints->most) && finish(scan, "one value");
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

static bool read_layers(struct cgx_hints *hints, struct cgx_scan *scan)
{
    for (;;) {
        if (!read_list(hints, scan))
            return false;
        cgx_scan_blanks(scan);
        if (scan->at == scan->end || *scan->at != ';')
            return finish(scan, "a comma and a size, or a semicolon and a list");
        scan->at++;
        cgx_scan_blanks(scan);
    }
}

static bool read_recurs(struct cgx_hints *hints, struct cgx_scan *scan)
{
    return cgx_scan_recurs(scan, &hints->recurs) && finish(scan, "one value");
}

static bool read_consensus(struct cgx_hints *hints, struct cgx_scan *scan)
{
    return cgx_scan_consensus(scan, &hints->consensus) && finish(scan, "one value");
}

static bool read_step(struct cgx_hints *hints, struct cgx_scan *scan)
{
    return cgx_scan_step(scan, &hints->step) && finish(scan, "one value");
}

/* ---- what was said before ---- */

static void keep_enable(struct cgx_hints *hints, struct cgx_hints *old)
{
    hints->enable = old->enable;
}

static void keep_bits(struct cgx_hints *hints, struct cgx_hints *old)
{
    hints->least = old->least;
    hints->most = old->most;
}

static void keep_layers(struct cgx_hints *hints, struct cgx_hints *old)
{
    hints->nlists = old->nlists;
    hints->lists = old->lists;
    old->nlists = 0;
    old->lists = NULL;
}

static void keep_recurs(struct cgx_hints *hints, struct cgx_hints *old)
{
    hints->recurs = old->recurs;
}

static void keep_consensus(struct cgx_hints *hints, struct cgx_hints *old)
{
    hints->consensus = old->consensus;
}

static void keep_step(struct cgx_hints *hints, struct cgx_hints *old)
{
    hints->step = old->step;
}

/* ---- hints ---- */

/* In the order of enum cgx_hint. READ finds a value that is not empty. */
static const struct {
    const char *key;
    bool (*read)(struct cgx_hints *hints, struct cgx_scan *scan);
    void (*keep)(struct cgx_hints *hints, struct cgx_hints *old);
} keys[CGX_HINTS] = {
    {"cgx_enable", read_enable, keep_enable},          {"cgx_bits", read_bits, keep_bits},
    {"cgx_layers", read_layers, keep_layers},          {"cgx_recurs", read_recurs, keep_recurs},
    {"cgx_consensus", read_consensus, keep_consensus}, {"cgx_step", read_step, keep_step},
};

const char *cgx_hint_key(enum cgx_hint hint)
{
    return keys[hint].key;
}

struct cgx_hints *cgx_hints_parse(struct cgx_hints *hints, const char *const values[CGX_HINTS],
                                  struct cgx_rules_error *error)
{
    struct cgx_hints *said = calloc(1, sizeof *said);

    if (said == NULL) {
        *error = (struct cgx_rules_error){1, 1, "cgx hints: out of memory"};
        return NULL;
    }
    for (size_t i = 0; i < CGX_HINTS; i++) {
        struct cgx_scan scan;

        if (values[i] == NULL)
            continue;
        scan = begin(keys[i].key, values[i], error);
        if (scan.at < scan.end && !keys[i].read(said, &scan)) {
            cgx_hints_free(said);
            return NULL;
        }
    }
    for (size_t i = 0; hints != NULL && i < CGX_HINTS; i++)
        if (values[i] == NULL)
            keys[i].keep(said, hints);
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
    uint64_t words[2];

    if (hints == NULL)
        return 0;
    words[0] = (uint64_t)hints->enable << 32 | hints->least << 16 | hints->most;
    words[1] = (uint64_t)hints->recurs << 32 | (uint64_t)hints->consensus << 16 | hints->step;
    if (words[0] == 0 && words[1] == 0 && hints->nlists == 0)
        return 0;
    hash = cgx_hash(hash, words, sizeof words);
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
    return hints == NULL || hints->enable != CGX_SAID_OFF;
}

struct cgx_override cgx_override_merge(const struct cgx_hints *hints, const struct cgx_rules *rules,
                                       const struct cgx_rules_call *call)
{
    struct cgx_override override = cgx_rules_override(rules, call);

    if (hints != NULL && !override.exact) {
        if (override.least == 0 && hints->least == CGX_BITS_EXACT) {
            override.exact = true;
        } else if (override.least == 0) {
            override.least = hints->least;
            override.most = hints->most;
        }
        if (override.layers == NULL)
            override.layers = find_list(hints, call->count);
    }
    if (hints != NULL && override.recurs == CGX_RECURS_FOUND)
        override.recurs = hints->recurs;
    if (hints != NULL && !override.guarded)
        override.unguarded = override.unguarded || hints->consensus == CGX_SAID_OFF;
    if (override.recurs == CGX_RECURS_NEVER)
        override.exact = true;
    /* A program that switches compression off knows that its data must not change. */
    if (!cgx_hints_enable(hints))
        override.exact = true;
    if (override.exact) {
        override.least = override.most = 0;
        override.layers = NULL;
        override.guarded = override.unguarded = false;
        if (override.recurs == CGX_RECURS_ALWAYS)
            override.recurs = CGX_RECURS_FOUND;
    }
    return override;
}

size_t cgx_override_step(const struct cgx_hints *hints, const struct cgx_rules *rules,
                         const char *communicator)
{
    size_t calls = cgx_rules_step(rules, communicator);

    return calls > 0 || hints == NULL ? calls : hints->step;
}
