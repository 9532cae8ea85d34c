/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/stage.h"

#include <pthread.h>
#include <stdint.h>

#include "cuda/memory.h"
#include "cuda/staged.h"
#include "pmpi/errors.h"
#include "pmpi/start.h"
#include "util/log.h"

/* A copy lies as the original does relative to this, so that its elements are aligned alike. */
#define ALIGNMENT 64

/* ---- what the MPI can do ---- */

static pthread_once_t aware_once = PTHREAD_ONCE_INIT;
static bool aware;

static void ask_whether_aware(void)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    int supported = 0;

    if (mpi->GPU_query_support != NULL &&
        mpi->GPU_query_support(CGX_MPI_GPU_CUDA, &supported) != MPI_SUCCESS)
        supported = 0;
    if (!supported && mpi->Query_cuda_support != NULL)
        supported = mpi->Query_cuda_support();
    aware = supported != 0;
    cgx_log(CGX_LOG_DEBUG, "%s is %sCUDA-aware", mpi->name, aware ? "" : "not ");
}

/* Before MPI_Init the question may abort and the call is an error anyway. A program that uses MPI
 * sessions alone has communicators without MPI_Init, but not these. */
static bool may_ask(const struct cgx_mpi *mpi, MPI_Comm comm)
{
    int initialized = 0;

    mpi->Initialized(&initialized);
    return initialized || (comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF);
}

/* ---- what the call touches ---- */

/* Bytes from a buffer's address on, or from elsewhere. */
struct span {
    intptr_t first; /* relative to the address */
    size_t bytes;   /* 0: no data; SIZE_MAX: more than there can be */
    bool gaps;      /* not all of them are data */
};

/* COUNT elements, of which the first has SIZE bytes of data in those that its true extent spans. */
static void set_span(struct span *span, size_t count, size_t size, MPI_Aint extent,
                     size_t true_extent)
{
    size_t stride = extent < 0 ? 0 - (size_t)extent : (size_t)extent;
    size_t steps;

    if (__builtin_mul_overflow(stride, count - 1, &steps) || steps > PTRDIFF_MAX ||
        __builtin_add_overflow(steps, true_extent, &span->bytes))
        span->bytes = SIZE_MAX;
    else if (extent < 0)
        span->first -= (intptr_t)steps;
    span->gaps = size != true_extent || (count > 1 && stride != size);
}

/* False: there is no such type. */
static bool find_span(const struct cgx_mpi *mpi, const struct cgx_call *call, struct span *span)
{
    MPI_Aint bound, extent, true_bound, true_extent;
    int size;

    if (mpi->Type_get_extent(call->datatype, &bound, &extent) != MPI_SUCCESS ||
        mpi->Type_get_true_extent(call->datatype, &true_bound, &true_extent) != MPI_SUCCESS ||
        mpi->Type_size(call->datatype, &size) != MPI_SUCCESS)
        return false;
    *span = (struct span){.first = true_bound};
    if (size != 0) /* MPI_UNDEFINED is a size that int does not hold, of a type with data */
        set_span(span, (size_t)call->count, (size_t)size, extent, (size_t)true_extent);
    return true;
}

static char *lowest(const void *buffer, const struct span *span)
{
    return (char *)((uintptr_t)buffer + (uintptr_t)span->first);
}

static bool is_device(const void *address)
{
    return address != MPI_IN_PLACE && cgx_cuda_memory(address) == CGX_MEMORY_DEVICE;
}

static bool has_device(const void *buffer, const struct span *span)
{
    const char *first = lowest(buffer, span);

    if (is_device(buffer))
        return true;
    if (buffer == MPI_IN_PLACE || span->first == 0 || span->bytes == SIZE_MAX)
        return false;
    return is_device(first) || is_device(first + span->bytes - 1);
}

bool cgx_stage_needed(const struct cgx_mpi *mpi, const struct cgx_call *call, bool on_host)
{
    struct span span;

    if (!cgx_staged_possible() || call->count <= 0)
        return false;
    /* Predefined ops take predefined types, whose data begins at the buffer's address. */
    if (!is_device(call->recvbuf) && !is_device(call->sendbuf) && !CGX_MPI_LOOKS_CREATED(call->op))
        return false;
    if (call->comm == MPI_COMM_NULL || call->op == MPI_OP_NULL ||
        !CGX_MPI_LOOKS_LIKE_TYPE(call->datatype) || !may_ask(mpi, call->comm) ||
        !find_span(mpi, call, &span) || span.bytes == 0)
        return false;
    if (!has_device(call->sendbuf, &span) && !has_device(call->recvbuf, &span))
        return false;
    if (on_host)
        return true;
    pthread_once(&aware_once, ask_whether_aware);
    return !aware;
}

/* ---- errors ---- */

static int raise_buffer(const struct cgx_mpi *mpi, MPI_Comm comm)
{
    mpi->Comm_call_errhandler(comm, MPI_ERR_BUFFER);
    return MPI_ERR_BUFFER;
}

