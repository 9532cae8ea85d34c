/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Events and captures. Events are places in streams. A record is an operation of its own, so that
 * one on the legacy stream comes after what is queued on blocking streams. */

#include "driver.h"

struct event {
    struct softcuda_object object;
    struct softcuda_place_in_stream place; /* of the last record; stream NULL: there was none */
};

static CUresult create_event(struct softcuda_context *context, CUevent *handle, unsigned flags)
{
    struct event *event;

    if (handle == NULL || (flags & ~(unsigned)(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING)))
        return CUDA_ERROR_INVALID_VALUE;
    event = softcuda_fails(SOFTCUDA_ALLOC)
                ? NULL
                : softcuda_object_create(SOFTCUDA_EVENT, sizeof *event, context);
    if (event == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    softcuda_counts.live++;
    *handle = event->object.handle;
    return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *handle, unsigned flags)
{
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context);

    return softcuda_leave(code == CUDA_SUCCESS ? create_event(context, handle, flags) : code);
}

CUresult cuEventDestroy(CUevent handle)
{
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context), own = CUDA_ERROR_INVALID_HANDLE;
    struct event *event = softcuda_object_find(SOFTCUDA_EVENT, handle);

    if (context && event) {
        softcuda_object_free(&event->object);
        softcuda_counts.live--;
        own = CUDA_SUCCESS;
    }
    return softcuda_leave(code == CUDA_SUCCESS ? own : code);
}

/* The event of a call that goes on, with the result of softcuda_enter_context. */
static CUresult enter_event(CUevent handle, struct softcuda_context **context, struct event **event)
{
    CUresult code = softcuda_enter_context(context);

    if (code != CUDA_SUCCESS)
        return code;
    *event = softcuda_object_find(SOFTCUDA_EVENT, handle);
    return *event ? (*event)->object.context->error : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult record(struct softcuda_context *context, struct event *event, CUstream handle)
{
    struct softcuda_stream *stream = softcuda_stream_find(context, handle);
    CUresult code;

    if (stream == NULL || stream->object.context != event->object.context)
        return CUDA_ERROR_INVALID_HANDLE;
    code = softcuda_stream_mark(stream, NULL);
    if (code == CUDA_SUCCESS)
        event->place = (struct softcuda_place_in_stream){stream->object.handle, stream->queued};
    return code;
}

CUresult cuEventRecord(CUevent handle, CUstream stream)
{
    struct softcuda_context *context;
    struct event *event;
    CUresult code = enter_event(handle, &context, &event);

    return softcuda_leave(code == CUDA_SUCCESS ? record(context, event, stream) : code);
}

CUresult cuEventSynchronize(CUevent handle)
{
    struct softcuda_context *context;
    struct softcuda_stream *stream;
    struct event *event;
    CUresult code = enter_event(handle, &context, &event);

    if (code == CUDA_SUCCESS) {
        stream = softcuda_object_find(SOFTCUDA_STREAM, event->place.stream);
        if (stream)
            code = softcuda_stream_reach(stream, event->place.position);
    }
    return softcuda_leave(code);
}

/* An event that was never recorded is waited for by nobody. */
CUresult cuStreamWaitEvent(CUstream stream_handle, CUevent handle, unsigned flags)
{
    struct softcuda_context *context;
    struct softcuda_stream *stream;
    struct event *event;
    CUresult code = enter_event(handle, &context, &event);

    if (code == CUDA_SUCCESS && flags > 1)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS) {
        stream = softcuda_stream_find(context, stream_handle);
        if (stream == NULL)
            code = CUDA_ERROR_INVALID_HANDLE;
        else if (event->place.stream)
            code = softcuda_stream_mark(stream, &event->place);
    }
    return softcuda_leave(code);
}

/* ---- captures ---- */

/* Captures of streams, for what they forbid others. While a blocking stream is captured, nothing
 * may use the legacy stream of its context, which would wait for what is captured: the attempt
 * fails, and the capture is void (CUDA C++ Programming Guide, "Prohibited and Unhandled Operations"
 * of stream capture). The same happens to all captures of a context that is waited for. No graph is
 * made: what is queued on a captured stream is carried out. */

/* Voids the captures of blocking streams of CONTEXT or, if ALL, of any. Whether there were any. */
static bool void_captures(const struct softcuda_context *context, bool all)
{
    bool any = false;

    for (struct softcuda_stream *other = context->streams; other; other = other->next) {
        if ((!all && !other->blocking) || other->capture == CU_STREAM_CAPTURE_STATUS_NONE)
            continue;
        other->capture = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
        any = true;
    }
    return any;
}

CUresult softcuda_capture_allows(const struct softcuda_stream *stream)
{
    const struct softcuda_context *context = stream->object.context;

    return stream == context->legacy && void_captures(context, false)
               ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
               : CUDA_SUCCESS;
}

CUresult softcuda_capture_allows_wait(const struct softcuda_context *context)
{
    return void_captures(context, true) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
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
