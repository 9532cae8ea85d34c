/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/program.h"

/* ---- places ---- */

/* The place of ITEM among COUNT items that stand in their own order, except that OWN, if it is one
 * of them, comes last. */
static unsigned place_of(unsigned item, unsigned own, unsigned count)
{
    if (own >= count)
        return item;
    return item == own ? count - 1 : item - (item > own);
}

/* The item at PLACE, in that order. */
static unsigned item_at(unsigned place, unsigned own, unsigned count)
{
    if (own >= count)
        return place;
    return place == count - 1 ? own : place + (place >= own);
}

uint32_t cgx_program_chunk(const struct cgx_program *program, uint32_t place)
{
    const struct cgx_shape *shape = &program->shape;
    unsigned row = item_at(place % shape->rows, program->row, shape->rows);
    unsigned column =
        item_at(place / shape->rows % shape->columns, program->column, shape->columns);
    unsigned shard = item_at(place / shape->rows / shape->columns, program->local, shape->shards);

    return (shard * shape->columns + column) * shape->rows + row;
}

static struct cgx_block block_of(const struct cgx_level *level, unsigned member)
{
    uint32_t first;

    if (member >= level->blocks)
        return (struct cgx_block){0, 0};
    first = level->base + place_of(member, level->self, level->blocks) * level->stride;
    return (struct cgx_block){first, first + level->stride};
}

/* ---- levels ---- */

static unsigned rank_of(const struct cgx_program *program, const struct cgx_level *level,
                        unsigned member)
{
    const struct cgx_nodes *nodes = program->shape.nodes;
    const struct cgx_shape *shape = &program->shape;

    if (level->kind == CGX_LEVEL_NODE)
        return nodes->members[nodes->first[program->node] + member];
    member = level->kind == CGX_LEVEL_ROW ? cgx_shape_first(shape, program->row) + member
                                          : cgx_shape_first(shape, member) + program->column;
    return nodes->members[nodes->first[member] + program->local];
}

/* Adds LEVEL if any rank USES it. This rank may have no part in it. */
static void add_level(struct cgx_program *program, bool uses, bool takes_part,
                      struct cgx_level level)
{
    if (!uses)
        return;
    if (!takes_part)
        level.size = 0;
    if (level.size < 2 && program->start == program->levels)
        program->start++;
    program->level[program->levels++] = level;
}

struct cgx_program cgx_program_of(const struct cgx_shape *shape, unsigned rank)
{
    const struct cgx_nodes *nodes = shape->nodes;
    unsigned node = nodes->node[rank], local = nodes->local[rank];
    unsigned row = cgx_shape_row(shape, node), column = node - cgx_shape_first(shape, row);
    uint32_t parts = cgx_shape_chunks(shape), in_shard = shape->columns * shape->rows;
    bool has_shard = local < shape->shards, owns = has_shard && column < shape->columns;
    struct cgx_program program = {.shape = *shape,
                                  .node = node,
                                  .local = local,
                                  .row = row,
                                  .column = column,
                                  .parts = parts,
                                  .shard = has_shard ? parts - in_shard : parts,
                                  .owns = owns};

    add_level(&program, nodes->most > 1, true,
              (struct cgx_level){nodes->first[node + 1] - nodes->first[node], local, shape->shards,
                                 0, in_shard, CGX_LEVEL_NODE});
    add_level(&program, cgx_shape_longest(shape) > 1, has_shard,
              (struct cgx_level){cgx_shape_length(shape, row), column, shape->columns,
                                 parts - in_shard, shape->rows, CGX_LEVEL_ROW});
    add_level(&program, shape->rows > 1, owns,
              (struct cgx_level){shape->rows, row, shape->rows, parts - shape->rows, 1,
                                 CGX_LEVEL_COLUMN});
    program.rounds = program.levels > 0 ? 2 * program.levels : 1;
    return program;
}

/* ---- rounds ---- */

struct cgx_block cgx_program_sum(const struct cgx_program *program, unsigned round)
{
    const struct cgx_level *level;
    unsigned others;

    if (round == program->levels)
        return (struct cgx_block){program->parts - program->owns, program->parts};
    if (round > program->levels || program->level[round].size < 2)
        return (struct cgx_block){0, 0};
    level = &program->level[round];
    others = level->blocks - (level->self < level->blocks);
    return (struct cgx_block){level->base, level->base + others * level->stride};
}

struct cgx_block cgx_program_input(const struct cgx_program *program, unsigned round)
{
    if (cgx_program_gathers(program, round) || program->level[round].size < 2)
        return (struct cgx_block){0, 0};
    return block_of(&program->level[round], program->level[round].self);
}

struct cgx_program_message cgx_program_message(const struct cgx_program *program, unsigned round,
                                               unsigned index)
{
    const struct cgx_level *level = cgx_program_level(program, round);
    bool gathers = cgx_program_gathers(program, round), sends = index % 2;
    unsigned turn = index / 2 + 1, back = sends ? turn : level->size - turn;
    unsigned member = (level->self + back) % level->size;

    return (struct cgx_program_message){
        .sends = sends,
        .peer = rank_of(program, level, member),
        .block = block_of(level, sends == gathers ? level->self : member),
        .copy = member - (member > level->self)};
}
