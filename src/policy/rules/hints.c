/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>
#include <string.h>

#include "policy/rules/override_parse.h"
#include "policy/rules/rules.h"
#include "util/hash.h"

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

static void keep_value(struct cgx_override *now, struct cgx_override *old,
                       const struct cgx_key *key)
{
    unsigned char *field = (unsigned char *)old + key->offset;

    memcpy((unsigned char *)now + key->offset, field, key->size);
    memset(field, 0, key->size);
}

const char *cgx_hint_key(enum cgx_hint hint)
{
    return cgx_action_keys[hint].about.name;
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
            keep_value(&now, hints, &cgx_action_keys[i]);
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

struct cgx_override cgx_override_merge(const struct cgx_override *hints,
                                       const struct cgx_rules *rules,
                                       const struct cgx_rules_call *call)
{
    const struct cgx_override hinted = cgx_override_for(hints, call->count);
    struct cgx_override override = cgx_rules_override(rules, call);

    if (override.bits == 0)
        override.bits = hinted.bits;
    if (!override.layers)
        override.layers = hinted.layers;
    if (override.recurs == CGX_RECURS_FOUND)
        override.recurs = hinted.recurs;
    if (override.codec == CGX_CODEC_AS_SET)
        override.codec = hinted.codec;
    if (override.op == CGX_FLOAT32)
        override.op = hinted.op;
    if (override.consensus == CGX_SWITCH_UNSET)
        override.consensus = hinted.consensus;
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

size_t cgx_override_step(const struct cgx_override *hints, const struct cgx_rules *rules,
                         const char *communicator)
{
    size_t calls = cgx_rules_step(rules, communicator);

    return calls > 0 ? calls : hints->step;
}
