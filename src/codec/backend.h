/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A codec that runs the operations of one call. MPI finds payloads in staging memory on the host. A
 * device backend mirrors that memory on the device, beside the caller's buffers; fetch and store
 * copy between memory and mirror. Work is queued on slots and runs in order: while the payloads of
 * one slot are on the wire, those of the other are encoded. */
#ifndef CGX_CODEC_BACKEND_H
#define CGX_CODEC_BACKEND_H

#include "codec/codec.h"

#define CGX_SLOTS 2

/* The staging memory that a backend works on, and the largest counts that one operation may
 * have. */
struct cgx_area {
    unsigned char *staging[CGX_SLOTS]; /* NULL: no such slot */
    size_t bytes;                      /* bytes of each slot */
    size_t pieces;
    size_t sources;
    bool exportable;        /* local peers may open the mirror */
    bool shares_processors; /* ranks share processors: waiting must sleep, not poll */
};

/* How payloads reach this rank's device from local peers, the other ranks of its node. */
enum cgx_pull {
    CGX_PULL_NONE,   /* the processor copies them into this rank's staging memory */
    CGX_PULL_HOST,   /* the device copies them from peers' staging memory */
    CGX_PULL_DEVICE, /* the device copies them from peers' devices */
};

/* The segment that a local peer's staging memory lies in, mapped here for reading. */
struct cgx_peer_segment {
    const unsigned char *memory; /* whole pages that begin with the cookie; NULL: not mapped */
    size_t bytes;
    size_t front; /* offset of the staging memory */
    uint64_t cookie;
};

/* COUNT runs of BYTES each, STRIDE bytes apart from AT on, both multiples of 4. */
struct cgx_strided {
    const void *at;
    size_t bytes, stride, count;
};
#define CGX_READ_RUNS 256 /* the most runs that a backend reads */
#define CGX_READ_BYTES 16 /* the most bytes of each run */

struct cgx_backend;

/* Memory that keeps state between calls, where the backend's elements are (host or device). It
 * outlives its backend and serves the next backend of the same context. */
struct cgx_reserved {
    void *at; /* aligned to 64 bytes */
    size_t bytes;
    void (*drop)(struct cgx_reserved *reserved); /* called by cgx_reserved_drop */
};

/* Frees RESERVED (or NULL), also after its backend or context has gone. No queued work may use
 * it. */
static inline void cgx_reserved_drop(struct cgx_reserved *reserved)
{
    if (reserved)
        reserved->drop(reserved);
}

struct cgx_backend_ops {
    /* begin orders a call after all that the caller has queued on its buffers. If begin returns
     * CGX_OK, the same thread must call end, whatever became of the call. Only in between may it
     * call read, run, fetch, store, pull, borrow and wait. */
    enum cgx_status (*begin)(struct cgx_backend *backend);
    void (*end)(struct cgx_backend *backend);

    /* Copies RUNS of the caller's buffer, in the order of begin, to TO, one behind the other. */
    enum cgx_status (*read)(struct cgx_backend *backend, const struct cgx_strided *runs,
                            unsigned char *to);

    /* Runs WORK, or queues it. Payloads are addresses in the slot's staging memory.
     * WORK's pieces and sources are copied; the elements must stay valid until wait. After
     * an error nothing is queued. */
    enum cgx_status (*run)(struct cgx_backend *backend, unsigned slot, const struct cgx_work *work);

    /* Copies BYTES of encoded or reduced data to the staging memory. */
    enum cgx_status (*fetch)(struct cgx_backend *backend, unsigned slot, unsigned char *data,
                             size_t bytes);

    /* Gives BYTES of the staging memory, perhaps 0, to the next reduce or decode. That operation
     * returns the error if this fails. */
    void (*store)(struct cgx_backend *backend, unsigned slot, const unsigned char *data,
                  size_t bytes);

    /* Like store, but copies BYTES from OFFSET of the staging memory of PEER, or of its mirror, as
     * connected (cuda/device_backend.h), to the mirror of DATA. The source must not change until
     * wait, which returns the error if this fails. */
    void (*pull)(struct cgx_backend *backend, unsigned slot, unsigned peer, size_t offset,
                 const unsigned char *data, size_t bytes);

    /* Like pull, but without a copy: sums, and the next decode on SLOT, read PEER's data in place
     * of DATA. PEER must leave the data unchanged until they have read it. False: a pull would be
     * faster, and nothing was done. */
    bool (*borrow)(struct cgx_backend *backend, unsigned slot, unsigned peer, size_t offset,
                   const unsigned char *data, size_t bytes);

    /* Waits until all work queued on SLOT is done. Payloads and elements are valid only after
     * CGX_OK. An error is that of any operation since the last wait, or of a store whose error no
     * operation has returned. */
    enum cgx_status (*wait)(struct cgx_backend *backend, unsigned slot);

    /* Whether BYTES more may be reserved: with all reserved so far, at most 2 % of the memory that
     * is free where the elements are. Always true on the host. */
    bool (*has_room)(struct cgx_backend *backend, size_t bytes);

    /* Sets *RESERVED to BYTES of zeros. CGX_ERR_NOMEM, CGX_ERR_DEVICE: no memory. */
    enum cgx_status (*reserve)(struct cgx_backend *backend, size_t bytes,
                               struct cgx_reserved **reserved);

    /* Whether BACKEND may use RESERVED, whichever backend made it: the memory still exists and is
     * where BACKEND's elements are. */
    bool (*has_reserved)(struct cgx_backend *backend, const struct cgx_reserved *reserved);

    /* Says after an error whether the caller's buffers cannot be reached by any means. */
    bool (*lost)(struct cgx_backend *backend);
};

struct cgx_backend {
    const struct cgx_backend_ops *ops;
    enum cgx_pull connection; /* how it can pull (cuda/device_backend.h) */
};

/* cgx_codec_host() as a backend, for buffers that the processor can access. */
struct cgx_backend *cgx_backend_host(void);

#endif
