/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Callers wait for a slot before its payloads are sent or overwritten. So kernels have read an
 * operation's table before the next operation of its kind on the slot fills the table. */
#include "cuda/work.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "codec/encoding.h"
#include "util/integers.h"

#define WORD sizeof(uint32_t)

static enum cgx_status device_begin(struct cgx_backend *backend)
{
    struct cgx_cuda_work *work = cgx_cuda_work_of(backend);
    CUstream compute = work->streams[CGX_STREAM_COMPUTE];
    enum cgx_status status = cgx_cuda_work_enter(work);

    if (status != CGX_OK)
        return status;
    status = CGX_CUDA_CALL(cuEventRecord, work->caller, CU_STREAM_LEGACY);
    if (status == CGX_OK)
        status = CGX_CUDA_CALL(cuStreamWaitEvent, compute, work->caller, 0);
    if (status == CGX_OK)
        status = cgx_green_order(compute);
    for (unsigned i = 0; i < CGX_SLOTS; i++) {
        work->slots[i].pulled = false;
        work->slots[i].nborrowed = 0;
    }
    if (status != CGX_OK)
        cgx_cuda_leave();
    return status;
}

static void device_end(struct cgx_backend *backend)
{
    (void)backend;
    cgx_cuda_leave();
}

/* Whether CONTROL exists. It need not, if a program lets a context go within a call. */
static bool has_control(const struct cgx_cuda_work *work)
{
    return !work->control_allocated || cgx_exported_is_there(work->memory);
}

/* ---- copies and waiting ---- */

static enum cgx_status device_fetch(struct cgx_backend *backend, unsigned number,
                                    unsigned char *data, size_t bytes)
{
    struct cgx_cuda_work *work = cgx_cuda_work_of(backend);
    struct cgx_cuda_slot *slot = &work->slots[number];
    enum cgx_status status;

    if (bytes == 0)
        return CGX_OK;
    status = cgx_cuda_follow(work, slot, CGX_STREAM_DOWN);
    if (status == CGX_OK)
        status = CGX_CUDA_CALL(cuMemcpyDtoHAsync, data, cgx_cuda_mirrored(slot, data), bytes,
                               work->streams[CGX_STREAM_DOWN]);
    if (status == CGX_OK)
        status = cgx_cuda_record(work, slot, CGX_STREAM_DOWN);
    return status;
}

/* Queues a copy of BYTES to the mirror of DATA. A copy that fails is tried once more, since there
 * is no other way to get payloads of local peers. */
static void queue_copy(struct cgx_cuda_work *work, struct cgx_cuda_slot *slot,
                       const struct cgx_cuda_place *from, const unsigned char *data, size_t bytes)
{
    CUdeviceptr to = cgx_cuda_mirrored(slot, data);
    enum cgx_status status = cgx_cuda_copy(work, to, from, bytes);

    if (status != CGX_OK)
        status = cgx_cuda_copy(work, to, from, bytes);
    if (status == CGX_OK)
        status = cgx_cuda_record(work, slot, CGX_STREAM_UP);
    if (status != CGX_OK)
        slot->store_failed = true;
}

static void device_store(struct cgx_backend *backend, unsigned number, const unsigned char *data,
                         size_t bytes)
{
    struct cgx_cuda_work *work = cgx_cuda_work_of(backend);

    if (bytes > 0)
        queue_copy(work, &work->slots[number], &(struct cgx_cuda_place){.host = data}, data, bytes);
}

static void device_pull(struct cgx_backend *backend, unsigned number, unsigned peer, size_t offset,
                        const unsigned char *data, size_t bytes)
{
    struct cgx_cuda_work *work = cgx_cuda_work_of(backend);
    struct cgx_cuda_slot *slot = &work->slots[number];
    struct cgx_cuda_place from;

    slot->pulled = true;
    if (cgx_cuda_peer_at(work, peer, offset, bytes, &from))
        queue_copy(work, slot, &from, data, bytes);
    else
        slot->store_failed = true;
}

static bool device_borrow(struct cgx_backend *backend, unsigned number, unsigned peer,
                          size_t offset, const unsigned char *data, size_t bytes)
{
    struct cgx_cuda_work *work = cgx_cuda_work_of(backend);
    struct cgx_cuda_slot *slot = &work->slots[number];
    struct cgx_cuda_place from;
    size_t i = 0;

    if (!cgx_cuda_peer_at(work, peer, offset, bytes, &from) || !from.linked)
        return false;
    while (i < slot->nborrowed && slot->borrowed[i].data != data)
        i++;
    if (i == CGX_CUDA_BORROWED * work->sources)
        return false;
    slot->pulled = true;
    slot->borrowed[i] = (struct cgx_cuda_borrowed){data, bytes, from.device};
    if (i == slot->nborrowed)
        slot->nborrowed++;
    return true;
}

