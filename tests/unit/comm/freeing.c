/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The communicators that a thread is freeing, also after jumps out of MPI. Stacks grow down. */

#include "comm/attribute.h"

#include "comm/state.h"
#include "tests/lib/tap.h"

static struct cgx_comm states[10];

static cgx_mpi_comm comm_of(unsigned i)
{
    return (cgx_mpi_comm)(void *)&states[i];
}

static bool push(unsigned i, uintptr_t frame)
{
    return cgx_freeing_push(&(struct cgx_freeing){comm_of(i), &states[i], frame});
}

int main(void)
{
    unsigned pushed = 0;

    ok(push(0, 1000) && push(1, 900) && cgx_freeing_has(comm_of(0), 800) &&
           cgx_freeing_has(comm_of(1), 800) && !cgx_freeing_has(comm_of(2), 800),
       "both are being freed, seen from deeper in the stack");
    ok(!cgx_freeing_pop(comm_of(2)) && cgx_freeing_has(comm_of(1), 800),
       "the end of one that has not begun ends no other");
    ok(cgx_freeing_pop(comm_of(1)) == &states[1] && !cgx_freeing_has(comm_of(1), 800) &&
           cgx_freeing_has(comm_of(0), 800) && cgx_freeing_pop(comm_of(0)) == &states[0],
       "each end gives the state back");
    ok(!cgx_freeing_lost(), "nothing was lost");
    ok(push(0, 1000) && !cgx_freeing_has(comm_of(0), 1100) && cgx_freeing_lost() &&
           !cgx_freeing_pop(comm_of(0)),
       "one that a jump out of MPI has left is dropped, and its state is lost");
    ok(push(0, 1000) && push(1, 900) && push(2, 950) && !cgx_freeing_has(comm_of(1), 800) &&
           cgx_freeing_pop(comm_of(0)) == &states[0] && !cgx_freeing_has(comm_of(2), 800),
       "so is one within another, which goes on");
    while (pushed < 10 && push(pushed, 1000 - pushed))
        pushed++;
    ok(pushed == 8, "there is room for eight");
    return done_testing();
}
