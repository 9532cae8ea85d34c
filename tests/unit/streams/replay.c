/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* usage: replay [pauses] <streams
 *
 * Runs policy/step/recurrence.h over streams of sums as zoo.py writes them, one sum right after the
 * other or with PAUSES between steps. Prints a line a stream, '|' between: kind, name; of the
 * gradient's elements %, that recurred after step 50; of the gradient's sums that recurred %, with
 * a right position, and with a wrong one; of the elements that are no gradient %, that recurred.
 * Late passes over weights are not counted.
 * '-' where there is nothing that it could be of. Right is what a position is most often. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/lib/recurrence.h"

#define LATE 50 /* steps */

struct call {
    uint64_t count;
    long identity;
    uint32_t step;
    unsigned char type;
    char label;
};

struct stream {
    char kind;
    char name[128];
    struct call *calls;
    size_t ncalls, room;
    uint32_t steps;
};

/* What was told of a call of the gradient. */
struct told {
    uint64_t generation;
    size_t position;
    long identity;
};

struct part {
    uint64_t all, part;
};

struct score {
    struct part late, other;
    size_t compressed, placed, right;
    struct told *told;
};

static void fail(const char *why)
{
    fprintf(stderr, "replay: %s\n", why);
    exit(2);
}

/* ---- reading ---- */

static void add_call(struct stream *stream, const char *line)
{
    char *end;
    struct call call = {.step = stream->steps};

    if (stream->ncalls == stream->room) {
        stream->room = stream->room ? 2 * stream->room : 4096;
        stream->calls = realloc(stream->calls, stream->room * sizeof *stream->calls);
        if (!stream->calls)
            fail("memory is short");
    }
    call.count = strtoull(line, &end, 10);
    call.type = (unsigned char)strtoul(end, &end, 10);
    call.label = end[1];
    call.identity = strtol(end + 2, NULL, 10);
    stream->calls[stream->ncalls++] = call;
}

/* Reads up to the next stream's first line, which LINE then has. False: there is none. */
static bool read_stream(struct stream *stream, char *line, int size)
{
    if (line[0] != '=')
        return false;
    line[strcspn(line, "\n")] = 0;
    stream->kind = line[2];
    snprintf(stream->name, sizeof stream->name, "%s", line + 4);
    stream->ncalls = stream->steps = 0;
    while (fgets(line, size, stdin) && line[0] != '=') {
        if (line[0] == '#')
            stream->steps++;
        else
            add_call(stream, line);
    }
    if (line[0] != '=' || feof(stdin))
        line[0] = 0;
    return true;
}

/* ---- replaying ---- */

static void add_part(struct part *part, uint64_t elements, bool counts)
{
    part->all += elements;
    part->part += counts ? elements : 0;
}

static void score_gradient(struct score *score, const struct call *call,
                           const struct cgx_occurrence *occurrence, uint64_t generation)
{
    if (call->step >= LATE)
        add_part(&score->late, call->count, occurrence->recurs);
    if (!occurrence->recurs)
        return;
    score->compressed++;
    if (occurrence->position != CGX_POSITION_NONE)
        score->told[score->placed++] =
            (struct told){generation, occurrence->position, call->identity};
}

static void score_call(struct score *score, const struct call *call,
                       const struct cgx_occurrence *occurrence, uint64_t generation)
{
    if (call->label == 'g')
        score_gradient(score, call, occurrence, generation);
    else if (call->label != 'w')
        add_part(&score->other, call->count, occurrence->recurs);
}

static int compare_told(const void *a, const void *b)
{
    const struct told *x = a, *y = b;

    if (x->generation != y->generation)
        return x->generation < y->generation ? -1 : 1;
    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    return (x->identity > y->identity) - (x->identity < y->identity);
}

/* How many are what their position is most often, if that is anything. */
static size_t count_right(struct told *told, size_t n)
{
    size_t right = 0, i = 0;

    if (n > 0)
        qsort(told, n, sizeof *told, compare_told);
    while (i < n) {
        size_t most = 0, group = i;
        long identity = -1;

        while (i < n && told[i].generation == told[group].generation &&
               told[i].position == told[group].position) {
            size_t first = i;

            while (i < n && compare_told(&told[i], &told[first]) == 0)
                i++;
            if (i - first > most) {
                most = i - first;
                identity = told[first].identity;
            }
        }
        right += identity >= 0 ? most : 0;
    }
    return right;
}

/* The time before CALL, as if it were the Nth. */
static int64_t draw_pause(const struct call *call, size_t n, uint32_t *step)
{
    bool between = call->step != *step;
    int64_t drawn = (int64_t)(n * 2654435761u >> 16 & 0xff);

    *step = call->step;
    return between ? 20000000 + drawn * 100000 : 5000 + drawn * 200;
}

static void replay(const struct stream *stream, bool pauses, struct score *score)
{
    struct cgx_recurrence *made = create(2, 0);
    uint32_t step = 0;

    *score = (struct score){.right = 0};
    score->told = malloc((stream->ncalls + 1) * sizeof *score->told);
    if (!score->told)
        fail("memory is short");
    for (size_t i = 0; i < stream->ncalls; i++) {
        const struct call *call = &stream->calls[i];
        struct cgx_occurrence occurrence;

        if (pauses)
            cgx_recurrence_wait(made, draw_pause(call, i, &step));
        occurrence = next_compared(made, call->count, call->type);
        if (call->count >= MINIMAL_SIZE)
            score_call(score, call, &occurrence, made->pattern.generation);
    }
    score->right = count_right(score->told, score->placed);
    free(score->told);
    cgx_recurrence_free(made);
}

/* ---- printing ---- */

static void print_part(double part, double all)
{
    if (all > 0)
        printf("|%.2f", 100 * part / all);
    else
        printf("|-");
}

static void print_score(const struct stream *stream, const struct score *score)
{
    double compressed = (double)score->compressed;

    printf("%c|%s", stream->kind, stream->name);
    print_part((double)score->late.part, (double)score->late.all);
    print_part((double)score->right, compressed);
    print_part((double)(score->placed - score->right), compressed);
    print_part((double)score->other.part, (double)score->other.all);
    putchar('\n');
}

int main(int argc, char **argv)
{
    bool pauses = argc > 1 && strcmp(argv[1], "pauses") == 0;
    struct stream stream = {0};
    struct score score;
    char line[128] = "";

    if (!fgets(line, sizeof line, stdin))
        fail("there are no streams");
    while (read_stream(&stream, line, sizeof line)) {
        replay(&stream, pauses, &score);
        print_score(&stream, &score);
    }
    free(stream.calls);
    return 0;
}
