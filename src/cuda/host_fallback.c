/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "cuda/host_fallback.h"
#include "cuda/context.h"

#include <stdlib.h>

/* What was pulled is nowhere but in the mirror. */
static enum cgx_status fetch_piece(const struct cgx_cuda_slot *slot, const struct cgx_work *request,
                                   const struct cgx_piece *piece)
{
    struct cgx_layout layout = cgx_piece_layout(
        piece->count, piece->bits, request->coding->bucket_size, request->coding->dtype);
    unsigned char *data = (unsigned char *)(uintptr_t)request->in + piece->offset;

    return CGX_CUDA_CALL(cuMemcpyDtoH, data, cgx_cuda_mirrored(slot, data), layout.bytes);
}

/* The copy waits for what was queued before. */
static enum cgx_status decode_piece(const struct cgx_work *request, struct cgx_piece piece)
{
    size_t size = cgx_dtype_size(request->coding->dtype);
    CUdeviceptr to = (CUdeviceptr)(uintptr_t)request->out + piece.first * size;
    void *elements = malloc(piece.count * size);
    struct cgx_work alone = *request;
    enum cgx_status status = CGX_ERR_NOMEM;

    piece.first = 0;
    alone.pieces = &piece;
    alone.npieces = 1;
    alone.out = elements;
    if (elements)
        status = cgx_codec_run(cgx_codec_host(), &alone);
    if (status == CGX_OK)
        status = cgx_cuda_upload(to, elements, piece.count * size);
    free(elements);
    return status;
}

enum cgx_status cgx_cuda_decode_on_host(struct cgx_cuda_work *work, unsigned number,
                                        const struct cgx_work *request)
{
    const struct cgx_cuda_slot *slot = &work->slots[number];
    enum cgx_status status = cgx_cuda_work_enter(work);

    if (status != CGX_OK)
        return status;
    for (size_t i = 0; status == CGX_OK && i < request->npieces; i++) {
        if (slot->pulled)
            status = fetch_piece(slot, request, &request->pieces[i]);
        if (status == CGX_OK)
            status = decode_piece(request, request->pieces[i]);
    }
    cgx_cuda_leave();
    return status;
}
