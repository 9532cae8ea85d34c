/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "training.h"
#include "digits.h"
#include "hash.h"
#include "matrix.h"
#include "record.h"
#include "sums.h"
#include <getopt.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPORTS = 5, MOST_TENSORS = 64, EMA_EVERY = 10 };

/* What an average over the steps keeps of itself in each. */
static const float EMA_KEPT = 0.95f;

struct options {
    const char *data;
    int seed, epochs, batch, fuse, average_every;
    bool ema, quick, device, help;
};

static int rank, ranks;
static const struct example *example;
static struct options options = {.data = "data/digits.csv", .seed = 1};
static struct digits digits;
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

/* ---- what is summed over the ranks ---- */

static void gradient_is_ready(float *values, int count)
{
    if (tensors.number == MOST_TENSORS)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    tensors.count[tensors.number++] = count;
    record_gradient(values, count);
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

        for (int i = 1; i < CLASSES; i++)
            most = fmaxf(most, value[i * columns]);
        for (int i = 0; i < CLASSES; i++)
            sum += expf(value[i * columns] - most);
        for (int i = 0; i < CLASSES; i++)
            error[i * columns] =
                label < 0 ? 0.0f
                          : expf(value[i * columns] - most) / sum - (i == label ? 1.0f : 0.0f);
        if (label >= 0)
            loss += log((double)sum) + (double)(most - value[label * columns]);
    }
    return loss;
}

/* How many samples are put into their class. */
static int count_right(void)
{
    int columns = model->columns, right = 0;

    for (int j = 0; j < columns; j++) {
        const float *value = model->output + j;
        int best = 0;

        for (int i = 1; i < CLASSES; i++)
            best = value[i * columns] > value[best * columns] ? i : best;
        right += best == model->labels[j];
    }
    return right;
}

/* One step down the gradient of the loss of SAMPLES. */
static void descend(int samples, float rate)
{
    float scale = samples > 0 ? 1.0f / (float)samples : 0.0f;

    for (size_t i = 0; i < model->parameters; i++) {
        model->velocity[i] = example->momentum * model->velocity[i] + scale * model->gradient[i] +
                             example->decay * model->parameter[i];
        model->parameter[i] -= rate * model->velocity[i];
    }
}

static void follow(void)
{
    for (size_t i = 0; i < model->parameters; i++)
        ema[i] = EMA_KEPT * ema[i] + (1.0f - EMA_KEPT) * model->parameter[i];
    if (steps % EMA_EVERY == 0)
        average(ema);
}

static void train_batch(const int *chosen, float rate)
{
    int begin = options.batch * rank / ranks, end = options.batch * (rank + 1) / ranks;

    digits_choose(chosen + begin, end - begin, model->columns, model->input, model->labels);
    model->forward(model);
    cost.loss += model_loss();
    tensors.number = 0;
    model->backward(model, gradient_is_ready);
    sums_end();
    record_step();
    descend(options.average_every ? end - begin : options.batch, rate);
    steps++;
    if (options.average_every && steps % options.average_every == 0)
        average(model->parameter);
    if (ema)
        follow();
}

/* Goes once through the training samples in a new order; what fills no batch is left out. */
static void train_epoch(int epoch, uint64_t *random)
{
    int count = digits.count - TEST_SAMPLES, batches = count / options.batch;
    double start = MPI_Wtime();

    cost.loss = 0.0;
    digits_shuffle(digits.order, count, random);
    for (int i = 0; i < batches; i++) {
        double progress = (epoch + (double)i / batches) / options.epochs;

        train_batch(digits.order + i * options.batch,
                    example->rate * (float)(0.5 + 0.5 * cos(M_PI * progress)));
    }
    cost.seconds += MPI_Wtime() - start;
}

