/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/coll.h"

#include <math.h>

#include "coll/feedback.h"
#include "coll/stages.h"
#include "coll/watch.h"
#include "util/trace.h"

/* Returns how many backends have begun, the encoder first. */
static unsigned begin(struct cgx_coll *coll)
{
    struct cgx_backend *backends[] = {coll->encoder, coll->decoder};
    unsigned begun = 0, count = coll->decoder == coll->encoder ? 1 : 2;

    while (begun < count && coll->standing == CGX_ABLE) {
        struct cgx_backend *backend = backends[begun];

        if (backend->ops->begin(backend) == CGX_OK) {
            begun++;
        } else {
            coll->standing = backend->ops->lost(backend) ? CGX_UNRECOVERABLE : CGX_DECLINED;
        }
    }
    return begun;
}

/* Of BEGUN backends, from the last. */
static void end(const struct cgx_coll *coll, unsigned begun)
{
    if (begun > 1)
        coll->decoder->ops->end(coll->decoder);
    if (begun > 0)
        coll->encoder->ops->end(coll->encoder);
}

/* *BEGUN: when. */
static void start(const struct cgx_coll *coll, unsigned number, struct cgx_slice *slice,
                  int64_t *begun)
{
    *begun = cgx_trace_now();
    cgx_slice_begin(coll, number, slice);
    /* The slot's last slice may still be decoded from what is about to be overwritten; a backend
     * that does both keeps the order itself. */
    if (slice->standing == CGX_ABLE && coll->decoder != coll->encoder &&
        coll->decoder->ops->wait(coll->decoder, slice->slot_number) != CGX_OK)
        cgx_slice_decline(slice, CGX_DECLINED);
    if (slice->standing == CGX_ABLE && coll->decoder != coll->encoder)
        cgx_trace_span(CGX_TRACE_WAIT_DECODER, *begun, number, slice->slot_number);
    cgx_stages_start(slice);
}

/* Why the next slice is declined, if it is. */
struct knowledge {
    bool lost;      /* this rank has no result, and not all ranks know */
    bool consensus; /* the call must not be compressed, and not all ranks may know */
};

/* Whether the first slice shows that the call must not be compressed. */
static bool forbids(struct cgx_coll *coll, const struct cgx_slice *slice)
{
    if (slice->number == 0 && !slice->missed)
        coll->seen = cgx_watch_judge(slice);
    return slice->number == 0 && coll->seen.sight > CGX_SIGHT_APART;
}

/* Whether this rank lacks what others may act on after the last slice: they do a call of one slice
 * exactly where they find a consensus, and choose widths by the energies. It must not meet them in
 * another collective. What it lacks of other slices it tells in the next. */
static bool is_lost(const struct cgx_coll *coll, const struct cgx_slice *slice)
{
    unsigned slices = coll->schedule->slices;

    if (slice->number + 1 < slices)
        return false;
    return (slice->lost && coll->feedback) ||
           (slice->missed && slices == 1 && coll->consensus > 0 && coll->schedule->watched);
}

static enum cgx_outcome serve(struct cgx_coll *coll, struct cgx_slice *slice,
                              struct knowledge *known)
{
    enum cgx_status status = cgx_stages_run(slice);

    coll->sent += slice->sent;
    if (status != CGX_OK)
        return CGX_OUTCOME_BROKEN;
    if (slice->standing == CGX_UNRECOVERABLE)
        return CGX_OUTCOME_UNRECOVERABLE;
    if (slice->standing != CGX_ABLE && slice->consensus)
        return CGX_OUTCOME_CONSENSUS;
    if (slice->standing != CGX_ABLE)
        return slice->number == 0 ? CGX_OUTCOME_DECLINED : CGX_OUTCOME_HALFWAY;
    if (is_lost(coll, slice))
        return CGX_OUTCOME_BROKEN;
    cgx_feedback_energies(slice);
    known->consensus = forbids(coll, slice);
    /* A rank that has missed it hears of it with the next slice, as long as there is one. */
    if (known->consensus)
        return coll->schedule->slices > 1 ? CGX_OUTCOME_DONE : CGX_OUTCOME_CONSENSUS;
    known->lost = slice->lost || cgx_slice_decode(slice) != CGX_OK;
    return CGX_OUTCOME_DONE;
}

/* Until nothing is queued on the buffers any more. */
static enum cgx_status drain(const struct cgx_coll *coll)
{
    enum cgx_status status = CGX_OK;

    for (unsigned slot = 0; slot < coll->schedule->needs.slots; slot++) {
        if (coll->encoder->ops->wait(coll->encoder, slot) != CGX_OK)
            status = CGX_ERR_DEVICE;
        if (coll->decoder != coll->encoder &&
            coll->decoder->ops->wait(coll->decoder, slot) != CGX_OK)
            status = CGX_ERR_DEVICE;
    }
    return status;
}

/* SLICE, which began at BEGUN, is over. */
static void trace(const struct cgx_slice *slice, int64_t begun)
{
    if (begun != 0)
        cgx_trace_record((struct cgx_trace_event){.begin = begun,
                                                  .bytes = slice->sent,
                                                  .slice = slice->number,
                                                  .kind = CGX_TRACE_SLICE,
                                                  .row = (uint8_t)(1 + slice->slot_number)});
}

enum cgx_outcome cgx_coll_run(struct cgx_coll *coll)
{
    struct cgx_slice slices[CGX_SLOTS];
    int64_t begun[CGX_SLOTS] = {0}, ended;
    enum cgx_outcome outcome = CGX_OUTCOME_DONE;
    struct knowledge known = {0};
    bool used = coll->standing == CGX_ABLE;
    unsigned backends;

    coll->sent = 0;
    coll->seen = (struct cgx_seen){CGX_SIGHT_NONE, NAN};
    cgx_feedback_begin(coll);
    backends = begin(coll);
    start(coll, 0, &slices[0], &begun[0]);
    for (unsigned n = 0; outcome == CGX_OUTCOME_DONE && n < coll->schedule->slices; n++) {
        struct cgx_slice *slice = &slices[n % CGX_SLOTS];

        if (n + 1 < coll->schedule->slices)
            start(coll, n + 1, &slices[(n + 1) % CGX_SLOTS], &begun[(n + 1) % CGX_SLOTS]);
        /* What not all ranks know becomes known to them in the next slice. */
        if (known.lost || known.consensus)
            cgx_slice_decline(slice, CGX_DECLINED);
        slice->consensus = known.consensus;
        outcome = serve(coll, slice, &known);
        trace(slice, begun[n % CGX_SLOTS]);
    }
    if (outcome != CGX_OUTCOME_DONE)
        cgx_feedback_void(coll);
    ended = cgx_trace_now();
    if (used && drain(coll) != CGX_OK)
        known.lost = true;
    end(coll, backends);
    if (ended != 0)
        cgx_trace_record((struct cgx_trace_event){.begin = ended, .kind = CGX_TRACE_DRAIN});
    return outcome == CGX_OUTCOME_DONE && known.lost ? CGX_OUTCOME_LOST : outcome;
}
