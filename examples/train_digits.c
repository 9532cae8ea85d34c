/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Data-parallel training in plain MPI: a multi-layer perceptron learns 8x8 pictures of digits.
 *
 *     mpicc -O3 -o train_digits train_digits.c -lm
 *     mpiexec -n 4 ./train_digits --data data/digits.csv
 *     mpiexec -n 4 env LD_PRELOAD=libcgxpmpi.so CGX_BUFFERS=host ./train_digits --data ...
 *     mpiexec -n 4 env LD_PRELOAD=libcgxpmpi.so ./train_digits --device --data ...
 *
 * Every rank holds all parameters and takes its share of each batch. The gradients are summed with
 * MPI_Allreduce, layer by layer from the last to the first, weights and biases apart, as deep
 * learning frameworks do; then every rank makes the same step. Nothing here knows of libcgxpmpi:
 * the third line compresses these sums because the library is preloaded. With --device the
 * gradients are summed in GPU memory, as they are where frameworks compute on GPUs; the network
 * here is computed by the processor all the same. */
#include "device_memory.h"
#include "perceptron.h"
#include <getopt.h>
#include <mpi.h>
#include <stdio.h>

enum { PIXELS = 64, BRIGHTEST = 16, MOST_SAMPLES = 10000, TEST_SAMPLES = 645, SPLIT_SEED = 1 };
enum { REPORTS = 5 };

/* Slow enough that small changes of the gradients lead to nearly the same network. */
static const float LEARNING_RATE = 0.02f, MOMENTUM = 0.9f, WEIGHT_DECAY = 1e-4f;

struct options {
    const char *data;
    int seed, epochs, batch;
    bool quick, device;
};

struct samples {
    int count;
    int order[MOST_SAMPLES]; /* shuffled; the last TEST_SAMPLES are to test with */
    int labels[MOST_SAMPLES];
    float pixels[MOST_SAMPLES][PIXELS]; /* -0.6 to 1.4, 0 in the mean */
};

struct cost {
    double loss, seconds, allreduce_seconds; /* loss: of this rank in this epoch, summed */
    long long allreduce_elements;
};

static int rank, ranks;
static struct samples samples;
static float *device_gradient; /* as network.gradient, in GPU memory; NULL: sums are on the host */

/* ---- data ---- */

static void shuffle(int *order, int count, uint64_t *random)
{
    for (int i = count - 1; i > 0; i--) {
        int other = (int)(random_bits(random) % (uint64_t)(i + 1)), kept = order[i];

        order[i] = order[other];
        order[other] = kept;
    }
}

/* Each line is PIXELS numbers and the label. Prints what is wrong and returns false. */
static bool read_samples(const char *name)
{
    FILE *file = fopen(name, "r");
    int fields = 0, value;
    bool whole;

    if (file == NULL) {
        perror(name);
        return false;
    }
    while (samples.count < MOST_SAMPLES && fscanf(file, "%d%*[,\r\n]", &value) == 1) {
        if (value < 0 || value > (fields < PIXELS ? BRIGHTEST : CLASSES - 1))
            break;
        if (fields < PIXELS) {
            samples.pixels[samples.count][fields++] = (float)value / 8.0f - 0.6f;
        } else {
            samples.labels[samples.count++] = value;
            fields = 0;
        }
    }
    whole = (feof(file) || samples.count == MOST_SAMPLES) && fields == 0;
    if (!whole)
        fprintf(stderr, "%s: sample %d is not %d pixels and a label\n", name, samples.count + 1,
                PIXELS);
    fclose(file);
    return whole;
}

/* Rank 0 reads, so that the file need not be on every machine. The test set is always the same. */
static bool load_samples(const struct options *options)
{
    uint64_t random = SPLIT_SEED;

    if (rank == 0 && !read_samples(options->data)) {
        samples.count = 0;
    } else if (rank == 0 && samples.count < TEST_SAMPLES + options->batch) {
        fprintf(stderr, "%s: %d samples are too few to test on %d and train in batches of %d\n",
                options->data, samples.count, TEST_SAMPLES, options->batch);
        samples.count = 0;
    }
    MPI_Bcast(&samples, (int)sizeof samples, MPI_BYTE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < samples.count; i++)
        samples.order[i] = i;
    shuffle(samples.order, samples.count, &random);
    return samples.count > 0;
}

