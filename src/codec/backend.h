/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A codec at work for a collective. Payloads lie in staging memory on the host, where MPI finds
 * them; a device backend has a mirror of it beside the caller's buffers, and payloads go from one
 * to the other by fetch and store alone. Work is queued, in order, on slots: while one slot's
 * payloads are on the wire, another's are encoded. */
#ifndef CGX_CODEC_BACKEND_H
#define CGX_CODEC_BACKEND_H

#include "codec/codec.h"

#define CGX_SLOTS 2

/* The staging memory that a backend works on, and the most that one operation is given. */
struct cgx_area {
    unsigned char *staging[CGX_SLOTS]; /* NULL: no such slot */
    size_t bytes;                      /* of each slot */
    size_t pieces;
    size_t shown; /* ranges of payloads */
    size_t sources;
    bool exportable;        /* local peers may be to open what mirrors it */
    bool shares_processors; /* who waits is to sleep: others wait for the processor that it has */
};

/* How payloads come from local peers, the other ranks of the node, to the device of a rank. */
enum cgx_pull {
    CGX_PULL_NONE,   /* the processor copies them to the own staging memory */
    CGX_PULL_HOST,   /* the device copies them from local peers' staging memory; not in a ring */
    CGX_PULL_DEVICE, /* and this from local peers' devices */
};

struct cgx_backend;

/* Memory where a backend's elements are, for what is kept from call to call. It stays when its
 * backend goes, and serves the next one of the same context. */
struct cgx_reserved {
    void *at; /* where the elements are; aligned to 64 */
    size_t bytes;
    void (*drop)(struct cgx_reserved *reserved); /* cgx_reserved_drop */
};

/* Gives RESERVED (or NULL) back, whatever became of its backend or context; nothing that uses it
 * may be queued. */
static inline void cgx_reserved_drop(struct cgx_reserved *reserved)
{
    if (reserved)
        reserved->drop(reserved);
}

struct cgx_backend_ops {
    const char *name;

    /* Before the first operation of a call: what the caller has queued on its buffers comes first.
     * CGX_OK: until end, which the same thread calls whatever came of the call, the backend is at
     * work, and does once what each operation would else do by itself. Backends of one call end in
     * the reverse of the order that they began in. */
    enum cgx_status (*begin)(struct cgx_backend *backend);
    void (*end)(struct cgx_backend *backend);

    /* The payloads and samples of WORK are addresses in the slot's staging memory. It may have been
     * carried out on return, or be queued: then its pieces, ranges and sources have been copied,
     * but the elements must stay until wait. If it returns an error it has queued nothing. */
    enum cgx_status (*run)(struct cgx_backend *backend, unsigned slot, const struct cgx_work *work);

    /* Brings BYTES of what was encoded, reduced or measured to the staging memory. */
    enum cgx_status (*fetch)(struct cgx_backend *backend, unsigned slot, unsigned char *data,
                             size_t bytes);

    /* Takes BYTES of the staging memory for the next reduce or decode, which returns the error if
     * this fails; a measure in between returns it too. */
    void (*store)(struct cgx_backend *backend, unsigned slot, const unsigned char *data,
                  size_t bytes);

    /* As store, of BYTES at OFFSET of the staging memory of PEER or of its mirror, as the backend
     * is connected (cuda/peers.h), to where DATA is mirrored. They must stay there until wait,
     * which returns the error if this fails. */
    void (*pull)(struct cgx_backend *backend, unsigned slot, unsigned peer, size_t offset,
                 const unsigned char *data, size_t bytes);

    /* As pull, but sums, and the next decode on SLOT, read what belongs to DATA where PEER has it,
     * which must leave it there until they have. False: it would take longer than pulling, and is
     * not done. */
    bool (*borrow)(struct cgx_backend *backend, unsigned slot, unsigned peer, size_t offset,
                   const unsigned char *data, size_t bytes);

    /* Until all that is queued on SLOT has been carried out. Only CGX_OK means that the payloads
     * and elements are there; an error is that of any operation since the last wait, of a store
     * too that no operation has returned. */
    enum cgx_status (*wait)(struct cgx_backend *backend, unsigned slot);

    /* Whether BYTES more to reserve are little of the memory that is free where the elements are: 2
     * % at most, with what is reserved there already. Of the host's all are. */
    bool (*has_room)(struct cgx_backend *backend, size_t bytes);

    /* Sets *RESERVED to memory of BYTES, zeros. CGX_ERR_NOMEM, CGX_ERR_DEVICE: there is none. */
    enum cgx_status (*reserve)(struct cgx_backend *backend, size_t bytes,
                               struct cgx_reserved **reserved);

    /* Whether the operations of BACKEND may use RESERVED, which this backend or another has made:
     * it is there still, and where the elements of BACKEND are. */
    bool (*has_reserved)(struct cgx_backend *backend, const struct cgx_reserved *reserved);

    /* Makes RESERVED, which BACKEND holds, zeros again, after all that is queued. After an error it
     * holds anything. */
    enum cgx_status (*clear)(struct cgx_backend *backend, struct cgx_reserved *reserved);

    /* After an error: whether the caller's buffers cannot be reached any more, by other means
     * neither. */
    bool (*lost)(struct cgx_backend *backend);
};

struct cgx_backend {
    const struct cgx_backend_ops *ops;
};

/* cgx_codec_host() as a backend, for buffers that the processor reaches. */
struct cgx_backend *cgx_backend_host(void);

#endif
