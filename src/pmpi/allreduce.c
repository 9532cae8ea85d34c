/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/allreduce.h"

#include "cuda/memory.h"
#include "cuda/peers.h"
#include "cuda/staged.h"
#include "pmpi/agreement.h"
#include "pmpi/check.h"
#include "pmpi/comm.h"
#include "pmpi/connect.h"
#include "pmpi/eligible.h"
#include "pmpi/errors.h"
#include "pmpi/exact.h"
#include "pmpi/layers.h"
#include "pmpi/locate.h"
#include "pmpi/report.h"
#include "pmpi/start.h"
#include "pmpi/stats.h"
#include "pmpi/timeline.h"
#include "util/log.h"

/* A call that belongs to a step that has gone by often enough. */
struct recurrence {
    struct cgx_signature *signature; /* NULL: the call is exact */
    bool recurs;
    size_t position;
    struct cgx_say say;
};

static struct recurrence recurring(struct cgx_comm *state, const struct cgx_call *call,
                                   enum cgx_type_class type)
{
    uint64_t key = cgx_comm_key(call->count, type);
    struct recurrence found = {.signature = NULL};
    bool recurs = cgx_step_recurs(state->step, key);

    found.recurs = recurs;
    found.position = cgx_step_position(state->step);
    if (!recurs || (uint64_t)call->count < cgx_start()->minimal_size)
        return found;
    found.say = cgx_comm_say(state, key, found.position);
    if (!found.say.exact)
        found.signature = cgx_signatures_find(state->signatures, key, found.say.rule);
    return found;
}

/* How this rank would serve a call. */
struct offer {
    const char *refusal; /* why it cannot be compressed here, or NULL */
    bool hopeless;       /* nor be exact */
    enum cgx_dtype dtype;
    struct cgx_backend *encoder, *decoder;
};

static struct offer look_at(const struct cgx_call *call, enum cgx_type_class type)
{
    struct offer offer = {0};

    offer.refusal = cgx_eligible_dtype(call, type, &offer.dtype);
    if (!offer.refusal)
        offer.refusal =
            cgx_eligible_buffers(call, offer.dtype, cgx_start()->buffers, &offer.hopeless);
    return offer;
}

static const void *input_of(const struct cgx_call *call)
{
    return call->sendbuf == MPI_IN_PLACE ? call->recvbuf : call->sendbuf;
}

/* Whether a context is broken, or its device lost: then a call cannot be exact either. */
static bool is_dead(const void *buffer)
{
    return cgx_cuda_memory(buffer) != CGX_MEMORY_HOST && cgx_staged_wait(buffer) == CGX_ERR_DEVICE;
}

/* Gets the backends of the call's buffers, unless there is a refusal; it may become one. */
static void get_backends(struct cgx_comm *state, const struct cgx_call *call, struct offer *offer)
{
    enum cgx_sync sync = cgx_start()->sync;
    const void *input = input_of(call);

    if (offer->refusal)
        return;
    if (cgx_comm_backend(state, input, sync, &offer->encoder) == CGX_OK &&
        cgx_comm_backend(state, call->recvbuf, sync, &offer->decoder) == CGX_OK)
        return;
    offer->refusal = "the device of a buffer, or its memory, cannot be used";
    offer->hopeless = is_dead(input) || is_dead(call->recvbuf);
}

/* The one that does all, or NULL. */
static struct cgx_backend *backend_of(const struct offer *offer)
{
    return !offer->refusal && offer->encoder == offer->decoder ? offer->encoder : NULL;
}

/* Makes the plan of SIGNATURE, and its shape for all that the plan may become. */
static bool make_plan(const struct cgx_comm *state, struct cgx_signature *signature,
                      const struct cgx_say *say, enum cgx_dtype dtype, size_t count)
{
    const struct cgx_settings *settings = cgx_start();
    const struct cgx_scheme scheme = cgx_locate_scheme(state);
    struct cgx_plan *widest;

    signature->plan = cgx_plan_create(settings, say, dtype, count);
    widest = signature->plan ? cgx_plan_widest(signature->plan) : NULL;
    if (!widest)
        return false;
    signature->shape = cgx_coll_shape(widest, &scheme, settings->fusion_buffer_bytes);
    cgx_coll_follow(&signature->shape, signature->plan);
    cgx_plan_free(widest);
    return true;
}

