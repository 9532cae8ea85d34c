/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Shared memory as others may find or leave it: who can open a segment, what of offers is refused,
 * and that words which a local peer has written, whatever they are, lead nowhere outside it. */

#define _GNU_SOURCE /* memfd_create */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coll/shm.h"
#include "lib/tap.h"

#define RANKS 2
#define BYTES 8192
#define STRANGER 65534

/* Where in a segment its words are: where staging memory begins, and by local peer what
 * is ready, at which offset and how much of it. */
enum { STAGING = 8, BOXES = 128, READY = 0, OFFSET = 8, LENGTH = 16 };

static struct cgx_nodes *nodes;
static struct cgx_shared segments[RANKS];
static struct cgx_shared_handle handles[RANKS];

static void set_word(unsigned rank, size_t at, uint64_t value)
{
    memcpy(segments[rank].memory + at, &value, sizeof value);
}

static bool attaches(struct cgx_shm *shm)
{
    return cgx_shm_attach(shm, &segments[0], handles, sizeof *handles) == CGX_OK;
}

/* Whether rank 0 can attach to what rank 1 offers. */
static bool is_taken(void)
{
    struct cgx_shm *shm = cgx_shm_create(nodes, 0);
    bool taken = attaches(shm);

    cgx_shm_free(shm);
    return taken;
}

static void test_offers(void)
{
    static const uint64_t lengths[] = {0, 1, 4096, BYTES, BYTES + 4095, UINT64_MAX};
    const struct cgx_shared_handle handle = handles[1];
    uint64_t staging = segments[1].front;
    bool refused = true;
    int other = memfd_create("other", MFD_CLOEXEC);

    ok(is_taken(), "a segment is attached to");
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        handles[1].bytes = lengths[i];
        refused = refused && !is_taken();
    }
    ok(refused, "lengths that are not the segment's are refused");
    handles[1] = handle;
    handles[1].cookie++;
    ok(!is_taken(), "another cookie is refused");
    handles[1] = handle;
    handles[1].file = (uint64_t)other;
    ok(write(other, segments[1].memory, handle.bytes) == (ssize_t)handle.bytes && !is_taken(),
       "a file of another name is refused, whatever is in it");
    handles[1] = handle;
    refused = true;
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t said = staging ^ UINT64_C(1) << bit;

        set_word(1, STAGING, said);
        refused = refused && is_taken() == (said > staging && said <= handle.bytes && bit >= 12);
    }
    set_word(1, STAGING, staging);
    ok(refused, "staging memory that begins in front, at no page or behind the end is refused");
    close(other);
}

/* Whether a message of these words is one of no bytes, or lies in the segment. */
static bool is_inside(const struct cgx_shm *shm, uint64_t offset, uint64_t bytes)
{
    struct cgx_peer_segment segment = cgx_shm_segment(shm, 1);
    struct cgx_shm_message message;
    size_t begin;

    set_word(1, BOXES + OFFSET, offset);
    set_word(1, BOXES + LENGTH, bytes);
    set_word(1, BOXES + READY, 1);
    if (!cgx_shm_peek(shm, 1, &message))
        return false;
    begin = (size_t)(message.data - segment.memory);
    return begin >= segment.front && begin <= segment.bytes &&
           message.bytes <= segment.bytes - begin && message.offset == begin - segment.front &&
           (message.bytes == 0 || message.bytes == bytes);
}

static void test_words(void)
{
    const uint64_t front = segments[1].front, end = segments[1].bytes;
    const uint64_t edges[] = {0,        1,          front - 1,      front,      front + 1,
                              end - 1,  end,        end + 1,        BYTES,      BYTES + 1,
                              1u << 31, UINT32_MAX, UINT64_MAX - 1, UINT64_MAX, UINT64_MAX - front};
    const size_t count = sizeof edges / sizeof *edges;
    struct cgx_shm *shm = cgx_shm_create(nodes, 0);
    struct cgx_peer_segment segment;
    bool inside = attaches(shm);

    for (size_t i = 0; i < count * count; i++)
        inside = inside && is_inside(shm, edges[i / count], edges[i % count]);
    ok(inside, "messages of any offset and length lie inside the segment");
    set_word(1, STAGING, UINT64_MAX);
    segment = cgx_shm_segment(shm, 1);
    ok(segment.front == front, "where staging memory begins is asked once");
    for (size_t i = 0; i < count * count; i++)
        inside = inside && is_inside(shm, edges[i / count], edges[i % count]);
    ok(inside, "the same when it is said to begin elsewhere");
    set_word(1, STAGING, front);
    set_word(1, BOXES + READY, 7);
    ok(!cgx_shm_peek(shm, 1, &(struct cgx_shm_message){0}), "a message of another number is none");
    cgx_shm_free(shm);
}

/* As another user, who has no capabilities. */
static bool stranger_opens(const char *path)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        if (setgid(STRANGER) != 0 || setuid(STRANGER) != 0)
            _exit(2);
        _exit(open(path, O_RDONLY) >= 0);
    }
    waitpid(child, &status, 0);
    return status != 0;
}

static void test_access(void)
{
    char path[64];
    struct stat about;
    int file = segments[1].file;

    ok(fstat(file, &about) == 0 && (about.st_mode & 07777) == 0600, "its permissions are 0600");
    ok(about.st_nlink == 0, "it has no name");
    ok(ftruncate(file, 4096) != 0 && ftruncate(file, 1 << 20) != 0,
       "it can neither shrink nor grow under those who read it");
    ok((fcntl(file, F_GET_SEALS) & F_SEAL_SEAL) != 0, "nobody can forbid writing it");
    ok((fcntl(file, F_GETFD) & FD_CLOEXEC) != 0, "programs that are started do not have it");
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), file);
    if (geteuid() == 0)
        ok(!stranger_opens(path), "another user cannot open it");
    else
        skip("another user cannot open it", "not root");
    ok(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, open(path, O_RDONLY), 0) == MAP_FAILED,
       "who opens it to read cannot write");
}

int main(void)
{
    nodes = cgx_nodes_create((int[RANKS]){0}, RANKS);
    for (unsigned i = 0; i < RANKS; i++) {
        if (!nodes || cgx_shared_create(RANKS, BYTES, &segments[i]) != CGX_OK)
            bail_out("no shared memory");
        handles[i] = cgx_shared_handle(&segments[i]);
    }
    test_offers();
    test_words();
    test_access();
    for (unsigned i = 0; i < RANKS; i++)
        cgx_shared_free(&segments[i]);
    cgx_nodes_free(nodes);
    return done_testing();
}
