/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Replays recorded gradients: what each way to choose widths would send, and with what error. In
 * every step the true error of each segment's compressed sum is measured at all widths.
 *
 * - uniform: the base width.
 * - adaptive: as the library does it. Plans are made from its sample of one bucket in 16: after
 *   three steps, then each period, and after a step whose true error exceeds 1.1 times the budget
 *   (of which the library has an estimate).
 * - hindsight: a new plan for every step, from the true errors of that step.
 * - bound: a plan that no widths can beat, the Lagrangian bound of the step's optimum. */

#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codec/codec.h"
#include "policy.h"

#define FIRST_PLAN 3 /* steps */
#define GUARD 1.1

struct segment {
    size_t first, count;
};

struct tape {
    FILE *file;
    uint32_t ranks, steps, tensors;
    uint64_t *sizes;
    size_t elements; /* of one rank's step */
    float *values;   /* of all ranks */
};

struct player {
    const struct policy_replay *replay;
    struct tape tape;
    struct policy_meter *meter;
    size_t nsegments;
    struct segment *segments;
    double (*truth)[CGX_WIDTHS], (*sampled)[CGX_WIDTHS]; /* errors of this step */
    struct cgx_share *shares;
};

enum way { UNIFORM, ADAPTIVE, HINDSIGHT, BOUND, WAYS };

struct row {
    enum way way;
    unsigned least;
    unsigned char *bits; /* of segments, in use */
    unsigned age;        /* steps since the plan; adaptive */
    bool planned;
    double bytes, ratio, worst, predicted; /* sums over steps, and a maximum */
    unsigned over, plans;
};

static bool read_words(FILE *file, uint32_t *words, size_t count)
{
    if (fread(words, sizeof *words, count, file) != count)
        return false;
    for (size_t i = 0; i < count; i++)
        words[i] = le32toh(words[i]);
    return true;
}

/* NULL, or what is wrong. */
static const char *open_tape(struct tape *tape, const char *path)
{
    unsigned char magic[4];
    uint32_t words[4];

    tape->file = fopen(path, "rb");
    if (!tape->file)
        return "cannot be opened";
    if (fread(magic, 1, 4, tape->file) != 4 || memcmp(magic, "CGXG", 4) != 0 ||
        !read_words(tape->file, words, 4) || words[0] != 1)
        return "is no recording of version 1";
    tape->ranks = words[1];
    tape->steps = words[2];
    tape->tensors = words[3];
    if (tape->ranks < 1 || tape->ranks > 1024 || tape->steps < 1 || tape->tensors < 1 ||
        tape->tensors > 1u << 20)
        return "has a number of ranks, steps or tensors that cannot be";
    tape->sizes = calloc(tape->tensors, sizeof *tape->sizes);
    if (!tape->sizes)
        return "is too large for the memory";
    if (fread(tape->sizes, sizeof *tape->sizes, tape->tensors, tape->file) != tape->tensors)
        return "is truncated";
    for (uint32_t t = 0; t < tape->tensors; t++) {
        tape->sizes[t] = le64toh(tape->sizes[t]);
        if (tape->sizes[t] < 1 || tape->sizes[t] > UINT32_MAX - tape->elements)
            return "has tensors of no or too many elements";
        tape->elements += tape->sizes[t];
    }
    tape->values = calloc(tape->elements, tape->ranks * sizeof(float));
    return tape->values ? NULL : "is too large for the memory";
}

static bool read_step(struct tape *tape)
{
    return read_words(tape->file, (uint32_t *)tape->values, tape->elements * tape->ranks);
}

static void cut(struct player *player)
{
    const struct tape *tape = &player->tape;
    size_t first = 0, most = player->replay->segment;

    for (uint32_t t = 0; t < tape->tensors; t++) {
        size_t end = player->replay->fused ? tape->elements : first + tape->sizes[t];

        for (; first < end; first += player->segments[player->nsegments++].count)
            player->segments[player->nsegments] =
                (struct segment){.first = first, .count = end - first < most ? end - first : most};
    }
}

static bool prepare(struct player *player)
{
    const struct tape *tape = &player->tape;
    size_t most = tape->elements / player->replay->segment + tape->tensors + 1;

    player->segments = calloc(most, sizeof *player->segments);
    player->truth = calloc(most, sizeof *player->truth);
    player->sampled = calloc(most, sizeof *player->sampled);
    player->shares = calloc(most, sizeof *player->shares);
    player->meter = policy_meter_create(tape->ranks, player->replay->segment);
    if (!player->segments || !player->truth || !player->sampled || !player->shares ||
        !player->meter)
        return false;
    cut(player);
    return true;
}

