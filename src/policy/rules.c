/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/say_parse.h"
#include "util/parse.h"

struct range {
    uint64_t first, last;
};

#define EVERY_DTYPE (-1)

/* One rule. Conditions that are not there hold for everything. */
struct rule {
    struct range count, position;
    int dtype;          /* enum cgx_dtype or EVERY_DTYPE */
    char *communicator; /* NULL: every one */
    bool exact;
    unsigned least, most; /* 0: not said */
    struct cgx_layer_list *layers;
    unsigned line;
};

struct cgx_rules {
    size_t nrules, room;
    struct rule *rules;
};

/* ---- conditions and actions ---- */

/* Of N, N-M and N-; at most LIMIT. */
static bool read_range(struct cgx_scan *scan, uint64_t limit, struct range *range)
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
    *range = (struct range){first, last};
    return true;
}

static bool read_count(struct cgx_scan *scan, struct rule *rule)
{
    return read_range(scan, UINT64_MAX, &rule->count);
}

/* The largest number stands for a position that is not known. */
static bool read_position(struct cgx_scan *scan, struct rule *rule)
{
    return read_range(scan, UINT64_MAX - 1, &rule->position);
}

static bool read_type(struct cgx_scan *scan, struct rule *rule)
{
    static const char types[] = "float32, float16, bfloat16"; /* as in enum cgx_dtype */
    const char *at = scan->at;
    char token[CGX_TOKEN_BYTES];
    uint64_t index;

    cgx_scan_token(scan, "", token);
    if (!cgx_parse_choice(token, types, &index))
        return cgx_scan_refuse(scan, at, types);
    rule->dtype = (int)index;
    return true;
}

static bool read_communicator(struct cgx_scan *scan, struct rule *rule)
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
    return rule->communicator != NULL || cgx_scan_fail(scan, at, "out of memory");
}

static bool read_exact(struct cgx_scan *scan, struct rule *rule)
{
    (void)scan;
    rule->exact = true;
    return true;
}

static bool read_bits(struct cgx_scan *scan, struct rule *rule)
{
    unsigned least, most;

    if (!cgx_scan_widths(scan, &least, &most))
        return false;
    if (least == CGX_BITS_EXACT)
        return read_exact(scan, rule);
    rule->least = least;
    rule->most = most;
    return true;
}

static bool read_layers(struct cgx_scan *scan, struct rule *rule)
{
    return cgx_scan_layers(scan, &rule->layers);
}

/* ---- lines ---- */

enum { COUNT = 1, POSITION = 2, TYPE = 4, COMM = 8, EXACT = 16, BITS = 32, LAYERS = 64 };

#define ACTIONS (EXACT | BITS | LAYERS)

static const struct word {
    const char *name;
    unsigned bit;
    bool (*read)(struct cgx_scan *scan, struct rule *rule);
} words[] = {
    {"count", COUNT, read_count},    {"position", POSITION, read_position},
    {"type", TYPE, read_type},       {"comm", COMM, read_communicator},
    {"exact", EXACT, read_exact},    {"bits", BITS, read_bits},
    {"layers", LAYERS, read_layers},
};

static const struct word *find_word(const char *name, bool action)
{
    uint64_t same;

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (((words[i].bit & ACTIONS) != 0) == action &&
            cgx_parse_choice(name, words[i].name, &same))
            return &words[i];
    return NULL;
}

/* A condition or an action; the bits of those before it are in *GIVEN. */
static bool read_item(struct cgx_scan *scan, bool action, struct rule *rule, unsigned *given)
{
    const char *at = scan->at;
    const struct word *word;
    char token[CGX_TOKEN_BYTES];

    scan->key = NULL;
    cgx_scan_token(scan, "=", token);
    word = find_word(token, action);
    if (word == NULL)
        return cgx_scan_refuse(scan, at,
                               action ? "exact, or bits=, layers= or both"
                                      : "count=, position=, type=, comm=, then ->");
    if (*given & word->bit)
        return cgx_scan_fail(scan, at, "\"%s\" refused: it is there twice", word->name);
    *given |= word->bit;
    scan->key = word->name;
    if (word->bit != EXACT) {
        if (scan->at == scan->end || *scan->at != '=')
            return cgx_scan_fail(scan, scan->at, "= and a value have to follow without a blank");
        scan->at++;
    }
    if (!word->read(scan, rule))
        return false;
    if (!cgx_scan_ends(scan))
        return cgx_scan_refuse(scan, scan->at, "a blank, and what follows, or the end");
    if (rule->exact && (*given & ACTIONS) != word->bit)
        return cgx_scan_fail(scan, at, "refused: an exact call can have no other action");
    return true;
}

/* A line that is not blank. */
static bool read_rule(struct cgx_scan *scan, struct rule *rule)
{
    unsigned given = 0;

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
    return true;
}

/* ---- warnings ---- */

static bool within(struct range inner, struct range outer)
{
    return outer.first <= inner.first && inner.last <= outer.last;
}

