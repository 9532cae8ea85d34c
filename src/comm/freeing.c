/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/freeing.h"

#include <stdatomic.h>
#include <stddef.h>

enum { DEEPEST = 8 };

static _Thread_local struct cgx_freeing stack[DEEPEST]; /* the innermost last */
static _Thread_local unsigned depth;
static atomic_bool lost;

static void drop(uintptr_t frame)
{
    for (; depth > 0 && stack[depth - 1].frame <= frame; depth--)
        if (stack[depth - 1].state)
            atomic_store(&lost, true);
}

bool cgx_freeing_push(const struct cgx_freeing *begun)
{
    drop(begun->frame);
    if (depth == DEEPEST)
        return false;
    stack[depth++] = *begun;
    return true;
}

struct cgx_comm *cgx_freeing_pop(cgx_mpi_comm comm)
{
    for (unsigned i = depth; i > 0; i--) {
        if (stack[i - 1].comm == comm) {
            depth = i - 1;
            return stack[depth].state;
        }
    }
    return NULL;
}

bool cgx_freeing_has(cgx_mpi_comm comm, uintptr_t frame)
{
    drop(frame);
    for (unsigned i = 0; i < depth; i++)
        if (stack[i].comm == comm)
            return true;
    return false;
}

bool cgx_freeing_lost(void)
{
    return atomic_load(&lost);
}
