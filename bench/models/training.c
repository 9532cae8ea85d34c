/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "training.h"
#include "leave.h"
#include "matrix.h"
#include "options.h"
#include "sums.h"
#include <inttypes.h>
#include <mpi.h>
#include <stdlib.h>

enum { REPORTS = 5, MOST_TENSORS = 64, MOST_MEASURED = 32768, MOST_STEPS = 1000 };

/* What an average over the steps keeps of itself in each. */
static const float EMA_KEPT = 0.95f;

static int rank, ranks;
static const struct example *example;
static struct options options;
static struct samples samples;
static struct share share;
static struct model *model;
static float *ema; /* of the parameters, over the steps; NULL: none is wanted */
static int steps;  /* that are done */

/* In the order in which backward finishes them; together they are all parameters. */
static struct {
    int number;
    int count[MOST_TENSORS];
} tensors;

static struct {
    double loss, seconds; /* loss: of this rank in this epoch, summed */
} cost;

/* Of some samples, for each place: on rank 0. */
struct score {
    double loss, accuracy; /* accuracy: in percent */
};

/* Samples to train with, evenly chosen, for the loss at the end. */
static struct {
    int *order, count;
} measured;

/* ---- lines that tell how far training is ---- */

/* The ranks begin a step's sums one after the other; what counts is the shortest time that one of
 * them was in these, since others have waited for it. */
static struct {
    int every, steps, step;
    int since;                 /* steps since the last line */
    double loss;               /* in these */
    double sums[MOST_STEPS];   /* seconds of this rank in the sums of each of these */
    double all_sums, sums_end; /* seconds in sums: of all ranks, until the last line; of this one */
} shown;

/* A line after every EVERY steps of ALL, and after the last; 0: none. */
static void progress_start(int every, int all)
{
    shown.every = every < MOST_STEPS ? every : MOST_STEPS;
    shown.steps = all;
    shown.sums_end = sums_cost().seconds;
}