/* The samples that CHOSEN names become the columns of the network, the other columns are unused. */
static void choose_samples(struct network *network, const int *chosen, int count)
{
    int columns = network->columns;

    for (int j = 0; j < columns; j++) {
        network->labels[j] = j < count ? samples.labels[chosen[j]] : -1;
        for (int i = 0; i < PIXELS; i++)
            network->values[0][i * columns + j] = j < count ? samples.pixels[chosen[j]][i] : 0.0f;
    }
}

/* ---- training ---- */

/* The copies are not timed: elsewhere gradients are where they are summed. */
static void sum_over_ranks(const struct network *network, float *values, int count,
                           struct cost *cost)
{
    float *device = device_gradient ? device_gradient + (values - network->gradient) : NULL;
    size_t bytes = (size_t)count * sizeof *values;
    bool copied = !device || device_upload(device, values, bytes);
    double start = MPI_Wtime();

    MPI_Allreduce(MPI_IN_PLACE, device ? device : values, count, MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
    cost->allreduce_seconds += MPI_Wtime() - start;
    cost->allreduce_elements += count;
    if (!copied || (device && !device_download(values, device, bytes))) {
        fprintf(stderr, "train_digits: rank %d: gradients could not be copied\n", rank);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
}

static void train_batch(struct network *network, const int *chosen, int batch, float rate,
                        struct cost *cost)
{
    int begin = batch * rank / ranks, end = batch * (rank + 1) / ranks;

    choose_samples(network, chosen + begin, end - begin);
    network_forward(network);
    cost->loss += network_loss(network);
    for (int l = LAYERS - 1; l >= 0; l--) {
        const struct layer *layer = &network->layer[l];

        network_backward(network, l);
        sum_over_ranks(network, layer->weight_gradients, layer->in * layer->out, cost);
        sum_over_ranks(network, layer->bias_gradients, layer->out, cost);
    }
    network_descend(network, batch, rate, MOMENTUM, WEIGHT_DECAY);
}

/* Goes once through the training samples in a new order; what fills no batch is left out. */
static void train_epoch(struct network *network, const struct options *options, int epoch,
                        uint64_t *random, struct cost *cost)
{
    int count = samples.count - TEST_SAMPLES, steps = count / options->batch;
    double start = MPI_Wtime();

    cost->loss = 0.0;
    shuffle(samples.order, count, random);
    for (int i = 0; i < steps; i++) {
        double progress = (epoch + (double)i / steps) / options->epochs;
        float rate = LEARNING_RATE * (float)(0.5 + 0.5 * cos(M_PI * progress));

        train_batch(network, samples.order + i * options->batch, options->batch, rate, cost);
    }
    cost->seconds += MPI_Wtime() - start;
}

/* Percentage of the test samples that are recognised, on rank 0. */
static double test_accuracy(struct network *network)
{
    const int *chosen = samples.order + samples.count - TEST_SAMPLES;
    int right = 0, all = 0, columns = network->columns;

    for (int i = rank * columns; i < TEST_SAMPLES; i += ranks * columns) {
        choose_samples(network, chosen + i,
                       TEST_SAMPLES - i < columns ? TEST_SAMPLES - i : columns);
        network_forward(network);
        right += network_count_right(network);
    }
    MPI_Reduce(&right, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    return 100.0 * all / TEST_SAMPLES;
}

/* Returns the test accuracy at the end. Loss and accuracy go to rank 0 by MPI_Reduce, so that the
 * gradients alone are all-reduced: the same sequence of calls in every step. */
static double train(struct network *network, const struct options *options, uint64_t *random,
                    struct cost *cost)
{
    int used = (samples.count - TEST_SAMPLES) / options->batch * options->batch;
    int between = (options->epochs + REPORTS - 1) / REPORTS;
    double accuracy = 0.0, loss = 0.0;

    for (int epoch = 0; epoch < options->epochs; epoch++) {
        train_epoch(network, options, epoch, random, cost);
        if ((epoch + 1) % between != 0 && epoch + 1 != options->epochs)
            continue;
        accuracy = test_accuracy(network);
        MPI_Reduce(&cost->loss, &loss, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0)
            printf("epoch %3d of %d: loss %.4f, test accuracy %.2f %%\n", epoch + 1,
                   options->epochs, loss / used, accuracy);
        fflush(stdout);
    }
    return accuracy;
}

/* Compares a hash of the parameters' bytes (FNV-1a, a word at a time) over all ranks. */
static bool parameters_are_equal(const struct network *network)
{
    uint64_t hash = 0xCBF29CE484222325u, least, most;

    for (size_t i = 0; i < network->parameters; i++) {
        uint32_t word;

        memcpy(&word, network->parameter + i, sizeof word);
        hash = (hash ^ word) * 0x100000001B3u;
    }
    MPI_Allreduce(&hash, &least, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&hash, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    return least == most;
}

/* ---- the program ---- */

static bool parse_number(const char *text, long least, int *number)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (end == text || *end != '\0' || value < least || value > 1000000)
        return false;
    *number = (int)value;
    return true;
}

static bool parse_options(int argc, char **argv, struct options *options)
{
    static const struct option known[] = {
        {"data", required_argument, NULL, 'd'},
        {"seed", required_argument, NULL, 's'},
        {"epochs", required_argument, NULL, 'e'},
        {"batch", required_argument, NULL, 'b'},
        {"quick", no_argument, NULL, 'q'},
        {"device", no_argument, NULL, 'g'},
        {NULL, 0, NULL, 0},
    };
    bool good = true;
    int option;

    opterr = 0;
    while (good && (option = getopt_long_only(argc, argv, "", known, NULL)) != -1) {
        if (option == 'd')
            options->data = optarg;
        else if (option == 'q')
            options->quick = true;
        else if (option == 'g')
            options->device = true;
        else if (option == 's')
            good = parse_number(optarg, 0, &options->seed);
        else if (option == 'e')
            good = parse_number(optarg, 1, &options->epochs);
        else if (option == 'b')
            good = parse_number(optarg, 1, &options->batch);
        else
            good = false;
    }
    if ((!good || optind < argc) && rank == 0)
        fprintf(stderr,
                "%s: not understood: %s\n"
                "usage: train_digits [--data FILE] [--seed N] [--epochs N] [--batch N] [--quick]"
                " [--device]\n",
                argv[0], argv[good ? optind : optind - 1]);
    return good && optind == argc;
}

static bool run(const struct options *options)
{
    static const int sizes[2][LAYERS + 1] = {{PIXELS, 1600, 1600, 832, CLASSES},
                                             {PIXELS, 256, 256, 128, CLASSES}};
    const int *size = sizes[options->quick];
    uint64_t random = (uint64_t)options->seed;
    struct network network = {0};
    struct cost cost = {0};
    double accuracy;
    bool equal;

    if (!network_create(&network, size, (options->batch + ranks - 1) / ranks, &random)) {
        fprintf(stderr, "train_digits: rank %d: out of memory\n", rank);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    if (options->device) {
        device_gradient = device_allocate(rank, network.parameters * sizeof *device_gradient);
        if (device_gradient == NULL)
            MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    if (rank == 0)
        printf("%d-%d-%d-%d-%d network, %zu parameters; %d samples to train, %d to test; batches "
               "of %d on %d ranks\n",
               size[0], size[1], size[2], size[3], size[4], network.parameters,
               samples.count - TEST_SAMPLES, TEST_SAMPLES, options->batch, ranks);
    accuracy = train(&network, options, &random, &cost);
    equal = parameters_are_equal(&network);
    if (rank == 0) {
        printf("trained in %.2f s, of which %.2f s to sum %.1f million elements over the ranks\n"
               "parameters equal on all ranks: %s\n",
               cost.seconds, cost.allreduce_seconds, 1e-6 * (double)cost.allreduce_elements,
               equal ? "yes" : "no");
        printf("result accuracy=%.2f seconds=%.3f allreduce_elements=%lld allreduce_seconds=%.3f\n",
               accuracy, cost.seconds, cost.allreduce_elements, cost.allreduce_seconds);
    }
    network_free(&network);
    return equal;
}

int main(int argc, char **argv)
{
    struct options options = {.data = "data/digits.csv", .seed = 1, .batch = 128};
    bool good;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    good = parse_options(argc, argv, &options);
    if (options.epochs == 0)
        options.epochs = options.quick ? 25 : 12;
    good = good && load_samples(&options) && run(&options);
    MPI_Finalize();
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
