/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Replays recorded gradients: what each way to choose widths would send, and with what error. All
 * errors are those of sums that cgx_coll_run has formed, on ranks that are threads, against the sum
 * in float64.
 *
 * - uniform: the base width.
 * - adaptive: policy/widths/adapt.h, from its own measurements, as the library uses it.
 * - hindsight: a new plan for every step, from the true errors of that step at all widths.
 * - bound: a plan that no widths can beat, the Lagrangian bound of the step's optimum.
 *
 * Bytes are of codes and bucket headers of all elements, once. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codec/encoding.h"
#include "policy.h"
#include "policy/widths/allocate.h"
#include "unit/lib/replay.h"

/* Smaller calls are exact by default. */
#define LEAST_ELEMENTS 16384

/* Beyond the budget, of which a rounding error is no part. */
#define EXCEEDED 1.001

struct segment {
    size_t first, count;
};

struct player {
    const struct policy_replay *replay;
    struct policy_tape tape;
    size_t ncounts, elements; /* that are compressed */
    size_t *counts;
    float *gradients; /* without what is exact */
    size_t nsegments;
    struct segment *segments;
    struct replay *uniform[CGX_WIDTHS]; /* by width - 1 */
    double (*truth)[CGX_WIDTHS];        /* errors of this step */
    struct cgx_share *shares;
};

enum way { UNIFORM, ADAPTIVE, HINDSIGHT, BOUND, WAYS };

struct row {
    enum way way;
    unsigned least;
    struct replay *adaptive;               /* NULL: another way */
    double bytes, ratio, worst, predicted; /* sums over steps, and a maximum */
    unsigned over, measured, plans, early;
};

/* ---- the player ---- */

static struct cgx_settings settings_of(const struct player *player, unsigned bits, bool adaptive,
                                       unsigned least)
{
    return (struct cgx_settings){.bits = (int)bits,
                                 .bucket_size = POLICY_BUCKET,
                                 .fusion_buffer_bytes = (uint64_t)64 << 20,
                                 .adaptive = adaptive,
                                 .adaptive_bits = least << 16 | CGX_WIDTHS,
                                 .adaptive_budget = player->replay->alpha,
                                 .adaptive_period = player->replay->period};
}

static struct replay *make_replay(const struct player *player, unsigned bits, bool adaptive,
                                  unsigned least)
{
    const struct cgx_settings settings = settings_of(player, bits, adaptive, least);

    return replay_create(&settings, player->tape.ranks, player->counts, player->ncounts);
}

/* The segments that an adaptive plan has. */
static bool cut(struct player *player)
{
    const struct cgx_settings settings = settings_of(player, player->replay->base, true, 1);
    size_t first = 0;

    for (size_t i = 0; i < player->ncounts; first += player->counts[i++]) {
        struct cgx_plan *plan = cgx_plan_create(&settings, NULL, CGX_FLOAT32, player->counts[i]);

        if (!plan)
            return false;
        for (size_t s = 0; s < plan->nsegments; s++)
            player->segments[player->nsegments++] =
                (struct segment){first + plan->segments[s].first, plan->segments[s].count};
        cgx_plan_free(plan);
    }
    return true;
}

static bool prepare(struct player *player)
{
    const struct policy_tape *tape = &player->tape;
    size_t most = tape->elements / CGX_SEGMENT_ELEMENTS + tape->tensors;
    bool had;

    player->counts = calloc(tape->tensors, sizeof *player->counts);
    player->gradients = calloc(tape->elements, tape->ranks * sizeof(float));
    player->segments = calloc(most, sizeof *player->segments);
    player->truth = calloc(most, sizeof *player->truth);
    player->shares = calloc(most, sizeof *player->shares);
    if (!player->counts || !player->gradients || !player->segments || !player->truth ||
        !player->shares)
        return false;
    for (uint32_t t = 0; t < tape->tensors && !player->replay->fused; t++) {
        if (tape->sizes[t] < LEAST_ELEMENTS)
            continue;
        player->counts[player->ncounts++] = tape->sizes[t];
        player->elements += tape->sizes[t];
    }
    if (player->replay->fused) {
        player->counts[player->ncounts++] = tape->elements;
        player->elements = tape->elements;
    }
    had = cut(player);
    for (unsigned bits = 1; bits <= CGX_WIDTHS && had; bits++) {
        player->uniform[bits - 1] = make_replay(player, bits, false, bits);
        had = player->uniform[bits - 1] != NULL;
    }
    return had;
}

/* Leaves out what is exact. */
static void pick_gradients(struct player *player)
{
    const struct policy_tape *tape = &player->tape;
    const float *from = tape->values;
    float *to = player->gradients;

    for (uint32_t r = 0; r < tape->ranks; r++) {
        for (uint32_t t = 0; t < tape->tensors; from += tape->sizes[t++]) {
            if (!player->replay->fused && tape->sizes[t] < LEAST_ELEMENTS)
                continue;
            memcpy(to, from, tape->sizes[t] * sizeof *to);
            to += tape->sizes[t];
        }
    }
}

