/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Memory that processes share. An allocation whose handle is asked for moves into a file of this
 * process, one without a name for all of them, which others open in /proc. In front of its pages is
 * one with what the processes know of each other. Places in the file are never used again. */

#define _GNU_SOURCE /* memfd_create, fallocate, mremap, syscall */

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "driver.h"

#define PAGE ((size_t)4096)
#define NAME "softcuda"
enum { FREED = 0xDD, BESIDE = 0xA7 /* as in memory.c */ };

struct front {
    _Atomic uint64_t number; /* 0: freed */
    uint64_t bytes;
    _Atomic int64_t openers; /* processes that have it open */
};

struct softcuda_share {
    struct front *front;
    uint64_t number;
    off_t offset; /* of the front, in the file of the process that it belongs to */
    bool imported, gone;
    void *apart; /* the pages, while a kernel does not find them */
};

static int file = -1;
static off_t file_bytes;

/* ---- memory of this process ---- */

/* Appends BYTES. Beyond the limit the system would send SIGXFSZ. */
static bool grow(size_t bytes, off_t *offset)
{
    struct rlimit limit;

    if (file < 0)
        file = memfd_create(NAME, MFD_CLOEXEC);
    if (file < 0 ||
        (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < (rlim_t)file_bytes + bytes) ||
        ftruncate(file, file_bytes + (off_t)bytes) != 0)
        return false;
    *offset = file_bytes;
    file_bytes += (off_t)bytes;
    return true;
}

static struct front *map_front(int from, off_t offset)
{
    void *front = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, from, offset);

    return front != MAP_FAILED ? front : NULL;
}

static bool move(struct softcuda_allocation *allocation)
{
    struct softcuda_share *share = calloc(1, sizeof *share);
    void *pages;

    if (share == NULL)
        return false;
    if (!grow(PAGE + allocation->mapped, &share->offset) ||
        getrandom(&share->number, sizeof share->number, 0) != (ssize_t)sizeof share->number)
        goto free_share;
    share->number += share->number == 0;
    share->front = map_front(file, share->offset);
    if (share->front == NULL)
        goto free_share;
    pages = softcuda_memory_copy(allocation, file, share->offset + (off_t)PAGE);
    if (pages == NULL)
        goto unmap_front;
    softcuda_memory_replace(allocation, pages);
    share->front->bytes = allocation->bytes;
    share->front->number = share->number;
    allocation->share = share;
    softcuda_counts.shared++;
    return true;
unmap_front:
    munmap(share->front, PAGE);
free_share:
    free(share);
    return false;
}

bool softcuda_share_export(struct softcuda_allocation *allocation, struct softcuda_offer *offer)
{
    if (allocation->share == NULL && !move(allocation))
        return false;
    *offer = (struct softcuda_offer){.process = (uint64_t)getpid(),
                                     .file = (uint64_t)file,
                                     .offset = (uint64_t)allocation->share->offset,
                                     .bytes = allocation->bytes,
                                     .number = allocation->share->number};
    return true;
}

/* Pages that others have open stay until this process exits: taken away they would read as zeros,
 * which may be right. */
static void withdraw(const struct softcuda_allocation *allocation)
{
    const struct softcuda_share *share = allocation->share;

    share->front->number = 0;
    if (share->front->openers > 0) {
        fprintf(stderr, "softcuda: %zu bytes %s while other processes had them open\n",
                allocation->bytes,
                allocation->context->alive ? "were freed" : "went with their context");
        memset(allocation->start, FREED, allocation->bytes);
    } else if (fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, share->offset,
                         (off_t)(PAGE + allocation->mapped)) != 0) {
        perror("softcuda: fallocate");
    }
}

void softcuda_share_end(struct softcuda_allocation *allocation)
{
    struct softcuda_share *share = allocation->share;

    if (share == NULL)
        return;
    if (share->imported)
        share->front->openers--;
    else
        withdraw(allocation);
    munmap(share->front, PAGE);
    softcuda_counts.shared -= !share->imported;
    free(share);
    allocation->share = NULL;
}

/* ---- memory of other processes ---- */