static enum cgx_status wait_for_mark(const struct cgx_cuda_mark *mark, CUstream stream)
{
    return mark->recorded ? CGX_CUDA_CALL(cuEventSynchronize, mark->event)
                          : CGX_CUDA_CALL(cuStreamSynchronize, stream);
}

static enum cgx_status wait_for_slot(const struct cgx_cuda_work *work, struct cgx_cuda_slot *slot)
{
    enum cgx_status status = CGX_OK;
    bool bad_header = false;

    if (!has_control(work))
        return CGX_ERR_DEVICE;
    for (int i = 0; i < CGX_STREAMS; i++) {
        struct cgx_cuda_mark *mark = &slot->marks[i];
        enum cgx_status settled = mark->pending ? wait_for_mark(mark, work->streams[i]) : CGX_OK;

        mark->pending = false;
        status = status == CGX_OK ? settled : status;
    }
    for (int i = 0; status == CGX_OK && i < CGX_OPERATIONS; i++) {
        bad_header |= *slot->tables[i].status != 0;
        *slot->tables[i].status = 0;
    }
    return bad_header ? CGX_ERR_FORMAT : status;
}

static enum cgx_status device_wait(struct cgx_backend *backend, unsigned number)
{
    struct cgx_cuda_work *work = cgx_cuda_work_of(backend);
    struct cgx_cuda_slot *slot = &work->slots[number];
    enum cgx_status status = CGX_OK;
    bool pending = false;

    for (int i = 0; i < CGX_STREAMS; i++)
        pending |= slot->marks[i].pending;
    if (pending)
        status = wait_for_slot(work, slot);
    if (slot->store_failed && status == CGX_OK)
        status = CGX_ERR_DEVICE;
    slot->store_failed = false;
    return status;
}

static bool device_lost(struct cgx_backend *backend)
{
    struct cgx_cuda_work *work = cgx_cuda_work_of(backend);
    bool alive = cgx_cuda_work_enter(work) == CGX_OK;

    if (alive) {
        alive = cgx_cuda()->cuStreamSynchronize(work->streams[CGX_STREAM_COMPUTE]) == CUDA_SUCCESS;
        cgx_cuda_leave();
    }
    return !alive;
}

/* Copies runs, by one kernel, when the queued work is done. */
static enum cgx_status read_runs(struct cgx_backend *backend, const struct cgx_strided *runs,
                                 unsigned char *to)
{
    const struct cgx_cuda_work *work = cgx_cuda_work_of(backend);
    const size_t shift = (uintptr_t)runs->at % WORD,
                 words = cgx_divide_up(shift + runs->bytes, WORD);
    struct cgx_kernel_args args = {.payload = (unsigned char *)(uintptr_t)runs->at - shift,
                                   .buffer = (void *)(uintptr_t)work->picked_there,
                                   .stride = runs->stride,
                                   .words = (uint32_t)words};
    enum cgx_status status;

    if (runs->count > CGX_READ_RUNS || runs->bytes > CGX_READ_BYTES)
        return CGX_ERR_INVALID;
    if (!has_control(work))
        return CGX_ERR_DEVICE;
    status = cgx_cuda_launch_kernel(work, work->module->runs, (uint32_t)runs->count, &args);
    if (status == CGX_OK)
        status = CGX_CUDA_CALL(cuStreamSynchronize, work->streams[CGX_STREAM_COMPUTE]);
    for (size_t i = 0; status == CGX_OK && i < runs->count; i++)
        memcpy(to + i * runs->bytes, work->picked + i * words * WORD + shift, runs->bytes);
    return status;
}

/* Copies what REQUEST shows to staging memory that kernels cannot write. */
static enum cgx_status fetch_shown(struct cgx_backend *backend, unsigned slot,
                                   const struct cgx_work *request)
{
    unsigned char *out = request->out;
    enum cgx_status status = CGX_OK;

    for (size_t i = 0; status == CGX_OK && i < request->npieces; i++) {
        const struct cgx_piece *piece = &request->pieces[i];

        if (cgx_encoding_quantiser(piece->bits)->has_variable_size)
            status =
                device_fetch(backend, slot, out + piece->offset, cgx_uniform_bytes(piece->count));
    }
    return status;
}