/* Gets ready what this rank needs for SIGNATURE; why it cannot be had goes into OFFER. */
static void prepare(struct cgx_comm *state, const struct recurrence *recurrence,
                    const struct cgx_call *call, struct offer *offer)
{
    struct cgx_signature *signature = recurrence->signature;

    if (!offer->refusal && cgx_start()->intra_compress == CGX_INTRA_OFF && state->nodes->nodes == 1)
        offer->refusal = "all ranks are on one node, and CGX_INTRA_COMPRESS=0";
    if (offer->refusal)
        return;
    state->scratch.mates = cgx_connect_mates(state);
    if (!make_plan(state, signature, &recurrence->say, offer->dtype, (size_t)call->count) ||
        cgx_scratch_reserve(&state->scratch, &signature->shape.needs) != CGX_OK) {
        offer->refusal = "out of memory";
        return;
    }
    get_backends(state, call, offer);
    if (!offer->refusal && state->own == MPI_COMM_NULL && !cgx_comm_reserve())
        offer->refusal = "too many communicators with compressed calls";
}

/* Ranks decide together whether calls with a signature are compressed from now on, this one
 * included. Returns MPI's code. */
static int decide(const struct cgx_mpi *mpi, const struct cgx_call *call, enum cgx_type_class type,
                  struct cgx_comm *state, const struct recurrence *recurrence)
{
    struct cgx_signature *signature = recurrence->signature;
    struct offer offer = look_at(call, type);
    enum cgx_ability all;
    bool agreed, located;
    int code = cgx_locate(mpi, call->comm, state, &located);

    if (code != MPI_SUCCESS) {
        state->broken = true;
        return cgx_errors_raise(mpi, call->comm, "MPI could not tell the nodes");
    }
    if (!located && !offer.refusal)
        offer.refusal = "a rank is out of memory, or MPI cannot tell the nodes";
    prepare(state, recurrence, call, &offer);
    code = cgx_agree_call(mpi, call->comm,
                          offer.hopeless  ? CGX_HOPELESS
                          : offer.refusal ? CGX_UNABLE
                                          : CGX_ABLE,
                          offer.dtype, &all);
    agreed = all == CGX_ABLE;
    if (code == MPI_SUCCESS && state->own == MPI_COMM_NULL) {
        if (agreed)
            code = cgx_comm_make_own(mpi, call->comm, state, &agreed);
        else if (!offer.refusal)
            cgx_comm_return();
    }
    /* Whether or not they agreed, some may have other staging memory than before. */
    if (code == MPI_SUCCESS && state->own != MPI_COMM_NULL) {
        if (cgx_connect(mpi, state, backend_of(&offer), &signature->by_device) != MPI_SUCCESS)
            code = cgx_errors_raise(mpi, call->comm, "MPI could not connect the ranks of a node");
    }
    /* Nothing is served from the memory until ranks are asked again; its file would stay open. */
    else if (code == MPI_SUCCESS)
        cgx_scratch_release(&state->scratch);
    state->broken = code != MPI_SUCCESS;
    signature->agreed = code == MPI_SUCCESS && agreed;
    /* Sums that are formed flat have no mates. */
    signature->by_device =
        signature->agreed && signature->by_device && signature->shape.nodes->most > 1;
    if (signature->agreed) {
        cgx_log(CGX_LOG_DEBUG, "sums of %lld elements on %d ranks: compressed, %u slices%s",
                (long long)call->count, state->size, signature->shape.slices,
                signature->by_device ? ", from device to device" : "");
        return MPI_SUCCESS;
    }
    if (code == MPI_SUCCESS && all == CGX_HOPELESS) {
        cgx_signature_forget(signature);
        return cgx_errors_raise(mpi, call->comm,
                                offer.hopeless ? offer.refusal : "a rank cannot use its buffers");
    }
    cgx_signature_refuse(signature);
    if (code != MPI_SUCCESS)
        return code;
    cgx_log(CGX_LOG_DEBUG, "sums of %lld elements on %d ranks: exact: %s", (long long)call->count,
            state->size, offer.refusal ? offer.refusal : "another rank cannot compress them");
    return MPI_SUCCESS;
}

/* An exact call on a communicator whose calls may be compressed. */
static int exact(const struct cgx_mpi *mpi, const struct cgx_call *call, enum cgx_type_class type)
{
    int64_t begun = cgx_trace_now();
    int code = cgx_exact(mpi, call, type);

    cgx_timeline_exact(begun, call, type);
    return code;
}

/* What the caller gets of a call that was run with OUTCOME. */
static int conclude(const struct cgx_mpi *mpi, const struct cgx_call *call,
                    enum cgx_type_class type, struct cgx_comm *state,
                    struct cgx_signature *signature, const struct offer *offer,
                    enum cgx_outcome outcome)
{
    switch (outcome) {
    case CGX_OUTCOME_DONE:
        return MPI_SUCCESS;
    case CGX_OUTCOME_REDO:
        cgx_log(CGX_LOG_DEBUG, "sums of %lld elements on %d ranks: exact again: %s",
                (long long)call->count, state->size,
                offer->refusal ? offer->refusal : "a rank could not serve one");
        cgx_signature_refuse(signature);
        return exact(mpi, call, type);
    case CGX_OUTCOME_LOST:
        cgx_signature_refuse(signature);
        return cgx_errors_raise(mpi, call->comm, "a rank could not go on half-way");
    case CGX_OUTCOME_HOPELESS:
        /* The next call is tried too: as an exact one it would be an error on that rank alone. */
        return cgx_errors_raise(mpi, call->comm,
                                offer->hopeless ? offer->refusal : "a rank cannot use its buffers");
    case CGX_OUTCOME_FAILED:
        return cgx_errors_raise(mpi, call->comm, "this rank has no result");
    case CGX_OUTCOME_BROKEN:
        state->broken = true;
        return cgx_errors_raise(mpi, call->comm, "MPI could not move the data");
    }
    return MPI_ERR_INTERN;
}

