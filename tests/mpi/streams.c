/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Streams of sums as whole programs make them, scaled down, with CGX_BUFFERS=host and
 * CGX_COMPRESSION_MINIMAL_SIZE=1024: "streams NAME [MILLISECONDS]", of each forward pass. Gradients
 * are compressed from step 50 on. Data that is alike on all ranks, and sums that do not recur,
 * never are. */

#include <stdlib.h>
#include <time.h>

#include "lib/data.h"
#include "lib/player.h"

#define WATCHED_FROM 50
#define STEPS 80

/* ---- models ---- */

#define TENSORS 256

struct model {
    size_t ntensors;
    size_t counts[TENSORS]; /* in the order of the backward pass */
};

static void add(struct model *model, size_t count)
{
    model->counts[model->ntensors++] = count;
}

/* A transformer of equal layers, with the embedding for a head. */
static struct model transformer(void)
{
    static const size_t layer[] = {4096, 32, 4096, 128, 32, 32, 1024, 32, 3072, 96, 32, 32};
    struct model model = {0};

    for (size_t i = 0; i < 12; i++)
        for (size_t k = 0; k < sizeof layer / sizeof layer[0]; k++)
            add(&model, layer[k]);
    add(&model, 32 * 128);
    add(&model, 32 * 1024);
    return model;
}

/* ResNet-50, an eighth of its channels; a batch norm's two tensors behind each convolution. */
static struct model resnet(void)
{
    static const size_t blocks[] = {3, 4, 6, 3};
    struct model model = {0};

    add(&model, 125);
    add(&model, 256 * 125);
    for (size_t stage = 4; stage-- > 0;) {
        size_t inner = (size_t)8 << stage, outer = 4 * inner;

        for (size_t b = blocks[stage]; b-- > 0;) {
            size_t in = b > 0 ? outer : stage > 0 ? outer / 2 : 8;
            const size_t convolutions[] = {outer * inner, inner * inner * 9, inner * in,
                                           b > 0 ? 0 : in * outer};
            const size_t channels[] = {outer, inner, inner, outer};

            for (size_t k = 0; k < 4 && convolutions[k] > 0; k++) {
                add(&model, channels[k]);
                add(&model, channels[k]);
                add(&model, convolutions[k]);
            }
        }
    }
    add(&model, 3 * 49 * 8);
    return model;
}

/* Tensors FIRST to END - 1 in one buffer. */
static size_t fused(const struct model *model, size_t first, size_t end)
{
    size_t count = 0;

    for (size_t i = first; i < end; i++)
        count += model->counts[i];
    return count;
}

/* Buckets of as many ELEMENTS at least, the first of fewer, as PyTorch's data parallel module makes
 * them. */
static struct model buckets(const struct model *model, size_t elements)
{
    struct model made = {0};
    size_t first = 0;

    for (size_t i = 0; i < model->ntensors; i++) {
        size_t count = fused(model, first, i + 1);

        if (count >= (made.ntensors == 0 ? elements / 8 : elements) || i + 1 == model->ntensors) {
            add(&made, count);
            first = i + 1;
        }
    }
    return made;
}

static void sum_all(struct player *player, enum player_kind kind, const struct model *model)
{
    for (size_t i = 0; i < model->ntensors; i++)
        player_sum(player, kind, i, model->counts[i]);
}

/* ---- streams ---- */

static void play_transformer(struct player *player, unsigned step)
{
    struct model model = transformer();

    (void)step;
    sum_all(player, PLAYER_GRADIENT, &model);
}

/* In the first step the buckets are in the order of the parameters. */
static void play_buckets(struct player *player, unsigned step)
{
    struct model model = transformer(), made;

    for (size_t i = 0; step == 0 && i < model.ntensors / 2; i++) {
        size_t last = model.counts[model.ntensors - 1 - i];

        model.counts[model.ntensors - 1 - i] = model.counts[i];
        model.counts[i] = last;
    }
    made = buckets(&model, 30000);
    sum_all(player, PLAYER_GRADIENT, &made);
    player_sum(player, PLAYER_GRADIENT, 0, 1); /* the loss */
}

/* Statistics of batches in the forward pass; running ones are averaged now and then. */
static void play_resnet(struct player *player, unsigned step)
{
    struct model model = resnet();

    for (size_t i = 2; i + 2 < model.ntensors; i += 6)
        player_sum(player, PLAYER_SQUARES, i, 2 * model.counts[i]);
    sum_all(player, PLAYER_GRADIENT, &model);
    if (step % 10 == 9)
        player_sum(player, PLAYER_WEIGHTS, 999, 6640);
}

/* About 1, never far from it: a time that varies by TENTHS, from the sum of four even draws. */
static double vary(uint64_t stream, uint64_t index, double tenths)
{
    double sum = 0;

    for (uint64_t i = 0; i < 4; i++)
        sum += (double)(data_random(9, stream, 4 * index + i) % 1000) / 1000 - 0.5;
    return 1 + 0.1 * tenths * sum * 1.7;
}

/* Steps are known by pauses that are longer than those that a busy machine makes within them. */
static long forward_ms = 40;