static int raise_status(const struct cgx_mpi *mpi, MPI_Comm comm, enum cgx_status status,
                        const char *what)
{
    if (status != CGX_ERR_NOMEM)
        return cgx_errors_raise(mpi, comm, what);
    cgx_log(CGX_LOG_ERROR, "an all-reduce failed: no host memory to copy device memory to");
    mpi->Comm_call_errhandler(comm, MPI_ERR_NO_MEM);
    return MPI_ERR_NO_MEM;
}

/* ---- the copies ---- */

/* Whether all of a device buffer is there. */
static int look_at(const struct cgx_mpi *mpi, const struct cgx_call *call, const struct span *span,
                   const void *buffer, const char *name)
{
    if (buffer == MPI_BOTTOM) {
        cgx_log(CGX_LOG_ERROR,
                "an all-reduce failed: MPI_BOTTOM with a datatype that names "
                "device memory, which %s cannot read",
                mpi->name);
        return raise_buffer(mpi, call->comm);
    }
    if (span->bytes == SIZE_MAX || !cgx_cuda_reaches(lowest(buffer, span), span->bytes)) {
        cgx_log(CGX_LOG_ERROR,
                "an all-reduce failed: the %s buffer in device memory, %p, does not have the %zu "
                "bytes of %lld elements",
                name, buffer, span->bytes, (long long)call->count);
        return raise_buffer(mpi, call->comm);
    }
    return MPI_SUCCESS;
}

static void release(struct cgx_stage_buffer *buffer)
{
    if (buffer->block != NULL)
        cgx_staged_give(buffer->device, buffer->block);
}

/* Has BUFFER stand in for the device memory at ADDRESS, filled if it is to be READ. Sets *GIVEN,
 * the MPI library's address of it. After an error BUFFER is still to be released. */
static enum cgx_status copy_in(struct cgx_stage_buffer *buffer, const struct span *span,
                               const void *address, bool read, void **given)
{
    enum cgx_status status = CGX_OK;

    buffer->device = lowest(address, span);
    if (cgx_start()->sync == CGX_SYNC_DEVICE)
        status = cgx_staged_wait(buffer->device);
    if (status == CGX_OK)
        status = cgx_staged_take(buffer->device, span->bytes + ALIGNMENT, &buffer->block);
    if (status != CGX_OK)
        return status;
    buffer->host = (char *)buffer->block + (uintptr_t)buffer->device % ALIGNMENT;
    *given = (void *)((uintptr_t)buffer->host - (uintptr_t)span->first);
    return read ? cgx_staged_fetch(buffer->host, buffer->device, span->bytes) : CGX_OK;
}

static enum cgx_status copy_all_in(struct cgx_stage *stage, const struct span *span)
{
    struct cgx_call *call = &stage->call;
    bool same = call->sendbuf == call->recvbuf; /* an error, for the MPI library to see */
    bool read = same || call->sendbuf == MPI_IN_PLACE || span->gaps;
    enum cgx_status status = CGX_OK;
    void *sendbuf = NULL;

    if (has_device(call->recvbuf, span))
        status = copy_in(&stage->receive, span, call->recvbuf, read, &call->recvbuf);
    if (same) {
        call->sendbuf = call->recvbuf;
    } else if (status == CGX_OK && has_device(call->sendbuf, span)) {
        status = copy_in(&stage->send, span, call->sendbuf, true, &sendbuf);
        call->sendbuf = sendbuf;
    }
    return status;
}

int cgx_stage_begin(const struct cgx_mpi *mpi, const struct cgx_call *call, struct cgx_stage *stage)
{
    enum cgx_status status;
    struct span span;
    int code = MPI_SUCCESS;

    if (!find_span(mpi, call, &span))
        return MPI_ERR_TYPE;
    if (has_device(call->sendbuf, &span))
        code = look_at(mpi, call, &span, call->sendbuf, "send");
    if (code == MPI_SUCCESS && has_device(call->recvbuf, &span))
        code = look_at(mpi, call, &span, call->recvbuf, "receive");
    if (code != MPI_SUCCESS)
        return code;
    *stage = (struct cgx_stage){.call = *call, .bytes = span.bytes};
    status = copy_all_in(stage, &span);
    if (status == CGX_OK)
        return MPI_SUCCESS;
    release(&stage->send);
    release(&stage->receive);
    return raise_status(mpi, call->comm, status, "device memory cannot be copied to the host");
}

int cgx_stage_end(const struct cgx_mpi *mpi, struct cgx_stage *stage, int code)
{
    const struct cgx_stage_buffer *receive = &stage->receive;
    enum cgx_status status = CGX_OK;

    if (code == MPI_SUCCESS && receive->block != NULL)
        status = cgx_staged_store(receive->device, receive->host, stage->bytes);
    release(&stage->send);
    release(&stage->receive);
    if (status != CGX_OK)
        return raise_status(mpi, stage->call.comm, status,
                            "the result cannot be copied to device memory");
    return code;
}
