/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Streams: queues of operations that nobody carries out but those who wait. What an operation of
 * one stream needs of others is written down as places in them when it is queued, so all that it
 * needs was queued before it, and to carry out the first that can be goes on without an end. */

#include <stdlib.h>

#include "driver.h"

static struct softcuda_stream *find_stream(const void *handle)
{
    return softcuda_object_find(SOFTCUDA_STREAM, handle);
}

/* The calling thread's default stream, made when it is first used; NULL: no memory. */
static struct softcuda_stream *find_own(struct softcuda_context *context)
{
    static unsigned long long threads;
    static _Thread_local unsigned long long self;
    struct softcuda_stream *stream = context->streams;

    if (self == 0)
        self = ++threads;
    while (stream && stream->thread != self)
        stream = stream->next;
    if (stream == NULL)
        stream = softcuda_stream_create(context, true);
    if (stream)
        stream->thread = self;
    return stream;
}

struct softcuda_stream *softcuda_stream_find(struct softcuda_context *context, CUstream handle)
{
    struct softcuda_stream *stream;

    if (handle == NULL || handle == CU_STREAM_LEGACY)
        return context->legacy;
    if (handle == CU_STREAM_PER_THREAD)
        return find_own(context);
    stream = find_stream(handle);
    return stream && !stream->destroyed ? stream : NULL;
}

struct softcuda_stream *softcuda_stream_create(struct softcuda_context *context, bool blocking)
{
    struct softcuda_stream *stream =
        softcuda_object_create(SOFTCUDA_STREAM, sizeof *stream, context);

    if (stream == NULL)
        return NULL;
    stream->blocking = blocking;
    stream->next = context->streams;
    context->streams = stream;
    return stream;
}

/* ---- carrying out ---- */

static void pop(struct softcuda_stream *stream)
{
    struct softcuda_operation *operation = stream->first;

    stream->first = operation->next;
    stream->done++;
    free(operation->after);
    free(operation);
}

void softcuda_stream_abandon(struct softcuda_stream *stream)
{
    while (stream->done < stream->queued)
        pop(stream);
}

static bool is_reached(const struct softcuda_place_in_stream *place)
{
    const struct softcuda_stream *stream = find_stream(place->stream);

    return stream == NULL || stream->done >= place->position;
}

/* Carries out one operation: the stream's next, or one that this waits for. After an error those
 * that are left come to nothing. */
static void step(struct softcuda_stream *stream)
{
    struct softcuda_operation *operation = stream->first;
    struct softcuda_context *context;
    CUresult code;

    for (size_t i = 0; i < operation->nafter;) {
        if (is_reached(&operation->after[i])) {
            i++;
            continue;
        }
        stream = find_stream(operation->after[i].stream);
        operation = stream->first;
        i = 0;
    }
    context = stream->object.context;
    if (operation->run && !softcuda_is_lost() && context->error == CUDA_SUCCESS) {
        bool fails = softcuda_fails(SOFTCUDA_ASYNC);

        softcuda_fork_turn(true);
        code = fails ? CUDA_ERROR_ILLEGAL_ADDRESS : operation->run(operation, context);
        softcuda_fork_turn(false);
        context->error = code;
    }
    pop(stream);
}

CUresult softcuda_stream_reach(struct softcuda_stream *stream, unsigned long long position)
{
    while (stream->done < position)
        step(stream);
    return stream->object.context->error;
}

/* ---- queueing ---- */

/* Of the destroyed streams those that have nothing left to do. */
static void drop_destroyed(struct softcuda_context *context)
{
    struct softcuda_stream **link = &context->streams;

    while (*link) {
        struct softcuda_stream *stream = *link;

        if (stream->destroyed && stream->done == stream->queued) {
            *link = stream->next;
            softcuda_object_free(&stream->object);
        } else {
            link = &stream->next;
        }
    }
}

static bool orders(const struct softcuda_stream *before, const struct softcuda_stream *stream)
{
    const struct softcuda_stream *legacy = stream->object.context->legacy;

    return before != stream && before->blocking && stream->blocking &&
           (before == legacy || stream == legacy) && before->done < before->queued;
}

