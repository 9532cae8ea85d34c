/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "cuda/launch.h"

#include <string.h>

#include "cuda/kernels.h"

enum cgx_status cgx_cuda_follow(const struct cgx_cuda_work *work, const struct cgx_cuda_slot *slot,
                                enum cgx_cuda_stream stream)
{
    const struct cgx_cuda_mark *before = &slot->marks[stream - 1];

    return before->pending
               ? CGX_CUDA_CALL(cuStreamWaitEvent, work->streams[stream], before->event, 0)
               : CGX_OK;
}

enum cgx_status cgx_cuda_record(const struct cgx_cuda_work *work, struct cgx_cuda_slot *slot,
                                enum cgx_cuda_stream stream)
{
    struct cgx_cuda_mark *mark = &slot->marks[stream];
    enum cgx_status status = CGX_CUDA_CALL(cuEventRecord, mark->event, work->streams[stream]);

    mark->recorded = status == CGX_OK;
    mark->pending = true;
    /* Who waits for this waits for what it came after. */
    if (mark->recorded && stream > 0)
        slot->marks[stream - 1].pending = false;
    return status;
}

static size_t sources_bytes(const struct cgx_work *request)
{
    return (request->nsources * sizeof(CUdeviceptr) + 15) / 16 * 16;
}

/* Pieces or ranges. */
static size_t entries_of(const struct cgx_work *request)
{
    return request->operation == CGX_SHOW ? request->nranges : request->npieces;
}

/* Puts BYTES of VALUE at *AT, which moves behind them; returns whether the device has others there.
 */
static bool put(struct cgx_cuda_table *table, size_t *at, const void *value, size_t bytes)
{
    unsigned char *place = table->host + *at;

    *at += bytes;
    if (*at <= table->uploaded && memcmp(place, value, bytes) == 0)
        return false;
    memcpy(place, value, bytes);
    return true;
}

static uint64_t tiles_of(const struct cgx_work *request, const struct cgx_piece *piece)
{
    if (request->operation == CGX_MEASURE)
        return cgx_kernel_measured_tiles(piece, request->coding->sampling);
    return cgx_kernel_tiles(piece);
}

/* Puts the pieces of REQUEST at *AT, and adds the blocks of the kernel to *TILES. */
static bool put_pieces(struct cgx_cuda_table *table, size_t *at, const struct cgx_work *request,
                       uint32_t *tiles)
{
    bool changed = false;

    for (size_t i = 0; i < request->npieces; i++) {
        const struct cgx_piece *piece = &request->pieces[i];
        const struct cgx_kernel_piece entry = {.first = piece->first,
                                               .count = piece->count,
                                               .offset = piece->offset,
                                               .raw = piece->raw,
                                               .bits = piece->bits,
                                               .tile = *tiles};

        changed |= put(table, at, &entry, sizeof entry);
        *tiles += (uint32_t)tiles_of(request, piece);
    }
    return changed;
}

/* As put_pieces, of ranges. */
static bool put_ranges(struct cgx_cuda_table *table, size_t *at, const struct cgx_work *request,
                       uint32_t *tiles)
{
    bool changed = false;

    for (size_t i = 0; i < request->nranges; i++) {
        const struct cgx_kernel_range entry = {
            .offset = request->ranges[i].offset,
            .words = (uint32_t)(request->ranges[i].bytes / sizeof(uint32_t)),
            .tile = *tiles};

        changed |= put(table, at, &entry, sizeof entry);
        *tiles += (uint32_t)cgx_kernel_range_tiles(entry.words);
    }
    return changed;
}

/* Where the device finds a SOURCE of a sum. */
static CUdeviceptr source_at(const struct cgx_cuda_slot *slot, const unsigned char *source)
{
    for (size_t i = 0; source && i < slot->nborrowed; i++) {
        const struct cgx_cuda_borrowed *borrowed = &slot->borrowed[i];

        if (source >= borrowed->data && source < borrowed->data + borrowed->bytes)
            return borrowed->there + (CUdeviceptr)(source - borrowed->data);
    }
    return source ? cgx_cuda_mirrored(slot, source) : 0;
}

/* Writes the table of REQUEST. *TILES: blocks of the kernel. Returns the bytes to be uploaded, 0
 * if they are there from the last time. */
