/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Programs of all shapes are run here, and those of some printed. What each rank sends is what its
 * peer expects, and in the end each rank has, of each chunk, the sum of every rank once: for all
 * divisions of up to 9 ranks into nodes, with one rank after another or in turn, in all numbers of
 * rows, with all shards or leaders. */
#include "../tools/info.h"

#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"

enum { RANKS = 9, PARTS = 64, COPIES = RANKS };

/* How often each rank is in a sum. */
struct sum {
    unsigned char times[RANKS];
    uint32_t chunk;
};

struct rank {
    struct cgx_program program;
    struct sum part[PARTS], input[CGX_LEVELS][COPIES][PARTS];
};
static struct rank all[RANKS], before[RANKS];

static void add(struct sum *to, const struct sum *from)
{
    for (unsigned r = 0; r < RANKS; r++)
        to->times[r] = (unsigned char)(to->times[r] + from->times[r]);
}

static void begin(struct rank *self, const struct cgx_shape *shape, unsigned rank)
{
    memset(self, 0, sizeof *self);
    self->program = cgx_program_of(shape, rank);
    for (uint32_t place = 0; place < self->program.parts && place < PARTS; place++)
        self->part[place].chunk = cgx_program_chunk(&self->program, place);
}

/* Forms the sum of ROUND from the rank's own elements and what has arrived. */
static void form(struct rank *self, unsigned rank, unsigned round)
{
    const struct cgx_block block = cgx_program_sum(&self->program, round);

    for (uint32_t p = block.first; p < block.end; p++) {
        memset(self->part[p].times, 0, sizeof self->part[p].times);
        self->part[p].times[rank] = 1;
        for (unsigned r = 0; r < round && r < self->program.levels; r++) {
            const struct cgx_block input = cgx_program_input(&self->program, r);

            for (unsigned i = 0; !cgx_block_is_empty(input) && i + 1 < self->program.level[r].size;
                 i++)
                add(&self->part[p], &self->input[r][i][p]);
        }
    }
}

/* The message that goes to or comes from PEER in ROUND; an empty block: there is none. */
static struct cgx_program_message find(const struct cgx_program *program, unsigned round,
                                       unsigned peer, bool sends)
{
    const unsigned size = program->levels ? cgx_program_level(program, round)->size : 0;

    for (unsigned i = 0; i + 2 < 2 * size; i++) {
        const struct cgx_program_message message = cgx_program_message(program, round, i);

        if (message.sends == sends && message.peer == peer && !cgx_block_is_empty(message.block))
            return message;
    }
    return (struct cgx_program_message){.block = {0, 0}};
}

/* Moves the message of ROUND from A to B. False: one does not expect what the other sends. */
static bool move(unsigned a, unsigned b, unsigned round)
{
    const struct cgx_program_message sent = find(&all[a].program, round, b, true),
                                     got = find(&all[b].program, round, a, false);
    const uint32_t count = sent.block.end - sent.block.first;

    if (got.block.end - got.block.first != count)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct sum *from = &before[a].part[sent.block.first + i];
        struct sum *part = &all[b].part[got.block.first + i];
        struct sum *to = cgx_program_gathers(&all[b].program, round)
                             ? part
                             : &all[b].input[round][got.copy][got.block.first + i];

        if (from->chunk != part->chunk)
            return false;
        memcpy(to->times, from->times, sizeof to->times);
    }
    return true;
}

/* Only the owner of a chunk forms its result, at its last place. */
static bool is_owner(const struct rank *self, const struct cgx_shape *shape, unsigned rank)
{
    const struct cgx_block own = cgx_program_sum(&self->program, self->program.levels);
    const unsigned node = shape->nodes->node[rank], local = shape->nodes->local[rank];
    const unsigned row = cgx_shape_row(shape, node);
    const unsigned column = node - cgx_shape_first(shape, row);

    if (local >= shape->shards || column >= shape->columns)
        return cgx_block_is_empty(own);
    return own.first + 1 == own.end && own.end == self->program.parts &&
           self->part[own.first].chunk == (local * shape->columns + column) * shape->rows + row;
}

static bool is_right(const struct cgx_shape *shape)
{
    const unsigned ranks = shape->nodes->ranks;
    bool right = cgx_shape_chunks(shape) <= PARTS;

    for (unsigned r = 0; r < ranks; r++)
        begin(&all[r], shape, r);
    for (unsigned round = 0; right && round < all[0].program.rounds; round++) {
        for (unsigned r = 0; r < ranks; r++)
            form(&all[r], r, round);
        memcpy(before, all, ranks * sizeof all[0]);
        for (unsigned a = 0; a < ranks; a++)
            for (unsigned b = 0; b < ranks; b++)
                right = right && (a == b || move(a, b, round));
    }
    for (unsigned r = 0; r < ranks; r++) {
        right =
            right && all[r].program.rounds == all[0].program.rounds && is_owner(&all[r], shape, r);
        for (uint32_t p = 0; p < all[r].program.parts; p++)
            for (unsigned s = 0; s < ranks; s++)
                right = right && all[r].part[p].times[s] == 1;
    }
    return right;
}

