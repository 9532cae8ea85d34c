/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/allreduce.h"

#include "pmpi/agreement.h"
#include "pmpi/comm.h"
#include "pmpi/eligible.h"
#include "pmpi/errors.h"
#include "pmpi/exact.h"
#include "pmpi/report.h"
#include "pmpi/start.h"
#include "util/log.h"

static uint64_t key_of(const struct cgx_call *call, enum cgx_type_class type)
{
    return (uint64_t)call->count << 4 | (uint64_t)type;
}

/* The call's signature if it belongs to a step that has gone by often enough, else NULL. */
static struct cgx_signature *recurring(struct cgx_comm *state, const struct cgx_call *call,
                                       enum cgx_type_class type)
{
    uint64_t key = key_of(call, type);

    if (state->step && !cgx_step_recurs(state->step, key))
        return NULL;
    if ((uint64_t)call->count < cgx_start()->minimal_size)
        return NULL;
    return cgx_signatures_find(state->signatures, key);
}

/* Why this rank cannot serve the call, or NULL. */
static const char *refuse(const struct cgx_call *call, enum cgx_type_class type,
                          enum cgx_dtype *dtype)
{
    const char *refusal = cgx_eligible_dtype(call, type, dtype);

    return refusal ? refusal : cgx_eligible_buffers(call, *dtype);
}

/* Gets ready what this rank needs for SIGNATURE; returns why it could not be had, or NULL. */
static const char *prepare(struct cgx_comm *state, struct cgx_signature *signature,
                           enum cgx_dtype dtype, size_t count)
{
    const struct cgx_settings *settings = cgx_start();

    signature->plan = cgx_plan_uniform(settings, dtype, count);
    if (!signature->plan)
        return "out of memory";
    signature->shape = cgx_coll_shape(signature->plan, settings->cross_reduction,
                                      (unsigned)state->size, settings->fusion_buffer_bytes);
    if (cgx_scratch_reserve(&state->scratch, &signature->shape.needs) != CGX_OK)
        return "out of memory";
    if (state->own == MPI_COMM_NULL && !cgx_comm_reserve())
        return "too many communicators with compressed calls";
    return NULL;
}

/* Ranks decide together whether calls with SIGNATURE are compressed from now on, this one included.
 * Returns MPI's code. */
static int decide(const struct cgx_mpi *mpi, const struct cgx_call *call, enum cgx_type_class type,
                  struct cgx_comm *state, struct cgx_signature *signature)
{
    enum cgx_dtype dtype;
    const char *refusal = refuse(call, type, &dtype);
    bool agreed;
    int code;

    if (!refusal)
        refusal = prepare(state, signature, dtype, (size_t)call->count);
    code = cgx_agree_call(mpi, call->comm, !refusal, dtype, &agreed);
    if (code == MPI_SUCCESS && state->own == MPI_COMM_NULL) {
        if (agreed)
            code = cgx_comm_make_own(mpi, call->comm, state, &agreed);
        else if (!refusal)
            cgx_comm_return();
    }
    if (code != MPI_SUCCESS) {
        cgx_signature_refuse(signature);
        return code;
    }
    signature->agreed = agreed;
    if (agreed) {
        cgx_log(CGX_LOG_DEBUG, "sums of %lld elements on %d ranks: compressed, %u slices",
                (long long)call->count, state->size, signature->shape.slices);
        return MPI_SUCCESS;
    }
    cgx_signature_refuse(signature);
    cgx_log(CGX_LOG_DEBUG, "sums of %lld elements on %d ranks: exact: %s", (long long)call->count,
            state->size, refusal ? refusal : "another rank cannot compress them");
    return MPI_SUCCESS;
}

static int compress(const struct cgx_mpi *mpi, const struct cgx_call *call,
                    enum cgx_type_class type, struct cgx_comm *state,
                    struct cgx_signature *signature)
{
    enum cgx_dtype dtype;
    const char *refusal = refuse(call, type, &dtype);
    struct cgx_coll coll = {.mpi = mpi,
                            .comm = state->own,
                            .rank = (unsigned)state->rank,
                            .shape = &signature->shape,
                            .codec = cgx_codec_host(),
                            .scratch = &state->scratch,
                            .seed = cgx_start()->seed,
                            .call = state->calls++,
                            .input = call->sendbuf == MPI_IN_PLACE ? call->recvbuf : call->sendbuf,
                            .output = call->recvbuf,
                            .withheld = refusal || dtype != signature->plan->dtype};

    switch (cgx_coll_run(&coll)) {
    case CGX_OUTCOME_DONE:
        cgx_report_compressed(coll.sent);
        return MPI_SUCCESS;
    case CGX_OUTCOME_REDO:
        cgx_log(CGX_LOG_DEBUG, "sums of %lld elements on %d ranks: exact again: %s",
                (long long)call->count, state->size,
                refusal ? refusal : "a rank could not serve one");
        cgx_signature_refuse(signature);
        return cgx_exact(mpi, call, type);
    case CGX_OUTCOME_LOST:
        cgx_signature_refuse(signature);
        return cgx_errors_raise(mpi, call->comm, "a rank could not go on half-way");
    case CGX_OUTCOME_FAILED:
        return cgx_errors_raise(mpi, call->comm, "this rank has no result");
    case CGX_OUTCOME_BROKEN:
        state->broken = true;
        return cgx_errors_raise(mpi, call->comm, "MPI could not move the data");
    }
    return MPI_ERR_INTERN;
}

int cgx_allreduce(const struct cgx_call *call)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    struct cgx_signature *signature;
    enum cgx_type_class type;
    struct cgx_comm *state;
    int code;

    if (!cgx_eligible(call, &type) || call->comm == MPI_COMM_NULL)
        return cgx_exact(mpi, call, type);
    code = cgx_comm_get(mpi, call->comm, &state);
    if (code != MPI_SUCCESS)
        return code;
    if (state->broken)
        return cgx_errors_raise(mpi, call->comm, "an earlier one on this communicator failed");
    if (state->refusal)
        return cgx_exact(mpi, call, type);
    signature = recurring(state, call, type);
    if (!signature)
        return cgx_exact(mpi, call, type);
    if (!signature->agreed && cgx_signature_due(signature)) {
        code = decide(mpi, call, type, state, signature);
        if (code != MPI_SUCCESS)
            return code;
    }
    if (!signature->agreed)
        return cgx_exact(mpi, call, type);
    return compress(mpi, call, type, state, signature);
}
