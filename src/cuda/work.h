/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Inside the device backend: its resources in one context, which are streams, events, kernels, a
 * mirror of the staging memory, and tables that pass pieces to the kernels; and how its operations
 * are queued. */
#ifndef CGX_CUDA_WORK_H
#define CGX_CUDA_WORK_H

#include "codec/backend.h"
#include "cuda/context.h"
#include "cuda/exported.h"
#include "cuda/kernels.h"
#include "cuda/module.h"

/* Arguments of one kind of operation on one slot that are not passed by value: addresses of
 * sources, then pieces. */
struct cgx_cuda_table {
    unsigned char *host;
    CUdeviceptr device;
    size_t filled;        /* number of bytes that the last operation has in the host's table */
    size_t uploaded;      /* number of bytes in which the device's table equals the host's */
    uint32_t *status;     /* on the host, written by kernels: a cache line of its own */
    CUdeviceptr reported; /* device address of STATUS */
};

/* Streams for copies to the device, for kernels, and for copies to the host. A slot's work on a
 * stream comes after its work on the previous stream. */
enum cgx_cuda_stream { CGX_STREAM_UP, CGX_STREAM_COMPUTE, CGX_STREAM_DOWN, CGX_STREAMS };

/* A place in a stream: the event or, if that could not be recorded, the end of the stream. */
struct cgx_cuda_mark {
    CUevent event;
    bool recorded;
    bool pending; /* nobody has waited for what comes before */
};

/* Data that sums and decodes read in a local peer's memory. */
struct cgx_cuda_borrowed {
    const unsigned char *data; /* where the staging memory would have the data */
    size_t bytes;
    CUdeviceptr there;
};

/* A slot borrows twice from each local peer: what is to be summed, and then a sum. */
#define CGX_CUDA_BORROWED 2

struct cgx_cuda_slot {
    unsigned char *host; /* the staging memory on the host */
    CUdeviceptr mirror;  /* the mirror of the staging memory on the device */
    CUdeviceptr there;   /* device address of the staging memory itself, or 0 */
    bool registered;     /* this backend has pinned the staging memory */
    bool store_failed;
    bool pulled; /* the host never had the payload that is to be decoded */
    struct cgx_cuda_table tables[CGX_OPERATIONS];
    struct cgx_cuda_mark marks[CGX_STREAMS];
    struct cgx_cuda_borrowed *borrowed; /* room for CGX_CUDA_BORROWED of each source */
    size_t nborrowed;
};

struct cgx_cuda_work {
    struct cgx_backend base;
    struct cgx_cuda_work *next; /* the backend of the same staging memory in another context */
    CUcontext context;
    size_t table_bytes, sources;
    struct cgx_cuda_module *module;
    CUstream streams[CGX_STREAMS];
    CUevent caller;              /* marks the caller's queued work */
    struct cgx_exported *memory; /* holds a cookie, mirrors, tables and marks */
    size_t mirrors;              /* bytes of all mirrors */
    CUdeviceptr marks; /* an array of struct cgx_kernel_mark, for one operation at a time */
    size_t marks_bytes;
    bool marks_are_clear;   /* once the queued work is done, marks are as kernels must find them */
    unsigned char *control; /* pinned; the host side of tables and status */
    size_t control_bytes;
    unsigned char *picked;    /* behind the tables in CONTROL: runs that cgx_runs has copied */
    CUdeviceptr picked_there; /* device address of PICKED */
    bool control_allocated;   /* the driver has allocated CONTROL, so it goes with the context */
    struct cgx_cuda_slot slots[CGX_SLOTS];
    /* Whether other processes may open MEMORY: CGX_ERR_INVALID if that was not asked for, or the
     * backend of another context has pinned staging memory; CGX_ERR_DEVICE if kernels cannot write
     * what hosts read to it. */
    enum cgx_status exports;
    uint64_t cookie; /* cookie of MEMORY, if other processes may open that; otherwise 0 */
    struct cgx_cuda_peers *peers;        /* local peers whose memory is open here; NULL: none */
    struct cgx_cuda_borrowed borrowed[]; /* those of all slots */
};

/* The offset of the mirrors in the memory. They are as far apart as the slots of shareable staging
 * memory. */
