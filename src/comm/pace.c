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

/* *ROOMY: the ranks of this one's machine have room. CLAIMS becomes those of all ranks. */
static int compare_claims(const struct cgx_mpi *mpi, cgx_mpi_comm comm,
                          const struct cgx_comm *state, struct cgx_claim *claims, bool *roomy)
{
    struct cgx_claim mine = cgx_claim_make();
    int code = mpi->Allgather(&mine, sizeof mine, mpi->BYTE, claims, sizeof mine, mpi->BYTE, comm);

    if (code == CGX_MPI_SUCCESS)
        *roomy = cgx_claims_fit(claims, (size_t)state->size, (size_t)state->rank);
    return code;
}

int cgx_pace_agree(const struct cgx_mpi *mpi, cgx_mpi_comm comm, const struct cgx_nodes *nodes,
                   struct cgx_comm *state, bool *ready)
{
    struct cgx_claim *claims = calloc((size_t)state->size, sizeof *claims);
    enum { READY, FRAGMENT };
    int least[] = {*ready && claims, choose_fragment(nodes)};
    struct cgx_pace pace = {0, false};
    int code = mpi->Allreduce(mpi->IN_PLACE, least, 2, mpi->INT, mpi->MIN, comm);

    *ready = code == CGX_MPI_SUCCESS && least[READY] != 0;
    if (*ready && claims)
        code = compare_claims(mpi, comm, state, claims, &pace.roomy);
    free(claims);
    if (code != CGX_MPI_SUCCESS || !*ready)
        return code;
    pace.fragment = (size_t)least[FRAGMENT];
    state->pace = pace;
    if (state->rank == 0)
        cgx_log(CGX_LOG_DEBUG,
                "%d ranks: messages through MPI go in fragments of %zu bytes; ranks of this "
                "machine %s",
                state->size, pace.fragment,
                pace.roomy ? "have a processor each, and do not sleep while they wait"
                           : "share processors, and sleep while they wait");
    return code;
}
