/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#define _GNU_SOURCE /* memfd_create */

#include "coll/shm.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/hash.h"
#include "util/integers.h"
#include "util/pages.h"

#define PAGE 4096
#define NAME "cgxpmpi"

/* What a rank writes for one local peer. Messages between the two are numbered from 1. Each half
 * has its own pair of cache lines, since processors fetch lines in pairs. */
struct box {
    _Alignas(128) _Atomic uint64_t ready; /* number of the message at OFFSET */
    _Atomic uint64_t offset, bytes;       /* atomic, so that they are read once */
    /* Numbers of the last message from the local peer that was copied, and of the last that is no
     * longer read. */
    _Alignas(128) _Atomic uint64_t taken;
    _Atomic uint64_t released;
};

struct front {
    uint64_t cookie;
    _Atomic uint64_t staging; /* offset of the staging memory */
    struct box boxes[];       /* by local peer */
};

/* ---- segments ---- */

static size_t whole_pages(size_t bytes)
{
    return cgx_round_up(bytes, PAGE);
}

static size_t front_bytes(unsigned local_peers)
{
    return whole_pages(sizeof(struct front) + local_peers * sizeof(struct box));
}

/* Whether a file may have BYTES; beyond the limit the system would send SIGXFSZ. */
static bool is_within_limit(size_t bytes)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || bytes <= limit.rlim_cur;
}

enum cgx_status cgx_shared_create(unsigned local_peers, size_t bytes, struct cgx_shared *segment)
{
    struct cgx_shared made = {.front = front_bytes(local_peers)};

