/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/fused.h"

#include "codec/encoding.h"
#include "coll/shm.h"
#include "cuda/fused.h"
#include "util/log.h"

/* ---- which calls ---- */

/* Whether all elements of PLAN are quantised by families that the kernels have. */
static bool has_kernels(const struct cgx_plan *plan)
{
    return plan->rounding == CGX_ROUNDING_NEAREST && !plan->adaptive && cgx_plan_stepped(plan) == 0;
}

/* Whether the host may have to change sums. */
static bool has_corrections(const struct cgx_schedule *schedule)
{
    bool found = false;

    for (int i = 0; i < CGX_TRAILERS; i++)
        found = found || (schedule->trailers[i] && cgx_trailers[i]->correct);
    return found;
}

bool cgx_fused_serves(const struct cgx_coll *coll)
{
    const struct cgx_schedule *schedule = coll->schedule;

    return coll->fused && coll->fused->blocks > 0 && coll->pull == CGX_PULL_DEVICE &&
           schedule->nodes->nodes == 1 && schedule->ranks <= CGX_FUSED_RANKS &&
           schedule->shards == schedule->ranks && schedule->intra == CGX_REDUCTION_SRA &&
           !schedule->raw && !has_corrections(schedule) && !coll->feedback &&
           !coll->error_feedback && !coll->scales && !(coll->watching.threshold > 0) &&
           has_kernels(schedule->plan);
}

/* ---- headers ---- */

static struct cgx_block first_send(const struct cgx_stage *stage)
{
    (void)stage;
    return (struct cgx_block){0};
}

static unsigned rounds(const struct cgx_stage *stage, bool gathers)
{
    (void)stage;
    return gathers ? 2 : 1;
}

/* Lists a header without payload to and from every local peer. The own one is where the sum would
 * be, so its place tells where this rank's sum is. */
static void list_headers(struct cgx_slice *slice, const struct cgx_stage *stage)
{
    static const struct cgx_block header = {0};

    slice->header = (struct cgx_block){.message = stage->blocks[stage->self].message};
    for (unsigned i = 0; i < stage->size; i++) {
        unsigned peer = cgx_stage_rank(slice, stage, i);

        if (i == stage->self)
            continue;
        cgx_slice_receive(slice, peer, &header, stage->blocks[i].message);
        cgx_slice_send(slice, peer, &slice->header);
    }
}

static void reduce_scatter(struct cgx_slice *slice, const struct cgx_stage *stage, unsigned round)
{
    (void)round;
    slice->coll->fused->epoch++;
    list_headers(slice, stage);
}

/* Lists that every local peer is to release what it was sent, as it does when its kernel has
 * ended. */
static void list_ends(struct cgx_slice *slice, const struct cgx_stage *stage)
{
    for (unsigned i = 0; i < stage->size; i++) {
        if (i != stage->self)
            slice->coll->scratch->transfers[slice->ntransfers++] = (struct cgx_transfer){
                .peer = (int)cgx_stage_rank(slice, stage, i), .direction = CGX_TRANSFER_RELEASE};
    }
}

static void allgather(struct cgx_slice *slice, const struct cgx_stage *stage, unsigned round)
{
    struct cgx_backend *encoder = slice->coll->encoder;

    if (round == 0) {
        list_headers(slice, stage);
        return;
    }
    list_ends(slice, stage);
    if (!slice->runs)
        cgx_shm_release(slice->coll->shm);
    else if (slice->vote != CGX_ABLE || slice->lost)
        cgx_cuda_fused_stop(encoder, slice->slot_number);
}

/* ---- the kernel ---- */

/* The offset of SHARD's message from the start of the first in the staging memory of MEMBER, which
 * has its own behind all others (slice_layout.c). */
static size_t message_in(const struct cgx_stage *stage, unsigned member, unsigned shard)
{
    size_t offset = 0;

    for (unsigned i = 0; i < stage->nblocks; i++) {
        if (i != shard && i != member && (i < shard || shard == member))
            offset += CGX_MESSAGE_HEADER_BYTES + stage->blocks[i].bytes;
    }
    return offset;
}

static struct cgx_fused_sum sum_of(const struct cgx_slice *slice, const struct cgx_stage *stage)
{
    const struct cgx_coll *coll = slice->coll;
    struct cgx_fused_sum sum = {.coding = &slice->coding,
                                .history = coll->history,
                                .in = coll->input,
                                .out = coll->output,
                                .staging = slice->slot->staging,
                                .self = stage->self,
                                .ranks = stage->size,
                                .blocks = coll->fused->blocks,
                                .epoch = coll->fused->epoch};

    for (unsigned i = 0; i < stage->size; i++) {
        const struct cgx_block *block = &stage->blocks[i];
        size_t begin = slice->headers[i] - message_in(stage, i, i);

        sum.parts[i] = (struct cgx_fused_block){
            .pieces = cgx_slice_pieces(slice, block),
            .npieces = block->npieces,
            .payload = block->message + CGX_MESSAGE_HEADER_BYTES,
            .bytes = block->bytes,
            .sum = slice->headers[i] + CGX_MESSAGE_HEADER_BYTES,
            .brought = begin + message_in(stage, i, stage->self) + CGX_MESSAGE_HEADER_BYTES};
    }
    return sum;
}

/* Launches the kernel once all ranks have said that they are about to. */
static void launch(struct cgx_slice *slice, const struct cgx_stage *stage, unsigned round)
{
    struct cgx_backend *encoder = slice->coll->encoder;
    struct cgx_fused_sum sum;

    (void)round;
    if (slice->vote != CGX_ABLE)
        return;
    sum = sum_of(slice, stage);
    slice->runs = cgx_cuda_fused_launch(encoder, slice->slot_number, &sum) == CGX_OK;
    if (!slice->runs) {
        cgx_slice_give_up(slice);
        return;
    }
    for (unsigned i = 0; i < stage->size; i++)
        slice->sent += stage->blocks[i].bytes * (i == stage->self ? stage->size - 1 : 1);
}

static void end(struct cgx_slice *slice)
{
    const struct cgx_coll *coll = slice->coll;
    enum cgx_status status = cgx_cuda_fused_wait(coll->encoder, slice->slot_number);

    slice->runs = false;
    /* It may not have raised its flags. */
    if (status == CGX_ERR_DEVICE || status == CGX_ERR_BUSY)
        cgx_shm_fail(coll->shm, coll->fused->epoch);
    if (status != CGX_OK)
        slice->lost = true;
}

bool cgx_fused_progress(struct cgx_slice *slice)
{
    const struct cgx_coll *coll = slice->coll;

    if (!slice->runs || slice->phase != CGX_PHASE_ALLGATHER_INTRA || slice->round == 0)
        return true;
    if (cgx_shm_has_failed(coll->shm, coll->fused->epoch))
        cgx_cuda_fused_stop(coll->encoder, slice->slot_number);
    if (cgx_cuda_fused_runs(coll->encoder, slice->slot_number))
        return false;
    end(slice);
    cgx_shm_release(coll->shm);
    return true;
}

void cgx_fused_abandon(struct cgx_slice *slice)
{
    if (!slice->runs)
        return;
    cgx_cuda_fused_stop(slice->coll->encoder, slice->slot_number);
    end(slice);
}

const struct cgx_stage_ops cgx_fused_stage = {.first_send = first_send,
                                              .rounds = rounds,
                                              .reduce_scatter = reduce_scatter,
                                              .sum = launch,
                                              .allgather = allgather};
