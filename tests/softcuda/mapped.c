/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Memory that the program maps by hand: address space that it reserves, and memory of a device that
 * it puts there piece by piece. Each piece is an allocation that belongs to no context. Memory is
 * mapped in one place at a time, and keeps what is in it between two. */

#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "driver.h"

#define GRANULARITY ((size_t)2 << 20)
enum { FRESH = 0xC5 };

struct softcuda_physical {
    struct softcuda_physical *next;
    CUmemGenericAllocationHandle handle;
    CUdevice device;
    size_t bytes;
    bool held;           /* the program has the handle */
    bool mapped;         /* its pages are those of an allocation */
    unsigned char *home; /* where its pages are while it is not mapped */
};

struct reservation {
    struct reservation *next;
    unsigned char *start;
    size_t bytes;
};

static struct softcuda_physical *physicals;
static struct reservation *reservations;

static bool is_whole(size_t bytes)
{
    return bytes > 0 && bytes % GRANULARITY == 0;
}

static unsigned char *at(CUdeviceptr pointer)
{
    return (unsigned char *)(uintptr_t)pointer;
}

/* ---- address space ---- */

static CUresult reserve(CUdeviceptr *pointer, size_t bytes, size_t alignment)
{
    struct reservation *reservation;

    if (pointer == NULL || !is_whole(bytes) || (alignment & (alignment - 1)) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    reservation = malloc(sizeof *reservation);
    if (reservation == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *reservation = (struct reservation){
        reservations,
        softcuda_memory_reserve(bytes, alignment > GRANULARITY ? alignment : GRANULARITY), bytes};
    if (reservation->start == NULL) {
        free(reservation);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    reservations = reservation;
    softcuda_counts.live++;
    *pointer = (CUdeviceptr)(uintptr_t)reservation->start;
    return CUDA_SUCCESS;
}

/* Whether some of the BYTES from START on is mapped. */
static bool is_in_use(const unsigned char *start, size_t bytes)
{
    struct softcuda_allocation *allocation;

    for (size_t n = 0; (allocation = softcuda_memory_at(n)); n++) {
        if (allocation->start < start + bytes && start < allocation->start + allocation->bytes)
            return true;
    }
    return false;
}

static CUresult give_back(const unsigned char *start, size_t bytes)
{
    struct reservation **link = &reservations, *found;

    while (*link && (*link)->start != start)
        link = &(*link)->next;
    found = *link;
    if (found == NULL || found->bytes != bytes || is_in_use(start, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    *link = found->next;
    free(found);
    softcuda_counts.live--;
    return CUDA_SUCCESS;
}

bool softcuda_mapped_range(const void *address, const unsigned char **start, size_t *bytes)
{
    const unsigned char *byte = address;
    const struct reservation *one = reservations;

    while (one && (byte < one->start || byte >= one->start + one->bytes))
        one = one->next;
    if (one == NULL)
        return false;
    *start = one->start;
    *bytes = one->bytes;
    return true;
}

static bool is_reserved(const unsigned char *start, size_t bytes)
{
    const unsigned char *first;
    size_t all;

    return softcuda_mapped_range(start, &first, &all) && bytes <= (size_t)(first + all - start);
}

/* ---- memory ---- */

static CUresult create(CUmemGenericAllocationHandle *handle, size_t bytes,
                       const CUmemAllocationProp *prop)
{
    static CUmemGenericAllocationHandle handles;
    struct softcuda_physical *physical;

    if (handle == NULL || !is_whole(bytes) || prop == NULL ||
        prop->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
        prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    if (!softcuda_is_device(prop->location.id))
        return CUDA_ERROR_INVALID_DEVICE;
    if (softcuda_fails(SOFTCUDA_ALLOC))
        return CUDA_ERROR_OUT_OF_MEMORY;
    physical = calloc(1, sizeof *physical);
    if (physical == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    physical->home = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (physical->home == MAP_FAILED) {
        free(physical);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memset(physical->home, FRESH, bytes);
    physical->next = physicals;
    physical->handle = ++handles;
    physical->device = prop->location.id;
    physical->bytes = bytes;
    physical->held = true;
    physicals = physical;
    softcuda_counts.live++;
    *handle = physical->handle;
    return CUDA_SUCCESS;
}

static struct softcuda_physical *find(CUmemGenericAllocationHandle handle)
{
    struct softcuda_physical *physical = physicals;

    while (physical && (physical->handle != handle || !physical->held))
        physical = physical->next;
    return physical;
}

/* If it is neither held nor mapped any more. */
static void drop(struct softcuda_physical *physical)
{
    struct softcuda_physical **link = &physicals;

    if (physical->held || physical->mapped)
        return;
    while (*link != physical)
        link = &(*link)->next;
    *link = physical->next;
    if (physical->home)
        munmap(physical->home, physical->bytes);
    free(physical);
    softcuda_counts.live--;
}

/* ---- one in the other ---- */

static CUresult map(unsigned char *start, size_t bytes, struct softcuda_physical *physical)
{
    struct softcuda_allocation piece;

    if (physical == NULL || physical->bytes != bytes || (uintptr_t)start % GRANULARITY != 0 ||
        !is_reserved(start, bytes) || is_in_use(start, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (physical->mapped)
        return CUDA_ERROR_NOT_SUPPORTED;
    piece = (struct softcuda_allocation){.memory = SOFTCUDA_DEVICE,
                                         .device = physical->device,
                                         .mapped_by_hand = physical,
                                         .start = start,
                                         .bytes = bytes,
                                         .pages = start,
                                         .mapped = bytes};
    if (!softcuda_memory_insert(&piece))
        return CUDA_ERROR_OUT_OF_MEMORY;
    softcuda_memory_replace(&piece, physical->home);
    physical->home = NULL;
    physical->mapped = true;
    return CUDA_SUCCESS;
}

/* Whether BYTES from START on are whole pieces. */
static bool are_pieces(const unsigned char *start, size_t bytes)
{
    struct softcuda_allocation *piece = NULL;

    if (bytes == 0 || softcuda_memory_find(start, bytes, &piece) != SOFTCUDA_DEVICE ||
        !piece->mapped_by_hand || piece->start != start)
        return false;
    for (;;) {
        struct softcuda_allocation *next = softcuda_memory_next(piece, start, bytes);

        if (next == NULL)
            return piece->start + piece->bytes == start + bytes;
        piece = next;
    }
}

/* Nothing is waited for: what is queued finds no memory there. */
static CUresult unmap(const unsigned char *start, size_t bytes)
{
    const unsigned char *end = start + bytes;

    if (!are_pieces(start, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    while (start < end) {
        struct softcuda_allocation *piece = NULL;
        struct softcuda_physical *physical;

        softcuda_memory_find(start, 1, &piece);
        start += piece->bytes;
        physical = piece->mapped_by_hand;
        if (physical->held)
            physical->home = softcuda_memory_copy(piece, -1, 0);
        if (physical->held && physical->home == NULL)
            return CUDA_ERROR_OUT_OF_MEMORY;
        softcuda_memory_release(piece);
        physical->mapped = false;
        drop(physical);
    }
    return CUDA_SUCCESS;
}

static CUresult set_access(const unsigned char *start, size_t bytes,
                           const CUmemAccessDesc *descriptions, size_t count)
{
    struct softcuda_allocation *piece = NULL;

    if (descriptions == NULL || count == 0 || !are_pieces(start, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        if (descriptions[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
            !softcuda_is_device(descriptions[i].location.id) ||
            (descriptions[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
             descriptions[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE))
            return CUDA_ERROR_INVALID_VALUE;
    }
    softcuda_memory_find(start, 1, &piece);
    for (; piece; piece = softcuda_memory_next(piece, start, bytes)) {
        for (size_t i = 0; i < count; i++) {
            unsigned long long user = 1ull << descriptions[i].location.id;

            piece->users &= ~user;
            if (descriptions[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
                piece->users |= user;
        }
    }
    return CUDA_SUCCESS;
}

/* ---- the driver's functions ---- */

CUresult cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *prop,
                                       CUmemAllocationGranularity_flags option)
{
    CUresult code = softcuda_enter();

    (void)option;
    if (code == CUDA_SUCCESS && (bytes == NULL || prop == NULL))
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        *bytes = GRANULARITY;
    return softcuda_leave(code);
}

/* Where the program would like it to be is taken for no more than a wish. */
CUresult cuMemAddressReserve(CUdeviceptr *pointer, size_t bytes, size_t alignment, CUdeviceptr wish,
                             unsigned long long flags)
{
    CUresult code = softcuda_enter();

    (void)wish;
    if (code == CUDA_SUCCESS && flags != 0)
        code = CUDA_ERROR_INVALID_VALUE;
    return softcuda_leave(code == CUDA_SUCCESS ? reserve(pointer, bytes, alignment) : code);
}

CUresult cuMemAddressFree(CUdeviceptr pointer, size_t bytes)
{
    CUresult code = softcuda_enter();

    return softcuda_leave(code == CUDA_SUCCESS ? give_back(at(pointer), bytes) : code);
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                     const CUmemAllocationProp *prop, unsigned long long flags)
{
    CUresult code = softcuda_enter();

    if (code == CUDA_SUCCESS && flags != 0)
        code = CUDA_ERROR_INVALID_VALUE;
    return softcuda_leave(code == CUDA_SUCCESS ? create(handle, bytes, prop) : code);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    CUresult code = softcuda_enter(), own = CUDA_ERROR_INVALID_VALUE;
    struct softcuda_physical *physical = find(handle);

    if (physical) {
        physical->held = false;
        drop(physical);
        own = CUDA_SUCCESS;
    }
    return softcuda_leave(code == CUDA_SUCCESS ? own : code);
}

CUresult cuMemMap(CUdeviceptr pointer, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    CUresult code = softcuda_enter();

    if (code == CUDA_SUCCESS && (offset != 0 || flags != 0))
        code = CUDA_ERROR_INVALID_VALUE;
    return softcuda_leave(code == CUDA_SUCCESS ? map(at(pointer), bytes, find(handle)) : code);
}

CUresult cuMemUnmap(CUdeviceptr pointer, size_t bytes)
{
    CUresult code = softcuda_enter();

    return softcuda_leave(code == CUDA_SUCCESS ? unmap(at(pointer), bytes) : code);
}

CUresult cuMemSetAccess(CUdeviceptr pointer, size_t bytes, const CUmemAccessDesc *descriptions,
                        size_t count)
{
    CUresult code = softcuda_enter();

    return softcuda_leave(code == CUDA_SUCCESS ? set_access(at(pointer), bytes, descriptions, count)
                                               : code);
}
