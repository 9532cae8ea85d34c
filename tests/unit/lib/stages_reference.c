/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "unit/lib/scene.h"

#include <stdlib.h>
#include <string.h>

#include "codec/encoding.h"
#include "coll/split.h"
#include "lib/tap.h"
#include "unit/lib/codec_reference.h"

static struct cgx_coding coding_of(const struct scene *scene)
{
    return (struct cgx_coding){
        .dtype = scene->dtype, .bucket_size = scene->bucket_size, .call = SCENE_CALL};
}

/* ---- a chunk ---- */

/* The piece of one, and memory for PAYLOADS of it. */
struct chunk {
    const struct scene *scene;
    struct cgx_piece piece;
    unsigned shard, column, row;
    size_t stride, taken, payloads;
    unsigned char *memory;
};

static unsigned char *get_payload(struct chunk *chunk)
{
    if (chunk->taken == chunk->payloads)
        bail_out("a sum has more than %zu payloads", chunk->payloads);
    return chunk->memory + chunk->taken++ * chunk->stride;
}

/* The member of NODE that sums. */
static unsigned collector(const struct chunk *chunk, unsigned node)
{
    const struct cgx_nodes *nodes = chunk->scene->nodes;

    return nodes->members[nodes->first[node] + chunk->shard];
}

static unsigned char *sum(struct chunk *chunk, const unsigned char *const *sources, size_t nsources,
                          unsigned rank)
{
    const struct scene *scene = chunk->scene;
    const struct cgx_coding coding = coding_of(scene);
    unsigned char *payload = get_payload(chunk);

    reference_reduce(&coding, &chunk->piece, sources, nsources, scene->inputs[rank], payload);
    return payload;
}

/* What the collector of NODE gets from its ranks, into SOURCES; returns how many these are. */
static size_t in_node(struct chunk *chunk, unsigned node, const unsigned char **sources)
{
    const struct scene *scene = chunk->scene;
    const struct cgx_nodes *nodes = scene->nodes;
    const struct cgx_coding coding = coding_of(scene);
    size_t count = 0;

    for (unsigned i = nodes->first[node]; i < nodes->first[node + 1]; i++) {
        unsigned rank = nodes->members[i];
        unsigned char *payload;

        if (rank == collector(chunk, node)) {
            sources[count++] = NULL;
            continue;
        }
        payload = get_payload(chunk);
        reference_encode(&coding, &chunk->piece, scene->inputs[rank], payload);
        sources[count++] = payload;
    }
    return count;
}

/* What the collector of ROW gets, and what it has of its own node. */
static size_t in_row(struct chunk *chunk, unsigned row, const unsigned char **sources)
{
    const struct cgx_node_grid *grid = &chunk->scene->schedule.grid;
    unsigned first = cgx_node_grid_first(grid, row);
    size_t count = 0;

    for (unsigned node = first; node < cgx_node_grid_first(grid, row + 1); node++) {
        const unsigned char *of_node[SCENE_MOST_RANKS];
        size_t n = in_node(chunk, node, of_node);

        if (node == first + chunk->column) {
            memcpy(sources + count, of_node, n * sizeof of_node[0]);
            count += n;
        } else {
            sources[count++] = sum(chunk, of_node, n, collector(chunk, node));
        }
    }
    return count;
}

/* Of the ranks of all nodes. */
static const unsigned char *in_all(struct chunk *chunk)
{
    const struct cgx_node_grid *grid = &chunk->scene->schedule.grid;
    const unsigned char *sources[2 * SCENE_MOST_RANKS];
    size_t count = 0;

    for (unsigned row = 0; row < grid->rows; row++) {
        const unsigned char *of_row[2 * SCENE_MOST_RANKS];
        size_t n = in_row(chunk, row, of_row);
        unsigned rank = collector(chunk, cgx_node_grid_first(grid, row) + chunk->column);

        if (row == chunk->row) {
            memcpy(sources + count, of_row, n * sizeof of_row[0]);
            count += n;
        } else {
            sources[count++] = sum(chunk, of_row, n, rank);
        }
    }
    return sum(chunk, sources, count,
               collector(chunk, cgx_node_grid_first(grid, chunk->row) + chunk->column));
}

void stages_reference_sum(const struct scene *scene, unsigned number, void *to)
{
    const struct cgx_schedule *schedule = &scene->schedule;
    unsigned rows = schedule->grid.rows, columns = schedule->grid.columns;
    struct cgx_element_range range =
        cgx_split_part(scene->plan, cgx_schedule_chunks(schedule), number, 1, 0);
    size_t unit = scene->plan->unit;
    size_t end = range.end * unit < scene->count ? range.end * unit : scene->count;
    struct chunk chunk = {.scene = scene,
                          .piece = {.first = range.first * unit,
                                    .bits = cgx_segment_encoding(&scene->plan->segments[0])},
                          .shard = number / (columns * rows),
                          .column = number / rows % columns,
                          .row = number % rows,
                          .payloads = 3 * SCENE_MOST_RANKS};
    const struct cgx_coding coding = coding_of(scene);

    if (range.first == range.end)
        return;
    chunk.piece.count = end - chunk.piece.first;
    chunk.stride =
        cgx_piece_layout(chunk.piece.count, chunk.piece.bits, scene->bucket_size, scene->dtype)
            .bytes;
    chunk.memory = calloc(chunk.payloads, chunk.stride);
    reference_decode(&coding, &chunk.piece, in_all(&chunk), to);
    free(chunk.memory);
}
