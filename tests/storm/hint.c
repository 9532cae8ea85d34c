/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "hint.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/lib/comms.h"

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