#define CGX_CUDA_MIRRORS 256

/* Creates a work with all its resources in CONTEXT. CGX_ERR_NOMEM, CGX_ERR_DEVICE: none. */
enum cgx_status cgx_cuda_work_create(CUcontext context, const struct cgx_area *area,
                                     struct cgx_cuda_work **work);

/* Frees WORK; local peers' memory must be closed before. False: the staging memory may still be
 * pinned and must never be freed. */
bool cgx_cuda_work_free(struct cgx_cuda_work *work);

/* After CGX_OK the context is current; leave with cgx_cuda_leave. CGX_ERR_DEVICE: the context is
 * gone or broken. */
enum cgx_status cgx_cuda_work_enter(const struct cgx_cuda_work *work);

/* A place in device memory or, if DEVICE is 0, in host memory. */
struct cgx_cuda_place {
    CUdeviceptr device;
    const unsigned char *host;
    bool linked; /* kernels read this memory as fast as copies do */
};

/* Queues a copy to the device on CGX_STREAM_UP; WORK's context is current. */
enum cgx_status cgx_cuda_copy(const struct cgx_cuda_work *work, CUdeviceptr to,
                              const struct cgx_cuda_place *from, size_t bytes);

/* ---- queueing (launch.c) ---- */

/* Queues KERNEL with so many BLOCKS. CGX_ERR_DEVICE: the driver refuses. */
enum cgx_status cgx_cuda_launch_kernel(const struct cgx_cuda_work *work, CUfunction kernel,
                                       uint32_t blocks, struct cgx_kernel_args *args);

/* Queues REQUEST behind what was stored on SLOT. The context must be current. *LAUNCHED has a bit
 * for each family whose kernel was queued, also if others failed. */
enum cgx_status cgx_cuda_launch(struct cgx_cuda_work *work, struct cgx_cuda_slot *slot,
                                const struct cgx_work *request, unsigned *launched);

/* Queues the kernels that encode or sum the uniform pieces of REQUEST, in TILES tiles, with ARGS.
 * CGX_ERR_INVALID, as from the host codec: a piece cannot be encoded. */
enum cgx_status cgx_cuda_launch_uniform(struct cgx_cuda_work *work, const struct cgx_work *request,
                                        uint32_t tiles, struct cgx_kernel_args *args);

/* Orders what is queued next on STREAM behind SLOT's work on the previous stream. */
enum cgx_status cgx_cuda_follow(const struct cgx_cuda_work *work, const struct cgx_cuda_slot *slot,
                                enum cgx_cuda_stream stream);

/* Marks the end of SLOT's work on STREAM so far. */
enum cgx_status cgx_cuda_record(const struct cgx_cuda_work *work, struct cgx_cuda_slot *slot,
                                enum cgx_cuda_stream stream);

/* The device address that mirrors DATA, in the staging memory of SLOT. */
static inline CUdeviceptr cgx_cuda_mirrored(const struct cgx_cuda_slot *slot,
                                            const unsigned char *data)
{
    return slot->mirror + (CUdeviceptr)(data - slot->host);
}

/* Decodes on the processor the pieces that no kernel of LAUNCHED has decoded, which must be done.
 * Otherwise this rank alone would lack a result, and these kernels have changed the history. */
enum cgx_status cgx_cuda_decode_on_host(struct cgx_cuda_work *work, unsigned slot,
                                        const struct cgx_work *request, unsigned launched);

/* ---- memory of local peers (peers.c) ---- */

/* Closes the memory of local peers, if WORK's context still exists. */
void cgx_cuda_work_disconnect(struct cgx_cuda_work *work);

/* Sets *PLACE to the source of BYTES at OFFSET of local peer NUMBER's staging memory, as connected.
 * False: none. */
bool cgx_cuda_peer_at(const struct cgx_cuda_work *work, unsigned number, size_t offset,
                      size_t bytes, struct cgx_cuda_place *place);

/* ---- the backend ---- */

extern const struct cgx_backend_ops cgx_cuda_ops; /* device_backend.c */

/* The work of BACKEND, a device backend. */
static inline struct cgx_cuda_work *cgx_cuda_work_of(struct cgx_backend *backend)
{
    return (struct cgx_cuda_work *)(void *)backend;
}

#endif
