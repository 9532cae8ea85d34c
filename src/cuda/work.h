/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What a device backend works with in one context: streams, events, kernels, a mirror of the
 * staging memory, and tables through which the kernels learn their pieces. */
#ifndef CGX_CUDA_WORK_H
#define CGX_CUDA_WORK_H

#include "codec/backend.h"
#include "cuda/context.h"
#include "cuda/exported.h"
#include "cuda/module.h"

/* Arguments of one kind of operation on one slot, beyond those passed by value: addresses of
 * sources, then pieces or ranges. */
struct cgx_cuda_table {
    unsigned char *host;
    CUdeviceptr device;
    size_t uploaded;      /* bytes at the device that are those at HOST */
    uint32_t *status;     /* on the host, written by kernels */
    CUdeviceptr reported; /* its address there */
};

/* Of copies to the device, of kernels, and of copies from it. What is queued on one for a slot
 * comes after what was queued for it on the one before. */
enum cgx_cuda_stream { CGX_STREAM_UP, CGX_STREAM_COMPUTE, CGX_STREAM_DOWN, CGX_STREAMS };

/* A place in a stream: the event, or where that could not be recorded, the end of all that is
 * queued there. */
struct cgx_cuda_mark {
    CUevent event;
    bool recorded;
    bool pending; /* what is before it was not waited for */
};

/* What is summed or decoded where it lies in the memory of a local peer. */
struct cgx_cuda_borrowed {
    const unsigned char *data; /* where it belongs in the staging memory */
    size_t bytes;
    CUdeviceptr there;
};

/* From a local peer a slot borrows what is to be summed, and then a sum. */
#define CGX_CUDA_BORROWED 2

struct cgx_cuda_slot {
    unsigned char *host; /* the staging memory ... */
    CUdeviceptr mirror;  /* ... and its like on the device */
    CUdeviceptr there;   /* where the device finds the staging memory itself, or 0 */
    bool registered;     /* pinned by this backend ... */
    bool elsewhere;      /* ... or by that of another context */
    bool store_failed;
    bool pulled; /* what is to be decoded never was on the host */
    struct cgx_cuda_table tables[CGX_OPERATIONS];
    struct cgx_cuda_mark marks[CGX_STREAMS];
    struct cgx_cuda_borrowed *borrowed; /* CGX_CUDA_BORROWED for each source */
    size_t nborrowed;
};

struct cgx_cuda_work {
    CUcontext context;
    bool begun; /* a call has found the context there, and is in it */
    size_t table_bytes, sources;
    struct cgx_cuda_module *module;
    CUstream streams[CGX_STREAMS];
    CUevent caller;              /* what the caller has queued */
    struct cgx_exported *memory; /* a cookie, mirrors and tables */
    size_t mirrors;              /* bytes of the mirrors */
    unsigned char *control;      /* pinned: the host's side of tables and status */
    size_t control_bytes;
    bool control_registered; /* by this backend, or ... */
    bool control_allocated;  /* ... it is the driver's own, and goes with the context */
    struct cgx_cuda_slot slots[CGX_SLOTS];
    uint64_t cookie;              /* of the memory, where other processes may open it; else 0 */
    struct cgx_cuda_peers *peers; /* whose memory was opened here; NULL: nobody's */
};

/* Where the mirrors begin in the memory; they lie one behind the other like the slots of staging
 * memory that others can reach. */
#define CGX_CUDA_MIRRORS 256

/* Gets all of it in the current context, which is CONTEXT; on an error nothing. */
enum cgx_status cgx_cuda_work_create(CUcontext context, const struct cgx_area *area,
                                     struct cgx_cuda_work *work);

/* CGX_OK: the context is current; leave with cgx_cuda_leave. CGX_ERR_DEVICE: it is gone or
 * broken. */
enum cgx_status cgx_cuda_work_enter(const struct cgx_cuda_work *work);

/* Memory of a device or, where DEVICE is 0, of the host. */
struct cgx_cuda_place {
    CUdeviceptr device;
    const unsigned char *host;
    bool linked; /* kernels read it as fast as copies do */
};

/* Queues a copy to the device on the stream for these; the context of WORK is current. */
enum cgx_status cgx_cuda_copy(const struct cgx_cuda_work *work, CUdeviceptr to,
                              const struct cgx_cuda_place *from, size_t bytes);

/* What was opened of local peers has been closed. False: the staging memory may still be pinned and
 * must never be freed. */
bool cgx_cuda_work_release(struct cgx_cuda_work *work);

/* ---- what local peers have (peers.h) ---- */

/* Closes it, if the context of WORK is there. */
void cgx_cuda_work_disconnect(struct cgx_cuda_work *work);

/* Sets *PLACE to where BYTES at OFFSET of the staging memory of local peer NUMBER are to be had, as
 * the backend is connected. False: nowhere. */
bool cgx_cuda_peer_at(const struct cgx_cuda_work *work, unsigned number, size_t offset,
                      size_t bytes, struct cgx_cuda_place *place);

/* ---- backends ---- */

extern const struct cgx_backend_ops cgx_cuda_ops;
extern const char cgx_cuda_backend_name[]; /* of these alone */

struct cgx_cuda_backends {
    struct cgx_backend base;
    struct cgx_cuda_work work;
    struct cgx_cuda_backends *next;
};

/* The work of BACKEND, or NULL if it is none of a device. */
static inline struct cgx_cuda_work *cgx_cuda_work_of(const struct cgx_backend *backend)
{
    return backend->ops->name == cgx_cuda_backend_name
               ? &((struct cgx_cuda_backends *)(void *)backend)->work
               : NULL;
}

#endif
