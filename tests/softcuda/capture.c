/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Captures of streams, for what they forbid others. While a blocking stream is captured, nothing
 * may use the legacy stream of its context, which would wait for what is captured: the attempt
 * fails, and the capture is void (CUDA C++ Programming Guide, "Prohibited and Unhandled Operations"
 * of stream capture). No graph is made: what is queued on a captured stream is carried out. */

#include "driver.h"

CUresult softcuda_capture_allows(const struct softcuda_stream *stream)
{
    struct softcuda_context *context = stream->object.context;
    CUresult code = CUDA_SUCCESS;

    if (stream != context->legacy)
        return CUDA_SUCCESS;
    for (struct softcuda_stream *other = context->streams; other; other = other->next) {
        if (!other->blocking || other->capture == CU_STREAM_CAPTURE_STATUS_NONE)
            continue;
        other->capture = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
        code = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    return code;
}

/* The stream that is captured, or is to be, with the result of softcuda_enter_context. */
static CUresult enter(CUstream handle, bool is_captured, struct softcuda_stream **stream)
{
    CUresult code = softcuda_stream_enter(handle, stream);

    if (code != CUDA_SUCCESS)
        return code;
    if (*stream == (*stream)->object.context->legacy)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return ((*stream)->capture != CU_STREAM_CAPTURE_STATUS_NONE) == is_captured
               ? CUDA_SUCCESS
               : CUDA_ERROR_ILLEGAL_STATE;
}

CUresult cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode)
{
    struct softcuda_stream *stream;
    CUresult code = enter(handle, false, &stream);

    (void)mode;
    if (code == CUDA_SUCCESS)
        stream->capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return softcuda_leave(code);
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *graph)
{
    struct softcuda_stream *stream;
    CUresult code = enter(handle, true, &stream);

    if (code == CUDA_SUCCESS) {
        if (stream->capture == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
            code = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        stream->capture = CU_STREAM_CAPTURE_STATUS_NONE;
        *graph = NULL;
    }
    return softcuda_leave(code);
}
