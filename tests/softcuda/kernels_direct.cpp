// SPDX-FileCopyrightText: the libcgxpmpi developers
// SPDX-License-Identifier: BSD-3-Clause

// The kernels run by the engine alone, without a driver, for the sanitizers: in the memory of the
// test itself, of which every byte is watched.
#include <stdlib.h>

#include "cuda/kernels.cu"
#include "softcuda/softcuda.h"

extern "C" {
#include "codec/bucket.h"
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

static softcuda_kernel *kernel_of(const struct kernels_job *job, bool rotated)
{
#define TYPES(operation)                                                 \
    {                                                                    \
        SOFTCUDA_KERNEL(cgx_##operation##_float32, cgx_kernel_args),     \
            SOFTCUDA_KERNEL(cgx_##operation##_float16, cgx_kernel_args), \
            SOFTCUDA_KERNEL(cgx_##operation##_bfloat16, cgx_kernel_args) \
    }
    static softcuda_kernel *const kernels[CGX_MEASURE + 1][CGX_BFLOAT16 + 1] = {
        TYPES(encode), TYPES(reduce), TYPES(decode), TYPES(measure)};
#define HISTORY(operation)                                                       \
    {                                                                            \
        SOFTCUDA_KERNEL(cgx_##operation##_float32_history, cgx_kernel_args),     \
            SOFTCUDA_KERNEL(cgx_##operation##_float16_history, cgx_kernel_args), \
            SOFTCUDA_KERNEL(cgx_##operation##_bfloat16_history, cgx_kernel_args) \
    }
    static softcuda_kernel *const scaled[2][CGX_MEASURE + 1][CGX_BFLOAT16 + 1] = {
        {HISTORY(encode), HISTORY(reduce), HISTORY(decode), HISTORY(measure)},
        {HISTORY(encode_rotated), HISTORY(reduce_rotated), HISTORY(decode_rotated)}};
    static softcuda_kernel *const rotations[CGX_DECODE + 1][CGX_BFLOAT16 + 1] = {
        TYPES(encode_rotated), TYPES(reduce_rotated), TYPES(decode_rotated)};

    if (job->history.scales)
        return scaled[rotated][job->operation][job->coding->dtype];
    if (rotated)
        return rotations[job->operation][job->coding->dtype];
    return kernels[job->operation][job->coding->dtype];
}

static softcuda_kernel *uniform_kernel_of(const struct kernels_job *job, bool begins)
{
    static softcuda_kernel *const kernels[2][CGX_DECODE + 1][CGX_BFLOAT16 + 1] = {
        {TYPES(encode_uniform), TYPES(reduce_uniform), TYPES(decode_uniform)},
        {HISTORY(encode_uniform), HISTORY(reduce_uniform), HISTORY(decode_uniform)}};
    static softcuda_kernel *const begin[2][CGX_BFLOAT16 + 1] = {TYPES(begin_uniform),
                                                                HISTORY(begin_uniform)};
    const bool scaled = job->history.scales != nullptr;

    return begins ? begin[scaled][job->coding->dtype]
                  : kernels[scaled][job->operation][job->coding->dtype];
}

enum { MOST_PIECES = 64, MOST_SOURCES = 64, MOST_MARKS = 64 };

static struct cgx_kernel_piece entry_of(const struct cgx_piece *piece, uint32_t tile)
{
    return {piece->first, piece->count, piece->offset, piece->energy, piece->bits, tile};
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
    if (writes && args.step == 0)
        run(uniform_kernel_of(job, true), &args, args.npieces);
    run(uniform_kernel_of(job, false), &args, tiles);
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
        tiles += (uint32_t)(job->operation == CGX_MEASURE
                                ? cgx_kernel_measured_tiles(piece, job->coding->sampling)
                                : cgx_kernel_tiles(piece));
    }
    if (tiles > 0 && family == CGX_FAMILY_UNIFORM)
        run_uniform(job, args, tiles);
    else if (tiles > 0)
        run(kernel_of(job, family == CGX_FAMILY_ROTATED), &args, tiles);
}

/* The energies of all pieces, if they have any. */
static void run_energies(const struct kernels_job *job, struct cgx_kernel_args args)
{
    struct cgx_kernel_piece pieces[MOST_PIECES];
    uint32_t blocks = (uint32_t)((job->npieces + CGX_KERNEL_ENERGIES - 1) / CGX_KERNEL_ENERGIES);

    if (job->operation > CGX_REDUCE || job->npieces == 0 || job->pieces[0].energy == 0)
        return;
    for (size_t i = 0; i < job->npieces; i++)
        pieces[i] = entry_of(&job->pieces[i], 0);
    args.pieces = pieces;
    args.npieces = (uint32_t)job->npieces;
    args.buffer = job->shown;
    run(SOFTCUDA_KERNEL(cgx_energies, cgx_kernel_args), &args, blocks);
}

static void run_inspection(const struct kernels_job *job, struct cgx_kernel_args args)
{
    struct cgx_kernel_piece pieces[MOST_PIECES];
    uint32_t samples = 0;

    for (size_t i = 0; i < job->npieces; i++) {
        pieces[i] = entry_of(&job->pieces[i], samples);
        samples += (uint32_t)cgx_bucket_samples(&job->pieces[i], job->coding);
    }
    args.pieces = pieces;
    args.npieces = (uint32_t)job->npieces;
    args.inspection = job->inspection;
    if (job->operation == CGX_MOMENTS)
        run(SOFTCUDA_KERNEL(cgx_moments, cgx_kernel_args), &args,
            (samples + CGX_KERNEL_MOMENTS - 1) / CGX_KERNEL_MOMENTS);
    else
        run(SOFTCUDA_KERNEL(cgx_inspect, cgx_kernel_args), &args,
            cgx_kernel_inspected(job->inspection));
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
    args.bucket_size = job->coding->bucket_size;
    args.key = cgx_call_key(job->coding->call);
    args.sampling = job->coding->sampling;
    if (job->operation == CGX_INSPECT || job->operation == CGX_MOMENTS) {
        run_inspection(job, args);
        return CGX_OK;
    }
    args.shown = job->shown;
    args.step = job->coding->step;
    args.error = job->coding->error;
    args.floor = job->coding->floor;
    args.turn = job->coding->turn;
    args.stage = job->coding->stage;
    run_pieces(job, CGX_FAMILY_MAXMIN, args);
    if (job->operation != CGX_MEASURE) {
        run_pieces(job, CGX_FAMILY_ROTATED, args);
        run_pieces(job, CGX_FAMILY_UNIFORM, args);
    }
    run_energies(job, args);
    return status == 0 ? CGX_OK : CGX_ERR_FORMAT;
}
}
