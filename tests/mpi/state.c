/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums of state (forces, averaged weights, factors), which must stay exact, and similar gradients,
 * which must be compressed: "state NAME [device]", with CGX_BUFFERS=host and otherwise the
 * defaults. */

#include <math.h>

#include "lib/player.h"
#include "lib/sums.h"

enum { COUNT = 16384, WATCHED_FROM = 24, STEPS = 80 };

/* Element INDEX of STREAM: a Gaussian number. */
static float gauss(uint64_t stream, size_t index)
{
    return (float)data_value(DATA_GAUSSIAN, ELEMENT_FLOAT32, stream, 0, index);
}

/* What STREAM gives this rank alone, in this sum alone. */
static float own_gauss(const struct player *player, uint64_t stream, size_t index)
{
    return (float)data_value(DATA_GAUSSIAN, ELEMENT_FLOAT32, 1000 * player->sums + stream,
                             player->rank + 1, index);
}

static void sum_noise(struct player *player, size_t count, float scale)
{
    float *input = player_input(player, count);

    for (size_t i = 0; i < count; i++)
        input[i] = scale * own_gauss(player, 1, i);
    player_sum_input(player, PLAYER_GRADIENT, count);
}

/* ---- state ---- */

enum { PARTICLES = COUNT, CENTRES = 64, AXES = 3 };

/* Elements of a particle are PARTICLES apart. Adds the force of CENTRE on the one in PLACE. */
static void attract(const float *place, const float *centre, float mass, float *force)
{
    float square = 0.05f;

    for (size_t k = 0; k < AXES; k++) {
        float way = centre[k] - place[k * PARTICLES];

        square += way * way;
    }
    for (size_t k = 0; k < AXES; k++)
        force[k * PARTICLES] +=
            mass * (centre[k] - place[k * PARTICLES]) / (square * sqrtf(square));
}

/* A step of particles among fixed centres, each rank with some of these; leapfrog. The forces are
 * summed in so many CALLS. */
static void move_particles(struct player *player, unsigned step, size_t calls)
{
    static float place[AXES * PARTICLES], speed[AXES * PARTICLES], force[AXES * PARTICLES];
    size_t count = AXES * PARTICLES / calls;

    for (size_t i = 0; step == 0 && i < AXES * PARTICLES; i++)
        place[i] = gauss(1, i) * (i % 50 == 0 ? 6 : 1);
    memset(force, 0, sizeof force);
    for (size_t c = (size_t)player->rank; c < CENTRES; c += (size_t)player->ranks) {
        const float centre[AXES] = {gauss(2, 3 * c), gauss(2, 3 * c + 1), gauss(2, 3 * c + 2)};

        for (size_t p = 0; p < PARTICLES; p++)
            attract(place + p, centre, 1.0f / CENTRES, force + p);
    }
    for (size_t first = 0; first < AXES * PARTICLES; first += count) {
        memcpy(player_input(player, count), force + first, count * sizeof(float));
        memcpy(force + first, player_sum_input(player, PLAYER_WEIGHTS, count),
               count * sizeof(float));
    }
    for (size_t i = 0; i < AXES * PARTICLES; i++) {
        speed[i] += 0.02f * force[i];
        place[i] += 0.02f * speed[i];
    }
}

static void play_forces(struct player *player, unsigned step)
{
    move_particles(player, step, 1);
}

/* Three sums of one count: one call site, where each is like the third before it. */
static void play_components(struct player *player, unsigned step)
{
    move_particles(player, step, AXES);
}

/* One sample of a class from CLASSES of INPUTS values each. */
enum { CLASSES = 64, INPUTS = COUNT / CLASSES };

static void draw_sample(const struct player *player, uint64_t stream, size_t class, float *values)
{
    for (size_t i = 0; i < INPUTS; i++)
        values[i] = 0.2f * gauss(3, class * INPUTS + i) + own_gauss(player, stream, i);
}

