/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#define _GNU_SOURCE /* memfd_create */

#include "rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "make.h"
#include "mpi/lib/check.h"

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

/* ---- drawing ---- */

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
