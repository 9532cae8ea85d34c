/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "cuda/fused.h"

#include <stdatomic.h>

#include "codec/encoding.h"
#include "cuda/context.h"
#include "cuda/launch.h"
#include "util/integers.h"

/* Whether a call of this process has claimed these kernels. */
static atomic_flag is_claimed = ATOMIC_FLAG_INIT;

/* Where pieces are listed: the table of decode, which the slot does not need otherwise. */
static struct cgx_cuda_table *table_of(struct cgx_cuda_work *work, unsigned slot)
{
    return &work->slots[slot].tables[CGX_DECODE];
}

/* ---- what a device holds ---- */

/* An attribute of the current device; 0 if the driver does not know it. */
static int attribute_of(CUdevice device, CUdevice_attribute attribute)
{
    int value = 0;

    return cgx_cuda()->cuDeviceGetAttribute(&value, attribute, device) == CUDA_SUCCESS ? value : 0;
}

/* Whether the device serves several processes at once, which then hold blocks of it, or the driver
 * is too old to know. */
static bool is_shared(CUdevice device)
{
    int shared = 0;

    return cgx_cuda()->cuDeviceGetAttribute(&shared, CGX_CUDA_MPS_ENABLED, device) !=
               CUDA_SUCCESS ||
           shared != 0;
}

/* The blocks of any fused kernel that a multiprocessor holds. */
static int blocks_of_each(const struct cgx_cuda_module *module)
{
    int least = CGX_FUSED_BLOCKS;

    for (int i = 0; i < 2 * (CGX_BFLOAT16 + 1); i++) {
        int blocks = 0;

        if (CGX_CUDA_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks,
                          module->fused[i % 2][i / 2], CGX_KERNEL_THREADS, 0) != CGX_OK)
            return 0;
        least = blocks < least ? blocks : least;
    }
    return least;
}