    made.bytes = made.front + whole_pages(bytes);
    if (!is_within_limit(made.bytes))
        return CGX_ERR_NOMEM;
    made.file = memfd_create(NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (made.file < 0)
        return CGX_ERR_NOMEM;
    if (fchmod(made.file, S_IRUSR | S_IWUSR) != 0 || ftruncate(made.file, (off_t)made.bytes) != 0)
        goto close_file;
    /* The size is sealed, since reads beyond the end of a file raise SIGBUS. */
    (void)fcntl(made.file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    made.memory = cgx_pages_map(made.bytes, made.file);
    if (!made.memory)
        goto close_file;
    made.cookie = cgx_cookie();
    *(struct front *)(void *)made.memory =
        (struct front){.cookie = made.cookie, .staging = made.front};
    *segment = made;
    return CGX_OK;
close_file:
    close(made.file);
    return CGX_ERR_NOMEM;
}

void cgx_shared_close(struct cgx_shared *segment)
{
    if (segment->memory && segment->file >= 0)
        close(segment->file);
    segment->file = -1;
}

void cgx_shared_free(struct cgx_shared *segment)
{
    cgx_shared_close(segment);
    cgx_pages_unmap(segment->memory, segment->bytes);
    segment->memory = NULL;
}

struct cgx_shared_handle cgx_shared_handle(const struct cgx_shared *segment)
{
    if (!segment->memory)
        return (struct cgx_shared_handle){0};
    return (struct cgx_shared_handle){.process = (uint64_t)getpid(),
                                      .file = (uint64_t)segment->file,
                                      .cookie = segment->cookie,
                                      .bytes = segment->bytes};
}

/* ---- local peers ---- */

struct peer {
    struct cgx_peer_segment segment; /* as the peer said when this rank attached */
    uint64_t sent, received;         /* numbers of messages */
};

struct cgx_shm {
    const struct cgx_nodes *nodes;
    unsigned node, self; /* this rank's node, and its number there */
    unsigned npeers;
    struct front *front;
    struct peer local_peers[];
};

struct cgx_shm *cgx_shm_create(const struct cgx_nodes *nodes, unsigned rank)
{
    unsigned node = nodes->node[rank], npeers = nodes->first[node + 1] - nodes->first[node];
    struct cgx_shm *shm = calloc(1, sizeof *shm + npeers * sizeof shm->local_peers[0]);

    if (!shm)
        return NULL;
    shm->nodes = nodes;
    shm->node = node;
    shm->self = nodes->local[rank];
    shm->npeers = npeers;
    return shm;
}

static void detach_peer(struct peer *peer)
{
    if (peer->segment.memory)
        munmap((void *)peer->segment.memory, peer->segment.bytes);
    peer->segment.memory = NULL;
}

void cgx_shm_free(struct cgx_shm *shm)
{
    if (!shm)
        return;
    for (unsigned i = 0; i < shm->npeers; i++)
        detach_peer(&shm->local_peers[i]);
    free(shm);
}

/* Opens HANDLE's file, or returns -1 if it is no segment. Checks the name first: in this container
 * the number may be another process's, and opening some files has side effects. */
static int open_handle(const struct cgx_shared_handle *handle)
{
    static const char expected[] = "/memfd:" NAME;
    char path[64], target[sizeof expected] = "";
    struct stat status;
    int file;

    snprintf(path, sizeof path, "/proc/%llu/fd/%llu", (unsigned long long)handle->process,
             (unsigned long long)handle->file);
    if (readlink(path, target, sizeof target - 1) < 0 || strcmp(target, expected) != 0)
        return -1;
    /* Opened for writing too, since most drivers register no read-only memory (cuda/peers.c), and
     * without blocking, since the file may have become a pipe. */
    file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (file >= 0 && (fstat(file, &status) != 0 || (uint64_t)status.st_size != handle->bytes)) {
        close(file);
        return -1;
    }
    return file;
}

/* Attaches to PEER's segment. NPEERS: the number of ranks of the node. */
static enum cgx_status attach_peer(struct peer *peer, const struct cgx_shared_handle *handle,
                                   unsigned npeers)
{
    struct cgx_peer_segment *segment = &peer->segment;
    const struct front *front;
    void *memory;
    int file;

    detach_peer(peer);
    if (handle->bytes < front_bytes(npeers))
        return CGX_ERR_INVALID;
    file = open_handle(handle);
    if (file < 0)
        return CGX_ERR_INVALID;
    memory = mmap(NULL, handle->bytes, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED)
        return CGX_ERR_INVALID;
    front = memory;
    *segment = (struct cgx_peer_segment){memory, handle->bytes, front->staging, handle->cookie};
    return front->cookie == handle->cookie && segment->front >= front_bytes(npeers) &&
                   segment->front <= segment->bytes && segment->front % PAGE == 0
               ? CGX_OK
               : CGX_ERR_INVALID;
}

enum cgx_status cgx_shm_attach(struct cgx_shm *shm, const struct cgx_shared *segment,
                               const struct cgx_shared_handle *handles, size_t stride)
{
    const unsigned *ranks = shm->nodes->members + shm->nodes->first[shm->node];

    shm->front = (struct front *)(void *)segment->memory;
    for (unsigned i = 0; i < shm->npeers; i++) {
        const struct cgx_shared_handle *handle =
            (const void *)((const unsigned char *)handles + ranks[i] * stride);
        struct peer *peer = &shm->local_peers[i];

        if (i == shm->self || (peer->segment.memory && peer->segment.cookie == handle->cookie))
            continue;
        if (handle->bytes == 0 || attach_peer(peer, handle, shm->npeers) != CGX_OK)
            return CGX_ERR_INVALID;
    }
    return shm->front ? CGX_OK : CGX_ERR_INVALID;
}

struct cgx_peer_segment cgx_shm_segment(const struct cgx_shm *shm, unsigned peer)
{
    return shm->local_peers[peer].segment;
}

/* ---- messages ---- */

/* What PEER has written for this rank. */
static const struct box *box_of(const struct cgx_shm *shm, const struct peer *peer)
{
    return &((const struct front *)(const void *)peer->segment.memory)->boxes[shm->self];
}

bool cgx_shm_reaches(const struct cgx_shm *shm, unsigned rank)
{
    return shm->nodes->node[rank] == shm->node;
}

void cgx_shm_send(struct cgx_shm *shm, unsigned rank, const void *data, size_t bytes)
{
    unsigned number = shm->nodes->local[rank];
    struct box *box = &shm->front->boxes[number];

    atomic_store_explicit(
        &box->offset, (uint64_t)((const unsigned char *)data - (const unsigned char *)shm->front),
        memory_order_relaxed);
    atomic_store_explicit(&box->bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&box->ready, ++shm->local_peers[number].sent, memory_order_release);
}

bool cgx_shm_was_taken(const struct cgx_shm *shm, unsigned rank)
{
    const struct peer *peer = &shm->local_peers[shm->nodes->local[rank]];

    return atomic_load_explicit(&box_of(shm, peer)->taken, memory_order_acquire) == peer->sent;
}

bool cgx_shm_peek(const struct cgx_shm *shm, unsigned rank, struct cgx_shm_message *message)
{
    const struct peer *peer = &shm->local_peers[shm->nodes->local[rank]];
    const struct cgx_peer_segment *segment = &peer->segment;
    const struct box *box = box_of(shm, peer);
    uint64_t offset, bytes;

    if (atomic_load_explicit(&box->ready, memory_order_acquire) != peer->received + 1)
        return false;
    offset = atomic_load_explicit(&box->offset, memory_order_relaxed);
    bytes = atomic_load_explicit(&box->bytes, memory_order_relaxed);
    if (offset < segment->front || offset > segment->bytes || bytes > segment->bytes - offset)
        offset = segment->front, bytes = 0;
    *message = (struct cgx_shm_message){.data = segment->memory + offset,
                                        .bytes = (size_t)bytes,
                                        .offset = (size_t)(offset - segment->front)};
    return true;
}

void cgx_shm_take(struct cgx_shm *shm, unsigned rank)
{
    unsigned number = shm->nodes->local[rank];

    atomic_store_explicit(&shm->front->boxes[number].taken, ++shm->local_peers[number].received,
                          memory_order_release);
}

void cgx_shm_release(struct cgx_shm *shm)
{
    for (unsigned i = 0; i < shm->npeers; i++)
        atomic_store_explicit(&shm->front->boxes[i].released, shm->local_peers[i].received,
                              memory_order_release);
}

bool cgx_shm_was_released(const struct cgx_shm *shm, unsigned rank)
{
    const struct peer *peer = &shm->local_peers[shm->nodes->local[rank]];

    return atomic_load_explicit(&box_of(shm, peer)->released, memory_order_acquire) == peer->sent;
}
