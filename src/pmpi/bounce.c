/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/call.h"

#include <pthread.h>

#include "cuda/memory.h"
#include "cuda/pinned_pool.h"
#include "mpi/errors.h"
#include "util/log.h"

/* Copy and original have the same address modulo this, so that their elements are aligned alike. */
#define ALIGNMENT 64

/* ---- what the MPI supports ---- */

static pthread_once_t aware_once = PTHREAD_ONCE_INIT;
static bool aware;

static void ask_whether_aware(void)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    int supported = 0;

    if (mpi->GPU_query_support &&
        mpi->GPU_query_support(CGX_MPI_GPU_CUDA, &supported) != CGX_MPI_SUCCESS)
        supported = 0;
    if (!supported && mpi->Query_cuda_support)
        supported = mpi->Query_cuda_support();
    aware = supported != 0;
    cgx_log(CGX_LOG_DEBUG, "%s is %sCUDA-aware", mpi->name, aware ? "" : "not ");
}

/* Before MPI_Init the query may abort, and the call is an error anyway. Programs that use MPI
 * sessions alone have communicators without MPI_Init, but not these two. */
static bool may_ask(cgx_mpi_comm comm)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    int initialized = 0;

    mpi->Initialized(&initialized);
    return initialized || (comm != mpi->COMM_WORLD && comm != mpi->COMM_SELF);
}

/* ---- the memory that the call touches ---- */

/* Bytes relative to a buffer's address. */
struct span {
    intptr_t first; /* may be negative */
    size_t bytes;   /* 0: no data; SIZE_MAX: more than possible */
    bool gaps;      /* some of them are not data */
};

/* Sets the span of COUNT elements. An element has SIZE bytes of data within its true extent. */
static void set_span(struct span *span, size_t count, size_t size, cgx_mpi_aint extent,
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

/* False if there is no such type. */
static bool find_span(const struct cgx_request *request, struct span *span)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    cgx_mpi_aint bound, extent, true_bound, true_extent;
    int size;

    if (mpi->Type_get_extent(request->datatype, &bound, &extent) != CGX_MPI_SUCCESS ||
        mpi->Type_get_true_extent(request->datatype, &true_bound, &true_extent) !=
            CGX_MPI_SUCCESS ||
        mpi->Type_size(request->datatype, &size) != CGX_MPI_SUCCESS)
        return false;
    *span = (struct span){.first = true_bound};
    if (size != 0) /* MPI_UNDEFINED stands for a size above INT_MAX */
        set_span(span, (size_t)request->count, (size_t)size, extent, (size_t)true_extent);
    return true;
}

static char *lowest_byte(const void *buffer, const struct span *span)
{
    return (char *)((uintptr_t)buffer + (uintptr_t)span->first);
}

static bool is_device(const void *address)
{
    return cgx_cuda_pointer(address).memory == CGX_MEMORY_DEVICE;
}

static bool has_device(const void *buffer, const struct cgx_pointer *where, const struct span *span)
{
    const char *first = lowest_byte(buffer, span);

    if (buffer == cgx_mpi()->IN_PLACE)
        return false;
    if (where->memory == CGX_MEMORY_DEVICE)
        return true;
    if (span->first == 0 || span->bytes == SIZE_MAX)
        return false;
    return is_device(first) || is_device(first + span->bytes - 1);
}

bool cgx_bounce_needed(const struct cgx_request *request, bool on_host)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    struct span span;

    if (request->count <= 0)
        return false;
    /* Predefined ops take predefined types, whose data begins at the buffer's address. */
    if (request->receive.memory != CGX_MEMORY_DEVICE && request->send.memory != CGX_MEMORY_DEVICE &&
        !(mpi->looks_created(request->op) && cgx_pinned_possible()))
        return false;
    if (request->comm == mpi->COMM_NULL || request->op == mpi->OP_NULL ||
        !mpi->looks_like_type(request->datatype) || !may_ask(request->comm) ||
        !find_span(request, &span) || span.bytes == 0)
        return false;
    if (!has_device(request->sendbuf, &request->send, &span) &&
        !has_device(request->recvbuf, &request->receive, &span))
        return false;
    if (on_host)
        return true;
    pthread_once(&aware_once, ask_whether_aware);
    return !aware;
}

/* ---- the copies ---- */

/* A buffer of the call, and its copy on the host. */
struct buffer {
    char *device; /* the lowest byte that the call may touch; NULL: no device memory */
    struct cgx_pointer where;
    void *block; /* NULL: the caller's buffer is passed on */
    char *host;  /* the copy of that byte, in the block */
};