/* Nodes by the bits of DIVISION: a node ends after each rank whose bit is set. IN_TURN: the ranks
 * are dealt to nodes instead. */
static struct cgx_nodes *nodes_of(unsigned ranks, unsigned division, bool in_turn)
{
    int keys[RANKS], node = 0;
    unsigned nodes = 1;

    for (unsigned r = 0; r + 1 < ranks; r++)
        nodes += division >> r & 1;
    for (unsigned r = 0; r < ranks; r++) {
        keys[r] = in_turn ? (int)(r % nodes) : node;
        node += (int)(division >> r & 1);
    }
    return cgx_nodes_create(keys, ranks);
}

static void test_all(void)
{
    for (unsigned ranks = 1; ranks <= RANKS; ranks++) {
        unsigned shapes = 0;
        bool right = true;

        for (unsigned division = 0; division < 1u << (ranks - 1); division++) {
            for (int way = 0; way < 4; way++) {
                struct cgx_nodes *nodes = nodes_of(ranks, division, way & 1);

                for (unsigned rows = 1; rows <= nodes->nodes; rows++) {
                    const struct cgx_shape shape = {nodes, rows, nodes->nodes / rows,
                                                    way & 2 && nodes->nodes > 1 ? 1 : nodes->least};

                    shapes++;
                    if (right && !is_right(&shape)) {
                        diag("division %x, way %d, %u rows", division, way, rows);
                        right = false;
                    }
                }
                cgx_nodes_free(nodes);
            }
        }
        ok(right, "%u ranks, %u shapes: each rank is in each sum once, on all ranks", ranks,
           shapes);
    }
}

/* ---- tables ---- */

/* Whether rank RANK of nodes by KEYS, in ROWS rows, has the program TABLE. */
static bool has_program(const char *keys, unsigned rows, unsigned rank, const char *table)
{
    const unsigned ranks = (unsigned)strlen(keys);
    struct cgx_program program;
    struct cgx_shape shape;
    struct cgx_nodes *nodes;
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    int node[RANKS];
    bool same;

    for (unsigned r = 0; r < ranks; r++)
        node[r] = keys[r];
    nodes = cgx_nodes_create(node, ranks);
    if (!out || !nodes)
        bail_out("memory is short");
    shape = (struct cgx_shape){nodes, rows, nodes->nodes / rows, nodes->least};
    program = cgx_program_of(&shape, rank);
    info_print_program(out, &program);
    fclose(out);
    same = strcmp(text, table) == 0;
    if (!same)
        diag("%s", text);
    free(text);
    cgx_nodes_free(nodes);
    return same;
}

static void test_tables(void)
{
    ok(has_program("000", 1, 1,
                   "  round 0  sum of 1, places 0 to 1\n"
                   "  round 0  node from rank 0, places 2 to 2, copy 0\n"
                   "  round 0  node to rank 2, places 1 to 1\n"
                   "  round 0  node from rank 2, places 2 to 2, copy 1\n"
                   "  round 0  node to rank 0, places 0 to 0\n"
                   "  round 1  sum of 3, places 2 to 2\n"
                   "  round 1  node from rank 0, places 0 to 0\n"
                   "  round 1  node to rank 2, places 2 to 2\n"
                   "  round 1  node from rank 2, places 1 to 1\n"
                   "  round 1  node to rank 0, places 2 to 2\n"),
       "the program of rank 1 of three on a node");
    ok(has_program("00112", 1, 3,
                   "  round 0  sum of 1, places 0 to 2\n"
                   "  round 0  node to rank 2, places 0 to 2\n"
                   "  round 3  node from rank 2, places 0 to 2\n"),
       "rank 3 of nodes of two, two and one, which owns nothing");
    ok(has_program("0123", 2, 2,
                   "  round 0  sum of 1, places 0 to 1\n"
                   "  round 0  row from rank 3, places 2 to 3, copy 0\n"
                   "  round 0  row to rank 3, places 0 to 1\n"
                   "  round 1  sum of 2, places 2 to 2\n"
                   "  round 1  column from rank 0, places 3 to 3, copy 0\n"
                   "  round 1  column to rank 0, places 2 to 2\n"
                   "  round 2  sum of 3, places 3 to 3\n"
                   "  round 2  column from rank 0, places 2 to 2\n"
                   "  round 2  column to rank 0, places 3 to 3\n"
                   "  round 3  row from rank 3, places 0 to 1\n"
                   "  round 3  row to rank 3, places 2 to 3\n"),
       "rank 2 of four nodes in two rows");
}

int main(void)
{
    test_all();
    test_tables();
    return done_testing();
}
