/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Copies. Pinned memory is read and written when a copy is carried out. Of pageable memory what is
 * read is taken at the call, and what is written is waited for. A copy from pageable memory may
 * still be queued, on the legacy stream, when cuMemcpyHtoD returns, as CUDA has it: a non-blocking
 * stream does not come after it. */

#include <stdlib.h>
#include <string.h>

#include "driver.h"

struct copy {
    struct softcuda_operation operation;
    void *to;
    const void *from; /* NULL: what was taken */
    size_t bytes;
    bool is_to_device, is_to_host;
    unsigned char taken[];
};

struct set {
    struct softcuda_operation operation;
    unsigned char *to;
    size_t bytes;
    unsigned char value;
};

/* What an argument may be. */
enum side { HOST, DEVICE };

static bool is_host(enum softcuda_memory memory)
{
    return memory == SOFTCUDA_PAGEABLE || memory == SOFTCUDA_PINNED ||
           memory == SOFTCUDA_REGISTERED;
}

/* Where BYTES from ADDRESS on are, if the context may copy them as that side of a copy. */
static bool find(const struct softcuda_context *context, const void *address, size_t bytes,
                 enum side side, bool written, enum softcuda_memory *memory)
{
    struct softcuda_allocation *allocation = NULL;

    *memory = softcuda_memory_find(address, bytes, &allocation);
    if (*memory == SOFTCUDA_BAD)
        return false;
    for (; allocation; allocation = softcuda_memory_next(allocation, address, bytes)) {
        if (!softcuda_memory_is_reachable(allocation, context) ||
            (written && allocation->read_only))
            return false;
    }
    return *memory != (side == HOST ? SOFTCUDA_DEVICE : SOFTCUDA_PAGEABLE);
}

/* Between queueing and this another context may have gone, with its memory, or another process may
 * have freed its own. */
static bool expose(const void *address, size_t bytes, bool accessible)
{
    struct softcuda_allocation *allocation = NULL;
    bool there = softcuda_memory_find(address, bytes, &allocation) != SOFTCUDA_BAD;

    for (; allocation; allocation = softcuda_memory_next(allocation, address, bytes)) {
        softcuda_memory_expose(allocation, accessible);
        there = there && !softcuda_share_is_gone(allocation);
    }
    return there;
}

/* Whether copies find nothing at ADDRESS, as behind some IOMMUs. */
static bool is_lost(const void *address)
{
    const char *staged = getenv("SOFTCUDA_STAGED");
    struct softcuda_allocation *allocation = NULL;

    softcuda_memory_find(address, 1, &allocation);
    return staged && staged[0] == '2' && allocation && softcuda_share_is_imported(allocation);
}

static CUresult run_copy(struct softcuda_operation *operation, struct softcuda_context *context)
{
    const struct copy *copy = (const struct copy *)operation;
    const void *from = copy->from ? copy->from : copy->taken;
    bool reached = expose(copy->to, copy->bytes, true) && expose(from, copy->bytes, true);

    (void)context;
    if (reached && !is_lost(from))
        memmove(copy->to, from, copy->bytes);
    expose(copy->to, copy->bytes, false);
    expose(from, copy->bytes, false);
    if (!reached)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    softcuda_counts.bytes_to_device += copy->is_to_device ? copy->bytes : 0;
    softcuda_counts.bytes_to_host += copy->is_to_host ? copy->bytes : 0;
    return CUDA_SUCCESS;
}

static CUresult run_set(struct softcuda_operation *operation, struct softcuda_context *context)
{
    const struct set *set = (const struct set *)operation;

    (void)context;
    if (!expose(set->to, set->bytes, true))
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    memset(set->to, set->value, set->bytes);
    expose(set->to, set->bytes, false);
    return CUDA_SUCCESS;
}

/* ---- queueing ---- */

struct request {
    void *to;
    const void *from;
    size_t bytes;
    enum side to_side, from_side;
    bool synchronous;
};

static CUresult queue(struct softcuda_stream *stream, const struct request *request,
                      enum softcuda_memory to, enum softcuda_memory from)
{
    bool take = from == SOFTCUDA_PAGEABLE && to != SOFTCUDA_PAGEABLE;
    struct copy *copy = calloc(1, sizeof *copy + (take ? request->bytes : 0));