struct bounce {
    struct cgx_request request; /* for the MPI library; SEND and RECEIVE still describe the caller's
                             buffers */
    struct span span;
    struct buffer send, receive;
};

/* Sets BUFFER for ADDRESS, at WHERE, if it has device memory; then all of the span must be there.
 */
static int begin_buffer(const struct bounce *bounce, struct buffer *buffer, const void *address,
                        const struct cgx_pointer *where, const char *name)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    const struct cgx_request *request = &bounce->request;
    const struct span *span = &bounce->span;

    if (!has_device(address, where, span))
        return CGX_MPI_SUCCESS;
    buffer->device = lowest_byte(address, span);
    buffer->where = span->first == 0 ? *where : cgx_cuda_pointer(buffer->device);
    if (address == mpi->BOTTOM)
        return cgx_errors_raise_code(request->comm, mpi->ERR_BUFFER,
                                     "MPI_BOTTOM with a datatype that names device memory, which "
                                     "%s cannot read",
                                     mpi->name);
    if (span->bytes == SIZE_MAX || !cgx_cuda_reaches(&buffer->where, buffer->device, span->bytes))
        return cgx_errors_raise_code(request->comm, mpi->ERR_BUFFER,
                                     "the %s buffer in device memory, %p, does not have the %zu "
                                     "bytes of %lld elements",
                                     name, address, span->bytes, (long long)request->count);
    return CGX_MPI_SUCCESS;
}

static void release_buffer(const struct buffer *buffer)
{
    if (buffer->block)
        cgx_pinned_give(&buffer->where, buffer->block);
}

/* Makes the copy of BUFFER, and fills it if READ. *GIVEN: the copy's address for the MPI library.
 * After an error BUFFER must still be released. */
static enum cgx_status copy_in(struct buffer *buffer, const struct span *span, bool read,
                               void **given)
{
    const struct cgx_pointer *where = &buffer->where;
    enum cgx_status status = cgx_pinned_take(where, span->bytes + ALIGNMENT, &buffer->block);

    if (status != CGX_OK)
        return status;
    buffer->host = (char *)buffer->block + (uintptr_t)buffer->device % ALIGNMENT;
    *given = (void *)((uintptr_t)buffer->host - (uintptr_t)span->first);
    return read ? cgx_pinned_fetch(where, buffer->host, buffer->device, span->bytes) : CGX_OK;
}

static enum cgx_status copy_all_in(struct bounce *bounce)
{
    const struct span *span = &bounce->span;
    struct cgx_request *request = &bounce->request;
    bool same = request->sendbuf == request->recvbuf; /* an error, which the MPI library reports */
    bool read = same || request->in_place || span->gaps;
    bool receives = bounce->receive.device != NULL;
    enum cgx_status status;
    void *sendbuf = NULL;

    status = cgx_cuda_enter(receives ? &bounce->receive.where : &bounce->send.where);
    if (status != CGX_OK)
        return status;
    if (receives)
        status = copy_in(&bounce->receive, span, read, &request->recvbuf);
    if (same) {
        request->sendbuf = request->recvbuf;
    } else if (status == CGX_OK && bounce->send.device) {
        status = copy_in(&bounce->send, span, true, &sendbuf);
        request->sendbuf = sendbuf;
    }
    cgx_cuda_leave();
    return status;
}

int cgx_bounce(const struct cgx_request *request, int (*reduce)(const struct cgx_request *request))
{
    const char *failure = "device memory cannot be copied to the host";
    struct bounce bounce = {.request = *request};
    const struct buffer *receive = &bounce.receive;
    enum cgx_status status;
    int code;

    if (!find_span(request, &bounce.span))
        return cgx_mpi()->ERR_TYPE;
    code = begin_buffer(&bounce, &bounce.send, request->sendbuf, &request->send, "send");
    if (code == CGX_MPI_SUCCESS)
        code =
            begin_buffer(&bounce, &bounce.receive, request->recvbuf, &request->receive, "receive");
    if (code != CGX_MPI_SUCCESS)
        return code;
    status = copy_all_in(&bounce);
    if (status == CGX_OK) {
        code = reduce(&bounce.request);
        failure = "the result cannot be copied to device memory";
        if (code == CGX_MPI_SUCCESS && receive->block)
            status = cgx_pinned_store(&receive->where, receive->device, receive->host,
                                      bounce.span.bytes);
    }
    release_buffer(&bounce.send);
    release_buffer(&bounce.receive);
    if (status == CGX_OK)
        return code;
    if (status == CGX_ERR_NOMEM)
        return cgx_errors_raise_code(request->comm, cgx_mpi()->ERR_NO_MEM,
                                     "no host memory to copy device memory to");
    return cgx_errors_raise(request->comm, failure);
}
