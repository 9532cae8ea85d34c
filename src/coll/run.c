/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/coll.h"

#include <string.h>

#include "codec/encoding.h"
#include "coll/slice.h"
#include "util/float_state.h"
#include "util/hash.h"
#include "util/trace.h"

static struct cgx_slice *slice_of(const struct cgx_coll *coll, unsigned number)
{
    return &coll->scratch->slices[number % CGX_SLOTS];
}

static void begin_backend(struct cgx_coll *coll)
{
    if (coll->vote != CGX_ABLE)
        return;
    coll->state.begun = coll->backend->ops->begin(coll->backend) == CGX_OK;
    if (!coll->state.begun)
        coll->vote = coll->backend->ops->lost(coll->backend) ? CGX_UNRECOVERABLE : CGX_DECLINED;
}

/* Waits until the backend has no work queued on the buffers, and ends it if it has begun. Returns
 * whether its work succeeded. */
static bool end_backend(const struct cgx_coll *coll)
{
    bool good = true;

    if (!coll->state.begun)
        return good;
    for (unsigned slot = 0; slot < coll->schedule->needs.slots; slot++)
        good = coll->backend->ops->wait(coll->backend, slot) == CGX_OK && good;
    coll->backend->ops->end(coll->backend);
    return good;
}

/* Looks at this rank's input. If that is no gradient, the call is done exactly on all ranks. */
static void look_at_input(struct cgx_coll *coll)
{
    const struct cgx_plan *plan = &coll->schedule->plan;
    const struct cgx_strided runs =
        cgx_sample_runs(coll->input, plan->count, plan->dtype, CGX_LOOK_INPUT_RUN);
    unsigned char elements[CGX_READ_RUNS * CGX_READ_BYTES];
    struct cgx_sample sample;
    union cgx_float_state caller;

    if (!coll->inputs || coll->vote != CGX_ABLE ||
        coll->backend->ops->read(coll->backend, &runs, elements) != CGX_OK)
        return;
    sample.run = runs.bytes / cgx_dtype_size(plan->dtype);
    cgx_float_enter(&caller);
    cgx_peek_elements(plan->dtype, elements, CGX_LOOK_PLACES * sample.run, sample.values);
    coll->size = cgx_sample_size(&sample);
    coll->sketch = cgx_sketch_of(&sample);
    coll->look = cgx_inputs_look(coll->inputs, &sample, coll->size, &coll->traits);
    cgx_float_leave(&caller);
    if (cgx_look_is_state(coll->look)) {
        coll->vote = CGX_DECLINED;
        coll->state.held = true;
    }
}

static void start_next_slice(struct cgx_coll *coll)
{
    unsigned number = coll->state.started++;

    cgx_slice_start(coll, number, slice_of(coll, number));
}

static void trace_slice(const struct cgx_slice *slice)
{
    if (slice->begun != 0)
        cgx_trace_record((struct cgx_trace_event){.begin = slice->begun,
                                                  .bytes = slice->sent,
                                                  .slice = slice->number,
                                                  .kind = CGX_TRACE_SLICE,
                                                  .row = (uint8_t)(1 + slice->slot)});
}

/* ---- work during exchanges ---- */

/* Whether the host does the work, and so puts it off until messages are under way. */
static bool puts_off(const struct cgx_coll *coll)
{
    return coll->vote == CGX_ABLE && coll->backend == cgx_backend_host();
}

/* Progresses the messages of the current slice, if they are on their way. */
static void progress_messages(void *state)
{
    struct cgx_coll *coll = state;
    bool complete;

    if (!coll->state.failed && slice_of(coll, coll->state.slice)->formed)
        coll->state.failed = cgx_exchange_poll(coll->scratch->exchange, &complete) != CGX_OK;
}

/* Does the next work that was put off: decodes the last finished slice or, if that is done, starts
 * the slice after the current one, in the same slot. Returns false if no work is left. */
static bool do_put_off_work(struct cgx_coll *coll)
{
    struct cgx_slice *undecoded = coll->state.undecoded;

    if (!undecoded && (coll->state.started >= coll->schedule->slices ||
                       coll->state.started > coll->state.slice + 1))
        return false;
    coll->state.undecoded = NULL;
    if (!undecoded) {
        start_next_slice(coll);
    } else {
        coll->state.lost |= cgx_slice_decode(undecoded) != CGX_OK;
        trace_slice(undecoded);
    }
    return true;
}

