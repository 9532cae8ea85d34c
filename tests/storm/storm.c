/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Random calls, each held to what its result may be: "storm SEED CALLS MOST [EPISODE]", of MOST
 * elements at the most, with the settings that the environment has; with device buffers if
 * STORM_DEVICES is set, with rules if STORM_RULES is. EPISODE: only that one of the episodes that
 * the calls are made in. The first call that is not right ends the job. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "codec/uniform/uniform.h"
#include "storm.h"

/* ---- kinds of blocks ---- */

/* Of each message the first piece is counted, if it is uniform and its kinds are in the first
 * fragment. */

/* Of the values that a piece was made of there are so many to an element at most. */
#define MOST_VALUES 64

static uint64_t kinds_sent[16]; /* by kind (doc/format.md) */

/* Counts the blocks of PIECE, the first of BYTES, if it has COUNT elements. */
static bool count_blocks(const unsigned char *piece, size_t bytes, uint64_t count)
{
    const struct cgx_uniform_layout layout = cgx_uniform_layout_of((size_t)count);
    uint32_t end;

    if (layout.words > bytes)
        return false;
    memcpy(&end, piece + layout.ends + (layout.groups - 1) * sizeof end, sizeof end);
    if (end != cgx_uniform_head_of(piece).words)
        return false;
    for (size_t b = 0; b * CGX_UNIFORM_BLOCK < count; b++)
        kinds_sent[piece[layout.kinds + b / 2] >> b % 2 * 4 & 15]++;
    return true;
}

static void kinds_count(const unsigned char *message, size_t bytes)
{
    const unsigned char *piece = message + CGX_MESSAGE_HEADER_BYTES;
    struct cgx_uniform_head head;

    if (bytes < CGX_MESSAGE_HEADER_BYTES + sizeof head || message[0] != CGX_FORMAT_VERSION ||
        (message[1] & 31) != CGX_MESSAGE_PACKED)
        return;
    head = cgx_uniform_head_of(piece);
    if (!cgx_uniform_is_step(head.step) || head.elements >> 40 != 0)
        return;
    for (uint64_t each = 1; each <= MOST_VALUES; each++)
        if (head.elements >= each && head.elements % each == 0 &&
            count_blocks(piece, bytes - CGX_MESSAGE_HEADER_BYTES, head.elements / each))
            return;
}

/* ---- a storm ---- */

enum { ALIVE = 3 };

/* A storm so far. */
struct storm {
    struct draw draw;
    struct storm_limits limits;
    const char *only; /* the number of an episode, or NULL: all */
    uint64_t begun;
    struct episode *alive[ALIVE];
    struct episode_tally tally;
};

static bool is_wanted(const struct storm *storm, uint64_t episode)
{
    return storm->only == NULL || strtoull(storm->only, NULL, 10) == episode;
}

/* One call of an episode that is on, or of a new one. */
static void take_call(struct storm *storm)
{
    struct episode **slot = &storm->alive[draw_below(&storm->draw, ALIVE)];

    if (*slot == NULL) {
        *slot = episode_begin(storm->draw.seed, storm->begun, &storm->limits,
                              is_wanted(storm, storm->begun));
        storm->begun++;
    }
    if (!episode_call(*slot, &storm->tally)) {
        episode_end(*slot);
        *slot = NULL;
    }
}

static void report(const struct storm *storm)
{
    const struct episode_tally *tally = &storm->tally;
    uint64_t digest = tally->digest;

    /* Of communicators that make a call together all results; counts are those of rank 0. */
    PMPI_Allreduce(MPI_IN_PLACE, &digest, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    check(tally->calls > 0, "every call is right");
    check_note("calls=%" PRIu64 " episodes=%" PRIu64 " compressed=%" PRIu64 " compared=%" PRIu64
               " exact=%" PRIu64 " elements=%" PRIu64,
               tally->calls, storm->begun, tally->compressed, tally->compared, tally->exact,
               tally->elements);
    check_note("digest=%016" PRIx64, digest);
    PMPI_Allreduce(MPI_IN_PLACE, kinds_sent, 16, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (int kind = 0; kind < 16; kind++)
        check_note("blocks of kind %d: %" PRIu64, kind, kinds_sent[kind]);
}

int main(int argc, char **argv)
{
    const char *least = getenv("CGX_COMPRESSION_MINIMAL_SIZE");
    struct storm storm = {.limits.devices = getenv("STORM_DEVICES") != NULL};
    uint64_t calls;

    if (argc < 4) {
        fprintf(stderr, "usage: storm SEED CALLS MOST [EPISODE]\n");
        return 2;
    }
    storm.draw = (struct draw){strtoull(argv[1], NULL, 10), 1, 0};
    calls = strtoull(argv[2], NULL, 10);
    storm.limits.most = strtoull(argv[3], NULL, 10);
    storm.limits.minimal = least ? strtoull(least, NULL, 10) : 16384;
    storm.only = argc > 4 ? argv[4] : NULL;
    traffic_look = kinds_count;
    if (getenv("STORM_RULES"))
        rules_begin(storm.draw.seed, &storm.limits);
    check_begin(&argc, &argv);
    if (storm.limits.devices && !place_begin("device buffers", false))
        return check_end();
    for (uint64_t i = 0; i < calls; i++)
        take_call(&storm);
    for (int i = 0; i < ALIVE; i++)
        if (storm.alive[i])
            episode_end(storm.alive[i]);
    report(&storm);
    make_end();
    return check_end();
}