/* ---- the ways ---- */

static bool measure(struct player *player, struct replay_result *base)
{
    for (unsigned bits = 1; bits <= CGX_WIDTHS; bits++) {
        const struct replay *uniform = player->uniform[bits - 1];
        struct replay_result result;

        if (!replay_step(player->uniform[bits - 1], player->gradients, &result) || !result.same)
            return false;
        if (bits == player->replay->base)
            *base = result;
        for (size_t s = 0; s < player->nsegments; s++) {
            double error =
                replay_segment_error(uniform, player->segments[s].first, player->segments[s].count);

            /* Not finite whatever the width. */
            player->truth[s][bits - 1] = isfinite(error) ? error : 0;
        }
    }
    return true;
}

static double segment_bytes(const struct player *player, size_t segment, unsigned bits)
{
    return (double)cgx_piece_layout(player->segments[segment].count, bits, POLICY_BUCKET,
                                    CGX_FLOAT32)
        .bytes;
}

/* Adds what a plan from the true errors sends. Returns its error. */
static double plan_in_hindsight(struct player *player, struct row *row, double budget)
{
    double error = 0;

    for (size_t s = 0; s < player->nsegments; s++)
        player->shares[s] = (struct cgx_share){.cost = (double)player->segments[s].count,
                                               .errors = player->truth[s],
                                               .least = row->least,
                                               .most = CGX_WIDTHS,
                                               .base = player->replay->base,
                                               .bits = player->replay->base};
    if (cgx_allocate(player->shares, player->nsegments, budget) != CGX_OK)
        return NAN;
    for (size_t s = 0; s < player->nsegments; s++) {
        error += player->truth[s][player->shares[s].bits - 1];
        row->bytes += segment_bytes(player, s, player->shares[s].bits);
    }
    return error;
}

/* For every price of error, the least of bytes + price * error is below the optimum by no less than
 * the price of the budget. */
static double bound_bytes(const struct player *player, unsigned least, double budget)
{
    double low = -300, high = 300, best = 0;

    for (int i = 0; i < 80; i++) {
        double price = exp2((low + high) / 2), error = 0, bytes = 0;

        for (size_t s = 0; s < player->nsegments; s++) {
            unsigned bits = least;

            for (unsigned b = least + 1; b <= CGX_WIDTHS; b++)
                if (segment_bytes(player, s, b) + price * player->truth[s][b - 1] <
                    segment_bytes(player, s, bits) + price * player->truth[s][bits - 1])
                    bits = b;
            bytes += segment_bytes(player, s, bits);
            error += player->truth[s][bits - 1];
        }
        best = fmax(best, bytes + price * (error - budget));
        if (error > budget)
            low = (low + high) / 2;
        else
            high = (low + high) / 2;
    }
    return best;
}

static bool adapt(struct player *player, struct row *row, double *error)
{
    struct replay_result result;

    if (!replay_step(row->adaptive, player->gradients, &result) || !result.same)
        return false;
    *error = result.error;
    row->bytes += result.codes;
    row->plans += result.due != CGX_ADAPT_NOTHING;
    row->early += result.due == CGX_ADAPT_SCALED;
    if (result.due == CGX_ADAPT_MEASURED) {
        row->measured++;
        row->predicted += result.predicted > 0 ? result.error / result.predicted : 1;
    }
    return true;
}

static bool play_row(struct player *player, struct row *row, const struct replay_result *base)
{
    double budget = player->replay->alpha * base->error, error = base->error, ratio;

    if (row->way == BOUND) {
        row->bytes += bound_bytes(player, row->least, budget);
        return true;
    }
    if (row->way == UNIFORM)
        row->bytes += base->codes;
    if (row->way == HINDSIGHT)
        error = plan_in_hindsight(player, row, budget);
    if (row->way == ADAPTIVE && !adapt(player, row, &error))
        return false;
    ratio = budget > 0 ? error / budget : error > 0 ? INFINITY : 1;
    row->ratio += ratio;
    row->worst = fmax(row->worst, ratio);
    row->over += ratio > EXCEEDED;
    return true;
}

/* ---- the table ---- */

