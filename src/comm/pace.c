/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/pace.h"

#include <stdlib.h>

#include "mpi/config.h"
#include "topo/room.h"
#include "topo/speed.h"
#include "util/log.h"

/* As this rank alone would have it. */
static int choose_fragment(const struct cgx_nodes *nodes)
{
    unsigned said = cgx_config()->fragment_bytes;

    if (said != CGX_FRAGMENT_AUTO)
        return (int)said;
    /* To look at the machine's devices takes time. */
    if (nodes == NULL || nodes->nodes == 1)
        return CGX_PACE_SLOW;
    return cgx_topo_speed_here().mbits > CGX_PACE_SLOW_MBITS ? CGX_PACE_FAST : CGX_PACE_SLOW;
}

int cgx_pace_agree(struct cgx_comm *state, const struct cgx_nodes *nodes, bool *ready)
{
    enum { READY, FRAGMENT };
    const struct cgx_mpi *mpi = cgx_mpi();
    struct cgx_claim mine, *claims = calloc((size_t)state->size, sizeof *claims);
    int least[] = {*ready && claims, choose_fragment(nodes)};
    int code = cgx_mpi_least(state->comm, least, 2);
    bool roomy = false;

    *ready = code == CGX_MPI_SUCCESS && least[READY] != 0;
    if (*ready && claims) {
        mine = cgx_claim_make();
        code = mpi->Allgather(&mine, sizeof mine, mpi->BYTE, claims, sizeof mine, mpi->BYTE,
                              state->comm);
        roomy = code == CGX_MPI_SUCCESS &&
                cgx_claims_fit(claims, (size_t)state->size, (size_t)state->rank);
    }
    free(claims);
    if (code != CGX_MPI_SUCCESS || !*ready)
        return code;
    state->pace = (struct cgx_pace){(size_t)least[FRAGMENT], roomy};
    if (state->rank == 0)
        cgx_log(CGX_LOG_DEBUG,
                "%d ranks: messages through MPI go in fragments of %zu bytes; ranks of this "
                "machine %s",
                state->size, state->pace.fragment,
                roomy ? "have a processor each, and do not sleep while they wait"
                      : "share processors, and sleep while they wait");
    return code;
}
