/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#define _GNU_SOURCE /* memfd_create */

#include "storm.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- hints ---- */

const char *said_draw_codec(struct draw *draw)
{
    static const char *const codecs[] = {"maxmin", "auto", "uniform"};

    return codecs[draw_below(draw, 3)];
}

__attribute__((format(printf, 2, 3))) static void say(struct hint *hint, const char *format, ...)
{
    size_t used = strlen(hint->next);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(hint->next + used, sizeof hint->next - used, format, arguments);
    va_end(arguments);
}

static void say_bits(struct hint *hint, struct draw *draw)
{
    hint->said.bits = 1 + (unsigned)draw_below(draw, 8);
    say(hint, " cgx_bits=%u", hint->said.bits);
}

/* Of the first call that can have layers. */
static void say_layers(struct hint *hint, struct draw *draw, const struct storm_call *call)
{
    size_t first = 1 + draw_below(draw, call->count - 1);

    hint->said.layer_bits = 1 + (unsigned)draw_below(draw, 8);
    say(hint, " cgx_layers=%zu:%u,%zu", first, hint->said.layer_bits, call->count - first);
}

static void say_recurs(struct hint *hint, struct draw *draw)
{
    if (draw_once_in(draw, 4)) {
        hint->said.recurs = SAID_ALWAYS;
        say(hint, " cgx_recurs=always");
    } else if (draw_once_in(draw, 64)) {
        hint->said.recurs = SAID_NEVER;
        say(hint, " cgx_recurs=never");
    } else if (draw_once_in(draw, 64)) {
        hint->off = true;
        say(hint, " cgx_enable=0");
    }
}

void hint_begin(struct hint *hint, struct draw *draw, const struct storm_call *calls, unsigned n,
                const struct storm_limits *limits)
{
    const struct storm_call *first = NULL;
    unsigned step = 0;

    *hint = (struct hint){.none = false};
    for (unsigned i = 0; i < n; i++) {
        if (calls[i].what >= STORM_SUMS || calls[i].count < limits->minimal)
            continue;
        step++;
        first = first ? first : &calls[i];
    }
    if (step > 0 && !draw_once_in(draw, 4))
        say(hint, " cgx_step=%u", step);
    if (draw_once_in(draw, 4))
        say_bits(hint, draw);
    if (draw_once_in(draw, 8)) {
        hint->said.codec = said_draw_codec(draw);
        say(hint, " cgx_codec=%s", hint->said.codec);
    }
    if (first && draw_once_in(draw, 8))
        say_layers(hint, draw, first);
    say_recurs(hint, draw);
    hint->said.op = draw_once_in(draw, 2);
    if (hint->said.op)
        say(hint, " cgx_op=float16");
}

void hint_change(struct hint *hint, struct draw *draw)
{
    if (!hint->none)
        say_bits(hint, draw);
}

void hint_give(struct hint *hint, MPI_Comm comm)
{
    char copy[sizeof hint->next], *rest = copy, *word;
    size_t used = strlen(hint->text);

    if (hint->none)
        return;
    snprintf(hint->text + used, sizeof hint->text - used, "%s", hint->next);
    memcpy(copy, hint->next, sizeof copy);
    hint->next[0] = '\0';
    while ((word = strtok_r(rest, " ", &rest)) != NULL) {
        char *value = strchr(word, '=');

        *value = '\0';
        comms_hint(comm, word, value + 1);
    }
}

enum { RULES = 4 };

struct rule {
    size_t first, last;       /* elements */
    enum storm_what what;     /* STORM_WHATS: any */
    const char *communicator; /* NULL: any */
    bool positioned;          /* only at some positions of the step */
    struct said said;
    bool parts; /* some layers are exact */
};

static struct rule rules[RULES];
static unsigned nrules;
static char *text;

/* ---- rules ---- */

static void draw_conditions(struct draw *draw, const struct storm_limits *limits, struct rule *rule,
                            FILE *file)
{
    switch (draw_below(draw, 4)) {
    case 0:
        rule->first = limits->minimal << draw_below(draw, 4);
        rule->last = 4 * rule->first;
        fprintf(file, "count=%zu-%zu ", rule->first, rule->last);
        break;
    case 1:
        rule->first = limits->minimal << draw_below(draw, 5);
        fprintf(file, "count=%zu- ", rule->first);
        break;
    case 2:
        rule->first = rule->last = limits->layered;
        fprintf(file, "count=%zu ", rule->first);
    }
    if (draw_once_in(draw, 4)) {
        rule->what = draw_once_in(draw, 2) ? STORM_FLOAT16 : STORM_FLOAT32;
        fprintf(file, "type=%s ", make_name(rule->what));
    }
    if (draw_once_in(draw, 4)) {
        rule->communicator = make_comm_name((enum make_comm)draw_below(draw, MAKE_COMMS));
        fprintf(file, "comm=\"%s\" ", rule->communicator);
    }
    rule->positioned = draw_once_in(draw, 6);
    if (rule->positioned)
        fprintf(file, "position=0-%u ", (unsigned)draw_below(draw, 3));
}

/* Of the count that is the rule's condition. */
static void draw_layers(struct draw *draw, struct rule *rule, FILE *file)
{
    size_t first = 1 + draw_below(draw, rule->first / 2);
    size_t second = 1 + draw_below(draw, rule->first / 4);

    rule->parts = draw_once_in(draw, 2);
    rule->said.layer_bits = 2 + (unsigned)draw_below(draw, 7);
    fprintf(file, " layers=%zu:%u,%zu%s,%zu", first, rule->said.layer_bits, second,
            rule->parts ? ":exact" : "", rule->first - first - second);
}