/* Whether every call that RULE is for is one that EARLIER is for. */
static bool covers(const struct rule *earlier, const struct rule *rule)
{
    return within(rule->count, earlier->count) && within(rule->position, earlier->position) &&
           (earlier->dtype == EVERY_DTYPE || earlier->dtype == rule->dtype) &&
           (earlier->communicator == NULL ||
            (rule->communicator != NULL && strcmp(earlier->communicator, rule->communicator) == 0));
}

static void warn_of(const struct cgx_rules *rules, const struct rule *rule, cgx_rules_warn *warn,
                    void *context)
{
    char message[160];

    if (rule->layers != NULL &&
        (rule->layers->total < rule->count.first || rule->layers->total > rule->count.last)) {
        snprintf(message, sizeof message,
                 "the layers have no effect: they add up to %" PRIu64
                 ", which the rule's count does not allow",
                 rule->layers->total);
        warn(context, rule->line, message);
    }
    for (size_t i = 0; i < rules->nrules; i++) {
        if (covers(&rules->rules[i], rule)) {
            snprintf(message, sizeof message,
                     "the rule is never reached: the one of line %u is for all of its calls",
                     rules->rules[i].line);
            warn(context, rule->line, message);
            return;
        }
    }
}

/* ---- rules ---- */

static void clear_rule(struct rule *rule)
{
    free(rule->communicator);
    free(rule->layers);
}

/* Takes over what RULE owns where it returns true. */
static bool append_rule(struct cgx_rules *rules, const struct rule *rule)
{
    if (rules->nrules == rules->room) {
        size_t room = rules->room == 0 ? 8 : 2 * rules->room;
        struct rule *larger = realloc(rules->rules, room * sizeof *larger);

        if (larger == NULL)
            return false;
        rules->rules = larger;
        rules->room = room;
    }
    rules->rules[rules->nrules++] = *rule;
    return true;
}

static bool read_line(struct cgx_rules *rules, struct cgx_scan *scan, cgx_rules_warn *warn,
                      void *context)
{
    struct rule rule = {.count = {0, UINT64_MAX},
                        .position = {0, UINT64_MAX},
                        .dtype = EVERY_DTYPE,
                        .line = scan->line};

    cgx_scan_blanks(scan);
    if (cgx_scan_over(scan))
        return true;
    if (!read_rule(scan, &rule))
        goto refused;
    if (warn != NULL)
        warn_of(rules, &rule, warn, context);
    scan->key = NULL;
    if (!append_rule(rules, &rule)) {
        cgx_scan_fail(scan, scan->begin, "out of memory");
        goto refused;
    }
    return true;

refused:
    clear_rule(&rule);
    return false;
}

struct cgx_rules *cgx_rules_parse(const char *text, size_t length, cgx_rules_warn *warn,
                                  void *context, struct cgx_rules_error *error)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* that some editors put before UTF-8 */
    struct cgx_rules *rules = calloc(1, sizeof *rules);
    struct cgx_scan scan = {.begin = text, .at = text, .end = text, .error = error};
    size_t first = length >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;

    if (rules == NULL) {
        scan.line = 1;
        cgx_scan_fail(&scan, text, "out of memory");
        return NULL;
    }
    while (first < length) {
        const char *newline = memchr(text + first, '\n', length - first);

        scan.begin = scan.at = text + first;
        scan.end = newline == NULL ? text + length : newline;
        first = (size_t)(scan.end - text) + 1;
        scan.key = NULL;
        scan.line++;
        if (scan.end > scan.begin && scan.end[-1] == '\r')
            scan.end--;
        if (!read_line(rules, &scan, warn, context)) {
            cgx_rules_free(rules);
            return NULL;
        }
    }
    return rules;
}

void cgx_rules_free(struct cgx_rules *rules)
{
    if (rules == NULL)
        return;
    for (size_t i = 0; i < rules->nrules; i++)
        clear_rule(&rules->rules[i]);
    free(rules->rules);
    free(rules);
}

bool cgx_rules_name_communicators(const struct cgx_rules *rules)
{
    for (size_t i = 0; rules != NULL && i < rules->nrules; i++)
        if (rules->rules[i].communicator != NULL)
            return true;
    return false;
}

static bool holds(const struct rule *rule, const struct cgx_rules_call *call)
{
    struct range count = {call->count, call->count}, position = {call->position, call->position};

    return within(count, rule->count) && within(position, rule->position) &&
           (rule->dtype == EVERY_DTYPE || rule->dtype == (int)call->dtype) &&
           (rule->communicator == NULL || strcmp(rule->communicator, call->communicator) == 0);
}

struct cgx_say cgx_rules_say(const struct cgx_rules *rules, const struct cgx_rules_call *call)
{
    struct cgx_say say = {.exact = false};

    for (size_t i = 0; rules != NULL && i < rules->nrules; i++) {
        const struct rule *rule = &rules->rules[i];

        if (!holds(rule, call))
            continue;
        say.exact = rule->exact;
        say.least = rule->least;
        say.most = rule->most;
        if (rule->layers != NULL && rule->layers->total == call->count)
            say.layers = rule->layers;
        say.rule = (unsigned)i + 1;
        break;
    }
    return say;
}