static void do_all_put_off_work(struct cgx_coll *coll)
{
    while (do_put_off_work(coll))
        ;
}

/* ---- results of slices ---- */

/* Adds the energies and elements that the uniformly quantised pieces of SLICE store, which cover
 * all quantisations that led to them. All stages have an equal part of the error, and no group has
 * more of it than the floor allows. */
static void add_quantised(struct cgx_coll *coll, const struct cgx_slice *slice)
{
    const struct cgx_cut *cut = &slice->cut;
    const unsigned stages = coll->schedule->program.levels + 1;
    const double variance = 1.0 / 12; /* of rounding errors, in units of the squared step size */
    union cgx_float_state caller;

    cgx_float_enter(&caller);
    for (size_t i = 0; i < cut->part[coll->schedule->program.parts].piece; i++) {
        const struct cgx_piece *piece = &cut->piece[i];
        struct cgx_uniform_head head;
        double noise;

        if (!cgx_encoding_quantiser(piece->bits)->has_variable_size)
            continue;
        head = cgx_uniform_head_of(slice->staging + piece->offset);
        noise = variance * stages * (double)piece->count * (double)head.step * (double)head.step;
        if (coll->coding.floor > 0 && noise > (double)coll->coding.floor * head.energy)
            noise = (double)coll->coding.floor * head.energy;
        coll->quantised.energy += head.energy;
        coll->quantised.elements += (double)head.elements;
        coll->quantised.noise += noise;
    }
    cgx_float_leave(&caller);
}

static enum cgx_outcome conclude_slice(struct cgx_coll *coll, struct cgx_slice *slice)
{
    coll->state.lent |= slice->lent;
    if (slice->vote == CGX_UNRECOVERABLE)
        return CGX_OUTCOME_UNRECOVERABLE;
    if (slice->look != CGX_LOOK_UNKNOWN)
        coll->look = slice->look;
    /* The messages of the next slice, if there is one, reach ranks that have missed the flag. */
    coll->state.held = slice->vote != CGX_ABLE && slice->held && slice->number == 0;
    if (slice->vote != CGX_ABLE && slice->held)
        return coll->state.held && coll->schedule->slices > 1 ? CGX_OUTCOME_DONE : CGX_OUTCOME_HELD;
    if (slice->vote != CGX_ABLE)
        return slice->number == 0 ? CGX_OUTCOME_DECLINED : CGX_OUTCOME_HALFWAY;
    /* The others may hold the call, and act on that at once, so this rank must not meet them in
     * another collective. */
    if (slice->missed && coll->looks && coll->schedule->slices == 1)
        return CGX_OUTCOME_BROKEN;
    if (slice->lost) {
        coll->state.lost = true;
    } else {
        add_quantised(coll, slice);
        coll->state.undecoded = slice;
    }
    return CGX_OUTCOME_DONE;
}

/* Makes NUMBER the current slice. Unless work is put off, decodes the slice before and starts the
 * slice after it. */
static void make_current(struct cgx_coll *coll, unsigned number)
{
    struct cgx_slice *slice = slice_of(coll, number);

    coll->state.slice = number;
    /* The messages of the last slice report losses, which must be known before they are sent. */
    if (!puts_off(coll) || number + 1 == coll->schedule->slices)
        do_all_put_off_work(coll);
    /* The messages of this slice say to all ranks what only some know. */
    if (coll->state.lost || coll->state.held)
        cgx_slice_decline(slice, CGX_DECLINED);
    slice->held |= coll->state.held;
}

static enum cgx_outcome finish_call(struct cgx_coll *coll, enum cgx_outcome outcome)
{
    int64_t ended;

    if (outcome == CGX_OUTCOME_DONE)
        do_all_put_off_work(coll);
    ended = cgx_trace_now();
    if (!end_backend(coll))
        coll->state.lost = true;
    if (coll->transports.shm)
        cgx_shm_release(coll->transports.shm);
    if (ended != 0)
        cgx_trace_record((struct cgx_trace_event){.begin = ended, .kind = CGX_TRACE_DRAIN});
    if (outcome == CGX_OUTCOME_DONE && coll->state.lost)
        return CGX_OUTCOME_LOST;
    return outcome;
}

