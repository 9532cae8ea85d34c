/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "cuda/work.h"

#include <stdlib.h>
#include <string.h>

#include "codec/encoding.h"
#include "util/integers.h"

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
    /* This mark comes after the previous stream's, so waiting for this one suffices. */
    if (mark->recorded && stream > 0)
        slot->marks[stream - 1].pending = false;
    return status;
}

enum cgx_status cgx_cuda_launch_kernel(const struct cgx_cuda_work *work, CUfunction kernel,
                                       uint32_t blocks, struct cgx_kernel_args *args)
{
    void *parameters[] = {args};

    return CGX_CUDA_CALL(cuLaunchKernel, kernel, blocks, 1, 1, CGX_KERNEL_THREADS, 1, 1, 0,
                         work->streams[CGX_STREAM_COMPUTE], parameters, NULL);
}

/* The device address of DATA, which belongs to the staging memory of SLOT: in a local peer's
 * memory, or in the mirror. */
static CUdeviceptr find_data(const struct cgx_cuda_slot *slot, const unsigned char *data)
{
    for (size_t i = 0; i < slot->nborrowed; i++) {
        const struct cgx_cuda_borrowed *borrowed = &slot->borrowed[i];

        if (data >= borrowed->data && data < borrowed->data + borrowed->bytes)
            return borrowed->there + (CUdeviceptr)(data - borrowed->data);
    }
    return cgx_cuda_mirrored(slot, data);
}

/* Puts BYTES of VALUE behind what the host's TABLE has been filled with. */
static void put_entry(struct cgx_cuda_table *table, const void *value, size_t bytes)
{
    unsigned char *place = table->host + table->filled;

    if (table->filled + bytes > table->uploaded || memcmp(place, value, bytes) != 0) {
        memcpy(place, value, bytes);
        table->uploaded = cgx_smaller(table->uploaded, table->filled);
    }
    table->filled += bytes;
}

/* The part of a table for the kernel of one family. */
struct group {
    size_t at; /* offset of its first entry in bytes */
    uint32_t entries;
    uint32_t tiles; /* number of tiles, each for one thread block */
};

/* The payload of REQUEST in the staging memory. */
static const unsigned char *staged_of(const struct cgx_work *request)
{
    return request->operation == CGX_DECODE ? request->in : request->out;
}

/* The device address from which offsets of pieces count. Decode may read the memory of several
 * ranks: then it is the lowest address. */
static CUdeviceptr origin_of(const struct cgx_cuda_slot *slot, const struct cgx_work *request)
{
    CUdeviceptr origin = cgx_cuda_mirrored(slot, staged_of(request));

    for (size_t i = 0; request->operation == CGX_DECODE && i < slot->nborrowed; i++)
        origin = slot->borrowed[i].there < origin ? slot->borrowed[i].there : origin;
    return origin;
}

/* Puts REQUEST's pieces of FAMILY into TABLE. */
static struct group put_pieces(const struct cgx_cuda_slot *slot, struct cgx_cuda_table *table,
                               const struct cgx_work *request, int family)
{
    const CUdeviceptr origin = origin_of(slot, request);
    struct group group = {.at = table->filled};

    for (size_t i = 0; i < request->npieces; i++) {
        const struct cgx_piece *piece = &request->pieces[i];
        struct cgx_kernel_piece entry = {.first = piece->first,
                                         .count = piece->count,
                                         .offset = piece->offset,
                                         .bits = piece->bits,
                                         .tile = group.tiles};

        if (cgx_encoding_family(piece->bits) != (enum cgx_family)family)
            continue;
        if (request->operation == CGX_DECODE)
            entry.offset = find_data(slot, staged_of(request) + piece->offset) - origin;
        put_entry(table, &entry, sizeof entry);
        group.entries++;
        group.tiles += (uint32_t)cgx_kernel_tiles(piece);
    }
    return group;
}

/* Writes the table of REQUEST: sources, then the pieces of each of GROUPS. */
static void fill_table(const struct cgx_cuda_slot *slot, struct cgx_cuda_table *table,
                       const struct cgx_work *request, struct group groups[CGX_FAMILIES])
{
    table->filled = 0;
    for (size_t i = 0; i < request->nsources; i++) {
        const unsigned char *data = request->sources[i];
        CUdeviceptr source = data ? find_data(slot, data) : 0;

        put_entry(table, &source, sizeof source);
    }
    table->filled = cgx_round_up(table->filled, 16);
    for (int i = 0; i < CGX_FAMILIES; i++)
        groups[i] = put_pieces(slot, table, request, i);
}

/* Where kernels write the bytes that REQUEST shows: the device address of its payload in the
 * staging memory itself; NULL: nowhere. */
static void *shown_to(const struct cgx_cuda_slot *slot, const struct cgx_work *request)
{
    if (!request->shows || slot->there == 0)
        return NULL;
    return (void *)(uintptr_t)(slot->there + (CUdeviceptr)(staged_of(request) - slot->host));
}

