/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The resources of a device backend in one context: streams, events, kernels, a mirror of the
 * staging memory, and tables that pass pieces to the kernels. */
#ifndef CGX_CUDA_WORK_H
#define CGX_CUDA_WORK_H

#include "codec/backend.h"
#include "cuda/context.h"
#include "cuda/exported.h"
#include "cuda/kernels.h"
#include "cuda/module.h"

/* Arguments of one kind of operation on one slot that are not passed by value: addresses of
 * sources, then pieces or ranges. */
struct cgx_cuda_table {
    unsigned char *host;
    CUdeviceptr device;
    size_t uploaded;      /* bytes that equal those at HOST */
    uint32_t *status;     /* on the host, written by kernels: a cache line */
    CUdeviceptr reported; /* its device address */
};

/* Words of a status, behind that of the kernels; written by the host, and by it and kernels. */
enum { CGX_CUDA_STOP = 1, CGX_CUDA_STOPPED };

/* For copies to the device, kernels, and copies to the host. A slot's work on a stream comes after
 * its work on the previous stream. */
enum cgx_cuda_stream { CGX_STREAM_UP, CGX_STREAM_COMPUTE, CGX_STREAM_DOWN, CGX_STREAMS };

/* A place in a stream: the event or, if that could not be recorded, the end of the stream. */
struct cgx_cuda_mark {
    CUevent event;
    bool recorded;
    bool pending; /* what comes before has not been waited for */
};

/* Data that sums and decodes read in a local peer's memory. */
struct cgx_cuda_borrowed {
    const unsigned char *data; /* its place in the staging memory */
    size_t bytes;
    CUdeviceptr there;
};

/* Runs of the caller's buffer, in whole words, and the kernel's list of them. */
struct cgx_cuda_picked {
    struct cgx_kernel_range ranges[CGX_READ_RUNS];
    uint32_t words[CGX_READ_RUNS * (CGX_READ_BYTES / sizeof(uint32_t) + 1)];
};

/* From a local peer a slot borrows what is to be summed, and then a sum. */
#define CGX_CUDA_BORROWED 2

struct cgx_cuda_slot {
    unsigned char *host; /* the staging memory ... */
    CUdeviceptr mirror;  /* ... its mirror on the device ... */
    CUdeviceptr there;   /* ... and its own device address, or 0 */
    bool registered;     /* pinned by this backend, or ... */
    bool elsewhere;      /* ... by that of another context */
    bool store_failed;
    bool pulled; /* the host never had what is to be decoded */
    struct cgx_cuda_table tables[CGX_OPERATIONS];
    struct cgx_cuda_mark marks[CGX_STREAMS];
    struct cgx_cuda_borrowed *borrowed; /* CGX_CUDA_BORROWED for each source */
    size_t nborrowed;
};

struct cgx_cuda_work {
    CUcontext context;
    bool begun; /* a call is in the context, which exists */
    size_t table_bytes, sources;
    struct cgx_cuda_module *module;
    CUstream streams[CGX_STREAMS];
    CUevent caller;              /* marks the caller's queued work */
    struct cgx_exported *memory; /* a cookie, mirrors, tables and marks */
    size_t mirrors;              /* bytes of the mirrors */
    CUdeviceptr marks;           /* struct cgx_kernel_mark, for one operation at a time */
    size_t marks_bytes;
    bool marks_are_clear;   /* as kernels must find them, once the queued work is done */
    unsigned char *control; /* pinned; the host side of tables and status */
    size_t control_bytes;
    struct cgx_cuda_picked *picked; /* behind the tables, ... */
    CUdeviceptr picked_there;       /* ... and its device address */
    bool control_registered;        /* by this backend, or ... */
    bool control_allocated;         /* ... allocated by the driver, so it goes with the context */
    struct cgx_cuda_slot slots[CGX_SLOTS];
    uint64_t cookie;              /* of MEMORY, if other processes may open it; otherwise 0 */
    struct cgx_cuda_peers *peers; /* whose memory is open here; NULL: nobody's */
};

/* The offset of the mirrors in the memory. They are as far apart as the slots of shareable staging
 * memory. */
#define CGX_CUDA_MIRRORS 256

/* Creates all of it in the current context, CONTEXT; nothing on an error. */
enum cgx_status cgx_cuda_work_create(CUcontext context, const struct cgx_area *area,
                                     struct cgx_cuda_work *work);

/* After CGX_OK the context is current; leave with cgx_cuda_leave. CGX_ERR_DEVICE: the context is
 * gone or broken. */
enum cgx_status cgx_cuda_work_enter(const struct cgx_cuda_work *work);

/* Copies RUNS of a caller's buffer to TO, one behind the other, when the queued work is done;
 * WORK's context is current. */
enum cgx_status cgx_cuda_read(const struct cgx_cuda_work *work, const struct cgx_strided *runs,
                              unsigned char *to);

/* Queues KERNEL, BLOCKS blocks of it. CGX_ERR_DEVICE: the driver refuses. */
enum cgx_status cgx_cuda_launch_kernel(const struct cgx_cuda_work *work, CUfunction kernel,
                                       uint32_t blocks, struct cgx_kernel_args *args);

/* Device memory or, if DEVICE is 0, host memory. */
struct cgx_cuda_place {
    CUdeviceptr device;
    const unsigned char *host;
    bool linked; /* kernels read it as fast as copies do */
};

/* Queues a copy to the device on CGX_STREAM_UP; WORK's context is current. */
enum cgx_status cgx_cuda_copy(const struct cgx_cuda_work *work, CUdeviceptr to,
                              const struct cgx_cuda_place *from, size_t bytes);

/* Local peers' memory must be closed already. False: the staging memory may still be pinned and
 * must never be freed. */
bool cgx_cuda_work_release(struct cgx_cuda_work *work);

/* ---- memory of local peers (peers.h) ---- */

/* Closes it, if WORK's context still exists. */
void cgx_cuda_work_disconnect(struct cgx_cuda_work *work);

/* Sets *PLACE to the source of BYTES at OFFSET of local peer NUMBER's staging memory, as connected.
 * False: none. */
bool cgx_cuda_peer_at(const struct cgx_cuda_work *work, unsigned number, size_t offset,
                      size_t bytes, struct cgx_cuda_place *place);

/* ---- backends ---- */

extern const struct cgx_backend_ops cgx_cuda_ops;
extern const char cgx_cuda_backend_name[]; /* only theirs */

struct cgx_cuda_backends {
    struct cgx_backend base;
    struct cgx_cuda_work work;
    struct cgx_cuda_backends *next;
};

/* The work of BACKEND; NULL if it is no device backend. */
static inline struct cgx_cuda_work *cgx_cuda_work_of(const struct cgx_backend *backend)
{
    return backend->ops->name == cgx_cuda_backend_name
               ? &((struct cgx_cuda_backends *)(void *)backend)->work
               : NULL;
}

#endif
