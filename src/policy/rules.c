/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/rule.h"

struct cgx_rules {
    size_t nrules;
    struct cgx_rule rules[];
};

/* ---- warnings ---- */

static bool within(struct cgx_rule_range inner, struct cgx_rule_range outer)
{
    return outer.first <= inner.first && inner.last <= outer.last;
}

/* Whether RULE is for communicators of NAME; NULL: of every name. */
static bool is_of(const struct cgx_rule *rule, const char *name)
{
    return !rule->communicator || (name && strcmp(rule->communicator, name) == 0);
}

/* Whether every call that RULE is for is one that EARLIER is for. */
static bool covers(const struct cgx_rule *earlier, const struct cgx_rule *rule)
{
    return within(rule->count, earlier->count) && within(rule->position, earlier->position) &&
           (earlier->dtype == CGX_RULE_EVERY_DTYPE || earlier->dtype == rule->dtype) &&
           is_of(earlier, rule->communicator);
}

static void warn_of_layers(const struct cgx_rule *rule, cgx_rules_warn *warn, void *context)
{
    const struct cgx_layer_list *layers = rule->says.layers;
    char message[160];

    if (!layers || (layers->total >= rule->count.first && layers->total <= rule->count.last))
        return;
    snprintf(message, sizeof message,
             "the layers have no effect: they add up to %" PRIu64
             ", which the rule's count does not allow",
             layers->total);
    warn(context, rule->line, message);
}

static void warn_of(const struct cgx_rules *rules, const struct cgx_rule *rule,
                    cgx_rules_warn *warn, void *context)
{
    bool calls = rule->of_calls, step = rule->says.step > 0;
    char message[160];

    warn_of_layers(rule, warn, context);
    for (const struct cgx_rule *earlier = rules->rules; earlier < rule && (calls || step);
         earlier++) {
        if (calls && earlier->of_calls && covers(earlier, rule)) {
            snprintf(message, sizeof message,
                     "the rule is never reached%s: the one of line %u is "
                     "for all of its calls",
                     rule->says.step > 0 ? " but for step=" : "", earlier->line);
            warn(context, rule->line, message);
            calls = false;
        }
        if (step && earlier->says.step > 0 && is_of(earlier, rule->communicator)) {
            snprintf(message, sizeof message,
                     "step= has no effect: the rule of line %u says it of all of its communicators",
                     earlier->line);
            warn(context, rule->line, message);
            step = false;
        }
    }
}

/* ---- rules ---- */

static bool read_line(struct cgx_rules *rules, struct cgx_scan *scan, cgx_rules_warn *warn,
                      void *context)
{
    struct cgx_rule *rule = &rules->rules[rules->nrules];

    cgx_scan_blanks(scan);
    if (cgx_scan_over(scan))
        return true;
    rules->nrules++; /* whatever comes of it: it is to be cleared */
    if (!cgx_rule_read(scan, rule))
        return false;
    if (warn)
        warn_of(rules, rule, warn, context);
    return true;
}

/* With room for a rule in each line of TEXT. */
static struct cgx_rules *make_rules(const char *text, size_t length)
{
    struct cgx_rules *rules;
    size_t lines = 1;

    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    rules = malloc(sizeof *rules + lines * sizeof rules->rules[0]);
    if (rules)
        rules->nrules = 0;
    return rules;
}

struct cgx_rules *cgx_rules_parse(const char *text, size_t length, cgx_rules_warn *warn,
                                  void *context, struct cgx_rules_error *error)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* that some editors put before UTF-8 */
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
        if (!read_line(rules, &scan, warn, context)) {
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
    for (size_t i = 0; i < rules->nrules; i++)
        cgx_rule_clear(&rules->rules[i]);
    free(rules);
}

bool cgx_rules_name_communicators(const struct cgx_rules *rules)
{
    for (size_t i = 0; rules && i < rules->nrules; i++)
        if (rules->rules[i].communicator)
            return true;
    return false;
}

struct cgx_override cgx_rules_override(const struct cgx_rules *rules,
                                       const struct cgx_rules_call *call)
{
    const struct cgx_rule of_call = {.count = {call->count, call->count},
                                     .position = {call->position, call->position},
                                     .dtype = (int)call->dtype,
                                     .communicator = call->communicator};
    struct cgx_override override = {.exact = false};

    for (size_t i = 0; rules && i < rules->nrules; i++) {
        const struct cgx_rule *rule = &rules->rules[i];

        if (!rule->of_calls || !covers(rule, &of_call))
            continue;
        override = cgx_actions_override(&rule->says, call->count);
        override.rule = (unsigned)i + 1;
        break;
    }
    return override;
}

size_t cgx_rules_step(const struct cgx_rules *rules, const char *communicator)
{
    for (size_t i = 0; rules && i < rules->nrules; i++)
        if (rules->rules[i].says.step > 0 && is_of(&rules->rules[i], communicator))
            return rules->rules[i].says.step;
    return 0;
}
