/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/rules/rules.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/hash.h"
#include "util/log.h"
#include "util/output.h"
#include "util/parse.h"

struct range {
    uint64_t first, last;
};

#define EVERY_DTYPE (-1)

/* Conditions that are absent hold for every call. */
struct rule {
    struct range count, position;
    int dtype;          /* an enum cgx_dtype, or EVERY_DTYPE */
    char *communicator; /* owned by the rule; NULL: every communicator */
    bool of_calls;      /* the rule has an action for calls, not only for communicators */
    struct cgx_override says;
    unsigned line;
};

struct cgx_rules {
    size_t nrules;
    atomic_bool *used; /* used[i]: rule i, from 1, was applied; used[0]: some call was looked up */
    struct rule rules[];
};

/* ---- conditions and actions ---- */

/* Reads N, N-M or N-, with numbers up to LIMIT. */
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

static bool read_communicator(struct cgx_scan *scan, struct rule *rule)
{
    bool quoted = scan->at < scan->end && *scan->at == '"';
    const char *at = scan->at, *name;

    scan->at += quoted;
    for (name = scan->at; scan->at < scan->end; scan->at++) {
        if (*scan->at == '"' || (!quoted && cgx_scan_ends(scan)))
            break;
        if ((unsigned char)*scan->at < ' ' || *scan->at == 0x7F)
            return cgx_scan_fail(scan, scan->at, "a name cannot have control characters");
    }
    if (quoted && scan->at == scan->end)
        return cgx_scan_fail(scan, at, "the closing double quote is missing");
    if (!quoted && scan->at == name)
        return cgx_scan_refuse(scan, at, "a name, in double quotes if it has blanks or is empty");
    rule->communicator = strndup(name, (size_t)(scan->at - name));
    scan->at += quoted;
    return rule->communicator || cgx_scan_fail(scan, at, "out of memory");
}

/* ---- lines ---- */

/* Words of conditions, then of actions. "exact" takes the place of cgx_enable, which only hints
 * have. */
enum { COUNT, POSITION, TYPE, COMM, EXACT, WORDS = EXACT + CGX_HINTS };

#define SET(word) (1u << (word))
#define STEP SET(EXACT + CGX_HINT_STEP)
#define OF_CALLS (SET(WORDS) - SET(EXACT) - STEP)

static const char *word_name(size_t word)
{
    static const char *const words[] = {"count", "position", "type", "comm", "exact"};

    return word <= EXACT ? words[word] : cgx_action_keys[word - EXACT].about.name + strlen("cgx_");
}

/* The index of the condition, or of the ACTION, with NAME; WORDS if there is none. */
static size_t find_word(const char *name, bool action)
{
    size_t end = action ? WORDS : EXACT;
    uint64_t same;

    for (size_t i = action ? EXACT : COUNT; i < end; i++)
        if (cgx_parse_choice(name, word_name(i), &same))
            return i;
    return WORDS;
}

static bool read_value(struct cgx_scan *scan, size_t word, struct rule *rule)
{
    static const struct cgx_key type = {
        .about = {.values = "float32, float16, bfloat16"}, /* in the order of enum cgx_dtype */
        .parse = cgx_value_choice,
        .offset = offsetof(struct rule, dtype),
        .size = sizeof rule->dtype};

    switch (word) {
    case COUNT:
        return read_range(scan, UINT64_MAX, &rule->count);
    case POSITION: /* UINT64_MAX is an unknown position */
        return read_range(scan, UINT64_MAX - 1, &rule->position);
    case TYPE:
        return cgx_scan_value(scan, &type, rule);
    case COMM:
        return read_communicator(scan, rule);
    case EXACT:
        return cgx_key_read(&cgx_action_keys[CGX_HINT_BITS], "exact", &rule->says);
    default:
        return cgx_scan_value(scan, &cgx_action_keys[word - EXACT], &rule->says);
    }
}