static void measure(struct player *player)
{
    size_t stride = player->tape.elements;

    for (size_t l = 0; l < player->nsegments; l++) {
        struct segment segment = player->segments[l];
        const float *values = player->tape.values + segment.first;
        unsigned owner = (unsigned)(l % player->tape.ranks);

        for (unsigned b = 1; b <= CGX_WIDTHS; b++) {
            double truth = policy_reduce(player->meter, values, stride, segment.count, owner, b);
            double sampled = policy_sample(player->meter, values, stride, segment.count, owner, b);

            /* Not finite whatever the width. */
            player->truth[l][b - 1] = isfinite(truth) ? truth : 0;
            player->sampled[l][b - 1] = isfinite(sampled) ? sampled : 0;
        }
    }
}

static double base_error(const struct player *player, double (*errors)[CGX_WIDTHS])
{
    double error = 0;

    for (size_t l = 0; l < player->nsegments; l++)
        error += errors[l][player->replay->base - 1];
    return error;
}

static void allocate(struct player *player, struct row *row, double (*errors)[CGX_WIDTHS])
{
    for (size_t l = 0; l < player->nsegments; l++)
        player->shares[l] = (struct cgx_share){.cost = (double)player->segments[l].count,
                                               .errors = errors[l],
                                               .least = row->least,
                                               .most = CGX_WIDTHS,
                                               .base = player->replay->base,
                                               .bits = player->replay->base};
    if (cgx_allocate(player->shares, player->nsegments,
                     player->replay->alpha * base_error(player, errors)) != CGX_OK)
        fprintf(stderr, "policy: no memory for a plan\n");
    for (size_t l = 0; l < player->nsegments; l++)
        row->bits[l] = (unsigned char)player->shares[l].bits;
}

static double header_bytes(const struct player *player)
{
    size_t buckets = 0;

    for (size_t l = 0; l < player->nsegments; l++)
        buckets += (player->segments[l].count + POLICY_BUCKET - 1) / POLICY_BUCKET;
    return (double)(buckets * CGX_BUCKET_HEADER_BYTES);
}

/* For every price of error, the least of cost + price * error is below the optimum by no less than
 * the price of the budget. */
static double bound_bytes(const struct player *player, unsigned least)
{
    double budget = player->replay->alpha * base_error(player, player->truth);
    double low = -300, high = 300, best = 0;

    for (int i = 0; i < 80; i++) {
        double price = exp2((low + high) / 2), error = 0, cost = 0;

        for (size_t l = 0; l < player->nsegments; l++) {
            double count = (double)player->segments[l].count;
            unsigned bits = least;

            for (unsigned b = least + 1; b <= CGX_WIDTHS; b++)
                if (count * b + price * player->truth[l][b - 1] <
                    count * bits + price * player->truth[l][bits - 1])
                    bits = b;
            cost += count * bits;
            error += player->truth[l][bits - 1];
        }
        best = fmax(best, cost + price * (error - budget));
        if (error > budget)
            low = (low + high) / 2;
        else
            high = (low + high) / 2;
    }
    return best / 8 + header_bytes(player);
}

static void account(struct player *player, struct row *row)
{
    double budget = player->replay->alpha * base_error(player, player->truth);
    double error = 0, sampled = 0, ratio;

    for (size_t l = 0; l < player->nsegments; l++) {
        unsigned b = row->bits[l];

        error += player->truth[l][b - 1];
        sampled += player->sampled[l][b - 1];
        row->bytes += (double)player->segments[l].count * b / 8;
    }
    ratio = budget > 0 ? error / budget : error > 0 ? INFINITY : 1;
    row->bytes += header_bytes(player);
    row->ratio += ratio;
    row->worst = fmax(row->worst, ratio);
    row->over += ratio > GUARD;
    row->predicted += sampled > 0 ? error / sampled : 1;
    row->age++;
    if (row->way != ADAPTIVE ||
        !(ratio > GUARD || row->age >= (row->planned ? player->replay->period : FIRST_PLAN)))
        return;
    allocate(player, row, player->sampled);
    row->age = 0;
    row->planned = true;
    row->plans++;
}

static void play_step(struct player *player, struct row *row)
{
    if (row->way == BOUND) {
        row->bytes += bound_bytes(player, row->least);
        return;
    }
    if (row->way == HINDSIGHT)
        allocate(player, row, player->truth);
    account(player, row);
}

