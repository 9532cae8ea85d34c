/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "policy/override_parse.h"
#include "policy/rules.h"
#include "util/hash.h"

struct cgx_hints {
    struct cgx_actions said;
};

/* ---- values ---- */

/* A # begins no comment here, so it is refused like anything else. */
static bool finish(struct cgx_scan *scan, const char *allowed)
{
    cgx_scan_blanks(scan);
    return scan->at == scan->end || cgx_scan_refuse(scan, scan->at, allowed);
}

static bool read_enable(struct cgx_scan *scan, struct cgx_actions *actions)
{
    uint64_t index;

    if (!cgx_scan_choice(scan, "0, 1, false, true", &index))
        return false;
    actions->enable = index % 2 == 0 ? CGX_SAID_OFF : CGX_SAID_ON;
    return true;
}

/* Lists, with semicolons between them. */
static bool read_layers(struct cgx_scan *scan, struct cgx_actions *actions)
{
    while (cgx_scan_layers(scan, actions)) {
        cgx_scan_blanks(scan);
        if (scan->at == scan->end || *scan->at != ';')
            return true;
        scan->at++;
        cgx_scan_blanks(scan);
    }
    return false;
}

/* ---- hints ---- */

#define FIELD(member) \
    offsetof(struct cgx_actions, member), sizeof(((struct cgx_actions *)NULL)->member)

/* In the order of enum cgx_hint. */
static const struct {
    const char *key;
    cgx_scan_action *read; /* a value that is not empty */
    const char *allowed;   /* for messages where something is behind it */
    size_t offset, size;   /* of the field that it sets */
} keys[CGX_HINTS] = {
    {"cgx_enable", read_enable, "one of 0, 1, false, true", FIELD(enable)},
    {"cgx_bits", cgx_scan_bits, "one value", FIELD(bits)},
    {"cgx_codec", cgx_scan_codec, "one value", FIELD(codec)},
    {"cgx_layers", read_layers, "a comma and a size, or a semicolon and a list", FIELD(layers)},
    {"cgx_recurs", cgx_scan_recurs, "one value", FIELD(recurs)},
    {"cgx_consensus", cgx_scan_consensus, "one value", FIELD(consensus)},
    {"cgx_step", cgx_scan_step, "one value", FIELD(step)},
};

/* Hands what OLD says under KEY over to NOW. */
static void keep(struct cgx_hints *now, struct cgx_hints *old, enum cgx_hint key)
{
    unsigned char *field = (unsigned char *)&old->said + keys[key].offset;

    memcpy((unsigned char *)&now->said + keys[key].offset, field, keys[key].size);
    memset(field, 0, keys[key].size);
}

const char *cgx_hint_key(enum cgx_hint hint)
{
    return keys[hint].key;
}

struct cgx_hints *cgx_hints_parse(struct cgx_hints *hints, const char *const values[CGX_HINTS],
                                  struct cgx_rules_error *error)
{
    struct cgx_hints *now = calloc(1, sizeof *now);

    if (!now) {
        *error = (struct cgx_rules_error){1, 1, "cgx hints: out of memory"};
        return NULL;
    }
    for (size_t i = 0; i < CGX_HINTS; i++) {
        struct cgx_scan scan;

        if (!values[i])
            continue;
        scan = (struct cgx_scan){.begin = values[i],
                                 .end = values[i] + strlen(values[i]),
                                 .at = values[i],
                                 .key = keys[i].key,
                                 .line = 1,
                                 .error = error};
        cgx_scan_blanks(&scan);
        if (scan.at < scan.end &&
            (!keys[i].read(&scan, &now->said) || !finish(&scan, keys[i].allowed))) {
            cgx_hints_free(now);
            return NULL;
        }
    }
    for (size_t i = 0; hints && i < CGX_HINTS; i++)
        if (!values[i])
            keep(now, hints, (enum cgx_hint)i);
    cgx_hints_free(hints);
    return now;
}

void cgx_hints_free(struct cgx_hints *hints)
{
    if (!hints)
        return;
    cgx_actions_clear(&hints->said);
    free(hints);
}

uint32_t cgx_hints_hash(const struct cgx_hints *hints)
{
    uint32_t hash = CGX_HASH_START;
    const struct cgx_actions *said;
    uint64_t words[2];

    if (!hints)
        return 0;
    said = &hints->said;
    words[0] = (uint64_t)said->enable << 32 | said->bits.least << 16 | said->bits.most;
    words[1] = (uint64_t)said->codec << 48 | (uint64_t)said->recurs << 32 |
               (uint64_t)said->consensus << 16 | said->step;
    if (words[0] == 0 && words[1] == 0 && !said->layers)
        return 0;
    hash = cgx_hash(hash, words, sizeof words);
    for (const struct cgx_layer_list *list = said->layers; list; list = list->next) {
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
    return !hints || hints->said.enable != CGX_SAID_OFF;
}

struct cgx_override cgx_override_merge(const struct cgx_hints *hints, const struct cgx_rules *rules,
                                       const struct cgx_rules_call *call)
{
    struct cgx_override override = cgx_rules_override(rules, call), hinted = {.exact = false};

    if (hints)
        hinted = cgx_actions_override(&hints->said, call->count);
    if (override.least == 0) {
        override.exact = override.exact || hinted.exact;
        override.least = hinted.least;
        override.most = hinted.most;
    }
    if (!override.layers)
        override.layers = hinted.layers;
    if (override.recurs == CGX_RECURS_FOUND)
        override.recurs = hinted.recurs;
    if (override.codec == CGX_CODEC_AS_SET)
        override.codec = hinted.codec;
    if (override.consensus == CGX_SAID_NOTHING)
        override.consensus = hinted.consensus;
    /* A program that switches compression off knows that its data must not change. */
    if (override.exact || override.recurs == CGX_RECURS_NEVER || !cgx_hints_enable(hints))
        override = (struct cgx_override){
            .exact = true,
            .recurs = override.recurs == CGX_RECURS_NEVER ? CGX_RECURS_NEVER : CGX_RECURS_FOUND,
            .rule = override.rule};
    return override;
}

size_t cgx_override_step(const struct cgx_hints *hints, const struct cgx_rules *rules,
                         const char *communicator)
{
    size_t calls = cgx_rules_step(rules, communicator);

    return calls > 0 || !hints ? calls : hints->said.step;
}