static void draw_bits(struct draw *draw, struct rule *rule, FILE *file)
{
    rule->said.bits = 1 + (unsigned)draw_below(draw, 8);
    fprintf(file, " bits=%u", rule->said.bits);
}

static void draw_actions(struct draw *draw, struct rule *rule, FILE *file)
{
    struct said *said = &rule->said;

    said->exact = draw_once_in(draw, 12);
    if (said->exact) {
        fputs(draw_once_in(draw, 2) ? " exact" : " bits=exact", file);
        return;
    }
    if (draw_once_in(draw, 3)) {
        said->codec = said_draw_codec(draw);
        fprintf(file, " codec=%s", said->codec);
    }
    if (rule->first == rule->last)
        draw_layers(draw, rule, file);
    fprintf(file, " consensus=%s", draw_once_in(draw, 4) ? "on" : "off");
    if (draw_once_in(draw, 8)) {
        said->recurs = draw_once_in(draw, 4) ? SAID_NEVER : SAID_ALWAYS;
        fprintf(file, " recurs=%s", said->recurs == SAID_NEVER ? "never" : "always");
    }
    if (!said->codec || draw_once_in(draw, 2))
        draw_bits(draw, rule, file);
    said->op = draw_once_in(draw, 2);
    if (said->op)
        fputs(" op=float16", file);
}

static void draw_rules(struct draw *draw, const struct storm_limits *limits, FILE *file)
{
    nrules = 1 + (unsigned)draw_below(draw, RULES);
    for (unsigned i = 0; i < nrules; i++) {
        rules[i] = (struct rule){.last = SIZE_MAX, .what = STORM_WHATS};
        draw_conditions(draw, limits, &rules[i], file);
        fputs("->", file);
        draw_actions(draw, &rules[i], file);
        fputc('\n', file);
    }
    if (draw_once_in(draw, 3))
        fprintf(file, "comm=\"%s\" -> step=%u\n",
                make_comm_name((enum make_comm)draw_below(draw, MAKE_COMMS)),
                1 + (unsigned)draw_below(draw, 6));
}

void rules_begin(uint64_t seed, struct storm_limits *limits)
{
    struct draw draw = {seed, 2, 0};
    int descriptor = memfd_create("storm-rules", 0);
    char path[64];
    size_t length;
    FILE *file = open_memstream(&text, &length);

    limits->layered = limits->minimal + draw_below(&draw, 8 * limits->minimal);
    draw_rules(&draw, limits, file);
    fclose(file);
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    if (write(descriptor, text, length) != (ssize_t)length || setenv("CGX_RULES", path, 1) != 0)
        abort();
}

const char *rules_text(void)
{
    return text ? text : "";
}

/* ---- what holds ---- */

/* What may be done with a call. */
struct outlook {
    bool exact, parts;
    unsigned least;
    unsigned families; /* 0: nothing is known yet */
};

static struct outlook outlook_of(const struct hint *hint, const struct rule *rule,
                                 const struct oracle *oracle)
{
    static const struct said nothing;
    const struct said *first = rule ? &rule->said : &nothing;
    const struct said *then = hint->none ? &nothing : &hint->said;
    const char *codec = first->codec  ? first->codec
                        : then->codec ? then->codec
                                      : getenv("CGX_CODEC");
    unsigned families = oracle_families(codec);
    unsigned bits = first->bits > 0  ? first->bits
                    : then->bits > 0 ? then->bits
                                     : oracle->scheme.bits;
    unsigned layer = first->layer_bits > 0  ? first->layer_bits
                     : then->layer_bits > 0 ? then->layer_bits
                                            : bits;

    return (struct outlook){.exact = (!hint->none && hint->off) || first->exact ||
                                     (first->recurs ? first->recurs : then->recurs) == SAID_NEVER ||
                                     (oracle->own_op && !first->op && !then->op),
                            .parts = rule && rule->parts,
                            .least = layer < bits ? layer : bits,
                            .families = families};
}

static void allow(struct outlook *all, struct outlook other)
{
    bool known = all->families != 0;

    *all = (struct outlook){.exact = other.exact && (all->exact || !known),
                            .parts = other.parts || all->parts,
                            .least = known && all->least < other.least ? all->least : other.least,
                            .families = all->families | other.families};
}

static bool holds(const struct rule *rule, const struct storm_call *call, const char *communicator)
{
    return call->count >= rule->first && call->count <= rule->last &&
           (rule->what == STORM_WHATS ||
            (rule->what == STORM_FLOAT32) == (call->what == STORM_FLOAT32)) &&
           (!rule->communicator || strcmp(rule->communicator, communicator) == 0);
}

bool rules_apply(const struct hint *hint, const struct storm_call *call, const char *communicator,
                 struct oracle *oracle)
{
    struct outlook all = {.exact = false};
    bool certain = false;

    for (unsigned i = 0; i < nrules && !certain; i++) {
        if (!holds(&rules[i], call, communicator))
            continue;
        allow(&all, outlook_of(hint, &rules[i], oracle));
        certain = !rules[i].positioned;
    }
    if (!certain)
        allow(&all, outlook_of(hint, NULL, oracle));
    oracle_set(oracle, all.least, all.families);
    oracle->parts = all.parts;
    return all.exact;
}
