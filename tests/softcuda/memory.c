/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Memory. Allocations are cut one after another from reserved address space, between guard pages,
 * and their addresses are never given out again. They end as close to the guard page as their
 * alignment lets them; what is left beside them in their pages is poisoned for AddressSanitizer and
 * otherwise filled with bytes that are checked after each kernel and when they are freed. */

#define _GNU_SOURCE /* MAP_NORESERVE, MREMAP_FIXED, syscall */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "driver.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(start, bytes) ((void)(start), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(start, bytes) ((void)(start), (void)(bytes))
#endif

#define PAGE ((size_t)4096)
#define ALIGNMENT ((size_t)256)
#define ARENA_MOST ((size_t)1 << 40)
#define ARENA_LEAST ((size_t)1 << 34)
enum { FRESH = 0xC5, BESIDE = 0xA7 };

static size_t arena_bytes;
static unsigned char *arena, *unused; /* reserved; where the part begins that was never given out */
static struct softcuda_allocation **allocations; /* by address */
static size_t count, room;

static size_t round_up(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

bool softcuda_memory_is_arena(const void *address)
{
    const unsigned char *byte = address;

    return arena && byte >= arena && byte < arena + arena_bytes;
}

/* ---- the table ---- */

/* The number of allocations that begin at ADDRESS or before. */
static size_t count_up_to(const void *address)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if ((uintptr_t)allocations[middle]->start <= (uintptr_t)address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool softcuda_memory_insert(const struct softcuda_allocation *allocation)
{
    static unsigned long long ids;
    size_t place = count_up_to(allocation->start);
    struct softcuda_allocation *kept;

    if (count == room) {
        size_t more = room == 0 ? 64 : 2 * room;
        struct softcuda_allocation **table = realloc(allocations, more * sizeof *table);

        if (table == NULL)
            return false;
        allocations = table;
        room = more;
    }
    kept = malloc(sizeof *kept);
    if (kept == NULL)
        return false;
    *kept = *allocation;
    kept->id = ++ids;
    memmove(allocations + place + 1, allocations + place, (count - place) * sizeof *allocations);
    allocations[place] = kept;
    count++;
    softcuda_counts.live++;
    return true;
}

static void erase(struct softcuda_allocation *allocation)
{
    size_t place = count_up_to(allocation->start) - 1;

    memmove(allocations + place, allocations + place + 1,
            (count - place - 1) * sizeof *allocations);
    count--;
    softcuda_counts.live--;
    softcuda_fork_forget(allocation);
    free(allocation);
}

/* Whether allocation number NEXT goes on where the one before ends. */
static bool goes_on(size_t next)
{
    return next < count && allocations[next]->mapped_by_hand &&
           allocations[next - 1]->mapped_by_hand &&
           allocations[next - 1]->start + allocations[next - 1]->bytes == allocations[next]->start;
}

enum softcuda_memory softcuda_memory_find(const void *address, size_t bytes,
                                          struct softcuda_allocation **allocation)
{
    uintptr_t from = (uintptr_t)address;
    size_t below = count_up_to(address);
    struct softcuda_allocation *before = below > 0 ? allocations[below - 1] : NULL;

    if (before && from - (uintptr_t)before->start < before->bytes) {
        size_t there = before->bytes - (from - (uintptr_t)before->start);

        for (; there < bytes && goes_on(below); below++)
            there += allocations[below]->bytes;
        if (there < bytes)
            return SOFTCUDA_BAD;
        if (allocation)
            *allocation = before;
        return before->memory;
    }
    if (softcuda_memory_is_arena(address) ||
        (below < count && (uintptr_t)allocations[below]->start - from < bytes))
        return SOFTCUDA_BAD;
    return SOFTCUDA_PAGEABLE;
}

struct softcuda_allocation *softcuda_memory_next(const struct softcuda_allocation *allocation,
                                                 const void *address, size_t bytes)
{
    size_t next = count_up_to(allocation->start);

    return next < count && (uintptr_t)allocations[next]->start - (uintptr_t)address < bytes
               ? allocations[next]
               : NULL;
}

struct softcuda_allocation *softcuda_memory_at(size_t n)
{
    return n < count ? allocations[n] : NULL;
}

/* ---- access ---- */

bool softcuda_memory_is_reachable(const struct softcuda_allocation *allocation,
                                  const struct softcuda_context *context)
{
    if (allocation->mapped_by_hand)
        return allocation->has_access && allocation->device == context->device;
    return allocation->memory != SOFTCUDA_DEVICE || allocation->context == context->home ||
           (allocation->pooled && allocation->device == context->device);
}

static void give_up(const char *what)
{
    perror(what);
    abort();
}

static void protect(const struct softcuda_allocation *allocation, bool accessible)
{
    if (mprotect(allocation->pages, allocation->mapped,
                 accessible ? PROT_READ | PROT_WRITE : PROT_NONE) != 0)
        give_up("softcuda: mprotect");
}

/* What is gone stays without access. */
void softcuda_memory_expose(const struct softcuda_allocation *allocation, bool accessible)
{
    if (allocation->memory == SOFTCUDA_DEVICE)
        protect(allocation, accessible && !softcuda_share_is_gone(allocation));
}

void softcuda_memory_expose_all(const struct softcuda_context *context, bool accessible)
{
    for (size_t i = 0; i < count; i++) {
        if (softcuda_memory_is_reachable(allocations[i], context))
            softcuda_memory_expose(allocations[i], accessible);
    }
}

static bool is_untouched(const unsigned char *from, const unsigned char *to)
{
#ifndef __SANITIZE_ADDRESS__
    for (; from < to; from++) {
        if (*from != BESIDE)
            return false;
    }
#else
    (void)from, (void)to;
#endif
    return true;
}

/* Of memory that is accessible, or gone. */
static bool is_intact(const struct softcuda_allocation *allocation)
{
    const unsigned char *start = allocation->start, *last = start + allocation->bytes;

    if (allocation->memory == SOFTCUDA_REGISTERED || softcuda_share_is_gone(allocation) ||
        (is_untouched(allocation->pages, start) &&
         is_untouched(last, allocation->pages + allocation->mapped)))
        return true;
    fprintf(stderr, "softcuda: something was written beside the %zu bytes at %p\n",
            allocation->bytes, (const void *)start);
    return false;
}

bool softcuda_memory_is_intact(const struct softcuda_context *context)
{
    bool intact = true;

    for (size_t i = 0; i < count; i++) {
        if (softcuda_memory_is_reachable(allocations[i], context))
            intact = is_intact(allocations[i]) && intact;
    }
    return intact;
}

/* ---- pages ---- */

/* ThreadSanitizer, or a limit of the process, may leave no room for the most. */
static bool reserve_arena(void)
{
    for (size_t bytes = ARENA_MOST; bytes >= ARENA_LEAST; bytes /= 2) {
        void *space =
            mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (space != MAP_FAILED) {
            arena = unused = space;
            arena_bytes = bytes;
            return true;
        }
    }
    return false;
}

/* Address space for MAPPED bytes, between guard pages; NULL: there is no more. */
static unsigned char *reserve(size_t mapped)
{
    unsigned char *pages;

    if (arena == NULL && !reserve_arena())
        return NULL;
    if (mapped + 2 * PAGE > (size_t)(arena + arena_bytes - unused))
        return NULL;
    pages = unused + PAGE;
    if (mprotect(pages, mapped, PROT_READ | PROT_WRITE) != 0)
        return NULL;
    unused = pages + mapped;
    return pages;
}

unsigned char *softcuda_memory_reserve(size_t bytes, size_t alignment)
{
    unsigned char *start;

    if (arena == NULL && !reserve_arena())
        return NULL;
    start = (unsigned char *)round_up((uintptr_t)unused + PAGE, alignment);
    if (bytes + PAGE > (size_t)(arena + arena_bytes - start))
        return NULL;
    unused = start + bytes;
    return start;
}

/* The last bytes of its pages, as far as the alignment goes. */
static bool place(struct softcuda_allocation *allocation, size_t bytes)
{
    allocation->mapped = round_up(bytes, PAGE);
    allocation->pages = reserve(allocation->mapped);
    if (allocation->pages == NULL)
        return false;
    allocation->bytes = bytes;
    allocation->start = allocation->pages + allocation->mapped - round_up(bytes, ALIGNMENT);
    return true;
}

static void poison_beside(const struct softcuda_allocation *allocation)
{
    ASAN_POISON_MEMORY_REGION(allocation->pages, allocation->mapped);
    ASAN_UNPOISON_MEMORY_REGION(allocation->start, allocation->bytes);
}

bool softcuda_memory_map(struct softcuda_allocation *allocation, size_t bytes)
{
    if (!place(allocation, bytes))
        return false;
    memset(allocation->pages, BESIDE, (size_t)(allocation->start - allocation->pages));
    memset(allocation->start, FRESH, bytes);
    memset(allocation->start + bytes, BESIDE, round_up(bytes, ALIGNMENT) - bytes);
    poison_beside(allocation);
    softcuda_memory_expose(allocation, false);
    return true;
}

static void *map(size_t bytes, int file, off_t offset)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, offset);

    return pages != MAP_FAILED ? pages : NULL;
}