/* ---- leaving ---- */

/* Begins to wait until local peers have decoded this rank's sums in place, since the program may
 * destroy the context of that memory after the call. Every local peer releases the sums at the end
 * of the call, whatever its outcome. A rank whose outcome is BROKEN does not wait. Returns whether
 * there is anything to wait for. */
static bool begin_leaving(struct cgx_coll *coll)
{
    const struct cgx_program *program = &coll->schedule->program;
    const struct cgx_nodes *nodes = program->shape.nodes;
    const unsigned *first = nodes->first + program->node;
    struct cgx_transfer *transfers = coll->scratch->transfers;
    size_t count = 0;

    if (!coll->state.lent || coll->state.outcome == CGX_OUTCOME_BROKEN)
        return false;
    for (unsigned i = first[0]; i < first[1]; i++) {
        if (i - first[0] != program->local)
            transfers[count++] = (struct cgx_transfer){.peer = (int)nodes->members[i],
                                                       .direction = CGX_TRANSFER_RELEASE};
    }
    coll->state.failed =
        cgx_exchange_begin(coll->scratch->exchange, &coll->transports, transfers, count) != CGX_OK;
    return true;
}

static bool poll_leaving(struct cgx_coll *coll, enum cgx_outcome *outcome)
{
    bool complete;

    *outcome = coll->state.outcome;
    if (!coll->state.failed && cgx_exchange_poll(coll->scratch->exchange, &complete) == CGX_OK)
        return complete;
    *outcome = CGX_OUTCOME_BROKEN;
    return true;
}

/* ---- a call ---- */

void cgx_coll_begin(struct cgx_coll *coll)
{
    coll->sent = 0;
    coll->quantised = (struct cgx_quantised){0};
    memset(&coll->state, 0, sizeof coll->state);
    coll->state.meanwhile = (struct cgx_meanwhile){progress_messages, coll};
    coll->state.hash = coll->schedule->hash;
    /* Ranks with histories of different sums refuse each other's payloads. */
    if (coll->has_history)
        coll->state.hash = cgx_hash(coll->state.hash, &coll->age, sizeof coll->age);
    coll->look = CGX_LOOK_UNKNOWN;
    coll->sketch = cgx_sketch_empty();
    coll->size = 0;
    begin_backend(coll);
    look_at_input(coll);
    start_next_slice(coll);
    make_current(coll, 0);
}

bool cgx_coll_poll(struct cgx_coll *coll, enum cgx_outcome *outcome)
{
    struct cgx_slice *slice = slice_of(coll, coll->state.slice);
    bool complete;

    if (coll->state.leaves)
        return poll_leaving(coll, outcome);
    *outcome = CGX_OUTCOME_BROKEN;
    if (!coll->state.failed && cgx_slice_advance(slice, &complete) == CGX_OK) {
        if (!complete) {
            /* The slice before is decoded during the first rounds. The slice after is encoded
             * during the last rounds or, if this is the first slice, at once. */
            if (coll->state.undecoded || slice->number == 0 || !cgx_slice_is_early(slice))
                do_put_off_work(coll);
            return false;
        }
        do_all_put_off_work(coll);
        *outcome = conclude_slice(coll, slice);
    }
    coll->sent += slice->sent;
    if (coll->state.undecoded != slice)
        trace_slice(slice);
    if (*outcome == CGX_OUTCOME_DONE && slice->number + 1 < coll->schedule->slices) {
        make_current(coll, slice->number + 1);
        return false;
    }
    *outcome = finish_call(coll, *outcome);
    coll->state.outcome = *outcome;
    coll->state.leaves = begin_leaving(coll);
    return !coll->state.leaves;
}

enum cgx_outcome cgx_coll_run(struct cgx_coll *coll)
{
    enum cgx_outcome outcome;

    cgx_coll_begin(coll);
    while (!cgx_coll_poll(coll, &outcome))
        cgx_exchange_rest(coll->scratch->exchange);
    return outcome;
}