static struct cgx_kernel_args args_of(const struct cgx_cuda_slot *slot,
                                      const struct cgx_cuda_table *table,
                                      const struct cgx_work *request, const struct group *group)
{
    const struct cgx_coding *coding = request->coding;
    const void *elements = request->operation == CGX_DECODE ? request->out : request->in;

    return (struct cgx_kernel_args){.pieces = (const void *)(uintptr_t)(table->device + group->at),
                                    .sources = (const void *)(uintptr_t)table->device,
                                    .buffer = (void *)(uintptr_t)elements,
                                    .scales = request->history.scales,
                                    .fits = request->history.fits,
                                    .age = request->history.age,
                                    .payload = (void *)(uintptr_t)origin_of(slot, request),
                                    .status = (void *)(uintptr_t)table->reported,
                                    .stream = coding->stream,
                                    .npieces = group->entries,
                                    .nsources = (uint32_t)request->nsources,
                                    .key = cgx_call_key(coding->call),
                                    .shown = shown_to(slot, request),
                                    .step_size = coding->step_size,
                                    .error = coding->error,
                                    .floor = coding->floor,
                                    .turn = coding->turn,
                                    .stage = coding->stage};
}

/* Whether elements are quantised, alone or as a source of a sum. */
static bool has_elements(const struct cgx_work *request)
{
    bool has = request->operation == CGX_ENCODE;

    for (size_t i = 0; request->operation == CGX_REDUCE && i < request->nsources; i++)
        has = has || !request->sources[i];
    return has;
}

enum cgx_status cgx_cuda_launch_uniform(struct cgx_cuda_work *work, const struct cgx_work *request,
                                        uint32_t tiles, struct cgx_kernel_args *args)
{
    const struct cgx_cuda_module *module = work->module;
    enum cgx_status status = CGX_OK;

    if (!cgx_work_may_begin(request))
        return CGX_ERR_INVALID;
    args->marks = (void *)(uintptr_t)work->marks;
    if (!work->marks_are_clear)
        status = CGX_CUDA_CALL(cuMemsetD8Async, work->marks, 0, work->marks_bytes,
                               work->streams[CGX_STREAM_COMPUTE]);
    work->marks_are_clear = false;
    if (status == CGX_OK && args->step_size == 0 && has_elements(request))
        status =
            cgx_cuda_launch_kernel(work, cgx_cuda_module_squares(module, request), tiles, args);
    if (status == CGX_OK && args->step_size == 0)
        status = cgx_cuda_launch_kernel(work, module->begin, args->npieces, args);
    if (status == CGX_OK)
        status = cgx_cuda_launch_kernel(
            work, cgx_cuda_module_kernel(module, CGX_FAMILY_UNIFORM, request), tiles, args);
    if (status == CGX_OK)
        status = cgx_cuda_launch_kernel(work, module->heads, args->npieces, args);
    work->marks_are_clear = status == CGX_OK;
    return status;
}

/* Queues what REQUEST does with the pieces of FAMILY, which are in GROUP. */
static enum cgx_status launch_family(struct cgx_cuda_work *work, const struct cgx_cuda_slot *slot,
                                     const struct cgx_cuda_table *table,
                                     const struct cgx_work *request, enum cgx_family family,
                                     const struct group *group)
{
    struct cgx_kernel_args args = args_of(slot, table, request, group);

    if (family == CGX_FAMILY_UNIFORM && request->operation <= CGX_REDUCE)
        return cgx_cuda_launch_uniform(work, request, group->tiles, &args);
    return cgx_cuda_launch_kernel(work, cgx_cuda_module_kernel(work->module, family, request),
                                  group->tiles, &args);
}

enum cgx_status cgx_cuda_launch(struct cgx_cuda_work *work, struct cgx_cuda_slot *slot,
                                const struct cgx_work *request, unsigned *launched)
{
    struct cgx_cuda_table *table = &slot->tables[request->operation];
    struct group groups[CGX_FAMILIES];
    enum cgx_status status = CGX_OK, recorded;
    bool failed = slot->store_failed;

    *launched = 0;
    slot->store_failed = false;
    if (request->npieces == 0)
        return CGX_OK;
    if (failed)
        return CGX_ERR_DEVICE;
    fill_table(slot, table, request, groups);
    if (table->filled > table->uploaded) {
        const size_t from = table->uploaded;

        status = CGX_CUDA_CALL(cuMemcpyHtoDAsync, table->device + from, table->host + from,
                               table->filled - from, work->streams[CGX_STREAM_COMPUTE]);
        if (status == CGX_OK)
            table->uploaded = table->filled;
    }
    if (status == CGX_OK)
        status = cgx_cuda_follow(work, slot, CGX_STREAM_COMPUTE);
    for (int i = 0; status == CGX_OK && i < CGX_FAMILIES; i++) {
        if (groups[i].tiles == 0)
            continue;
        status = launch_family(work, slot, table, request, (enum cgx_family)i, &groups[i]);
        if (status == CGX_OK)
            *launched |= 1u << i;
    }
    /* Also if a kernel was refused, since others are queued. */
    recorded = cgx_cuda_record(work, slot, CGX_STREAM_COMPUTE);
    return status == CGX_OK ? recorded : status;
}