/* Reads a condition or an action, and adds its word to *GIVEN. */
static bool read_item(struct cgx_scan *scan, bool action, struct rule *rule, unsigned *given)
{
    const char *at = scan->at;
    char token[CGX_TOKEN_BYTES];
    size_t word;

    scan->key = NULL;
    cgx_scan_token(scan, "=", token);
    word = find_word(token, action);
    if (word == WORDS)
        return cgx_scan_refuse(
            scan, at,
            action ? "exact, or bits=, codec=, layers=, recurs=, consensus=, op=; step="
            : strpbrk(token, "<>") ? "count=N- for N and more, count=1-N for N and fewer; "
                                     "position= likewise"
                                   : "count=, position=, type=, comm=, then ->");
    if (*given & SET(word))
        return cgx_scan_fail(scan, at, "\"%s\" refused: it is given twice", word_name(word));
    *given |= SET(word);
    scan->key = word_name(word);
    if (word != EXACT) {
        if (scan->at == scan->end || *scan->at != '=')
            return cgx_scan_fail(scan, scan->at, "= and a value must follow without a blank");
        scan->at++;
    }
    if (!read_value(scan, word, rule))
        return false;
    if (!cgx_scan_ends(scan))
        return cgx_scan_refuse(scan, scan->at, "a blank and the next word, or the end of the line");
    if ((*given & SET(EXACT) || rule->says.bits == CGX_BITS_EXACT) &&
        __builtin_popcount(*given & OF_CALLS) > 1)
        return cgx_scan_fail(scan, at, "refused: an exact call can have no other action");
    if (*given & STEP && *given & (SET(COUNT) | SET(POSITION) | SET(TYPE)))
        return cgx_scan_fail(scan, at,
                             "refused: a step belongs to a communicator, so a rule with step= can "
                             "have no condition except comm=");
    return true;
}

