/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/rule.h"

#include <stdlib.h>
#include <string.h>

#include "util/parse.h"

/* ---- conditions and actions ---- */

/* Of N, N-M and N-; at most LIMIT. */
static bool read_range(struct cgx_scan *scan, uint64_t limit, struct cgx_rule_range *range)
{
    const char *at = scan->at;
    char token[CGX_TOKEN_BYTES];
    size_t length;
    uint64_t first, last;
    bool good;

    cgx_scan_token(scan, "", token);
    length = strlen(token);
    if (length > 0 && token[length - 1] == '-') {
        token[length - 1] = '\0';
        last = limit;
        good = cgx_parse_unsigned(token, &first);
    } else {
        good = cgx_parse_unsigned(token, &first);
        last = first;
        good = good || cgx_parse_pair(token, '-', &first, &last);
    }
    if (!good || first > limit || last > limit)
        return cgx_scan_refuse(scan, at, "N, N-M or N- with numbers below 2^64");
    if (first > last)
        return cgx_scan_fail(scan, at, "\"%s\" refused: the range ends before it begins", token);
    *range = (struct cgx_rule_range){first, last};
    return true;
}

static bool read_count(struct cgx_scan *scan, struct cgx_rule *rule)
{
    return read_range(scan, UINT64_MAX, &rule->count);
}

/* The largest number stands for a position that is not known. */
static bool read_position(struct cgx_scan *scan, struct cgx_rule *rule)
{
    return read_range(scan, UINT64_MAX - 1, &rule->position);
}

static bool read_type(struct cgx_scan *scan, struct cgx_rule *rule)
{
    uint64_t index;

    /* as in enum cgx_dtype */
    if (!cgx_scan_choice(scan, "float32, float16, bfloat16", &index))
        return false;
    rule->dtype = (int)index;
    return true;
}

static bool read_communicator(struct cgx_scan *scan, struct cgx_rule *rule)
{
    bool quoted = scan->at < scan->end && *scan->at == '"';
    const char *at = scan->at, *name;

    scan->at += quoted;
    for (name = scan->at; scan->at < scan->end; scan->at++) {
        if (*scan->at == '"' || (!quoted && cgx_scan_ends(scan)))
            break;
        if ((unsigned char)*scan->at < ' ' || *scan->at == 0x7F)
            return cgx_scan_fail(scan, scan->at, "a name has no control characters");
    }
    if (quoted && scan->at == scan->end)
        return cgx_scan_fail(scan, at, "the closing double quote is missing");
    if (!quoted && scan->at == name)
        return cgx_scan_refuse(scan, at, "a name, in double quotes if it has blanks or is empty");
    rule->communicator = strndup(name, (size_t)(scan->at - name));
    scan->at += quoted;
    return rule->communicator || cgx_scan_fail(scan, at, "out of memory");
}

static bool read_exact(struct cgx_scan *scan, struct cgx_actions *actions)
{
    (void)scan;
    actions->bits = (struct cgx_widths){CGX_BITS_EXACT, CGX_BITS_EXACT};
    return true;
}

/* ---- lines ---- */

enum { COUNT, POSITION, TYPE, COMM, EXACT, BITS, CODEC, LAYERS, RECURS, CONSENSUS, STEP, WORDS };

/* Sets of words. */
#define SET(word) (1u << (word))
#define OF_CALLS (SET(EXACT) | SET(BITS) | SET(CODEC) | SET(LAYERS) | SET(RECURS) | SET(CONSENSUS))

static const struct word {
    const char *name;
    bool (*condition)(struct cgx_scan *scan, struct cgx_rule *rule);
    cgx_scan_action *action; /* NULL: it is a condition */
} words[WORDS] = {
    [COUNT] = {"count", .condition = read_count},
    [POSITION] = {"position", .condition = read_position},
    [TYPE] = {"type", .condition = read_type},
    [COMM] = {"comm", .condition = read_communicator},
    [EXACT] = {"exact", .action = read_exact},
    [BITS] = {"bits", .action = cgx_scan_bits},
    [CODEC] = {"codec", .action = cgx_scan_codec},
    [LAYERS] = {"layers", .action = cgx_scan_layers},
    [RECURS] = {"recurs", .action = cgx_scan_recurs},
    [CONSENSUS] = {"consensus", .action = cgx_scan_consensus},
    [STEP] = {"step", .action = cgx_scan_step},
};

const char *cgx_rule_word(size_t index)
{
    return index < WORDS ? words[index].name : NULL;
}

static const struct word *find_word(const char *name, bool action)
{
    uint64_t same;

    for (size_t i = 0; i < WORDS; i++)
        if ((words[i].action != NULL) == action && cgx_parse_choice(name, words[i].name, &same))
            return &words[i];
    return NULL;
}

static bool more_than_one(unsigned set)
{
    return (set & (set - 1)) != 0;
}

/* A condition or an action; those before it are in *GIVEN. */
static bool read_item(struct cgx_scan *scan, bool action, struct cgx_rule *rule, unsigned *given)
{
    const char *at = scan->at;
    const struct word *word;
    char token[CGX_TOKEN_BYTES];

    scan->key = NULL;
    cgx_scan_token(scan, "=", token);
    word = find_word(token, action);
    if (!word)
        return cgx_scan_refuse(scan, at,
                               action
                                   ? "exact, or bits=, codec=, layers=, recurs=, consensus=; step="
                                   : "count=, position=, type=, comm=, then ->");
    if (*given & SET(word - words))
        return cgx_scan_fail(scan, at, "\"%s\" refused: it is there twice", word->name);
    *given |= SET(word - words);
    scan->key = word->name;
    if (word != &words[EXACT]) {
        if (scan->at == scan->end || *scan->at != '=')
            return cgx_scan_fail(scan, scan->at, "= and a value have to follow without a blank");
        scan->at++;
    }
    if (action ? !word->action(scan, &rule->says) : !word->condition(scan, rule))
        return false;
    if (!cgx_scan_ends(scan))
        return cgx_scan_refuse(scan, scan->at, "a blank, and what follows, or the end");
    if ((*given & SET(EXACT) || rule->says.bits.least == CGX_BITS_EXACT) &&
        more_than_one(*given & OF_CALLS))
        return cgx_scan_fail(scan, at, "refused: an exact call can have no other action");
    if (*given & SET(STEP) && *given & (SET(COUNT) | SET(POSITION) | SET(TYPE)))
        return cgx_scan_fail(scan, at,
                             "refused: a step is of a communicator, whose rule can have no "
                             "condition but comm=");
    return true;
}

bool cgx_rule_read(struct cgx_scan *scan, struct cgx_rule *rule)
{
    unsigned given = 0;

    *rule = (struct cgx_rule){.count = {0, UINT64_MAX},
                              .position = {0, UINT64_MAX},
                              .dtype = CGX_RULE_EVERY_DTYPE,
                              .line = scan->line};

    for (; !cgx_scan_arrow(scan); cgx_scan_blanks(scan))
        if (!read_item(scan, false, rule, &given))
            return false;
    scan->at += 2;
    do {
        cgx_scan_blanks(scan);
        if (!read_item(scan, true, rule, &given))
            return false;
        cgx_scan_blanks(scan);
    } while (!cgx_scan_over(scan));
    rule->of_calls = (given & OF_CALLS) != 0;
    return true;
}

void cgx_rule_clear(struct cgx_rule *rule)
{
    free((char *)rule->communicator);
    cgx_actions_clear(&rule->says);
}