/* ---- what no kernel could decode ---- */

/* Copies on the kernels' stream, after the caller's queued work, and waits. The default stream is
 * not used: if another thread captures a stream that waits for it, that would void the capture. */
static enum cgx_status copy(const struct cgx_cuda_work *work, CUdeviceptr device, void *host,
                            size_t bytes, bool up)
{
    CUstream compute = work->streams[CGX_STREAM_COMPUTE];
    enum cgx_status status = up ? CGX_CUDA_CALL(cuMemcpyHtoDAsync, device, host, bytes, compute)
                                : CGX_CUDA_CALL(cuMemcpyDtoHAsync, host, device, bytes, compute);

    return status == CGX_OK ? CGX_CUDA_CALL(cuStreamSynchronize, compute) : status;
}

/* Fetches a piece that was pulled or borrowed and so is not in the staging memory. */
static enum cgx_status fetch_piece(const struct cgx_cuda_work *work,
                                   const struct cgx_cuda_slot *slot, const struct cgx_work *request,
                                   const struct cgx_piece *piece)
{
    struct cgx_layout layout = cgx_piece_layout(piece->count, piece->bits, request->coding->dtype);
    unsigned char *data = (unsigned char *)(uintptr_t)request->in + piece->offset;

    return copy(work, find_data(slot, data), data, layout.bytes, false);
}

/* Copies HISTORY, of PIECE alone and on the host, to the device if UP, or from it. */
static enum cgx_status copy_history(const struct cgx_cuda_work *work,
                                    const struct cgx_work *request, const struct cgx_piece *piece,
                                    const struct cgx_history *history, bool up)
{
    CUdeviceptr scales = (CUdeviceptr)(uintptr_t)(request->history.scales + piece->first);
    CUdeviceptr fits =
        (CUdeviceptr)(uintptr_t)(request->history.fits + piece->first / CGX_BUCKET_MOST);
    size_t bytes = cgx_bucket_count(piece->count, CGX_BUCKET_MOST) * sizeof(float);
    enum cgx_status status = copy(work, scales, history->scales, piece->count, up);

    return status == CGX_OK ? copy(work, fits, history->fits, bytes, up) : status;
}

/* Decodes PIECE in memory of the host and copies the elements, and the history if there is one, to
 * the device. Dithers and the history's random bits depend on the position in the buffer, so PIECE
 * keeps its position, and the memory stands in for that part of the buffer and of its history. */
static enum cgx_status decode_piece(const struct cgx_cuda_work *work,
                                    const struct cgx_work *request, const struct cgx_piece *piece)
{
    const size_t size = cgx_dtype_size(request->coding->dtype), before = piece->first * size,
                 bytes = piece->count * size, room = cgx_round_up(bytes, 16);
    const bool has_history = request->history.scales != NULL;
    unsigned char *elements = calloc(1, room + (has_history ? cgx_history_bytes(piece->count) : 0));
    struct cgx_work alone = *request;
    struct cgx_history history;
    enum cgx_status status = CGX_OK;

    if (!elements)
        return CGX_ERR_NOMEM;
    alone.pieces = piece;
    alone.npieces = 1;
    alone.out = (void *)((uintptr_t)elements - before);
    if (has_history) {
        history = cgx_history_in(elements + room, piece->count, request->history.age);
        alone.history.scales = (uint8_t *)((uintptr_t)history.scales - piece->first);
        alone.history.fits =
            (float *)((uintptr_t)history.fits - piece->first / CGX_BUCKET_MOST * sizeof(float));
        status = copy_history(work, request, piece, &history, false);
    }
    if (status == CGX_OK)
        status = cgx_codec_run(cgx_codec_host(), &alone);
    if (status == CGX_OK && has_history)
        status = copy_history(work, request, piece, &history, true);
    if (status == CGX_OK)
        status = copy(work, (CUdeviceptr)(uintptr_t)request->out + before, elements, bytes, true);
    free(elements);
    return status;
}

enum cgx_status cgx_cuda_decode_on_host(struct cgx_cuda_work *work, unsigned number,
                                        const struct cgx_work *request, unsigned launched)
{
    const struct cgx_cuda_slot *slot = &work->slots[number];
    enum cgx_status status = CGX_OK;

    for (size_t i = 0; status == CGX_OK && i < request->npieces; i++) {
        const struct cgx_piece *piece = &request->pieces[i];

        if (launched & 1u << cgx_encoding_family(piece->bits))
            continue;
        if (slot->pulled)
            status = fetch_piece(work, slot, request, piece);
        if (status == CGX_OK)
            status = decode_piece(work, request, piece);
    }
    return status;
}
