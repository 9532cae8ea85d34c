/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/operands.h"

#include <string.h>

struct cgx_operands cgx_operands_start(const unsigned char **memory)
{
    memory[0] = NULL;
    return (struct cgx_operands){.at = memory, .count = 1};
}

void cgx_operands_rebase(struct cgx_operands *operands, size_t origin)
{
    ptrdiff_t by = (ptrdiff_t)origin - (ptrdiff_t)operands->origin;

    for (size_t i = 0; i < operands->count; i++) {
        if (operands->at[i] && i - operands->first_raw >= operands->raws)
            operands->at[i] += by;
    }
    operands->origin = origin;
}

void cgx_operands_prepend(struct cgx_operands *operands, const unsigned char *arrived)
{
    cgx_operands_surround(operands, arrived, 0, 1, 0, false);
}

void cgx_operands_surround(struct cgx_operands *operands, const unsigned char *arrived,
                           size_t extent, unsigned before, unsigned after, bool are_raw)
{
    size_t own = operands->count;

    memmove(operands->at + before, operands->at, own * sizeof operands->at[0]);
    for (unsigned i = 0; i < before + after; i++)
        operands->at[i < before ? i : i + own] = arrived + i * extent;
    operands->count = own + before + after;
    operands->first_raw = are_raw ? 0 : operands->first_raw + before;
    operands->raws = are_raw ? operands->count : operands->raws;
}
