/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "player.h"

#include <stdlib.h>

#include "check.h"
#include "device.h"
#include "sums.h"

static void player_begin(struct player *player)
{
    *player = (struct player){.right = true};
    PMPI_Comm_dup(MPI_COMM_WORLD, &player->comm);
    PMPI_Comm_set_errhandler(player->comm, MPI_ERRORS_RETURN);
    PMPI_Comm_rank(player->comm, &player->rank);
    PMPI_Comm_size(player->comm, &player->ranks);
}

static void drop_room(struct player *player)
{
    free(player->input);
    free(player->result);
    free(player->exact);
    if (player->device)
        device_free(player->device);
}

static void player_end(struct player *player)
{
    MPI_Comm_free(&player->comm);
    drop_room(player);
}

static void make_room(struct player *player, size_t count)
{
    if (count <= player->room)
        return;
    drop_room(player);
    player->room = count;
    player->input = check_memory(count * sizeof(float));
    player->result = check_memory(count * sizeof(float));
    player->exact = check_memory(count * sizeof(float));
    if (player->on_device)
        player->device = device_alloc(count * sizeof(float));
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
    tally->elements += (double)count;
    tally->compressed += differs ? (double)count : 0;
    tally->sums++;
    tally->compressed_sums += differs;
}

float *player_input(struct player *player, size_t count)
{
    make_room(player, count);
    return player->input;
}

const float *player_sum_input(struct player *player, enum player_kind kind, size_t count)
{
    size_t bytes = count * sizeof(float);
    void *buffer = player->device ? player->device : player->result;

    memcpy(player->result, player->input, bytes);
    if (player->device)
        device_upload(buffer, player->input, bytes);
    if (MPI_Allreduce(MPI_IN_PLACE, buffer, (int)count, MPI_FLOAT, MPI_SUM, player->comm) !=
        MPI_SUCCESS)
        player->right = false;
    if (player->device)
        device_download(player->result, buffer, bytes);
    player->digest = player->digest * 31 + check_digest(player->result, bytes);
    if (player->watched)
        count_sum(player, kind, count);
    player->sums++;
    return player->result;
}

/* ---- programs ---- */

static void play(const struct player_stream *stream, bool on_device)
{
    struct player player;
    const struct player_tally *gradients = &player.tallies[PLAYER_GRADIENT];
    double share;

    player_begin(&player);
    player.on_device = on_device;
    for (unsigned step = 0; step < stream->steps; step++) {
        if (step == stream->watched_from)
            player.tallies[PLAYER_GRADIENT] = (struct player_tally){0};
        player.watched = true;
        stream->play(&player, step);
        player.right =
            check_same(&player.digest, sizeof player.digest, player.comm) && player.right;
    }
    share = gradients->elements > 0 ? 100 * gradients->compressed / gradients->elements : 0;
    check_note(
        "%-12s %d ranks, %6llu sums; compressed: gradients %5.1f %%, weights %.0f of %.0f sums",
        stream->name, player.ranks, (unsigned long long)player.sums, share,
        player.tallies[PLAYER_WEIGHTS].compressed_sums, player.tallies[PLAYER_WEIGHTS].sums);
    check(player.right, "no call fails, and all ranks have the same bytes");
    check(share >= stream->least && share <= stream->most,
          "%.0f to %.0f %% of the gradients are compressed", stream->least, stream->most);
    check(player.tallies[PLAYER_WEIGHTS].compressed_sums == 0,
          "what must be exact is exact, to the bit");
    player_end(&player);
}

int player_main(int argc, char **argv, const struct player_stream *streams, size_t n)
{
    bool found = false, on_device;

    check_begin(&argc, &argv);
    on_device = argc > 2 && strcmp(argv[2], "device") == 0;
    if (on_device && !place_begin("device buffers", false))
        return check_end();
    for (size_t i = 0; i < n; i++) {
        if (argc > 1 && strcmp(argv[1], streams[i].name) != 0)
            continue;
        play(&streams[i], on_device);
        found = true;
    }
    check(found, "there is such a stream");
    return check_end();
}