/* Opens the file of OFFER, if it is one of such a process and so large. */
static int open_file(const struct softcuda_offer *offer)
{
    static const char expected[] = "/memfd:" NAME;
    char path[64], target[sizeof expected] = "";
    struct stat status;
    uint64_t bytes;
    int opened;

    snprintf(path, sizeof path, "/proc/%llu/fd/%llu", (unsigned long long)offer->process,
             (unsigned long long)offer->file);
    if (readlink(path, target, sizeof target - 1) < 0 || strcmp(target, expected) != 0)
        return -1;
    opened = open(path, O_RDWR | O_CLOEXEC);
    if (opened < 0)
        return -1;
    bytes = fstat(opened, &status) == 0 ? (uint64_t)status.st_size : 0;
    if (bytes < PAGE || offer->offset > bytes - PAGE || offer->offset % PAGE != 0 ||
        offer->bytes == 0 || offer->bytes > bytes - PAGE - offer->offset) {
        close(opened);
        return -1;
    }
    return opened;
}

/* Is counted before it looks a second time: the process that frees does these in the other order.
 */
static bool enlist(struct front *front, const struct softcuda_offer *offer)
{
    if (offer->number == 0 || front->number != offer->number || front->bytes != offer->bytes)
        return false;
    front->openers++;
    if (front->number == offer->number)
        return true;
    front->openers--;
    return false;
}

CUresult softcuda_share_import(struct softcuda_allocation *allocation,
                               const struct softcuda_offer *offer)
{
    struct softcuda_share *share = calloc(1, sizeof *share);
    CUresult code = CUDA_ERROR_MAP_FAILED;
    int opened;

    if (share == NULL)
        goto free_share;
    code = CUDA_ERROR_INVALID_HANDLE;
    opened = open_file(offer);
    if (opened < 0)
        goto free_share;
    code = CUDA_ERROR_MAP_FAILED;
    share->front = map_front(opened, (off_t)offer->offset);
    if (share->front == NULL)
        goto close_file;
    code = CUDA_ERROR_INVALID_HANDLE;
    if (!enlist(share->front, offer))
        goto unmap_front;
    code = CUDA_ERROR_MAP_FAILED;
    if (!softcuda_memory_map_file(allocation, offer->bytes, opened, (off_t)(offer->offset + PAGE)))
        goto delist;
    close(opened);
    share->number = offer->number;
    share->imported = true;
    allocation->share = share;
    return CUDA_SUCCESS;
delist:
    share->front->openers--;
unmap_front:
    munmap(share->front, PAGE);
close_file:
    close(opened);
free_share:
    free(share);
    return code;
}

/* Puts pages of other bytes in the place of ALLOCATION's. */
static void hide(const struct softcuda_allocation *allocation)
{
    void *apart =
        (void *)syscall(SYS_mremap, allocation->pages, 0, allocation->mapped, MREMAP_MAYMOVE, NULL);

    if (apart == MAP_FAILED || mmap(allocation->pages, allocation->mapped, PROT_READ | PROT_WRITE,
                                    MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) {
        perror("softcuda: mremap");
        abort();
    }
    memset(allocation->pages, BESIDE, allocation->mapped);
    allocation->share->apart = apart;
}

void softcuda_share_stage(bool begins)
{
    const char *staged = getenv("SOFTCUDA_STAGED");
    struct softcuda_allocation *allocation;

    if (!staged || staged[0] != '1')
        return;
    for (size_t i = 0; (allocation = softcuda_memory_at(i)); i++) {
        struct softcuda_share *share = allocation->share;

        if (begins && softcuda_share_is_imported(allocation) &&
            !softcuda_share_is_gone(allocation)) {
            hide(allocation);
        } else if (!begins && share && share->apart) {
            softcuda_memory_replace(allocation, share->apart);
            share->apart = NULL;
        }
    }
}

bool softcuda_share_is_imported(const struct softcuda_allocation *allocation)
{
    return allocation->share && allocation->share->imported;
}

const struct softcuda_allocation *softcuda_share_find(uint64_t number)
{
    const struct softcuda_allocation *allocation;

    for (size_t i = 0; (allocation = softcuda_memory_at(i)); i++) {
        if (softcuda_share_is_imported(allocation) && allocation->share->number == number)
            return allocation;
    }
    return NULL;
}

bool softcuda_share_is_gone(const struct softcuda_allocation *allocation)
{
    struct softcuda_share *share = allocation->share;

    if (share == NULL || !share->imported)
        return false;
    if (share->front->number != share->number)
        share->gone = true;
    return share->gone;
}

/* ---- handles of memory for other processes ---- */

_Static_assert(sizeof(struct softcuda_offer) <= sizeof(CUipcMemHandle), "a handle has 64 bytes");

static CUresult get(CUipcMemHandle *handle, void *start)
{
    struct softcuda_allocation *allocation;
    struct softcuda_offer offer;

    if (handle == NULL || softcuda_memory_find(start, 1, &allocation) != SOFTCUDA_DEVICE ||
        allocation->start != start || allocation->context == NULL ||
        softcuda_share_is_imported(allocation))
        return CUDA_ERROR_INVALID_VALUE;
    if (softcuda_fails(SOFTCUDA_IPC))
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!softcuda_share_export(allocation, &offer))
        return CUDA_ERROR_OUT_OF_MEMORY;
    offer.device = softcuda_hidden + allocation->device;
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &offer, sizeof offer);
    return CUDA_SUCCESS;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr pointer)
{
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context);

    return softcuda_leave(code == CUDA_SUCCESS ? get(handle, (void *)(uintptr_t)pointer) : code);
}