/* Percentage of the test samples that are recognised, on rank 0. */
static double test_accuracy(void)
{
    const int *chosen = digits.order + digits.count - TEST_SAMPLES;
    int right = 0, all = 0, columns = model->columns;

    for (int i = rank * columns; i < TEST_SAMPLES; i += ranks * columns) {
        digits_choose(chosen + i, TEST_SAMPLES - i < columns ? TEST_SAMPLES - i : columns, columns,
                      model->input, model->labels);
        model->forward(model);
        right += count_right();
    }
    MPI_Reduce(&right, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    return 100.0 * all / TEST_SAMPLES;
}

/* Returns the test accuracy at the end. Loss and accuracy go to rank 0 by MPI_Reduce, so that the
 * gradients alone are all-reduced: the same sequence of calls in every step. Where it is weights
 * that are averaged, each rank tests its own until the end. */
static double train(uint64_t *random)
{
    int used = (digits.count - TEST_SAMPLES) / options.batch * options.batch;
    int between = (options.epochs + REPORTS - 1) / REPORTS;
    double accuracy = 0.0, loss = 0.0;

    for (int epoch = 0; epoch < options.epochs; epoch++) {
        train_epoch(epoch, random);
        if (epoch + 1 == options.epochs && options.average_every &&
            steps % options.average_every != 0)
            average(model->parameter);
        if ((epoch + 1) % between != 0 && epoch + 1 != options.epochs)
            continue;
        accuracy = test_accuracy();
        MPI_Reduce(&cost.loss, &loss, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0)
            printf("epoch %3d of %d: loss %.4f, test accuracy %.2f %%\n", epoch + 1, options.epochs,
                   loss / used, accuracy);
        fflush(stdout);
    }
    return accuracy;
}

static bool is_equal_on_all_ranks(uint64_t hash)
{
    uint64_t least, most;

    MPI_Allreduce(&hash, &least, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&hash, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    return least == most;
}

/* ---- the program ---- */

static bool parse_number(const char *text, long least, long most, int *number)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (end == text || *end != '\0' || value < least || value > most)
        return false;
    *number = (int)value;
    return true;
}

/* Of an option with its argument in optarg. */
static bool set_option(int option)
{
    switch (option) {
    case 'd':
        options.data = optarg;
        return true;
    case 'a':
        return parse_number(optarg, 1, 1000000, &options.average_every);
    case 'm':
        return options.ema = true;
    case 'q':
        return options.quick = true;
    case 'g':
        return options.device = true;
    case 'h':
        return options.help = true;
    case 's':
        return parse_number(optarg, 0, 1000000, &options.seed);
    case 'e':
        return parse_number(optarg, 1, 1000000, &options.epochs);
    case 'b':
        return parse_number(optarg, 1, 1000000, &options.batch);
    case 'f':
        return parse_number(optarg, 0, 1 << 30, &options.fuse);
    default:
        return false;
    }
}

static void print_usage(FILE *file)
{
    fprintf(
        file,
        "usage: %s [--data FILE] [--seed N] [--epochs N] [--batch N] [--quick] [--device]\n"
        "       [--fuse BYTES] [--average-every N | --ema] [--help]\n"
        "--quick: a smaller network; --device: sums in GPU memory; --fuse: sums neighbouring\n"
        "gradients together up to so many bytes; --average-every: each rank descends by itself,\n"
        "and every N steps the ranks average their weights; --ema: an average of the weights\n"
        "over the steps is kept too, averaged over the ranks every %d steps, and tested.\n",
        example->name, EMA_EVERY);
}

static bool parse_options(int argc, char **argv)
{
    static const struct option known[] = {
        {"data", required_argument, NULL, 'd'},
        {"seed", required_argument, NULL, 's'},
        {"epochs", required_argument, NULL, 'e'},
        {"batch", required_argument, NULL, 'b'},
        {"fuse", required_argument, NULL, 'f'},
        {"average-every", required_argument, NULL, 'a'},
        {"ema", no_argument, NULL, 'm'},
        {"quick", no_argument, NULL, 'q'},
        {"device", no_argument, NULL, 'g'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    bool good = true;
    int option;

    options.batch = example->batch;
    opterr = 0;
    while (good && (option = getopt_long_only(argc, argv, "", known, NULL)) != -1)
        good = set_option(option);
    if ((!good || optind < argc) && rank == 0) {
        fprintf(stderr, "%s: not understood: %s\n", argv[0], argv[good ? optind : optind - 1]);
        print_usage(stderr);
    }
    if (good && options.average_every && options.ema) {
        good = false;
        if (rank == 0)
            fprintf(stderr, "%s: --average-every and --ema do not go together\n", argv[0]);
    }
    if (options.epochs == 0)
        options.epochs = options.quick ? example->quick_epochs : example->epochs;
    return good && optind == argc;
}

/* Ends the program where there is no memory. */
static void create(uint64_t *random)
{
    model = example->create(options.quick, (options.batch + ranks - 1) / ranks, random);
    if (model && options.ema)
        ema = malloc(model->parameters * sizeof *ema);
    if (model == NULL || (options.ema && ema == NULL)) {
        fprintf(stderr, "%s: rank %d: out of memory\n", example->name, rank);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    } else if (!sums_start(model->parameters, options.fuse, options.device)) {
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    } else if (ema) {
        memcpy(ema, model->parameter, model->parameters * sizeof *ema);
    }
}

/* Of the average over the steps, which takes the parameters' place. */
static void report_ema(void)
{
    uint64_t hash;
    double accuracy;

    memcpy(model->parameter, ema, model->parameters * sizeof *ema);
    hash = hash_values(model->parameter, model->parameters);
    accuracy = test_accuracy();
    if (rank == 0)
        printf("ema accuracy=%.2f hash=%016" PRIx64 "\n", accuracy, hash);
}

static bool run(void)
{
    uint64_t random = (uint64_t)options.seed;
    struct sums_cost sums;
    uint64_t hash;
    double accuracy;
    bool equal;

    create(&random);
    if (rank == 0)
        printf("%s, %zu parameters; %d samples to train, %d to test; batches of %d on %d ranks\n",
               model->description, model->parameters, digits.count - TEST_SAMPLES, TEST_SAMPLES,
               options.batch, ranks);
    record_start(model->parameters);
    accuracy = train(&random);
    record_end();
    sums = sums_cost();
    hash = hash_values(model->parameter, model->parameters);
    equal = is_equal_on_all_ranks(hash);
    if (ema)
        report_ema();
    if (rank == 0) {
        printf("trained in %.2f s, of which %.2f s to sum %.1f million elements over the ranks\n"
               "parameters equal on all ranks: %s\n",
               cost.seconds, sums.seconds, 1e-6 * (double)sums.elements, equal ? "yes" : "no");
        printf("result accuracy=%.2f seconds=%.3f allreduce_elements=%lld allreduce_seconds=%.3f "
               "hash=%016" PRIx64 "\n",
               accuracy, cost.seconds, sums.elements, sums.seconds, hash);
    }
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
    good = parse_options(argc, argv);
    if (good && options.help && rank == 0)
        print_usage(stdout);
    if (good && !options.help)
        good = digits_load(options.data, options.batch, &digits) && run();
    MPI_Finalize();
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