CUresult softcuda_stream_queue(struct softcuda_stream *stream, struct softcuda_operation *operation,
                               const struct softcuda_place_in_stream *event)
{
    struct softcuda_context *context = stream->object.context;
    size_t most = event != NULL;
    CUresult code = softcuda_capture_allows(stream);

    if (code != CUDA_SUCCESS) {
        free(operation);
        return code;
    }
    drop_destroyed(context);
    for (const struct softcuda_stream *other = context->streams; other; other = other->next)
        most += orders(other, stream);
    operation->after = calloc(most + 1, sizeof *operation->after);
    if (operation->after == NULL) {
        free(operation);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (event)
        operation->after[operation->nafter++] = *event;
    for (const struct softcuda_stream *other = context->streams; other; other = other->next) {
        if (orders(other, stream))
            operation->after[operation->nafter++] =
                (struct softcuda_place_in_stream){other->object.handle, other->queued};
    }
    if (stream->first)
        stream->last->next = operation;
    else
        stream->first = operation;
    stream->last = operation;
    stream->queued++;
    return CUDA_SUCCESS;
}

CUresult softcuda_stream_mark(struct softcuda_stream *stream,
                              const struct softcuda_place_in_stream *event)
{
    struct softcuda_operation *mark = calloc(1, sizeof *mark);

    return mark ? softcuda_stream_queue(stream, mark, event) : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult softcuda_stream_drain(struct softcuda_context *context)
{
    struct softcuda_stream *stream = NULL;

    while ((stream = softcuda_object_next(SOFTCUDA_STREAM, stream ? stream->object.handle : NULL)))
        if (stream->object.context == context || stream->object.context->home == context)
            softcuda_stream_reach(stream, stream->queued);
    return context->error;
}

void softcuda_stream_drain_all(void)
{
    struct softcuda_stream *stream = NULL;

    while ((stream = softcuda_object_next(SOFTCUDA_STREAM, stream ? stream->object.handle : NULL)))
        softcuda_stream_reach(stream, stream->queued);
}

/* ---- the driver's functions ---- */

static CUresult create(struct softcuda_context *context, CUstream *handle, unsigned flags)
{
    struct softcuda_stream *stream;

    if (handle == NULL || (flags != CU_STREAM_DEFAULT && flags != CU_STREAM_NON_BLOCKING))
        return CUDA_ERROR_INVALID_VALUE;
    stream = softcuda_fails(SOFTCUDA_ALLOC)
                 ? NULL
                 : softcuda_stream_create(context, flags == CU_STREAM_DEFAULT);
    if (stream == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    softcuda_counts.live++;
    *handle = stream->object.handle;
    return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *handle, unsigned flags)
{
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context);

    return softcuda_leave(code == CUDA_SUCCESS ? create(context, handle, flags) : code);
}

/* Returns at once; what is queued stays so. */
CUresult cuStreamDestroy(CUstream handle)
{
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context), own = CUDA_ERROR_INVALID_HANDLE;
    struct softcuda_stream *stream = context ? softcuda_stream_find(context, handle) : NULL;

    if (stream && stream != stream->object.context->legacy && stream->thread == 0) {
        stream->destroyed = true;
        softcuda_counts.live--;
        own = CUDA_SUCCESS;
    }
    return softcuda_leave(code == CUDA_SUCCESS ? own : code);
}

CUresult softcuda_stream_enter(CUstream handle, struct softcuda_stream **stream)
{
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context);

    if (code != CUDA_SUCCESS)
        return code;
    *stream = softcuda_stream_find(context, handle);
    return *stream == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

/* The stream of a call, with the result of softcuda_enter_context. */
static CUresult enter_stream(CUstream handle, struct softcuda_stream **stream)
{
    CUresult code = softcuda_stream_enter(handle, stream);

    if (code == CUDA_SUCCESS)
        code = softcuda_capture_allows(*stream);
    return code == CUDA_SUCCESS ? (*stream)->object.context->error : code;
}

CUresult cuStreamSynchronize(CUstream handle)
{
    struct softcuda_stream *stream;
    CUresult code = enter_stream(handle, &stream);

    if (code == CUDA_SUCCESS)
        code = softcuda_stream_reach(stream, stream->queued);
    return softcuda_leave(code);
}