    if (copy == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    copy->operation.run = run_copy;
    copy->to = request->to;
    copy->from = take ? NULL : request->from;
    copy->bytes = request->bytes;
    copy->is_to_device = is_host(from) && !is_host(to);
    copy->is_to_host = !is_host(from) && is_host(to);
    if (take)
        memcpy(copy->taken, request->from, request->bytes);
    return softcuda_stream_queue(stream, &copy->operation, NULL);
}

static CUresult copy_on(struct softcuda_context *context, CUstream handle,
                        const struct request *request)
{
    struct softcuda_stream *stream = softcuda_stream_find(context, handle);
    enum softcuda_memory to, from;
    CUresult code = CUDA_SUCCESS;

    if (stream == NULL || stream->object.context != context)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!find(context, request->to, request->bytes, request->to_side, true, &to) ||
        !find(context, request->from, request->bytes, request->from_side, false, &from))
        return CUDA_ERROR_INVALID_VALUE;
    if (softcuda_fails(SOFTCUDA_COPY))
        return CUDA_ERROR_UNKNOWN;
    if (request->bytes == 0)
        return CUDA_SUCCESS;
    /* What is taken is taken after the stream has come so far. */
    if (request->synchronous && from == SOFTCUDA_PAGEABLE) {
        code = softcuda_stream_mark(stream, NULL);
        if (code == CUDA_SUCCESS)
            code = softcuda_stream_reach(stream, stream->queued);
    }
    if (code == CUDA_SUCCESS)
        code = queue(stream, request, to, from);
    if (code == CUDA_SUCCESS &&
        (to == SOFTCUDA_PAGEABLE ||
         (request->synchronous && from != SOFTCUDA_PAGEABLE && (is_host(to) || is_host(from)))))
        code = softcuda_stream_reach(stream, stream->queued);
    return code;
}

static CUresult call(CUstream stream, const struct request *request)
{
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context);

    return softcuda_leave(code == CUDA_SUCCESS ? copy_on(context, stream, request) : code);
}

static CUresult set_on(struct softcuda_context *context, CUstream handle, const struct set *set)
{
    struct softcuda_stream *stream = softcuda_stream_find(context, handle);
    enum softcuda_memory to;
    struct set *queued;

    if (stream == NULL || stream->object.context != context)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!find(context, set->to, set->bytes, DEVICE, true, &to))
        return CUDA_ERROR_INVALID_VALUE;
    if (softcuda_fails(SOFTCUDA_COPY))
        return CUDA_ERROR_UNKNOWN;
    if (set->bytes == 0)
        return CUDA_SUCCESS;
    queued = malloc(sizeof *queued);
    if (queued == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *queued = *set;
    queued->operation.run = run_set;
    return softcuda_stream_queue(stream, &queued->operation, NULL);
}

/* ---- the driver's functions ---- */

static void *address(CUdeviceptr pointer)
{
    return (void *)(uintptr_t)pointer;
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
    return call(NULL, &(struct request){address(to), from, bytes, DEVICE, HOST, true});
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
    return call(NULL, &(struct request){to, address(from), bytes, HOST, DEVICE, true});
}

/* From a device to the host alone. */
CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D *copy)
{
    CUresult code = softcuda_enter();

    if (code == CUDA_SUCCESS && softcuda_fails(SOFTCUDA_ROWS))
        code = CUDA_ERROR_INVALID_VALUE;
    softcuda_leave(code);
    if (code != CUDA_SUCCESS)
        return code;
    if (copy->srcMemoryType != CU_MEMORYTYPE_DEVICE || copy->dstMemoryType != CU_MEMORYTYPE_HOST ||
        copy->srcPitch < copy->WidthInBytes || copy->dstPitch < copy->WidthInBytes)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t row = 0; row < copy->Height && code == CUDA_SUCCESS; row++)
        code = cuMemcpyDtoH((char *)copy->dstHost + row * copy->dstPitch,
                            copy->srcDevice + row * copy->srcPitch, copy->WidthInBytes);
    return code;
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    return call(stream, &(struct request){address(to), from, bytes, DEVICE, HOST, false});
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return call(stream, &(struct request){to, address(from), bytes, HOST, DEVICE, false});
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return call(stream,
                &(struct request){address(to), address(from), bytes, DEVICE, DEVICE, false});
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)
{
    struct set set = {.to = address(to), .bytes = bytes, .value = value};
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context);

    return softcuda_leave(code == CUDA_SUCCESS ? set_on(context, stream, &set) : code);
}
