/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "hint.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/lib/comms.h"

static bool is_set(const char *name, const char *value)
{
    const char *text = getenv(name);

    return text && strcmp(text, value) == 0;
}

__attribute__((format(printf, 2, 3))) static void say(struct hint *hint, const char *format, ...)
{
    size_t used = strlen(hint->said);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(hint->said + used, sizeof hint->said - used, format, arguments);
    va_end(arguments);
}

/* Stochastic rounding has no width of 1. */
static unsigned draw_bits(struct draw *draw)
{
    unsigned bits = 1 + (unsigned)draw_below(draw, 8);

    return bits == 1 && is_set("CGX_ROUNDING", "stochastic") ? 2 : bits;
}

static void say_bits(struct hint *hint, struct draw *draw)
{
    unsigned most;

    hint->bits = draw_bits(draw);
    most = hint->bits + (unsigned)draw_below(draw, 9 - hint->bits);
    if (is_set("CGX_ADAPTIVE", "1") && most > hint->bits)
        say(hint, " cgx_bits=%u:%u", hint->bits, most);
    else
        say(hint, " cgx_bits=%u", hint->bits);
}

/* Of the first call that can have layers. */
static void say_layers(struct hint *hint, struct draw *draw, const struct storm_call *call)
{
    size_t first = 1 + draw_below(draw, call->count - 1);

    hint->layer_bits = draw_bits(draw);
    say(hint, " cgx_layers=%zu:%u,%zu", first, hint->layer_bits, call->count - first);
}

void hint_begin(struct hint *hint, struct draw *draw, const struct storm_call *calls, unsigned n,
                const struct storm_limits *limits)
{
    static const char *const codecs[] = {"maxmin", "rotated", "auto"};
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
        hint->codec = codecs[draw_below(draw, 3)];
        if (is_set("CGX_HISTORY", "1"))
            hint->codec = "maxmin";
        say(hint, " cgx_codec=%s", hint->codec);
    }
    if (first && draw_once_in(draw, 8))
        say_layers(hint, draw, first);
    if (draw_once_in(draw, 4))
        say(hint, " cgx_recurs=always");
    else if (draw_once_in(draw, 32)) {
        hint->exact = true;
        say(hint, draw_once_in(draw, 2) ? " cgx_enable=0" : " cgx_recurs=never");
    }
}

void hint_change(struct hint *hint, struct draw *draw)
{
    if (!hint->none)
        say_bits(hint, draw);
}

void hint_give(struct hint *hint, MPI_Comm comm)
{
    char copy[sizeof hint->said], *rest = copy, *word;
    size_t used = strlen(hint->text);

    if (hint->none)
        return;
    snprintf(hint->text + used, sizeof hint->text - used, "%s", hint->said);
    memcpy(copy, hint->said, sizeof copy);
    hint->said[0] = '\0';
    while ((word = strtok_r(rest, " ", &rest)) != NULL) {
        char *value = strchr(word, '=');

        *value = '\0';
        comms_hint(comm, word, value + 1);
    }
}

void hint_apply(const struct hint *hint, struct oracle *oracle)
{
    const char *codec = hint->codec ? hint->codec : getenv("CGX_CODEC");
    unsigned bits = hint->bits > 0 ? hint->bits : oracle->scheme.bits;

    if (hint->none || oracle->scheme.bits == 32)
        return;
    if (hint->layer_bits > 0 && hint->layer_bits < bits)
        bits = hint->layer_bits;
    oracle_set(oracle, bits, codec ? codec : "auto");
}
