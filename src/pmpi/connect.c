/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/connect.h"

#include <stdlib.h>

#include "pmpi/start.h"
#include "util/log.h"

unsigned cgx_connect_mates(const struct cgx_comm *state)
{
    enum cgx_transport transport = cgx_start()->inner_transport;

    return state->nodes && !state->shm_refused && transport != CGX_TRANSPORT_MPI
               ? state->nodes->most
               : 0;
}

/* What all ranks say: the least of two words. */
static int agree(const struct cgx_mpi *mpi, MPI_Comm comm, int words[2])
{
    return mpi->Allreduce(MPI_IN_PLACE, words, 2, MPI_INT, MPI_MIN, comm);
}

/* Exchanges offers and attaches; *ATTACHED: this rank has. */
static int attach(const struct cgx_mpi *mpi, struct cgx_comm *state,
                  struct cgx_shared_offer *offers, bool *attached)
{
    const struct cgx_shared *segment = &state->scratch.shared;
    struct cgx_shared_offer mine = cgx_shared_offer(segment);
    int code =
        mpi->Allgather(&mine, sizeof mine, MPI_BYTE, offers, sizeof mine, MPI_BYTE, state->own);

    if (code == MPI_SUCCESS)
        *attached = cgx_shm_attach(state->shm, segment, offers) == CGX_OK;
    return code;
}

/* From now on all messages go by MPI. */
static void give_up(struct cgx_comm *state)
{
    bool asked = cgx_start()->inner_transport == CGX_TRANSPORT_SHM;

    cgx_shm_free(state->shm);
    state->shm = NULL;
    state->shm_refused = true;
    state->scratch.mates = 0;
    if (state->rank == 0)
        cgx_log(asked ? CGX_LOG_WARN : CGX_LOG_INFO,
                "ranks of a node cannot share memory here: their messages go through MPI");
}

int cgx_connect(const struct cgx_mpi *mpi, struct cgx_comm *state)
{
    const uint64_t cookie = state->scratch.shared.memory ? state->scratch.shared.cookie : 0;
    struct cgx_shared_offer *offers;
    int code, words[2]; /* is ready; has nothing new */
    bool attached = false;

    if (cgx_connect_mates(state) < 2)
        return MPI_SUCCESS;
    if (!state->shm)
        state->shm = cgx_shm_create(state->nodes, (unsigned)state->rank);
    offers = calloc((size_t)state->size, sizeof *offers);
    words[0] = offers && state->shm && cookie != 0;
    words[1] = cookie == state->shm_cookie;
    code = agree(mpi, state->own, words);
    if (code != MPI_SUCCESS || (words[0] && words[1]))
        goto free_offers;
    if (words[0]) {
        code = attach(mpi, state, offers, &attached);
        words[0] = attached;
        if (code == MPI_SUCCESS)
            code = agree(mpi, state->own, words);
    }
    if (code != MPI_SUCCESS)
        goto free_offers;
    cgx_shared_close(&state->scratch.shared);
    state->shm_cookie = cookie;
    if (!words[0])
        give_up(state);
free_offers:
    free(offers);
    return code;
}
