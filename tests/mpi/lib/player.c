/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "player.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "data.h"

void player_begin(struct player *player)
{
    const char *minimal = getenv("CGX_COMPRESSION_MINIMAL_SIZE");

    *player = (struct player){.right = true};
    player->minimal = minimal ? strtoull(minimal, NULL, 10) : 16384;
    PMPI_Comm_dup(MPI_COMM_WORLD, &player->comm);
    PMPI_Comm_set_errhandler(player->comm, MPI_ERRORS_RETURN);
    PMPI_Comm_rank(player->comm, &player->rank);
    PMPI_Comm_size(player->comm, &player->ranks);
}

void player_end(struct player *player)
{
    MPI_Comm_free(&player->comm);
    free(player->input);
    free(player->result);
    free(player->exact);
}

static void make_room(struct player *player, size_t count)
{
    if (count <= player->room)
        return;
    free(player->input);
    free(player->result);
    free(player->exact);
    player->room = count;
    player->input = check_memory(count * sizeof(float));
    player->result = check_memory(count * sizeof(float));
    player->exact = check_memory(count * sizeof(float));
}

/* ---- data ---- */

/* xorshift64 (Marsaglia); between -1 and 1, more often near 0. */
static float draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return ((float)(*state & 0xFFFFFF) + (float)(*state >> 40)) * 0x1p-24f - 1;
}

static uint64_t begin_draws(uint64_t seed, uint64_t stream)
{
    return data_random(seed, stream, 0) | 1;
}

static void fill(struct player *player, enum player_kind kind, uint64_t tensor, size_t count)
{
    static const float noises[PLAYER_KINDS] = {1, 0.5f, 0.01f, 0.5f};
    static const float scales[] = {1, 0.03f, 0.2f, 0.001f, 5};
    bool moves = kind == PLAYER_GRADIENT || kind == PLAYER_MOMENT;
    uint64_t common = begin_draws(moves ? player->sums : kind, tensor);
    uint64_t own = begin_draws(player->sums, (uint64_t)player->rank + 1000);
    float scale = scales[tensor % 5], noise = noises[kind];

    for (size_t i = 0; i < count; i++) {
        float signal = draw(&common), value = signal + noise * draw(&own);

        player->input[i] = kind == PLAYER_SQUARES ? scale * value * value : scale * value;
    }
}

/* ---- sums ---- */

static void count_sum(struct player *player, enum player_kind kind, size_t count)
{
    struct player_tally *tally = &player->tallies[kind];
    bool differs;

    if (PMPI_Allreduce(player->input, player->exact, (int)count, MPI_FLOAT, MPI_SUM,
                       player->comm) != MPI_SUCCESS)
        player->right = false;
    differs = memcmp(player->result, player->exact, count * sizeof(float)) != 0;
    if (count < player->minimal) {
        player->right = player->right && !differs;
        return;
    }
    tally->elements += (double)count;
    tally->compressed += differs ? (double)count : 0;
    tally->sums++;
    tally->compressed_sums += differs;
}

void player_sum(struct player *player, enum player_kind kind, uint64_t tensor, size_t count)
{
    make_room(player, count);
    fill(player, kind, tensor, count);
    memcpy(player->result, player->input, count * sizeof(float));
    if (MPI_Allreduce(MPI_IN_PLACE, player->result, (int)count, MPI_FLOAT, MPI_SUM, player->comm) !=
        MPI_SUCCESS)
        player->right = false;
    player->digest = player->digest * 31 + check_digest(player->result, count * sizeof(float));
    if (player->watched)
        count_sum(player, kind, count);
    player->sums++;
}

void player_step(struct player *player)
{
    if (!check_same(&player->digest, sizeof player->digest, player->comm))
        player->right = false;
}

double player_share(const struct player *player, enum player_kind kind)
{
    const struct player_tally *tally = &player->tallies[kind];

    return tally->elements > 0 ? 100 * tally->compressed / tally->elements : 0;
}