/* Adds RATE times the gradient of a softmax over WEIGHTS by a sample of CLASS to SUM. */
static void learn(const float *weights, const float *values, size_t class, float rate, float *sum)
{
    float output[CLASSES], most = -INFINITY, total = 0;

    for (size_t c = 0; c < CLASSES; c++) {
        output[c] = 0;
        for (size_t i = 0; i < INPUTS; i++)
            output[c] += weights[c * INPUTS + i] * values[i];
        most = fmaxf(most, output[c]);
    }
    for (size_t c = 0; c < CLASSES; c++)
        total += output[c] = expf(output[c] - most);
    for (size_t c = 0; c < CLASSES; c++)
        for (size_t i = 0; i < INPUTS; i++)
            sum[c * INPUTS + i] += rate * (output[c] / total - (float)(c == class)) * values[i];
}

/* Each rank descends by itself, on classes of its own, and then the weights are averaged. */
static void play_federated(struct player *player, unsigned step)
{
    static float weights[COUNT];
    float *own = player_input(player, COUNT), values[INPUTS];
    const float *sum;

    for (size_t i = 0; step == 0 && i < COUNT; i++)
        weights[i] = gauss(4, i) * sqrtf(2.0f / INPUTS);
    memcpy(own, weights, sizeof weights);
    for (uint64_t s = 0; s < 40; s++) {
        size_t class = data_random(5, (uint64_t)player->rank + 100 * step, s) % CLASSES;

        class -= class % (size_t)player->ranks;
        class += (size_t)player->rank;
        draw_sample(player, s, class, values);
        learn(own, values, class, -0.1f, own);
    }
    sum = player_sum_input(player, PLAYER_WEIGHTS, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        weights[i] = sum[i] / (float)player->ranks;
}

enum { WIDTH = 129 };

/* Mean of x x^T over a batch, of activations of unlike scale, as K-FAC and Shampoo sum it. */
static void sum_factor(struct player *player)
{
    enum { BATCH = 256 };
    float *factor = player_input(player, (size_t)WIDTH * WIDTH), values[WIDTH];

    memset(factor, 0, sizeof(float) * WIDTH * WIDTH);
    for (uint64_t s = 0; s < BATCH; s++) {
        for (size_t i = 0; i < WIDTH; i++)
            values[i] = powf(10, -2.0f * (float)i / WIDTH) * own_gauss(player, s, i);
        for (size_t i = 0; i < WIDTH; i++)
            for (size_t j = 0; j < WIDTH; j++)
                factor[i * WIDTH + j] += values[i] * values[j] / BATCH;
    }
    player_sum_input(player, PLAYER_WEIGHTS, (size_t)WIDTH * WIDTH);
}

/* The gradient of a symmetric matrix is one where it is summed with something else. */
static void play_factors(struct player *player, unsigned step)
{
    enum { ALL = WIDTH * WIDTH + WIDTH };
    float *gradient = player_input(player, ALL);

    (void)step;
    for (size_t i = 0, mirrored; i < ALL; i++) {
        mirrored = i % WIDTH * WIDTH + i / WIDTH;
        gradient[i] = own_gauss(player, 1, mirrored < i ? mirrored : i);
    }
    player_sum_input(player, PLAYER_GRADIENT, ALL);
    sum_factor(player);
}

/* Each of RANKS has its part of weights that change a little from step to step, and zeros
 * elsewhere. */
static void sum_parts(struct player *player, size_t count, int ranks)
{
    float *input = player_input(player, count);
    size_t part = ranks ? count / (size_t)ranks : 0, first = part * (size_t)player->rank;

    memset(input, 0, count * sizeof *input);
    for (size_t i = first; i < first + part && player->rank < ranks; i++)
        input[i] = gauss(7, i) + 0.01f * own_gauss(player, 1, i);
    player_sum_input(player, PLAYER_WEIGHTS, count);
}

static void play_gather(struct player *player, unsigned step)
{
    (void)step;
    sum_parts(player, 2 * COUNT, player->ranks);
    sum_noise(player, 2 * COUNT, 1);
}

/* A broadcast that is done as a sum, of a gradient's size and in its place. */
static void play_broadcast(struct player *player, unsigned step)
{
    if (step % 4 == 3)
        sum_parts(player, COUNT, 1);
    else
        sum_noise(player, COUNT, 1);
}

/* A solver whose sums are like gradients at first, and then come to rest. */
static void play_rest(struct player *player, unsigned step)
{
    enum { MOVES = 60, RESTS = 90 };
    float *input = player_input(player, COUNT);
    float moves = step < MOVES ? 3 : 3 * powf(0.8f, (float)(step - MOVES));

    for (size_t i = 0; i < COUNT; i++)
        input[i] = gauss(9 + (uint64_t)player->rank, i) + moves * own_gauss(player, 1, i);
    /* In between nothing is held to be right or wrong. */
    player->watched = step < MOVES || step >= RESTS;
    player_sum_input(player, step < MOVES ? PLAYER_GRADIENT : PLAYER_WEIGHTS, COUNT);
}

/* Nothing but zeros for a while, of a layer that is frozen. */
static void play_zeros(struct player *player, unsigned step)
{
    if (step < STEPS / 2)
        sum_parts(player, COUNT, 0);
    else
        sum_noise(player, COUNT, 1);
}

/* Parts that are gathered by a sum, and counts, new in each step. */
static void play_parts(struct player *player, unsigned step)
{
    float *input = player_input(player, COUNT);
    const size_t part = COUNT / (size_t)player->ranks;

    (void)step;
    for (size_t i = 0; i < COUNT; i++)
        input[i] = i / part == (size_t)player->rank ? own_gauss(player, 1, i) : 0;
    player_sum_input(player, PLAYER_WEIGHTS, COUNT);
}

static void play_counts(struct player *player, unsigned step)
{
    float *input = player_input(player, COUNT);

    for (size_t i = 0; i < COUNT; i++)
        input[i] = truncf((float)(2 + step % 3) * own_gauss(player, 1, i));
    player_sum_input(player, PLAYER_WEIGHTS, COUNT);
}

/* ---- gradients ---- */

static void play_noise(struct player *player, unsigned step)
{
    (void)step;
    sum_noise(player, COUNT, 1);
}

/* Of a mixture of experts: one rank alone has a gradient, another one in each step. */
static void play_experts(struct player *player, unsigned step)
{
    float *input = player_input(player, COUNT);
    bool mine = step % (unsigned)player->ranks == (unsigned)player->rank;

    for (size_t i = 0; i < COUNT; i++)
        input[i] = mine ? own_gauss(player, 1, i) : 0;
    player_sum_input(player, PLAYER_GRADIENT, COUNT);
}

/* Layers of unlike scale in one buffer, one of which is frozen. */
static void play_fused(struct player *player, unsigned step)
{
    float *input = player_input(player, 3 * COUNT);

    (void)step;
    for (size_t i = 0; i < 3 * COUNT; i++)
        input[i] = i < COUNT       ? own_gauss(player, 1, i)
                   : i < 2 * COUNT ? 0
                                   : 1e-3f * (gauss(11, i) + own_gauss(player, 1, i));
    player_sum_input(player, PLAYER_GRADIENT, 3 * COUNT);
}

/* Gradients that share a call site with state may stay exact like it. */
static const struct player_stream scenes[] = {
    {"forces", play_forces, STEPS, 0, 0, 0},
    {"components", play_components, STEPS, 0, 0, 0},
    {"federated", play_federated, STEPS, 0, 0, 0},
    {"broadcast", play_broadcast, 2 * STEPS, WATCHED_FROM, 90, 100},
    {"factors", play_factors, STEPS, WATCHED_FROM, 90, 100},
    {"gather", play_gather, STEPS, WATCHED_FROM, 0, 100},
    {"parts", play_parts, STEPS, 0, 0, 0},
    {"counts", play_counts, STEPS, 0, 0, 0},
    {"rest", play_rest, STEPS + 40, WATCHED_FROM, 90, 100},
    {"zeros", play_zeros, 2 * STEPS, STEPS / 2 + WATCHED_FROM, 90, 100},
    {"noise", play_noise, STEPS, WATCHED_FROM, 95, 100},
    {"experts", play_experts, 2 * STEPS, WATCHED_FROM, 90, 100},
    {"fused", play_fused, STEPS, WATCHED_FROM, 95, 100},
};

int main(int argc, char **argv)
{
    return player_main(argc, argv, scenes, sizeof scenes / sizeof scenes[0]);
}