/* By MPI_Reduce, so that the gradients alone are all-reduced. */
static void print_line(double seconds)
{
    double shortest[MOST_STEPS], loss = 0.0;

    MPI_Reduce(shown.sums, shortest, shown.since, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(&shown.loss, &loss, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        for (int i = 0; i < shown.since; i++)
            shown.all_sums += shortest[i];
        printf("step %d of %d: loss %.6f, %.3f s, %.3f s in sums\n", shown.step, shown.steps,
               loss / shown.since, seconds, shown.all_sums);
        fflush(stdout);
    }
    shown.since = 0;
    shown.loss = 0.0;
}

/* Collective, at the end of a step: LOSS, that of this rank, becomes part of the mean loss;
 * SECONDS, since training began. */
static void progress_step(double loss, double seconds)
{
    double sums_end = sums_cost().seconds;

    if (shown.every == 0)
        return;
    shown.sums[shown.since++] = sums_end - shown.sums_end;
    shown.sums_end = sums_end;
    shown.loss += loss;
    shown.step++;
    if (shown.since == shown.every || shown.step == shown.steps)
        print_line(seconds);
}

/* ---- what is summed over the ranks ---- */

static void gradient_is_ready(float *values, int count)
{
    if (tensors.number == MOST_TENSORS)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    tensors.count[tensors.number++] = count;
    if (options.average_every == 0)
        sums_add(values, count);
}

/* Over the ranks, of as many values as there are parameters, tensor by tensor. */
static void average(float *values)
{
    float *tensor = values;

    for (int i = 0; i < tensors.number; i++) {
        sums_add(tensor, tensors.count[i]);
        tensor += tensors.count[i];
    }
    sums_end();
    for (size_t i = 0; i < model->parameters; i++)
        values[i] /= (float)ranks;
}

/* ---- training ---- */

/* The loss, summed over the samples, and its derivative into output_errors. */
static double model_loss(void)
{
    int columns = model->columns;
    double loss = 0.0;

    for (int j = 0; j < columns; j++) {
        const float *value = model->output + j;
        float *error = model->output_errors + j;
        float most = value[0], sum = 0.0f;
        int label = model->labels[j];

        for (int i = 1; i < model->classes; i++)
            most = fmaxf(most, value[i * columns]);
        for (int i = 0; i < model->classes; i++)
            sum += expf(value[i * columns] - most);
        for (int i = 0; i < model->classes; i++)
            error[i * columns] =
                label < 0 ? 0.0f
                          : expf(value[i * columns] - most) / sum - (i == label ? 1.0f : 0.0f);
        if (label >= 0)
            loss += log((double)sum) + (double)(most - value[label * columns]);
    }
    return loss;
}

/* How many columns are put into their class. */
static int count_right(void)
{
    int columns = model->columns, right = 0;

    for (int j = 0; j < columns; j++) {
        const float *value = model->output + j;
        int best = 0;

        for (int i = 1; i < model->classes; i++)
            best = value[i * columns] > value[best * columns] ? i : best;
        right += best == model->labels[j];
    }
    return right;
}

static void follow(void)
{
    for (size_t i = 0; i < model->parameters; i++)
        ema[i] = EMA_KEPT * ema[i] + (1.0f - EMA_KEPT) * model->parameter[i];
    if (steps % EMA_EVERY == 0)
        average(ema);
}

/* Returns the loss of this rank, summed over its samples. */
static double train_batch(const int *chosen, float rate)
{
    double loss;
    int count = options.average_every ? share.size : options.batch;

    model->fill(model, chosen, share.size);
    model->forward(model);
    loss = model_loss();
    tensors.number = 0;
    model->backward(model, gradient_is_ready);
    sums_end();
    optimiser_step(model->parameter, model->gradient,
                   count > 0 ? 1.0f / (float)(count * model->places) : 0.0f, rate);
    steps++;
    if (options.average_every && steps % options.average_every == 0)
        average(model->parameter);
    if (ema)
        follow();
    return loss;
}

/* Goes once through the training samples in a new order; what fills no batch is left out. */
static void train_epoch(int epoch, uint64_t *random)
{
    double start = MPI_Wtime();

    cost.loss = 0.0;
    samples_shuffle(share.order, share.count, random);
    for (int i = 0; i < share.batches; i++) {
        double progress = (epoch + (double)i / share.batches) / options.epochs;
        double loss = train_batch(share.order + share.first + i * share.stride,
                                  (float)options.rate * (float)(0.5 + 0.5 * cos(M_PI * progress)));

        cost.loss += loss;
        progress_step(loss / ((double)options.batch * model->places),
                      cost.seconds + MPI_Wtime() - start);
    }
    cost.seconds += MPI_Wtime() - start;
}

/* Collective; by MPI_Reduce, so that the gradients alone are all-reduced: the same sequence of
 * calls in every step. */
static struct score evaluate(const int *chosen, int count)
{
    double own[2] = {0.0, 0.0}, all[2] = {0.0, 0.0};
    double places = (double)count * model->places;

    for (int i = rank * model->samples; i < count; i += ranks * model->samples) {
        model->fill(model, chosen + i, count - i < model->samples ? count - i : model->samples);
        model->forward(model);
        own[0] += model_loss();
        own[1] += count_right();
    }
    MPI_Reduce(own, all, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    return (struct score){.loss = all[0] / places, .accuracy = 100.0 * all[1] / places};
}

static struct score test(void)
{
    return evaluate(samples.order + samples.train, samples.test);
}

/* Returns the score at the end. Where it is weights that are averaged, each rank tests its own
 * until then. */
static struct score train(uint64_t *random)
{
    double used = (double)share.batches * options.batch * model->places, loss = 0.0;
    int between = (options.epochs + REPORTS - 1) / REPORTS;
    struct score score = {0};

    for (int epoch = 0; epoch < options.epochs; epoch++) {
        train_epoch(epoch, random);
        if (epoch + 1 == options.epochs && options.average_every &&
            steps % options.average_every != 0)
            average(model->parameter);
        if ((epoch + 1) % between != 0 && epoch + 1 != options.epochs)
            continue;
        score = test();
        MPI_Reduce(&cost.loss, &loss, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0)
            printf("epoch %3d of %d: loss %.4f, test accuracy %.2f %%\n", epoch + 1, options.epochs,
                   loss / used, score.accuracy);
        fflush(stdout);
    }
    return score;
}

static bool is_equal_on_all_ranks(uint64_t hash)
{
    uint64_t least, most;

    MPI_Allreduce(&hash, &least, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&hash, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    return least == most;
}

/* ---- the program ---- */

/* Before the samples are put into another order. */
static bool choose_measured(void)
{
    int most = MOST_MEASURED / model->places;

    measured.count = samples.train < most ? samples.train : most;
    measured.order = malloc((size_t)measured.count * sizeof *measured.order);
    for (int i = 0; measured.order && i < measured.count; i++)
        measured.order[i] = samples.order[(long long)i * samples.train / measured.count];
    return measured.order != NULL;
}

/* Ends the program where there is no memory. */
static void create(uint64_t *random)
{
    bool good;

    model = example->create(options.size, (options.batch + ranks - 1) / ranks, random);
    good = model && choose_measured() &&
           optimiser_start(options.optimiser, model->parameters, example->momentum, example->decay);
    if (good && options.ema) {
        ema = malloc(model->parameters * sizeof *ema);
        good = ema != NULL;
    }
    if (!good) {
        fprintf(stderr, "%s: rank %d: out of memory\n", example->name, rank);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    } else if (!sums_start(model->parameters, options.fuse, options.device)) {
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    } else if (ema) {
        memcpy(ema, model->parameter, model->parameters * sizeof *ema);
    }
    share = samples_share(&samples, options.shards, options.batch);
}

/* Of the average over the steps, which takes the parameters' place. */
static void report_ema(void)
{
    uint64_t hash;
    struct score score;

    memcpy(model->parameter, ema, model->parameters * sizeof *ema);
    hash = hash_values(model->parameter, model->parameters);
    score = test();
    if (rank == 0)
        printf("ema accuracy=%.2f hash=%016" PRIx64 "\n", score.accuracy, hash);
}

static void report(struct score trained, struct score tested, uint64_t hash, bool equal)
{
    struct sums_cost sums = sums_cost();

    sums_print_step();
    printf("trained in %.2f s, of which %.2f s to sum %.1f million elements over the ranks\n"
           "parameters equal on all ranks: %s\n",
           cost.seconds, sums.seconds, 1e-6 * (double)sums.elements, equal ? "yes" : "no");
    if (model->report)
        model->report(model);
    printf("result accuracy=%.2f loss=%.6f test_loss=%.6f seconds=%.3f allreduce_elements=%lld "
           "allreduce_seconds=%.3f hash=%016" PRIx64 "\n",
           tested.accuracy, trained.loss, tested.loss, cost.seconds, sums.elements, sums.seconds,
           hash);
}

static bool run(void)
{
    uint64_t random = (uint64_t)options.seed, hash;
    struct score trained, tested;
    bool equal;

    create(&random);
    if (rank == 0)
        printf("%s, %zu parameters; %d samples to train, %d to test; batches of %d on %d ranks\n",
               model->description, model->parameters, samples.train, samples.test, options.batch,
               ranks);
    progress_start(options.report_every, share.batches * options.epochs);
    tested = train(&random);
    trained = evaluate(measured.order, measured.count);
    hash = hash_values(model->parameter, model->parameters);
    equal = is_equal_on_all_ranks(hash);
    if (ema)
        report_ema();
    if (rank == 0)
        report(trained, tested, hash, equal);
    optimiser_end();
    free(measured.order);
    free(ema);
    free(model);
    return equal;
}

int training_main(int argc, char **argv, const struct example *trained)
{
    bool good;

    example = trained;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    good = options_read(argc, argv, example, rank == 0, &options);
    if (good && options.help && rank == 0)
        options_print_usage(stdout, example);
    if (good && !options.help)
        good = example->load(options.data, options.batch, &samples) && run();
    if (good && options.leave && !options.help) {
        MPI_Barrier(MPI_COMM_WORLD);
        leave_job();
        exit(EXIT_SUCCESS);
    }
    MPI_Finalize();
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