static void print_row(const struct player *player, const struct row *row, double uniform,
                      unsigned steps)
{
    static const char *const names[WAYS] = {"uniform", "adaptive", "hindsight", "bound"};
    double elements = (double)player->tape.elements, bytes = row->bytes / steps;
    char widths[8], error[64] = "", csv[64] = ",,,,";

    snprintf(widths, sizeof widths, row->way == UNIFORM ? "%u" : "%u:8", row->least);
    if (row->way != BOUND) {
        snprintf(error, sizeof error, "%9.4f %9.4f %6u %11.4f %6u", row->ratio / steps, row->worst,
                 row->over, row->predicted / steps, row->plans);
        snprintf(csv, sizeof csv, "%.5f,%.5f,%u,%.5f,%u", row->ratio / steps, row->worst, row->over,
                 row->predicted / steps, row->plans);
    }
    printf("%-9s %-6s %12.0f %10.4f %9.2f %9.2f %s\n", names[row->way], widths, bytes,
           8 * bytes / elements, 100 * (1 - bytes / (4 * elements)),
           100 * (1 - row->bytes / uniform), error);
    if (player->replay->csv)
        fprintf(player->replay->csv, "%s,%s,%.0f,%.5f,%.4f,%.4f,%s\n", names[row->way], widths,
                bytes, 8 * bytes / elements, 100 * (1 - bytes / (4 * elements)),
                100 * (1 - row->bytes / uniform), csv);
}

static int play(struct player *player)
{
    const struct tape *tape = &player->tape;
    struct row rows[] = {{.way = UNIFORM, .least = player->replay->base},
                         {.way = ADAPTIVE, .least = 3},
                         {.way = HINDSIGHT, .least = 3},
                         {.way = BOUND, .least = 3},
                         {.way = ADAPTIVE, .least = 1},
                         {.way = HINDSIGHT, .least = 1},
                         {.way = BOUND, .least = 1}};
    size_t nrows = sizeof rows / sizeof rows[0];
    unsigned char *bits = malloc(nrows * player->nsegments);
    unsigned step = 0;

    if (!bits)
        return 1;
    memset(bits, (int)player->replay->base, nrows * player->nsegments);
    for (size_t r = 0; r < nrows; r++)
        rows[r].bits = bits + r * player->nsegments;
    for (; step < tape->steps && read_step(&player->tape); step++) {
        measure(player);
        for (size_t r = 0; r < nrows; r++)
            play_step(player, &rows[r]);
    }
    if (step < tape->steps)
        fprintf(stderr, "policy: %s ends after %u of %u steps\n", player->replay->path, step,
                tape->steps);
    printf("%s: %u ranks, %u steps, %u tensors, %zu elements, %zu segments%s\n",
           player->replay->path, tape->ranks, step, tape->tensors, tape->elements,
           player->nsegments, player->replay->fused ? " of one buffer" : "");
    printf("%-9s %-6s %12s %10s %9s %9s %9s %9s %6s %11s %6s\n", "", "", "bytes", "bits per",
           "% saved,", "% saved,", "error of", "budget,", "steps", "error of", "");
    printf("%-9s %-6s %12s %10s %9s %9s %9s %9s %6s %11s %6s\n", "way", "widths", "a step",
           "element", "float32", "uniform", "mean", "worst", "> 1.1", "prediction", "plans");
    if (player->replay->csv)
        fprintf(player->replay->csv,
                "way,widths,bytes,bits_per_element,saved_float32,saved_uniform,error_of_budget,"
                "worst_error_of_budget,steps_over,error_of_prediction,plans\n");
    for (size_t r = 0; r < nrows && step > 0; r++)
        print_row(player, &rows[r], rows[0].bytes, step);
    free(bits);
    return step < tape->steps;
}

int policy_replay(const struct policy_replay *replay)
{
    struct player player = {.replay = replay};
    const char *wrong = open_tape(&player.tape, replay->path);
    int status = 1;

    if (!wrong && !prepare(&player))
        wrong = "is too large for the memory";
    if (wrong)
        fprintf(stderr, "policy: %s %s\n", replay->path, wrong);
    else
        status = play(&player);
    policy_meter_free(player.meter);
    free(player.shares);
    free(player.sampled);
    free(player.truth);
    free(player.segments);
    free(player.tape.values);
    free(player.tape.sizes);
    if (player.tape.file)
        fclose(player.tape.file);
    return status;
}
