/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "cuda/launch.h"

#include <string.h>

#include "codec/encoding.h"

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

static size_t sources_bytes(const struct cgx_work *request)
{
    return (request->nsources * sizeof(CUdeviceptr) + 15) / 16 * 16;
}

static bool is_borrowed(const struct cgx_cuda_borrowed *borrowed, const unsigned char *data)
{
    return data >= borrowed->data && data < borrowed->data + borrowed->bytes;
}

CUdeviceptr cgx_cuda_find(const struct cgx_cuda_slot *slot, const unsigned char *data,
                          const struct cgx_cuda_borrowed **last)
{
    for (size_t i = 0; i < slot->nborrowed && !(*last && is_borrowed(*last, data)); i++)
        *last = &slot->borrowed[i];
    return *last && is_borrowed(*last, data) ? (*last)->there + (CUdeviceptr)(data - (*last)->data)
                                             : cgx_cuda_mirrored(slot, data);
}

/* Puts BYTES of VALUE at offset *AT of the host's TABLE and advances *AT. Returns whether the
 * device's table differs there. */
static bool put_entry(struct cgx_cuda_table *table, size_t *at, const void *value, size_t bytes)
{
    unsigned char *place = table->host + *at;

    *at += bytes;
    if (*at <= table->uploaded && memcmp(place, value, bytes) == 0)
        return false;
    memcpy(place, value, bytes);
    return true;
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

/* Puts REQUEST's pieces of FAMILY at *AT, and counts the pieces and their tiles in *GROUP. Returns
 * whether the device's table differs there, as put_entry does. */
static bool put_pieces(const struct cgx_cuda_slot *slot, struct cgx_cuda_table *table, size_t *at,
                       const struct cgx_work *request, int family, struct group *group)
{
    const CUdeviceptr origin = origin_of(slot, request);
    const struct cgx_cuda_borrowed *borrowed = NULL;
    bool changed = false;

    for (size_t i = 0; i < request->npieces; i++) {
        const struct cgx_piece *piece = &request->pieces[i];
        struct cgx_kernel_piece entry = {.first = piece->first,
                                         .count = piece->count,
                                         .offset = piece->offset,
                                         .bits = piece->bits,
                                         .tile = group->tiles};

        if (cgx_encoding_family(piece->bits) != (enum cgx_family)family)
            continue;
        if (request->operation == CGX_DECODE)
            entry.offset =
                cgx_cuda_find(slot, staged_of(request) + piece->offset, &borrowed) - origin;
        changed |= put_entry(table, at, &entry, sizeof entry);
        group->entries++;
        group->tiles += (uint32_t)cgx_kernel_tiles(piece);
    }
    return changed;
}

/* Writes the table of REQUEST: sources, then the pieces of each of GROUPS. Returns the bytes to
 * upload; 0 if the device has them already. */
static size_t fill_table(const struct cgx_cuda_slot *slot, struct cgx_cuda_table *table,
                         const struct cgx_work *request, struct group groups[CGX_FAMILIES])
{
    const struct cgx_cuda_borrowed *borrowed = NULL;
    bool changed = false;
    size_t at = 0;

    for (size_t i = 0; i < request->nsources; i++) {
        const unsigned char *data = request->sources[i];
        CUdeviceptr address = data ? cgx_cuda_find(slot, data, &borrowed) : 0;
        int64_t source = (int64_t)address;

        changed |= put_entry(table, &at, &source, sizeof source);
    }
    at = sources_bytes(request);
    for (int i = 0; i < CGX_FAMILIES; i++) {
        groups[i] = (struct group){.at = at};
        changed |= put_pieces(slot, table, &at, request, i, &groups[i]);
    }
    return changed ? at : 0;
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
    uint64_t tiles = 0;
    enum cgx_status status = CGX_OK, recorded;
    bool failed = slot->store_failed;
    size_t changed;

    *launched = 0;
    slot->store_failed = false;
    if (request->npieces == 0)
        return CGX_OK;
    if (failed)
        return CGX_ERR_DEVICE;
    changed = fill_table(slot, table, request, groups);
    if (changed != 0)
        table->uploaded = 0;
    for (int i = 0; i < CGX_FAMILIES; i++)
        tiles += groups[i].tiles;
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