static bool read_rule(struct cgx_scan *scan, struct rule *rule)
{
    unsigned given = 0;

    *rule = (struct rule){.count = {0, UINT64_MAX},
                          .position = {0, UINT64_MAX},
                          .dtype = EVERY_DTYPE,
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

static void warn_of_layers(const struct rule *rule, cgx_rules_warn *warn)
{
    const struct cgx_layer_list *layers = rule->says.layers;
    char message[160];

    if (!layers || (layers->total >= rule->count.first && layers->total <= rule->count.last))
        return;
    snprintf(message, sizeof message,
             "the layers have no effect: they add up to %" PRIu64
             ", which the rule's count does not allow",
             layers->total);
    warn(rule->line, message);
}

static bool read_line(struct cgx_rules *rules, struct cgx_scan *scan, cgx_rules_warn *warn)
{
    struct rule *rule = &rules->rules[rules->nrules];

    cgx_scan_blanks(scan);
    if (cgx_scan_over(scan))
        return true;
    /* Counted before it is read, so that the memory that it owns is freed after an error. */
    rules->nrules++;
    if (!read_rule(scan, rule))
        return false;
    if (warn && rule->says.retired)
        warn(rule->line, rule->says.retired);
    if (warn)
        warn_of_layers(rule, warn);
    return true;
}

static struct cgx_rules *make_rules(const char *text, size_t length)
{
    struct cgx_rules *rules;
    size_t lines = 1;

    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    rules = calloc(1, sizeof *rules + lines * sizeof rules->rules[0] +
                          (lines + 1) * sizeof rules->used[0]);
    if (rules)
        rules->used = (atomic_bool *)(rules->rules + lines);
    return rules;
}

struct cgx_rules *cgx_rules_parse(const char *text, size_t length, cgx_rules_warn *warn,
                                  struct cgx_rules_error *error)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* the byte order mark, which some editors put
                                                  before UTF-8 */
    struct cgx_rules *rules = make_rules(text, length);
    struct cgx_scan scan = {.begin = text, .at = text, .end = text, .error = error};
    size_t first = length >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;

    if (!rules) {
        scan.line = 1;
        cgx_scan_fail(&scan, text, "out of memory");
        return NULL;
    }
    while (first < length) {
        const char *newline = memchr(text + first, '\n', length - first);

        scan.begin = scan.at = text + first;
        scan.end = newline ? newline : text + length;
        first = (size_t)(scan.end - text) + 1;
        scan.line++;
        if (scan.end > scan.begin && scan.end[-1] == '\r')
            scan.end--;
        if (!read_line(rules, &scan, warn)) {
            cgx_rules_free(rules);
            return NULL;
        }
    }
    return rules;
}

void cgx_rules_free(struct cgx_rules *rules)
{
    if (!rules)
        return;
    for (size_t i = 0; i < rules->nrules; i++) {
        free(rules->rules[i].communicator);
        cgx_override_clear(&rules->rules[i].says);
    }
    free(rules);
}

struct cgx_rules *cgx_rules_read(struct cgx_settings *settings, cgx_rules_warn *warn,
                                 cgx_settings_report *report, void *context)
{
    const char *path = settings->rules_path;
    struct cgx_rules_error error = {0, 0, "the file cannot be read"};
    struct cgx_rules *rules = NULL;
    char shown[CGX_PRINTABLE_BYTES], message[512];
    size_t length;
    char *text;

    if (*path == '\0')
        return NULL;
    text = cgx_file_read(path, &length);
    if (text) {
        settings->rules = cgx_hash(CGX_HASH_START, text, length);
        rules = cgx_rules_parse(text, length, warn, &error);
    }
    free(text);
    if (rules)
        return rules;
    settings->valid = false;
    snprintf(message, sizeof message, "CGX_RULES=\"%s\" refused: line %u, column %u: %s; %s",
             cgx_printable(path, shown), error.line, error.column, error.message,
             cgx_settings_consequence(settings, "every call is exact"));
    report(context, CGX_LOG_ERROR, message);
    return NULL;
}

/* ---- matching ---- */

bool cgx_rules_name_communicators(const struct cgx_rules *rules)
{
    for (size_t i = 0; rules && i < rules->nrules; i++)
        if (rules->rules[i].communicator)
            return true;
    return false;
}

static bool is_within(struct range range, uint64_t number)
{
    return range.first <= number && number <= range.last;
}

static bool applies_to(const struct rule *rule, const char *name)
{
    return !rule->communicator || strcmp(rule->communicator, name) == 0;
}

static bool matches_call(const struct rule *rule, const struct cgx_rules_call *call)
{
    return rule->of_calls && is_within(rule->count, call->count) &&
           is_within(rule->position, call->position) &&
           (rule->dtype == EVERY_DTYPE || rule->dtype == (int)call->dtype) &&
           applies_to(rule, call->communicator);
}

struct cgx_override cgx_rules_override(const struct cgx_rules *rules,
                                       const struct cgx_rules_call *call)
{
    struct cgx_override override = {.bits = 0};

    if (rules)
        atomic_store(&rules->used[0], true);
    for (size_t i = 0; rules && i < rules->nrules; i++) {
        const struct rule *rule = &rules->rules[i];

        if (!matches_call(rule, call))
            continue;
        override = cgx_override_for(&rule->says, call->count);
        override.rule = (unsigned)i + 1;
        atomic_store(&rules->used[i + 1], true);
        break;
    }
    return override;
}

size_t cgx_rules_step(const struct cgx_rules *rules, const struct cgx_override *hints,
                      const char *communicator)
{
    for (size_t i = 0; rules && i < rules->nrules; i++)
        if (rules->rules[i].says.step > 0 && applies_to(&rules->rules[i], communicator)) {
            atomic_store(&rules->used[i + 1], true);
            return rules->rules[i].says.step;
        }
    return hints->step;
}

void cgx_rules_unused(const struct cgx_rules *rules, cgx_rules_warn *warn)
{
    if (!rules || !atomic_load(&rules->used[0]))
        return;
    for (size_t i = 0; i < rules->nrules; i++)
        if (!atomic_load(&rules->used[i + 1]))
            warn(rules->rules[i].line, "the rule matched no large sum");
}
