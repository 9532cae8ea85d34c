/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Messages between ranks of one node through shared memory. A rank's staging memory lies in a
 * segment that its local peers, the ranks of its node, can read. The front of the segment tells
 * each of them which messages are ready and which the rank has taken. The receiver copies a
 * message, once; a rank writes only to its own segment.
 *
 * A segment is an anonymous file (memfd_create) that local peers open through /proc. It leaves no
 * name behind, does not count towards the size of /dev/shm, and can only be opened by the same
 * user. */
#ifndef CGX_COLL_SHM_H
#define CGX_COLL_SHM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/backend.h"
#include "topo/nodes.h"
#include "util/status.h"

/* ---- segments ---- */

struct cgx_shared {
    unsigned char *memory; /* NULL: no segment */
    size_t bytes;
    size_t front; /* bytes before the staging memory; a multiple of the page */
    uint64_t cookie;
    int file; /* -1: closed */
};

/* Creates a segment with BYTES of zeroed staging memory for a node of LOCAL_PEERS ranks.
 * CGX_ERR_NOMEM: the system has no memory for it. */
enum cgx_status cgx_shared_create(unsigned local_peers, size_t bytes, struct cgx_shared *segment);

/* Closes the file; to be called when local peers have attached to it. */
void cgx_shared_close(struct cgx_shared *segment);
void cgx_shared_free(struct cgx_shared *segment);

/* What local peers need to attach to a segment; all zeros: no segment. */
struct cgx_shared_handle {
    uint64_t process, file, cookie, bytes;
};
struct cgx_shared_handle cgx_shared_handle(const struct cgx_shared *segment);

/* ---- local peers ---- */

struct cgx_shm;

/* The local peers of RANK, not yet attached to. NULL if memory is short. */
struct cgx_shm *cgx_shm_create(const struct cgx_nodes *nodes, unsigned rank);
void cgx_shm_free(struct cgx_shm *shm);

/* Attaches to the segments of this rank's local peers that have changed. HANDLES are those of all
 * ranks, STRIDE bytes apart; SEGMENT is this rank's own. All local peers must call this between
 * messages. CGX_ERR_INVALID: not all segments can be opened, for instance since processes do not
 * see each other in /proc; then no local peer may use SHM any more. */
enum cgx_status cgx_shm_attach(struct cgx_shm *shm, const struct cgx_shared *segment,
                               const struct cgx_shared_handle *handles, size_t stride);

/* The segment of PEER, mapped until cgx_shm_attach or cgx_shm_free. */
struct cgx_peer_segment cgx_shm_segment(const struct cgx_shm *shm, unsigned peer);

/* ---- messages: one at a time between a sender and a receiver ---- */

bool cgx_shm_reaches(const struct cgx_shm *shm, unsigned rank);

/* Offers BYTES at DATA, in this rank's segment, to RANK. The bytes must not change until RANK has
 * taken them (cgx_shm_was_taken). */
void cgx_shm_send(struct cgx_shm *shm, unsigned rank, const void *data, size_t bytes);
bool cgx_shm_was_taken(const struct cgx_shm *shm, unsigned rank);

struct cgx_shm_message {
    const unsigned char *data;
    size_t bytes;  /* 0: invalid, never sent */
    size_t offset; /* offset of the data in the sender's staging memory */
};

/* Whether the next message from RANK is ready. The message then stays until it is taken. */
bool cgx_shm_peek(const struct cgx_shm *shm, unsigned rank, struct cgx_shm_message *message);
void cgx_shm_take(struct cgx_shm *shm, unsigned rank);

/* A device may read taken messages in their senders' memory until they are released.
 * cgx_shm_release releases all messages taken from all local peers. */
void cgx_shm_release(struct cgx_shm *shm);
bool cgx_shm_was_released(const struct cgx_shm *shm, unsigned rank);

#endif
