/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "info.h"

/* How many ranks' elements, or sums of theirs, the sum of ROUND adds. */
static unsigned inputs_of(const struct cgx_program *program, unsigned round)
{
    unsigned inputs = 1;

    for (unsigned r = 0; r < round && r < program->levels; r++) {
        if (!cgx_block_is_empty(cgx_program_input(program, r)))
            inputs += program->level[r].size - 1;
    }
    return inputs;
}

static void print_sum(FILE *out, const struct cgx_program *program, unsigned round)
{
    const struct cgx_block block = cgx_program_sum(program, round);

    if (!cgx_block_is_empty(block))
        fprintf(out, "  round %u  sum of %u, places %u to %u\n", round, inputs_of(program, round),
                block.first, block.end - 1);
}

static void print_message(FILE *out, const struct cgx_program *program, unsigned round,
                          unsigned index)
{
    static const char *const levels[CGX_LEVELS] = {"node", "row", "column"};
    const struct cgx_program_message message = cgx_program_message(program, round, index);

    if (cgx_block_is_empty(message.block))
        return;
    fprintf(out, "  round %u  %s %s rank %u, places %u to %u", round,
            levels[cgx_program_level(program, round)->kind], message.sends ? "to" : "from",
            message.peer, message.block.first, message.block.end - 1);
    if (!message.sends && !cgx_program_gathers(program, round))
        fprintf(out, ", copy %u", message.copy);
    fputc('\n', out);
}

void info_print_program(FILE *out, const struct cgx_program *program)
{
    for (unsigned round = 0; round < program->rounds; round++) {
        unsigned size = program->levels > 0 ? cgx_program_level(program, round)->size : 0;

        print_sum(out, program, round);
        for (unsigned i = 0; i + 2 < 2 * size; i++)
            print_message(out, program, round, i);
    }
}
