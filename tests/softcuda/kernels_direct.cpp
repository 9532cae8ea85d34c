// SPDX-FileCopyrightText: the libcgxpmpi developers
// SPDX-License-Identifier: BSD-3-Clause

// The kernels run by the engine alone, without a driver, for the sanitizers: in the memory of the
// test itself, of which every byte is watched.
#include <stdlib.h>

#include "cuda/kernels.cu"
#include "softcuda/softcuda.h"

extern "C" {
#include "codec/encoding.h"
#include "lib/tap.h"
#include "unit/lib/kernels.h"

// Races are looked for among the threads of kernels: what the test itself does to its memory,
// before and after them, took most of the time.
#ifdef __SANITIZE_THREAD__
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);

static void look_again(void)
{
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

static void look_away(void)
{
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    atexit(look_again);
}
#else
static void look_away(void)
{
}
#endif

bool kernels_open(void)
{
    look_away();
    return true;
}

static softcuda_kernel *kernel_of(const struct kernels_job *job, enum cgx_family family)
{
#define KERNELS(operation, variant)                                                \
    {                                                                              \
        SOFTCUDA_KERNEL(cgx_##operation##_float32##variant, cgx_kernel_args),      \
            SOFTCUDA_KERNEL(cgx_##operation##_float16##variant, cgx_kernel_args),  \
            SOFTCUDA_KERNEL(cgx_##operation##_bfloat16##variant, cgx_kernel_args), \
    }
#define VARIANTS(operation)                                \
    {                                                      \
        KERNELS(operation, ), KERNELS(operation, _history) \
    }
    static softcuda_kernel *const kernels[CGX_FAMILIES][CGX_DECODE + 1][2][CGX_BFLOAT16 + 1] = {
        {{KERNELS(encode, )}, {KERNELS(reduce, )}, {KERNELS(decode, )}},
        {VARIANTS(encode_uniform), VARIANTS(reduce_uniform), VARIANTS(decode_uniform)}};
    const bool has_history = job->history.scales != nullptr;

    return kernels[family][job->operation][has_history][job->coding->dtype];
}

static softcuda_kernel *squares_of_job(const struct kernels_job *job)
{
    static softcuda_kernel *const kernels[2][CGX_BFLOAT16 + 1] = VARIANTS(squares_uniform);

    return kernels[job->history.scales != nullptr][job->coding->dtype];
}

enum { MOST_PIECES = 64, MOST_SOURCES = 64, MOST_MARKS = 64 };

static struct cgx_kernel_piece entry_of(const struct cgx_piece *piece, uint32_t tile)
{
    return {piece->first, piece->count, piece->offset, piece->bits, tile};
}

static void run(softcuda_kernel *kernel, const struct cgx_kernel_args *args, uint32_t blocks)
{
    if (!softcuda_run(kernel, args, blocks, CGX_KERNEL_THREADS))
        bail_out("the threads of a block did not meet");
}

/* The pieces of ARGS, all uniform, which have TILES. */
static void run_uniform(const struct kernels_job *job, struct cgx_kernel_args args, uint32_t tiles)
{
    static struct cgx_kernel_mark marks[MOST_MARKS];
    const bool writes = job->operation <= CGX_REDUCE;

    if (tiles >= MOST_MARKS)
        bail_out("%u tiles are too many", tiles);
    memset(marks, 0, sizeof marks);
    args.marks = marks;
    if (writes && args.step_size == 0) {
        if (kernels_has_elements(job))
            run(squares_of_job(job), &args, tiles);
        run(SOFTCUDA_KERNEL(cgx_begin, cgx_kernel_args), &args, args.npieces);
    }
    run(kernel_of(job, CGX_FAMILY_UNIFORM), &args, tiles);
    if (writes)
        run(SOFTCUDA_KERNEL(cgx_heads, cgx_kernel_args), &args, args.npieces);
}

/* With the pieces of FAMILY. */
static void run_pieces(const struct kernels_job *job, enum cgx_family family,
                       struct cgx_kernel_args args)
{
    struct cgx_kernel_piece pieces[MOST_PIECES];
    uint32_t tiles = 0;

    args.pieces = pieces;
    for (size_t i = 0; i < job->npieces; i++) {
        const struct cgx_piece *piece = &job->pieces[i];

        if (cgx_encoding_family(piece->bits) != family)
            continue;
        pieces[args.npieces++] = entry_of(piece, tiles);
        tiles += (uint32_t)cgx_kernel_tiles(piece);
    }
    if (tiles > 0 && family == CGX_FAMILY_UNIFORM)
        run_uniform(job, args, tiles);
    else if (tiles > 0)
        run(kernel_of(job, family), &args, tiles);
}

enum cgx_status kernels_run(const struct kernels_job *job, unsigned char *, size_t)
{
    int64_t sources[MOST_SOURCES];
    struct cgx_kernel_args args = {};
    uint32_t status = 0;

    if (job->npieces > MOST_PIECES || job->nsources > MOST_SOURCES)
        bail_out("%zu pieces and %zu sources are too many", job->npieces, job->nsources);
    for (size_t i = 0; i < job->nsources; i++)
        sources[i] = (int64_t)(uintptr_t)job->sources[i];
    args.sources = sources;
    args.buffer = job->buffer;
    args.scales = job->history.scales;
    args.fits = job->history.fits;
    args.age = job->history.age;
    args.payload = job->payload;
    args.status = &status;
    args.stream = job->coding->stream;
    args.nsources = (uint32_t)job->nsources;
    args.key = cgx_call_key(job->coding->call);
    args.shown = job->shown;
    args.step_size = job->coding->step_size;
    args.error = job->coding->error;
    args.floor = job->coding->floor;
    args.turn = job->coding->turn;
    args.stage = job->coding->stage;
    run_pieces(job, CGX_FAMILY_MAXMIN, args);
    run_pieces(job, CGX_FAMILY_UNIFORM, args);
    return status == 0 ? CGX_OK : CGX_ERR_FORMAT;
}
}