/* A backward pass of 60 ms makes the tensors, the last first, and every CYCLE what is ready goes
 * together, while what went before keeps the wire busy. Steps are known by the forward pass. */
static void play_horovod(struct player *player, unsigned step, double cycle)
{
    const struct timespec forward = {0, step < WATCHED_FROM ? forward_ms * 1000000 : 0};
    struct model model = transformer();
    double each = 60.0 / (double)model.ntensors * vary(1, step, 0.5), ready = 0, tick;
    size_t first = model.ntensors;

    nanosleep(&forward, NULL);
    tick = cycle * (double)(data_random(8, step, 0) % 1000) / 1000;
    for (size_t cycles = 0; first > 0; cycles++, tick += cycle) {
        size_t end = first;
        double next = ready;

        while (first > 0) {
            next += each * vary(2 + step, first, 0.5);
            if (next > tick)
                break;
            ready = next;
            first--;
        }
        if (first == end)
            continue;
        player_sum(player, PLAYER_GRADIENT, first, fused(&model, first, end));
        tick += (double)fused(&model, first, end) * 1e-5;
    }
}

static void play_horovod_1ms(struct player *player, unsigned step)
{
    play_horovod(player, step, 1);
}

static void play_horovod_5ms(struct player *player, unsigned step)
{
    play_horovod(player, step, 5);
}

/* Two steps of the discriminator for one of the generator. */
static void play_gan(struct player *player, unsigned step)
{
    static const size_t generator[] = {1024 * 8, 512 * 72, 256 * 40, 128 * 40, 1200};
    static const size_t discriminator[] = {1100, 64 * 80, 128 * 72, 256 * 72, 512};

    for (size_t i = 0; i < 5; i++)
        player_sum(player, PLAYER_GRADIENT, i, step % 3 == 2 ? generator[i] : discriminator[i]);
}

/* The confusion matrix of 71 classes, and means of a few metrics. */
static void play_evaluation(struct player *player, unsigned step)
{
    play_buckets(player, step);
    if (step % 10 != 9)
        return;
    for (unsigned batch = 0; batch < 3; batch++)
        player_sum(player, PLAYER_SQUARES, batch, 20);
    player_sum(player, PLAYER_SQUARES, 77, 71 * 71);
}

static void play_local(struct player *player, unsigned step)
{
    struct model model = transformer();

    (void)step;
    sum_all(player, PLAYER_WEIGHTS, &model);
}

/* The averages of the weights are averaged over the ranks every five steps. */
static void play_ema(struct player *player, unsigned step)
{
    struct model model = transformer(), made = buckets(&model, 30000);

    sum_all(player, PLAYER_GRADIENT, &made);
    if (step % 5 == 4)
        player_sum(player, PLAYER_WEIGHTS, 500, fused(&model, 0, model.ntensors));
}

/* The same buffers as the gradients'. */
static void play_ema_alike(struct player *player, unsigned step)
{
    struct model model = transformer(), made = buckets(&model, 30000);

    sum_all(player, PLAYER_GRADIENT, &made);
    if (step % 5 == 4)
        sum_all(player, PLAYER_WEIGHTS, &made);
}

/* Adam on each rank, whose weights and both moments are averaged. */
static void play_moments(struct player *player, unsigned step)
{
    struct model model = transformer(), made = buckets(&model, 30000);

    (void)step;
    sum_all(player, PLAYER_WEIGHTS, &made);
    sum_all(player, PLAYER_MOMENT, &made);
    sum_all(player, PLAYER_SQUARES, &made);
}

static void play_passes(struct player *player, unsigned step)
{
    struct model model = transformer();

    (void)step;
    sum_all(player, PLAYER_GRADIENT, &model);
}

static const struct player_stream streams[] = {
    {"transformer", play_transformer, STEPS, WATCHED_FROM, 99, 100},
    {"buckets", play_buckets, STEPS, WATCHED_FROM, 99, 100},
    {"resnet", play_resnet, STEPS, WATCHED_FROM, 99, 100},
    {"horovod_1ms", play_horovod_1ms, 2 * STEPS, WATCHED_FROM, 90, 100},
    {"horovod_5ms", play_horovod_5ms, 4 * STEPS, WATCHED_FROM, 90, 100},
    {"gan", play_gan, 3 * STEPS, WATCHED_FROM, 99, 100},
    {"evaluation", play_evaluation, STEPS, WATCHED_FROM, 99, 100},
    {"ema", play_ema, STEPS, WATCHED_FROM, 99, 100},
    {"ema_alike", play_ema_alike, STEPS, WATCHED_FROM, 99, 100},
    {"local", play_local, STEPS, 0, 0, 0},
    {"moments", play_moments, STEPS, 0, 0, 0},
    /* What is noise in them may be compressed where pauses make layers look like steps. */
    {"one_pass", play_passes, 1, 0, 0, 100},
    {"two_passes", play_passes, 2, 0, 0, 100},
};

int main(int argc, char **argv)
{
    if (argc > 2)
        forward_ms = atol(argv[2]);
    return player_main(argc, argv, streams, sizeof streams / sizeof streams[0]);
}
