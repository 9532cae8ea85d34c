/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Messages between ranks of one node through memory that they share. A rank's staging memory lies
 * in a segment that its local peers, the ranks of its node, can read; in front of it, it tells each
 * of them what is ready and what it has taken. A message is copied once, by who gets it, and a rank
 * writes into its own segment alone.
 *
 * A segment is an anonymous file (memfd_create) that local peers open through /proc: it has no name
 * that could stay behind, no part in the size of /dev/shm, and only the same user can open it. */
#ifndef CGX_COLL_SHM_H
#define CGX_COLL_SHM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topo/nodes.h"
#include "util/status.h"

/* ---- what a rank shares ---- */

struct cgx_shared {
    unsigned char *memory; /* NULL: there is none */
    size_t bytes;
    size_t front; /* bytes before the staging memory; a multiple of the page */
    uint64_t cookie;
    int file; /* -1: closed */
};

/* A segment of BYTES of staging memory, zeros, for a node of LOCAL_PEERS ranks. CGX_ERR_NOMEM: the
 * system has none to give. */
enum cgx_status cgx_shared_create(unsigned local_peers, size_t bytes, struct cgx_shared *segment);

/* Once local peers have attached to it. */
void cgx_shared_close(struct cgx_shared *segment);
void cgx_shared_free(struct cgx_shared *segment);

/* What others need to attach to a segment; of no segment all zeros. */
struct cgx_shared_handle {
    uint64_t process, file, cookie, bytes;
};
struct cgx_shared_handle cgx_shared_handle(const struct cgx_shared *segment);

/* ---- what ranks share with each other ---- */

struct cgx_shm;

/* For rank RANK. NULL if memory is short. */
struct cgx_shm *cgx_shm_create(const struct cgx_nodes *nodes, unsigned rank);
void cgx_shm_free(struct cgx_shm *shm);

/* Attaches to the segments that this rank's local peers offer, as far as they have changed; HANDLES
 * are those of all ranks, and SEGMENT the own. To be called by all local peers between messages.
 * CGX_ERR_INVALID: not all of them can be had, as of processes that do not see each other in /proc;
 * then SHM may no longer be used by any. */
enum cgx_status cgx_shm_attach(struct cgx_shm *shm, const struct cgx_shared *segment,
                               const struct cgx_shared_handle *handles);

/* The segment of PEER as it is mapped here, for reading, until cgx_shm_attach or cgx_shm_free. */
struct cgx_shm_segment {
    const unsigned char *memory; /* NULL: none is attached; whole pages, a cookie at the start */
    size_t bytes;
    size_t front;
    uint64_t cookie;
};
struct cgx_shm_segment cgx_shm_segment(const struct cgx_shm *shm, unsigned peer);

/* ---- messages: one at a time from a rank to another ---- */

/* Whether RANK is a local peer. */
bool cgx_shm_reaches(const struct cgx_shm *shm, unsigned rank);

/* Offers BYTES at DATA, in the own segment, to RANK. They must stay until it has taken them. */
void cgx_shm_send(struct cgx_shm *shm, unsigned rank, const void *data, size_t bytes);
bool cgx_shm_was_taken(const struct cgx_shm *shm, unsigned rank);

struct cgx_shm_message {
    const unsigned char *data;
    size_t bytes;  /* 0: none that was ever sent */
    size_t offset; /* of the data in the staging memory of its sender */
};

/* Whether the next message of RANK is ready: then it stays until it is taken. */
bool cgx_shm_peek(const struct cgx_shm *shm, unsigned rank, struct cgx_shm_message *message);
void cgx_shm_take(struct cgx_shm *shm, unsigned rank);

/* A device may go on reading what was taken, in the memory of its sender, until it is released.
 * Releases all that was taken from all local peers. */
void cgx_shm_release(struct cgx_shm *shm);
bool cgx_shm_was_released(const struct cgx_shm *shm, unsigned rank);

#endif