/* Runs COLL, compares what came of it if that is wanted, and counts. */
static enum cgx_outcome run(struct cgx_comm *state, struct cgx_coll *coll, struct cgx_stats_key key)
{
    struct cgx_check *check;
    struct cgx_checked checked;
    enum cgx_outcome outcome;
    double begun, seconds;
    int64_t time;

    if (cgx_check_begin(coll, &check) != MPI_SUCCESS)
        return CGX_OUTCOME_BROKEN;
    begun = cgx_stats_clock(state->stats);
    time = cgx_trace_now();
    outcome = cgx_coll_run(coll);
    cgx_timeline_compressed(time, coll, outcome);
    seconds = cgx_stats_clock(state->stats) - begun;
    if (cgx_check_end(check, outcome, &checked) != MPI_SUCCESS)
        outcome = CGX_OUTCOME_BROKEN;
    cgx_stats_compressed(state->stats, key, coll, outcome, seconds, &checked);
    if (outcome == CGX_OUTCOME_DONE)
        cgx_report_compressed(coll->sent);
    return outcome;
}

static struct cgx_stats_key stats_key(const struct cgx_call *call, enum cgx_type_class type,
                                      const struct recurrence *recurrence)
{
    return (struct cgx_stats_key){recurrence->position, cgx_comm_key(call->count, type),
                                  recurrence->say.rule};
}

static int compress(const struct cgx_mpi *mpi, const struct cgx_call *call,
                    enum cgx_type_class type, struct cgx_comm *state,
                    const struct recurrence *recurrence)
{
    struct cgx_signature *signature = recurrence->signature;
    struct offer offer = look_at(call, type);
    enum cgx_outcome outcome;
    struct cgx_tally tally;
    struct cgx_coll coll = {.mpi = mpi,
                            .comm = state->own,
                            .rank = (unsigned)state->rank,
                            .shape = &signature->shape,
                            .scratch = &state->scratch,
                            .shm = state->shm,
                            .by_device = signature->by_device,
                            .seed = cgx_start()->seed,
                            .call = state->calls++,
                            .input = input_of(call),
                            .output = call->recvbuf};

    if (cgx_layers_find(state, recurrence->position, signature->plan, &coll.shape, &tally))
        coll.tally = &tally;
    get_backends(state, call, &offer);
    if (coll.by_device && !offer.refusal &&
        !(backend_of(&offer) && cgx_cuda_is_connected(offer.encoder)))
        offer.refusal = "mates cannot reach the memory that its buffers have come to lie in";
    coll.encoder = offer.encoder;
    coll.decoder = offer.decoder;
    coll.withheld = offer.refusal || offer.dtype != signature->plan->dtype;
    coll.hopeless = offer.hopeless;
    outcome = run(state, &coll, stats_key(call, type, recurrence));
    return conclude(mpi, call, type, state, signature, &offer, outcome);
}

/* A call on a communicator whose calls may be compressed, but this one is not. */
static int leave_exact(const struct cgx_mpi *mpi, const struct cgx_call *call,
                       enum cgx_type_class type, struct cgx_comm *state,
                       const struct recurrence *recurrence)
{
    if (recurrence->recurs)
        cgx_stats_exact(state->stats, stats_key(call, type, recurrence));
    else
        cgx_stats_passing(state->stats);
    return exact(mpi, call, type);
}

int cgx_allreduce(const struct cgx_call *call)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    struct recurrence recurrence;
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
    recurrence = recurring(state, call, type);
    if (recurrence.position == 0 && cgx_layers_step(mpi, state) != MPI_SUCCESS)
        return cgx_errors_raise(mpi, call->comm, "MPI could not exchange widths");
    if (!recurrence.signature)
        return leave_exact(mpi, call, type, state, &recurrence);
    if (!recurrence.signature->agreed && cgx_signature_due(recurrence.signature)) {
        code = decide(mpi, call, type, state, &recurrence);
        if (code != MPI_SUCCESS)
            return code;
    }
    if (!recurrence.signature->agreed)
        return leave_exact(mpi, call, type, state, &recurrence);
    return compress(mpi, call, type, state, &recurrence);
}
