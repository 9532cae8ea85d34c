/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The processor decodes pieces that no kernel has decoded. */
#include "cuda/launch.h"

#include <stdlib.h>

#include "codec/encoding.h"

/* Copies on the kernels' stream, after the caller's queued work, and waits. The default stream is
 * not used: if another thread captures a stream that waits for it, that would void the capture. */
static enum cgx_status copy_down(const struct cgx_cuda_work *work, void *to, CUdeviceptr from,
                                 size_t bytes)
{
    CUstream compute = work->streams[CGX_STREAM_COMPUTE];
    enum cgx_status status = CGX_CUDA_CALL(cuMemcpyDtoHAsync, to, from, bytes, compute);

    return status == CGX_OK ? CGX_CUDA_CALL(cuStreamSynchronize, compute) : status;
}

static enum cgx_status copy_up(const struct cgx_cuda_work *work, CUdeviceptr to, const void *from,
                               size_t bytes)
{
    CUstream compute = work->streams[CGX_STREAM_COMPUTE];
    enum cgx_status status = CGX_CUDA_CALL(cuMemcpyHtoDAsync, to, from, bytes, compute);

    return status == CGX_OK ? CGX_CUDA_CALL(cuStreamSynchronize, compute) : status;
}

/* Fetches a piece that was pulled or borrowed and so is not in the staging memory. */
static enum cgx_status fetch_piece(const struct cgx_cuda_work *work,
                                   const struct cgx_cuda_slot *slot, const struct cgx_work *request,
                                   const struct cgx_piece *piece)
{
    struct cgx_layout layout = cgx_piece_layout(piece->count, piece->bits, request->coding->dtype);
    unsigned char *data = (unsigned char *)(uintptr_t)request->in + piece->offset;
    const struct cgx_cuda_borrowed *borrowed = NULL;

    return copy_down(work, data, cgx_cuda_find(slot, data, &borrowed), layout.bytes);
}

/* Copies HISTORY, of PIECE alone and on the host, from the device or, if BACK, to the device. */
static enum cgx_status copy_history(const struct cgx_cuda_work *work,
                                    const struct cgx_work *request, const struct cgx_piece *piece,
                                    const struct cgx_history *history, bool back)
{
    CUdeviceptr scales = (CUdeviceptr)(uintptr_t)(request->history.scales + piece->first);
    CUdeviceptr fits =
        (CUdeviceptr)(uintptr_t)(request->history.fits + piece->first / CGX_BUCKET_MOST);
    size_t bytes = cgx_bucket_count(piece->count, CGX_BUCKET_MOST) * sizeof(float);
    enum cgx_status status;

    if (back) {
        status = copy_up(work, scales, history->scales, piece->count);
        return status == CGX_OK ? copy_up(work, fits, history->fits, bytes) : status;
    }
    status = copy_down(work, history->scales, scales, piece->count);
    return status == CGX_OK ? copy_down(work, history->fits, fits, bytes) : status;
}

/* Decodes PIECE into ELEMENTS. MEMORY is for its history; NULL: none. Dithers and the history's
 * random bits depend on the position in the buffer, so PIECE keeps its position, and both stand in
 * for that part of the buffer and of its history. */
static enum cgx_status decode_into(const struct cgx_cuda_work *work, const struct cgx_work *request,
                                   const struct cgx_piece *piece, unsigned char *elements,
                                   void *memory)
{
    size_t before = piece->first * cgx_dtype_size(request->coding->dtype);
    struct cgx_work alone = *request;
    enum cgx_status status = CGX_OK;
    struct cgx_history history;

    alone.pieces = piece;
    alone.npieces = 1;
    alone.out = (void *)((uintptr_t)elements - before);
    if (memory) {
        history = cgx_history_in(memory, piece->count, request->history.age);
        alone.history.scales = (uint8_t *)((uintptr_t)history.scales - piece->first);
        alone.history.fits =
            (float *)((uintptr_t)history.fits - piece->first / CGX_BUCKET_MOST * sizeof(float));
        status = copy_history(work, request, piece, &history, false);
    }
    if (status == CGX_OK)
        status = cgx_codec_run(cgx_codec_host(), &alone);
    if (status == CGX_OK && memory)
        status = copy_history(work, request, piece, &history, true);
    return status;
}

static enum cgx_status decode_piece(const struct cgx_cuda_work *work,
                                    const struct cgx_work *request, const struct cgx_piece *piece)
{
    size_t size = cgx_dtype_size(request->coding->dtype), bytes = piece->count * size;
    CUdeviceptr to = (CUdeviceptr)(uintptr_t)request->out + piece->first * size;
    bool has_history = request->history.scales != NULL;
    unsigned char *elements = malloc(bytes);
    void *memory = has_history ? calloc(1, cgx_history_bytes(piece->count)) : NULL;
    enum cgx_status status = CGX_ERR_NOMEM;

    if (elements && (memory || !has_history))
        status = decode_into(work, request, piece, elements, memory);
    if (status == CGX_OK)
        status = copy_up(work, to, elements, bytes);
    free(elements);
    free(memory);
    return status;
}

enum cgx_status cgx_cuda_decode_on_host(struct cgx_cuda_work *work, unsigned number,
                                        const struct cgx_work *request, unsigned launched)
{
    const struct cgx_cuda_slot *slot = &work->slots[number];
    enum cgx_status status = cgx_cuda_work_enter(work);

    if (status != CGX_OK)
        return status;
    for (size_t i = 0; status == CGX_OK && i < request->npieces; i++) {
        const struct cgx_piece *piece = &request->pieces[i];

        if (launched & 1u << cgx_encoding_family(piece->bits))
            continue;
        if (slot->pulled)
            status = fetch_piece(work, slot, request, piece);
        if (status == CGX_OK)
            status = decode_piece(work, request, piece);
    }
    cgx_cuda_leave();
    return status;
}