static void print_row(const struct player *player, const struct row *row, double uniform,
                      unsigned steps)
{
    static const char *const names[WAYS] = {"uniform", "adaptive", "hindsight", "bound"};
    double elements = (double)player->elements, bytes = row->bytes / steps;
    double saved[] = {100 * (1 - bytes / (4 * elements)), 100 * (1 - row->bytes / uniform)};
    char widths[8], error[64] = "", plans[64] = "";

    snprintf(widths, sizeof widths, row->way == UNIFORM ? "%u" : "%u:8", row->least);
    if (row->way != BOUND)
        snprintf(error, sizeof error, "%.4f,%.4f,%u", row->ratio / steps, row->worst, row->over);
    if (row->way == ADAPTIVE)
        snprintf(plans, sizeof plans, "%.4f,%u,%u", row->predicted / row->measured, row->plans,
                 row->early);
    printf("%-9s %-6s %10.0f %9.4f %8.2f %8.2f", names[row->way], widths, bytes,
           8 * bytes / elements, saved[0], saved[1]);
    if (row->way != BOUND)
        printf(" %8.4f %8.4f %6u", row->ratio / steps, row->worst, row->over);
    if (row->way == ADAPTIVE)
        printf(" %10.4f %6u %6u", row->predicted / row->measured, row->plans, row->early);
    printf("\n");
    if (player->replay->csv)
        fprintf(player->replay->csv, "%s,%s,%.0f,%.5f,%.4f,%.4f,%s,%s\n", names[row->way], widths,
                bytes, 8 * bytes / elements, saved[0], saved[1], row->way == BOUND ? ",," : error,
                row->way == ADAPTIVE ? plans : ",,");
}

static void print_table(const struct player *player, const struct row *rows, size_t nrows,
                        unsigned steps)
{
    const struct policy_tape *tape = &player->tape;

    printf("%s: %u ranks, %u steps, %u tensors; %zu of %zu elements compressed, in %zu buffers, "
           "%zu segments\n",
           player->replay->path, tape->ranks, steps, tape->tensors, player->elements,
           tape->elements, player->ncounts, player->nsegments);
    printf("%-9s %-6s %10s %9s %8s %8s %8s %8s %6s %10s %6s %6s\n", "", "", "bytes", "bits per",
           "% saved,", "% saved,", "error of", "budget,", "steps", "error of", "", "plans,");
    printf("%-9s %-6s %10s %9s %8s %8s %8s %8s %6s %10s %6s %6s\n", "way", "widths", "a step",
           "element", "float32", "uniform", "mean", "worst", "over", "predicted", "plans", "early");
    if (player->replay->csv)
        fprintf(player->replay->csv,
                "way,widths,bytes,bits_per_element,saved_float32,saved_uniform,error_of_budget,"
                "worst_error_of_budget,steps_over,error_of_predicted,plans,early_plans\n");
    for (size_t r = 0; r < nrows && steps > 0; r++)
        print_row(player, &rows[r], rows[0].bytes, steps);
}

static int play(struct player *player)
{
    struct row rows[] = {{.way = UNIFORM, .least = player->replay->base},
                         {.way = ADAPTIVE, .least = 3},
                         {.way = HINDSIGHT, .least = 3},
                         {.way = BOUND, .least = 3},
                         {.way = ADAPTIVE, .least = 1},
                         {.way = HINDSIGHT, .least = 1},
                         {.way = BOUND, .least = 1}};
    const size_t nrows = sizeof rows / sizeof rows[0];
    unsigned step = 0;
    bool good = true;

    for (size_t r = 0; r < nrows && good; r++) {
        if (rows[r].way != ADAPTIVE)
            continue;
        rows[r].adaptive = make_replay(player, player->replay->base, true, rows[r].least);
        good = rows[r].adaptive != NULL;
    }
    for (; good && step < player->tape.steps && policy_tape_read(&player->tape); step++) {
        struct replay_result base = {0};

        pick_gradients(player);
        good = measure(player, &base);
        for (size_t r = 0; r < nrows && good; r++)
            good = play_row(player, &rows[r], &base);
    }
    if (good && step > 0)
        print_table(player, rows, nrows, step);
    if (step < player->tape.steps)
        fprintf(stderr, "policy: %s: stopped after %u of %u steps\n", player->replay->path, step,
                player->tape.steps);
    for (size_t r = 0; r < nrows; r++)
        replay_free(rows[r].adaptive);
    return !good || step < player->tape.steps;
}

int policy_replay(const struct policy_replay *replay)
{
    struct player player = {.replay = replay};
    const char *wrong = policy_tape_open(&player.tape, replay->path);
    int status = 1;

    if (!wrong && !prepare(&player))
        wrong = "is too large for the memory";
    if (!wrong && player.ncounts == 0)
        wrong = "has no tensors that are large enough; --fused would take them as one";
    if (wrong)
        fprintf(stderr, "policy: %s %s\n", replay->path, wrong);
    else
        status = play(&player);
    for (unsigned w = 0; w < CGX_WIDTHS; w++)
        replay_free(player.uniform[w]);
    free(player.shares);
    free(player.truth);
    free(player.segments);
    free(player.gradients);
    free(player.counts);
    policy_tape_close(&player.tape);
    return status;
}
