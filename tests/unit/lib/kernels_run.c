/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "unit/lib/kernels.h"

#include <string.h>

#include "codec/encoding.h"
#include "cuda/kernels.h"
#include "lib/tap.h"
#include "mpi/lib/device.h"

enum { MOST_PIECES = 64, MOST_SOURCES = 70, MOST_MARKS = 300 };

/* What a launch needs beside the memory, as it is on the device. */
struct tables {
    struct cgx_kernel_piece pieces[MOST_PIECES];
    int64_t sources[MOST_SOURCES];
    struct cgx_kernel_mark marks[MOST_MARKS];
    uint32_t status;
};

static struct cgx_cuda_module *module;
static unsigned char *device_memory;
static size_t device_bytes;
static struct tables *device_tables;

bool kernels_open(void)
{
    if (!device_open(0)) {
        skip("the kernels", "no device");
        return false;
    }
    if (cgx_cuda_module_take(device_thread().context, &module) != CGX_OK)
        bail_out("the kernels are not to be loaded");
    device_tables = device_alloc(sizeof *device_tables);
    return true;
}

/* The pieces of the tables that one kernel takes. */
struct part {
    uint32_t first, entries, tiles;
};

/* The pieces of FAMILY, behind the FIRST of the tables. */
static struct part fill_pieces(const struct kernels_job *job, int family, uint32_t first,
                               struct tables *tables)
{
    struct part part = {.first = first};

    for (size_t i = 0; i < job->npieces; i++) {
        const struct cgx_piece *piece = &job->pieces[i];

        if ((int)cgx_encoding_family(piece->bits) != family)
            continue;
        tables->pieces[first + part.entries++] = (struct cgx_kernel_piece){.first = piece->first,
                                                                           .count = piece->count,
                                                                           .offset = piece->offset,
                                                                           .bits = piece->bits,
                                                                           .tile = part.tiles};
        part.tiles += (uint32_t)cgx_kernel_tiles(piece);
    }
    return part;
}

static void fill_tables(const struct kernels_job *job, const unsigned char *memory,
                        struct tables *tables, struct part parts[CGX_FAMILIES])
{
    uint32_t first = 0;

    if (job->npieces > MOST_PIECES || job->nsources > MOST_SOURCES)
        bail_out("%zu pieces and %zu sources are too many", job->npieces, job->nsources);
    for (int i = 0; i < CGX_FAMILIES; i++) {
        parts[i] = fill_pieces(job, i, first, tables);
        first += parts[i].entries;
    }
    for (size_t i = 0; i < job->nsources; i++) {
        const unsigned char *source =
            job->sources[i] == NULL ? NULL : device_memory + (job->sources[i] - memory);

        tables->sources[i] = (int64_t)(uintptr_t)source;
    }
}

static void launch(CUfunction kernel, uint32_t blocks, struct cgx_kernel_args args)
{
    void *parameters[] = {&args};
    CUresult code = cgx_cuda()->cuLaunchKernel(kernel, blocks, 1, 1, CGX_KERNEL_THREADS, 1, 1, 0,
                                               NULL, parameters, NULL);

    if (code == CUDA_SUCCESS)
        code = cgx_cuda()->cuStreamSynchronize(NULL);
    if (code != CUDA_SUCCESS)
        bail_out("a kernel failed: CUDA error %d", code);
}

static void launch_part(const struct kernels_job *job, int family, const struct part *part,
                        struct cgx_kernel_args args)
{
    const struct cgx_work work = {
        .operation = job->operation, .coding = job->coding, .history = job->history};
    bool writes = family == CGX_FAMILY_UNIFORM && job->operation <= CGX_REDUCE;

    if (part->tiles == 0)
        return;
    args.pieces = device_tables->pieces + part->first;
    args.npieces = part->entries;
    if (writes && part->tiles >= MOST_MARKS)
        bail_out("%u tiles are too many", part->tiles);
    if (writes && args.step_size == 0 && kernels_has_elements(job))
        launch(cgx_cuda_module_squares(module, &work), part->tiles, args);
    if (writes && args.step_size == 0)
        launch(module->begin, part->entries, args);
    launch(cgx_cuda_module_kernel(module, (enum cgx_family)family, &work), part->tiles, args);
    if (writes)
        launch(module->heads, part->entries, args);
}

enum cgx_status kernels_run(const struct kernels_job *job, unsigned char *memory, size_t bytes)
{
    static struct tables tables;
    struct cgx_kernel_args args = {.sources = device_tables->sources,
                                   .status = &device_tables->status,
                                   .stream = job->coding->stream,
                                   .nsources = (uint32_t)job->nsources,
                                   .key = cgx_call_key(job->coding->call),
                                   .marks = device_tables->marks,
                                   .step_size = job->coding->step_size,
                                   .error = job->coding->error,
                                   .floor = job->coding->floor,
                                   .turn = job->coding->turn,
                                   .stage = job->coding->stage};
    struct part parts[CGX_FAMILIES];

    if (bytes != device_bytes) { /* all of it, so that no access beyond it goes unnoticed */
        if (device_bytes > 0)
            device_free(device_memory);
        device_memory = device_alloc(bytes);
        device_bytes = bytes;
    }
    tables = (struct tables){0};
    fill_tables(job, memory, &tables, parts);
    args.buffer = device_memory + (job->buffer - memory);
    args.payload = device_memory + (job->payload - memory);
    if (job->shown)
        args.shown = device_memory + (job->shown - memory);
    if (job->history.scales != NULL) {
        args.scales = device_memory + (job->history.scales - memory);
        args.age = job->history.age;
        args.fits =
            (float *)(void *)(device_memory + ((unsigned char *)job->history.fits - memory));
    }
    device_upload(device_tables, &tables, sizeof tables);
    device_upload(device_memory, memory, bytes);
    for (int i = 0; i < CGX_FAMILIES; i++)
        launch_part(job, i, &parts[i], args);
    device_download(memory, device_memory, bytes);
    device_download(&tables, device_tables, sizeof tables);
    for (size_t i = 0; i < MOST_MARKS; i++)
        if (tables.marks[i].words != 0)
            bail_out("the next operation finds marks of this one");
    return tables.status == CGX_KERNEL_BAD_HEADER ? CGX_ERR_FORMAT : CGX_OK;
}