/* Decoding must not fail on one rank alone, so the processor decodes what the kernels cannot. */
static enum cgx_status device_run(struct cgx_backend *backend, unsigned slot,
                                  const struct cgx_work *request)
{
    struct cgx_cuda_work *work = cgx_cuda_work_of(backend);
    enum cgx_status status = CGX_ERR_DEVICE;
    unsigned launched = 0;

    if (has_control(work))
        status = cgx_cuda_launch(work, &work->slots[slot], request, &launched);
    if (status == CGX_OK && request->shows && work->slots[slot].there == 0)
        status = fetch_shown(backend, slot, request);
    if (request->operation != CGX_DECODE)
        return status;
    if (status != CGX_OK) {
        status = device_wait(backend, slot);
        if (status == CGX_OK)
            status = cgx_cuda_decode_on_host(work, slot, request, launched);
    }
    work->slots[slot].nborrowed = 0;
    return status;
}

/* ---- memory reserved from call to call ---- */

/* All reserved memory is at most one part in this many of what would be free without it. */
#define ROOM 50

static atomic_size_t reserved_bytes; /* bytes reserved by this process, on all devices */

struct device_reserved {
    struct cgx_reserved base;
    struct cgx_exported *memory; /* memory that is never shared with other processes */
};

static void drop_reserved(struct cgx_reserved *reserved)
{
    struct device_reserved *mine = (struct device_reserved *)(void *)reserved;
    struct cgx_exported *memory = mine->memory;
    bool entered = cgx_exported_is_there(memory) && cgx_cuda_push(memory->context) == CGX_OK;

    cgx_exported_give(memory, entered);
    if (entered)
        cgx_cuda_leave();
    atomic_fetch_sub(&reserved_bytes, mine->base.bytes);
    free(mine);
}

static bool has_reserved(struct cgx_backend *backend, const struct cgx_reserved *reserved)
{
    const struct device_reserved *mine = (const struct device_reserved *)(const void *)reserved;

    return reserved->drop == drop_reserved &&
           mine->memory->context == cgx_cuda_work_of(backend)->context &&
           cgx_exported_is_there(mine->memory);
}

static bool has_room(struct cgx_backend *backend, size_t bytes)
{
    const struct cgx_cuda_work *work = cgx_cuda_work_of(backend);
    size_t reserved = atomic_load(&reserved_bytes), left = 0, all;
    enum cgx_status status = cgx_cuda_work_enter(work);

    if (status != CGX_OK)
        return false;
    status = CGX_CUDA_CALL(cuMemGetInfo, &left, &all);
    cgx_cuda_leave();
    return status == CGX_OK && bytes + reserved <= (left + reserved) / ROOM;
}

static enum cgx_status device_reserve(struct cgx_backend *backend, size_t bytes,
                                      struct cgx_reserved **reserved)
{
    const struct cgx_cuda_work *work = cgx_cuda_work_of(backend);
    CUstream compute = work->streams[CGX_STREAM_COMPUTE];
    struct device_reserved *made = calloc(1, sizeof *made);
    enum cgx_status status;

    if (!made)
        return CGX_ERR_NOMEM;
    status = cgx_cuda_work_enter(work);
    if (status != CGX_OK)
        goto free_made;
    status = cgx_exported_take(work->context, bytes, false, &made->memory);
    if (status == CGX_OK)
        status = CGX_CUDA_CALL(cuMemsetD8Async, made->memory->address, 0, bytes, compute);
    /* Another backend may use the memory next, on streams of its own. */
    if (status == CGX_OK)
        status = CGX_CUDA_CALL(cuStreamSynchronize, compute);
    if (status != CGX_OK)
        cgx_exported_give(made->memory, true);
    cgx_cuda_leave();
    if (status != CGX_OK)
        goto free_made;
    made->base =
        (struct cgx_reserved){(void *)(uintptr_t)made->memory->address, bytes, drop_reserved};
    atomic_fetch_add(&reserved_bytes, bytes);
    *reserved = &made->base;
    return CGX_OK;
free_made:
    free(made);
    return status;
}

/* ---- the operations ---- */

const struct cgx_backend_ops cgx_cuda_ops = {.begin = device_begin,
                                             .end = device_end,
                                             .read = read_runs,
                                             .run = device_run,
                                             .fetch = device_fetch,
                                             .store = device_store,
                                             .pull = device_pull,
                                             .borrow = device_borrow,
                                             .wait = device_wait,
                                             .has_room = has_room,
                                             .reserve = device_reserve,
                                             .has_reserved = has_reserved,
                                             .lost = device_lost};