static size_t fill_table(const struct cgx_cuda_slot *slot, struct cgx_cuda_table *table,
                         const struct cgx_work *request, uint32_t *tiles)
{
    bool changed = false;
    size_t at = 0;

    for (size_t i = 0; i < request->nsources; i++) {
        CUdeviceptr address = source_at(slot, request->sources[i]);
        int64_t source = cgx_kernel_source(address, cgx_is_raw(request->coding, i));

        changed |= put(table, &at, &source, sizeof source);
    }
    at = sources_bytes(request);
    *tiles = 0;
    if (request->operation == CGX_SHOW)
        changed |= put_ranges(table, &at, request, tiles);
    else
        changed |= put_pieces(table, &at, request, tiles);
    return changed ? at : 0;
}

/* Payloads and samples, in the staging memory. */
static const unsigned char *staged_of(const struct cgx_work *request)
{
    bool reads = request->operation == CGX_DECODE || request->operation == CGX_SHOW;

    return reads ? request->in : request->out;
}

/* The elements; of show, where the device finds the staging memory itself. */
static const void *elements_of(const struct cgx_cuda_slot *slot, const struct cgx_work *request)
{
    if (request->operation == CGX_SHOW)
        return (const void *)(uintptr_t)(slot->there +
                                         (CUdeviceptr)(staged_of(request) - slot->host));
    return request->operation == CGX_DECODE ? request->out : request->in;
}

static enum cgx_status launch(const struct cgx_cuda_work *work, const struct cgx_cuda_slot *slot,
                              const struct cgx_cuda_table *table, const struct cgx_work *request,
                              uint32_t tiles)
{
    const struct cgx_coding *coding = request->coding;
    struct cgx_kernel_args args = {
        .pieces = (const void *)(uintptr_t)(table->device + sources_bytes(request)),
        .sources = (const void *)(uintptr_t)table->device,
        .buffer = (void *)(uintptr_t)elements_of(slot, request),
        .payload = (void *)(uintptr_t)cgx_cuda_mirrored(slot, staged_of(request)),
        .status = (void *)(uintptr_t)table->reported,
        .seed = coding->seed,
        .call = coding->call,
        .stream = coding->stream,
        .npieces = (uint32_t)entries_of(request),
        .nsources = (uint32_t)request->nsources,
        .bucket_size = coding->bucket_size,
        .partial = coding->partial,
        .sampling = coding->sampling};
    CUfunction kernel = work->module.kernels[request->operation][coding->rounding][coding->dtype];
    void *parameters[] = {&args};

    return CGX_CUDA_CALL(cuLaunchKernel, kernel, tiles, 1, 1, CGX_KERNEL_THREADS, 1, 1, 0,
                         work->streams[CGX_STREAM_COMPUTE], parameters, NULL);
}

enum cgx_status cgx_cuda_launch(struct cgx_cuda_work *work, struct cgx_cuda_slot *slot,
                                const struct cgx_work *request)
{
    struct cgx_cuda_table *table = &slot->tables[request->operation];
    enum cgx_status status = CGX_OK;
    bool failed = slot->store_failed;
    size_t changed;
    uint32_t tiles;

    /* What is measured is not what is sent: the next operation must know too. */
    slot->store_failed = failed && request->operation == CGX_MEASURE;
    if (entries_of(request) == 0)
        return CGX_OK;
    if (failed)
        return CGX_ERR_DEVICE;
    changed = fill_table(slot, table, request, &tiles);
    if (changed != 0)
        table->uploaded = 0;
    if (tiles == 0)
        return CGX_OK;
    if (changed != 0) {
        status = CGX_CUDA_CALL(cuMemcpyHtoDAsync, table->device, table->host, changed,
                               work->streams[CGX_STREAM_COMPUTE]);
        if (status == CGX_OK)
            table->uploaded = changed;
    }
    if (status == CGX_OK)
        status = cgx_cuda_follow(work, slot, CGX_STREAM_COMPUTE);
    if (status == CGX_OK)
        status = launch(work, slot, table, request, tiles);
    if (status == CGX_OK)
        status = cgx_cuda_record(work, slot, CGX_STREAM_COMPUTE);
    return status;
}