void softcuda_memory_replace(const struct softcuda_allocation *allocation, void *copy)
{
    /* Not by the C library's function: what UCX puts in its place forgets the fifth argument. */
    if (syscall(SYS_mremap, copy, allocation->mapped, allocation->mapped,
                MREMAP_MAYMOVE | MREMAP_FIXED, allocation->pages) == -1)
        give_up("softcuda: mremap");
    poison_beside(allocation);
    softcuda_memory_expose(allocation, false);
}

void *softcuda_memory_copy(const struct softcuda_allocation *allocation, int file, off_t offset)
{
    void *copy = map(allocation->mapped, file, offset);

    if (copy == NULL)
        return NULL;
    protect(allocation, true); /* another process may free it at any time */
    ASAN_UNPOISON_MEMORY_REGION(allocation->pages, allocation->mapped);
    memcpy(copy, allocation->pages, allocation->mapped);
    poison_beside(allocation);
    softcuda_memory_expose(allocation, false);
    return copy;
}

bool softcuda_memory_map_file(struct softcuda_allocation *allocation, size_t bytes, int file,
                              off_t offset)
{
    void *pages = map(round_up(bytes, PAGE), file, offset);

    if (pages == NULL)
        return false;
    if (!place(allocation, bytes)) {
        munmap(pages, round_up(bytes, PAGE));
        return false;
    }
    softcuda_memory_replace(allocation, pages);
    return true;
}

/* The pages are given back, the addresses are not. */
bool softcuda_memory_release(struct softcuda_allocation *allocation)
{
    bool intact;

    softcuda_memory_expose(allocation, true);
    intact = is_intact(allocation);
    softcuda_share_end(allocation);
    if (allocation->memory != SOFTCUDA_REGISTERED) {
        ASAN_UNPOISON_MEMORY_REGION(allocation->pages, allocation->mapped);
        if (mmap(allocation->pages, allocation->mapped, PROT_NONE,
                 MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
            give_up("softcuda: mmap");
    }
    erase(allocation);
    return intact;
}

void softcuda_memory_free_all(const struct softcuda_context *context)
{
    for (size_t i = count; i-- > 0;) {
        if (allocations[i]->context == context)
            softcuda_memory_release(allocations[i]);
    }
}

size_t softcuda_memory_used(CUdevice device)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        if (allocations[i]->device == device && allocations[i]->memory < SOFTCUDA_PINNED &&
            !softcuda_share_is_imported(allocations[i]))
            bytes += allocations[i]->mapped;
    }
    return bytes;
}