/* The device that memory of OFFER is on; of one that is hidden from this process, to which a driver
 * may answer anything, that of CONTEXT. */
static CUdevice device_of(const struct softcuda_context *context,
                          const struct softcuda_offer *offer)
{
    CUdevice device = (CUdevice)offer->device - softcuda_hidden;

    return softcuda_is_device(device) ? device : context->device;
}

/* In one context of a process at a time. */
static CUresult open_offer(struct softcuda_context *context, const struct softcuda_offer *offer,
                           CUdeviceptr *pointer)
{
    const struct softcuda_allocation *same = softcuda_share_find(offer->number);
    struct softcuda_allocation opened = {
        .memory = SOFTCUDA_DEVICE, .context = context->home, .device = device_of(context, offer)};
    CUresult code;

    if (offer->process == (uint64_t)getpid())
        return CUDA_ERROR_INVALID_CONTEXT;
    if (same)
        return softcuda_share_is_gone(same) ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_ALREADY_MAPPED;
    code = softcuda_share_import(&opened, offer);
    if (code == CUDA_SUCCESS && !softcuda_memory_insert(&opened)) {
        softcuda_share_end(&opened);
        code = CUDA_ERROR_MAP_FAILED;
    }
    if (code == CUDA_SUCCESS)
        *pointer = (CUdeviceptr)(uintptr_t)opened.start;
    return code;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *pointer, CUipcMemHandle handle, unsigned flags)
{
    struct softcuda_context *context;
    struct softcuda_offer offer;
    CUresult code = softcuda_enter_context(&context);

    memcpy(&offer, &handle, sizeof offer);
    if (code == CUDA_SUCCESS && (pointer == NULL || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS))
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS && softcuda_fails(SOFTCUDA_IPC))
        code = CUDA_ERROR_NOT_SUPPORTED;
    if (code == CUDA_SUCCESS)
        code = open_offer(context, &offer, pointer);
    return softcuda_leave(code);
}

/* In the context that opened it. */
static CUresult close_in(struct softcuda_context *context, void *start)
{
    struct softcuda_allocation *allocation;
    CUresult code;

    if (softcuda_memory_find(start, 1, &allocation) != SOFTCUDA_DEVICE ||
        allocation->start != start || !softcuda_share_is_imported(allocation) ||
        allocation->context != context->home)
        return CUDA_ERROR_INVALID_VALUE;
    code = softcuda_stream_drain(context);
    if (!softcuda_memory_release(allocation) && code == CUDA_SUCCESS)
        code = context->error = CUDA_ERROR_ILLEGAL_ADDRESS;
    return code;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer)
{
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context), own = CUDA_SUCCESS;

    if (context)
        own = close_in(context, (void *)(uintptr_t)pointer);
    return softcuda_leave(code == CUDA_SUCCESS ? own : code);
}
