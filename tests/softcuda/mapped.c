/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Memory that the program maps by hand: address space that it reserves, and memory of a device that
 * it puts there piece by piece. Each piece is an allocation that belongs to no context, and its
 * memory ends where it is unmapped. */

#include <stdlib.h>
#include <string.h>

#include "driver.h"

#define GRANULARITY ((size_t)2 << 20)
enum { FRESH = 0xC5 };

/* What a handle stands for: its pages come when it is mapped. */
struct physical {
    struct physical *next;
    CUmemGenericAllocationHandle handle;
    CUdevice device;
    size_t bytes;
};

struct reservation {
    struct reservation *next;
    unsigned char *start;
    size_t bytes;
};

static struct physical *physicals;
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
    struct physical *physical;

    if (handle == NULL || !is_whole(bytes) || prop == NULL ||
        prop->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
        prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    if (!softcuda_is_device(prop->location.id))
        return CUDA_ERROR_INVALID_DEVICE;
    physical = softcuda_fails(SOFTCUDA_ALLOC) ? NULL : malloc(sizeof *physical);
    if (physical == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *physical = (struct physical){physicals, ++handles, prop->location.id, bytes};
    physicals = physical;
    softcuda_counts.live++;
    *handle = physical->handle;
    return CUDA_SUCCESS;
}

/* The link to what has HANDLE, or to NULL. */
static struct physical **find(CUmemGenericAllocationHandle handle)
{
    struct physical **link = &physicals;

    while (*link && (*link)->handle != handle)
        link = &(*link)->next;
    return link;
}

static CUresult release(CUmemGenericAllocationHandle handle)
{
    struct physical **link = find(handle), *physical = *link;

    if (physical == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *link = physical->next;
    free(physical);
    softcuda_counts.live--;
    return CUDA_SUCCESS;
}

/* ---- one in the other ---- */

static CUresult map(unsigned char *start, size_t bytes, const struct physical *physical)
{
    struct softcuda_allocation piece;

    if (physical == NULL || physical->bytes != bytes || (uintptr_t)start % GRANULARITY != 0 ||
        !is_reserved(start, bytes) || is_in_use(start, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    piece = (struct softcuda_allocation){.memory = SOFTCUDA_DEVICE,
                                         .device = physical->device,
                                         .mapped_by_hand = true,
                                         .start = start,
                                         .bytes = bytes,
                                         .pages = start,
                                         .mapped = bytes};
    if (!softcuda_memory_insert(&piece))
        return CUDA_ERROR_OUT_OF_MEMORY;
    softcuda_memory_expose(&piece, true);
    memset(start, FRESH, bytes);
    softcuda_memory_expose(&piece, false);
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

        softcuda_memory_find(start, 1, &piece);
        start += piece->bytes;
        softcuda_memory_release(piece);
    }
    return CUDA_SUCCESS;
}

/* For its own device alone. */
static CUresult set_access(const unsigned char *start, size_t bytes, const CUmemAccessDesc *access,
                           size_t count)
{
    struct softcuda_allocation *piece = NULL;

    if (access == NULL || count != 1 || !are_pieces(start, bytes) ||
        access->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        access->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        return CUDA_ERROR_INVALID_VALUE;
    softcuda_memory_find(start, 1, &piece);
    for (; piece; piece = softcuda_memory_next(piece, start, bytes)) {
        if (piece->device != access->location.id)
            return CUDA_ERROR_INVALID_VALUE;
        piece->has_access = true;
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
    CUresult code = softcuda_enter(), own = release(handle);

    return softcuda_leave(code == CUDA_SUCCESS ? own : code);
}

CUresult cuMemMap(CUdeviceptr pointer, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    CUresult code = softcuda_enter();

    if (code == CUDA_SUCCESS && (offset != 0 || flags != 0))
        code = CUDA_ERROR_INVALID_VALUE;
    return softcuda_leave(code == CUDA_SUCCESS ? map(at(pointer), bytes, *find(handle)) : code);
}

CUresult cuMemUnmap(CUdeviceptr pointer, size_t bytes)
{
    CUresult code = softcuda_enter();

    return softcuda_leave(code == CUDA_SUCCESS ? unmap(at(pointer), bytes) : code);
}

CUresult cuMemSetAccess(CUdeviceptr pointer, size_t bytes, const CUmemAccessDesc *access,
                        size_t count)
{
    CUresult code = softcuda_enter();

    return softcuda_leave(code == CUDA_SUCCESS ? set_access(at(pointer), bytes, access, count)
                                               : code);
}