static unsigned blocks_of(struct cgx_cuda_work *work)
{
    CUdevice device;
    uint64_t blocks;

    if (cgx_cuda()->cuCtxGetDevice(&device) != CUDA_SUCCESS ||
        attribute_of(device, CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT) != 0 || is_shared(device) ||
        cgx_cuda_module_fuse(work->module) != CGX_OK)
        return 0;
    blocks = (uint64_t)blocks_of_each(work->module) *
             (uint64_t)attribute_of(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    return blocks < CGX_FUSED_BLOCKS ? (unsigned)blocks : CGX_FUSED_BLOCKS;
}

unsigned cgx_cuda_fused_blocks(struct cgx_backend *backend)
{
    struct cgx_cuda_work *work = cgx_cuda_work_of(backend);
    unsigned blocks;

    if (!work || !work->flags || cgx_cuda_work_enter(work) != CGX_OK)
        return 0;
    blocks = blocks_of(work);
    cgx_cuda_leave();
    return blocks;
}

/* ---- arguments ---- */

static void *pointer_to(CUdeviceptr address)
{
    return (void *)(uintptr_t)address;
}

/* Lists the pieces of PART, of one family or the others, in TABLE at *AT, and in LISTED. */
static bool put_pieces(struct cgx_cuda_table *table, size_t *at, const struct cgx_fused_block *part,
                       bool rotated, struct cgx_fused_table *listed)
{
    bool changed = false;

    for (size_t i = 0; i < part->npieces; i++) {
        const struct cgx_piece *piece = &part->pieces[i];
        const struct cgx_kernel_piece entry = {.first = piece->first,
                                               .count = piece->count,
                                               .offset = piece->offset - part->payload,
                                               .bits = piece->bits,
                                               .tile = listed->tiles};

        if ((cgx_encoding_family(piece->bits) == CGX_FAMILY_ROTATED) != rotated)
            continue;
        changed |= cgx_cuda_put(table, at, &entry, sizeof entry);
        listed->count++;
        listed->tiles += (uint32_t)cgx_kernel_tiles(piece);
    }
    return changed;
}

/* Sets where ARGS find PART of local peer NUMBER, and *SOURCE. False: not in its mirror. */
static bool find_peer(const struct cgx_cuda_work *work, const struct cgx_fused_sum *sum,
                      unsigned number, struct cgx_fused_args *args, int64_t *source)
{
    const struct cgx_fused_block *part = &sum->parts[number];
    struct cgx_cuda_place theirs, brought;
    CUdeviceptr flags = cgx_cuda_peer_flags(work, number);

    if (!flags || !cgx_cuda_peer_at(work, number, part->sum, part->bytes, &theirs) ||
        !cgx_cuda_peer_at(work, number, part->brought, sum->parts[sum->self].bytes, &brought))
        return false;
    args->sums[number] = pointer_to(theirs.device);
    args->flags[number] = pointer_to(flags);
    *source = cgx_kernel_source(brought.device, false);
    return true;
}

/* Fills TABLE and ARGS. *CHANGED: the bytes of TABLE to be uploaded, if any. */
static enum cgx_status list(const struct cgx_cuda_work *work, const struct cgx_cuda_slot *slot,
                            struct cgx_cuda_table *table, const struct cgx_fused_sum *sum,
                            struct cgx_fused_args *args, size_t *changed)
{
    const size_t begin = cgx_round_up(sum->ranks * sizeof(CUdeviceptr), 16);
    bool differs = false;
    size_t at = 0;

    for (unsigned i = 0; i < sum->ranks; i++) {
        const CUdeviceptr here = cgx_cuda_mirrored(slot, sum->staging + sum->parts[i].payload);
        int64_t source = 0;

        args->encoded[i] = pointer_to(here);
        args->sums[i] = pointer_to(here);
        args->flags[i] = pointer_to(work->flags);
        if (i != sum->self && !find_peer(work, sum, i, args, &source))
            return CGX_ERR_INVALID;
        differs |= cgx_cuda_put(table, &at, &source, sizeof source);
    }
    at = begin;
    for (unsigned i = 0; i < 2 * sum->ranks; i++) {
        struct cgx_fused_table *listed = &args->parts[i / 2].tables[i % 2];

        *listed = (struct cgx_fused_table){
            .first = (uint32_t)((at - begin) / sizeof(struct cgx_kernel_piece))};
        differs |= put_pieces(table, &at, &sum->parts[i / 2], i % 2, listed);
    }
    args->work.pieces = pointer_to(table->device + begin);
    args->work.sources = pointer_to(table->device);
    *changed = differs ? at : 0;
    return CGX_OK;
}

/* As many blocks as the longest table has tiles, the same on all ranks; at most SUM's. */
static unsigned grid_of(const struct cgx_fused_sum *sum, const struct cgx_fused_args *args)
{
    uint32_t most = 1;

    for (unsigned i = 0; i < 2 * sum->ranks; i++) {
        uint32_t tiles = args->parts[i / 2].tables[i % 2].tiles;

        most = tiles > most ? tiles : most;
    }
    return most < sum->blocks ? most : sum->blocks;
}

static struct cgx_fused_args args_of(const struct cgx_cuda_table *table,
                                     const struct cgx_fused_sum *sum)
{
    const struct cgx_coding *coding = sum->coding;

    return (struct cgx_fused_args){
        .work = {.buffer = (void *)(uintptr_t)sum->in,
                 .scales = sum->history.scales,
                 .fits = sum->history.fits,
                 .age = sum->history.age,
                 .status = pointer_to(table->reported),
                 .seed = coding->seed,
                 .call = coding->call,
                 .stream = coding->stream,
                 .nsources = sum->ranks,
                 .bucket_size = coding->bucket_size,
                 .key = cgx_call_key(coding->seed, coding->call)},
        .output = sum->out,
        .self = sum->self,
        .ranks = sum->ranks,
        .epoch = sum->epoch,
        .stop = pointer_to(table->reported + CGX_CUDA_STOP * sizeof(uint32_t)),
        .stopped = pointer_to(table->reported + CGX_CUDA_STOPPED * sizeof(uint32_t))};
}

/* ---- a sum ---- */

bool cgx_cuda_fused_claim(void)
{
    return !atomic_flag_test_and_set(&is_claimed);
}

void cgx_cuda_fused_release(void)
{
    atomic_flag_clear(&is_claimed);
}

static enum cgx_status launch(struct cgx_cuda_work *work, unsigned number,
                              const struct cgx_fused_sum *sum)
{
    CUstream compute = work->streams[CGX_STREAM_COMPUTE];
    struct cgx_cuda_slot *slot = &work->slots[number];
    struct cgx_cuda_table *table = table_of(work, number);
    struct cgx_fused_args args = args_of(table, sum);
    void *parameters[] = {&args};
    CUfunction kernel = work->module->fused[sum->history.scales != NULL][sum->coding->dtype];
    size_t changed = 0;
    enum cgx_status status = list(work, slot, table, sum, &args, &changed);

    table->status[CGX_CUDA_STOP] = table->status[CGX_CUDA_STOPPED] = 0;
    if (changed > 0)
        table->uploaded = 0;
    if (status == CGX_OK && changed > 0)
        status = CGX_CUDA_CALL(cuMemcpyHtoDAsync, table->device, table->host, changed, compute);
    if (status == CGX_OK && changed > 0)
        table->uploaded = changed;
    if (status == CGX_OK)
        status = CGX_CUDA_CALL(cuLaunchKernel, kernel, grid_of(sum, &args), 1, 1,
                               CGX_KERNEL_THREADS, 1, 1, 0, compute, parameters, NULL);
    if (status != CGX_OK)
        return status;
    status = cgx_cuda_record(work, slot, CGX_STREAM_COMPUTE);
    if (status != CGX_OK)
        table->status[CGX_CUDA_STOP] = 1;
    return status;
}

enum cgx_status cgx_cuda_fused_launch(struct cgx_backend *backend, unsigned slot,
                                      const struct cgx_fused_sum *sum)
{
    struct cgx_cuda_work *work = cgx_cuda_work_of(backend);
    enum cgx_status status = cgx_cuda_work_enter(work);

    if (status == CGX_OK) {
        status = launch(work, slot, sum);
        cgx_cuda_leave();
    }
    return status;
}

void cgx_cuda_fused_stop(struct cgx_backend *backend, unsigned slot)
{
    *(volatile uint32_t *)&table_of(cgx_cuda_work_of(backend), slot)->status[CGX_CUDA_STOP] = 1;
}

bool cgx_cuda_fused_runs(struct cgx_backend *backend, unsigned slot)
{
    struct cgx_cuda_work *work = cgx_cuda_work_of(backend);
    CUresult code = CUDA_ERROR_UNKNOWN;

    if (cgx_cuda_work_enter(work) == CGX_OK) {
        code = cgx_cuda()->cuEventQuery(work->slots[slot].marks[CGX_STREAM_COMPUTE].event);
        cgx_cuda_leave();
    }
    /* If the driver does not say, the wait that follows must come to an end. */
    if (code != CUDA_SUCCESS && code != CUDA_ERROR_NOT_READY)
        cgx_cuda_fused_stop(backend, slot);
    return code == CUDA_ERROR_NOT_READY;
}

enum cgx_status cgx_cuda_fused_wait(struct cgx_backend *backend, unsigned slot)
{
    const struct cgx_cuda_table *table = table_of(cgx_cuda_work_of(backend), slot);
    enum cgx_status status = backend->ops->wait(backend, slot);

    return status == CGX_OK && table->status[CGX_CUDA_STOPPED] != 0 ? CGX_ERR_BUSY : status;
}

/* ---- greetings ---- */

/* Where a rank's flags have the word of local peer NUMBER. */
static CUdeviceptr word_of(CUdeviceptr flags, unsigned number)
{
    return flags + (CUdeviceptr)number * CGX_FUSED_BLOCKS * sizeof(uint64_t);
}

static enum cgx_status greet(const struct cgx_cuda_work *work)
{
    unsigned self, count = cgx_cuda_peers_count(work, &self);
    enum cgx_status status = count > CGX_FUSED_RANKS ? CGX_ERR_INVALID : CGX_OK;

    for (unsigned i = 0; status == CGX_OK && i < count; i++) {
        CUdeviceptr flags = cgx_cuda_peer_flags(work, i);

        if (i != self)
            status = flags ? cgx_cuda_greet_at(work, word_of(flags, self)) : CGX_ERR_INVALID;
    }
    return status;
}

enum cgx_status cgx_cuda_fused_greet(struct cgx_backend *backend)
{
    const struct cgx_cuda_work *work = cgx_cuda_work_of(backend);
    enum cgx_status status = cgx_cuda_work_enter(work);

    if (status == CGX_OK) {
        status = greet(work);
        cgx_cuda_leave();
    }
    return status;
}

static enum cgx_status read_greetings(const struct cgx_cuda_work *work)
{
    unsigned self, count = cgx_cuda_peers_count(work, &self);
    CUstream up = work->streams[CGX_STREAM_UP];
    enum cgx_status status = CGX_OK;

    for (unsigned i = 0; status == CGX_OK && i < count; i++) {
        uint64_t found = 0;

        if (i == self)
            continue;
        status =
            CGX_CUDA_CALL(cuMemcpyDtoHAsync, &found, word_of(work->flags, i), sizeof found, up);
        if (status == CGX_OK)
            status = CGX_CUDA_CALL(cuStreamSynchronize, up);
        if (status == CGX_OK && found != cgx_cuda_peer_cookie(work, i))
            status = CGX_ERR_INVALID;
    }
    return status;
}

enum cgx_status cgx_cuda_fused_greeted(struct cgx_backend *backend)
{
    const struct cgx_cuda_work *work = cgx_cuda_work_of(backend);
    enum cgx_status status = cgx_cuda_work_enter(work);

    if (status != CGX_OK)
        return status;
    status = read_greetings(work);
    if (status == CGX_OK)
        status = CGX_CUDA_CALL(cuMemsetD8Async, work->flags, 0, CGX_FUSED_FLAGS * sizeof(uint64_t),
                               work->streams[CGX_STREAM_UP]);
    if (status == CGX_OK)
        status = CGX_CUDA_CALL(cuStreamSynchronize, work->streams[CGX_STREAM_UP]);
    cgx_cuda_leave();
    return status;
}
