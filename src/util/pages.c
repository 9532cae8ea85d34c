/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#define _GNU_SOURCE /* MADV_DONTFORK, mremap */

#include "util/pages.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/integers.h"

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

void *cgx_pages_map(size_t bytes, int file)
{
    int flags = file < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
    unsigned char *memory;
    size_t used, mapped;

    if (bytes > PTRDIFF_MAX)
        return NULL;
    used = cgx_round_up(bytes, page_bytes());
    mapped = used + page_bytes();
    memory = mmap(NULL, mapped, PROT_READ | PROT_WRITE, flags, file, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (mprotect(memory + used, page_bytes(), PROT_NONE) != 0) {
        munmap(memory, mapped);
        return NULL;
    }
    madvise(memory, mapped, MADV_DONTFORK);
    return memory;
}

void *cgx_pages_again(const void *memory, size_t bytes, bool writable)
{
    void *again = mremap((void *)memory, 0, bytes, MREMAP_MAYMOVE);

    if (again == MAP_FAILED)
        return NULL;
    if (writable && mprotect(again, bytes, PROT_READ | PROT_WRITE) != 0) {
        munmap(again, bytes);
        return NULL;
    }
    return again;
}

void cgx_pages_unmap(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, cgx_round_up(bytes, page_bytes()) + page_bytes());
}

void *cgx_sparse_map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

void cgx_sparse_unmap(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes);
}
