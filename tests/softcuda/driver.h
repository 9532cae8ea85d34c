/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the files of the software driver share. One lock holds for the whole of a call of the
 * driver: what is here is called with it held, and so executions never overlap. */
#ifndef SOFTCUDA_DRIVER_H
#define SOFTCUDA_DRIVER_H

#pragma GCC visibility push(default)
#include <cuda.h>

#include "softcuda.h"
#pragma GCC visibility pop

#include <stdint.h>
#include <sys/types.h>

/* ---- handles ----
 * A handle is no address, and is never given out again: one of what was destroyed is known as such.
 * What has a handle begins with a struct softcuda_object. */

enum softcuda_type {
    SOFTCUDA_CONTEXT = 1,
    SOFTCUDA_STREAM,
    SOFTCUDA_EVENT,
    SOFTCUDA_MODULE,
    SOFTCUDA_FUNCTION
};

struct softcuda_object {
    enum softcuda_type type;
    void *handle;
    struct softcuda_context *context; /* that it goes with */
};

/* A zeroed object of BYTES with a handle; NULL: no memory. Owned by the table of handles. */
void *softcuda_object_create(enum softcuda_type type, size_t bytes,
                             struct softcuda_context *context);
void softcuda_object_free(struct softcuda_object *object);
void *softcuda_object_find(enum softcuda_type type, const void *handle); /* or NULL */
/* Frees all that goes with CONTEXT, with what belongs to each. */
void softcuda_objects_free(const struct softcuda_context *context);
/* The next object of TYPE after that of HANDLE; NULL: the first, and at the end. */
void *softcuda_object_next(enum softcuda_type type, const void *handle);

/* ---- contexts ---- */

struct softcuda_context {
    struct softcuda_object object;
    struct softcuda_context *home; /* whose memory it has: itself, or of a green one the primary */
    CUdevice device;
    bool primary, alive;
    unsigned long long id; /* of this life: a primary context may have several */
    CUresult error;        /* sticky */
    struct softcuda_stream *legacy;
    struct softcuda_stream *streams; /* all, those destroyed with work left to do included */
};

extern int softcuda_devices; /* 0 before cuInit */
extern int softcuda_hidden;  /* devices of the machine before these */

/* A green context of a primary one, or NULL: no memory; and its end. */
struct softcuda_context *softcuda_context_split(struct softcuda_context *primary);
void softcuda_context_end(struct softcuda_context *context);

/* The current context or NULL, and why. */
CUresult softcuda_current(struct softcuda_context **context);
bool softcuda_is_device(CUdevice device);
/* Whether host memory can be registered for reading alone. */
bool softcuda_registers_read_only(void);

/* ---- calls ----
 * A call of the driver begins with one of these, which takes the lock, and ends by returning what
 * softcuda_leave, which gives it back, makes of its result. An error ends it at once; only what
 * frees something goes on, where there is a context. */

CUresult softcuda_enter(void);
CUresult softcuda_enter_context(struct softcuda_context **context);
CUresult softcuda_leave(CUresult code);
/* For the time of a fork; the child gives back a lock that it does not own. */
void softcuda_lock(void);
void softcuda_unlock(void);
void softcuda_unlock_child(void);

/* ---- failures and counts ---- */

extern struct softcuda_counts softcuda_counts;

CUresult softcuda_read_environment(void);
/* Counts an operation. Whether it has to fail. */
bool softcuda_fails(enum softcuda_kind kind);
bool softcuda_is_lost(void);

/* ---- memory ---- */

enum softcuda_memory {
    SOFTCUDA_PAGEABLE,
    SOFTCUDA_DEVICE,
    SOFTCUDA_MANAGED,
    SOFTCUDA_PINNED,
    SOFTCUDA_REGISTERED,
    SOFTCUDA_BAD /* not all of one allocation, or freed */
};

struct softcuda_allocation {
    enum softcuda_memory memory;
    struct softcuda_context *context; /* NULL: it belongs to the device */
    const void
        *maker; /* handle of the context that it was allocated in: a green one, or CONTEXT's */
    CUdevice device;
    bool pooled;    /* memory of the device's pool */
    bool read_only; /* registered so: nothing may be copied there */
    bool mapped_by_hand;
    bool has_access; /* its device, to such memory */
    unsigned char *start;
    size_t bytes;
    unsigned char *pages; /* what is mapped for it, without the guard pages */
    size_t mapped;
    unsigned long long id;
    struct softcuda_share *share; /* NULL: no other process has to do with it */
    struct softcuda_split *split; /* NULL: the device has what the program has */
};

/* Where BYTES from ADDRESS on are; ALLOCATION, if not NULL, is set where there is one: to that of
 * ADDRESS, where memory mapped by hand goes on in the next one. */
enum softcuda_memory softcuda_memory_find(const void *address, size_t bytes,
                                          struct softcuda_allocation **allocation);
/* Whether what runs in CONTEXT may use it. */
bool softcuda_memory_is_reachable(const struct softcuda_allocation *allocation,
                                  const struct softcuda_context *context);
/* The next one after ALLOCATION that BYTES from ADDRESS on are in, or NULL. */
struct softcuda_allocation *softcuda_memory_next(const struct softcuda_allocation *allocation,
                                                 const void *address, size_t bytes);
/* Address space aligned to ALIGNMENT, a power of two, in which there is nothing; NULL: there is no
 * more. */
unsigned char *softcuda_memory_reserve(size_t bytes, size_t alignment);
/* Gives an allocation its pages and its place in them; false: no memory. */
bool softcuda_memory_map(struct softcuda_allocation *allocation, size_t bytes);
/* The same with pages of FILE from OFFSET on, and with what is in them. */
bool softcuda_memory_map_file(struct softcuda_allocation *allocation, size_t bytes, int file,
                              off_t offset);
/* A mapping of FILE from OFFSET on with what is in its pages; NULL: no memory.
 * softcuda_memory_replace puts it into their place. */
void *softcuda_memory_copy(const struct softcuda_allocation *allocation, int file, off_t offset);
void softcuda_memory_replace(const struct softcuda_allocation *allocation, void *copy);
/* Keeps a copy of ALLOCATION as one that is live. False: no memory. */
bool softcuda_memory_insert(const struct softcuda_allocation *allocation);
/* Frees it. Whether nothing was written beside it. */
bool softcuda_memory_release(struct softcuda_allocation *allocation);
/* The Nth by address; NULL: there are no more. */
struct softcuda_allocation *softcuda_memory_at(size_t n);
size_t softcuda_memory_used(CUdevice device);
/* Makes device memory accessible, or no longer: an allocation, or all of the context. */
void softcuda_memory_expose(const struct softcuda_allocation *allocation, bool accessible);
void softcuda_memory_expose_all(const struct softcuda_context *context, bool accessible);
/* Whether nothing was written beside the context's allocations; a message says where. */
bool softcuda_memory_is_intact(const struct softcuda_context *context);
bool softcuda_memory_is_arena(const void *address);
void softcuda_memory_free_all(const struct softcuda_context *context);

/* The address space that memory mapped by hand lies in, or could be mapped in, at ADDRESS. False:
 * there is none. */
bool softcuda_mapped_range(const void *address, const unsigned char **start, size_t *bytes);

/* ---- memory that processes share ---- */

/* What another process has to know to open memory of this one. */
struct softcuda_offer {
    uint64_t process, file, offset, bytes;
    uint64_t number; /* of the allocation, and of no other */
    int64_t device;
};

/* Moves an allocation into a file of this process, once. False: no memory. */
bool softcuda_share_export(struct softcuda_allocation *allocation, struct softcuda_offer *offer);
/* Maps what another process offers; CUDA_ERROR_INVALID_HANDLE if it does not (any more), or
 * CUDA_ERROR_MAP_FAILED. */
CUresult softcuda_share_import(struct softcuda_allocation *allocation,
                               const struct softcuda_offer *offer);
bool softcuda_share_is_imported(const struct softcuda_allocation *allocation);
/* The import with that number, or NULL. */
const struct softcuda_allocation *softcuda_share_find(uint64_t number);
/* Whether it is memory of another process, which freed it. */
bool softcuda_share_is_gone(const struct softcuda_allocation *allocation);
/* While a kernel runs: with SOFTCUDA_STAGED=1 memory of other processes has other bytes for it. */
void softcuda_share_stage(bool begins);
/* Before the pages go, if the allocation is shared: others see that it was freed, or that it was
 * closed. Memory of this process is accessible. */
void softcuda_share_end(struct softcuda_allocation *allocation);

/* ---- forks while memory is pinned ---- */

/* To be called before memory of the program is pinned. False: no memory. */
bool softcuda_fork_watch(void);
/* Puts what the device has of pinned memory in the place of what the program has, or back. */
void softcuda_fork_turn(bool to_device);
/* From now on the device has what the program has. */
void softcuda_fork_forget(struct softcuda_allocation *allocation);

/* ---- streams ---- */

/* A place in a stream: after so many of its operations. */
struct softcuda_place_in_stream {
    const void *stream; /* handle */
    unsigned long long position;
};

/* An operation, allocated with malloc; the queue owns it. */
struct softcuda_operation {
    struct softcuda_operation *next;
    /* Carries it out; an error is sticky. NULL: there is nothing to do but to wait. */
    CUresult (*run)(struct softcuda_operation *operation, struct softcuda_context *context);
    struct softcuda_place_in_stream *after; /* what comes before it in other streams */
    size_t nafter;
};

struct softcuda_stream {
    struct softcuda_object object;
    struct softcuda_stream *next;
    bool blocking, destroyed;
    CUstreamCaptureStatus capture;
    unsigned long long thread;       /* whose default stream it is; 0: nobody's */
    unsigned long long queued, done; /* operations so far */
    struct softcuda_operation *first, *last;
};

struct softcuda_stream *softcuda_stream_create(struct softcuda_context *context, bool blocking);
/* NULL and CU_STREAM_LEGACY are the legacy stream of CONTEXT, CU_STREAM_PER_THREAD is the calling
 * thread's own. */
struct softcuda_stream *softcuda_stream_find(struct softcuda_context *context, CUstream handle);
/* The stream of a call, with the result of softcuda_enter_context; for softcuda_leave. */
CUresult softcuda_stream_enter(CUstream handle, struct softcuda_stream **stream);
/* CUDA_ERROR_STREAM_CAPTURE_IMPLICIT: it may not be used, and has voided a capture. */
CUresult softcuda_capture_allows(const struct softcuda_stream *stream);
/* CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED: CONTEXT may not be waited for, and captures are void. */
CUresult softcuda_capture_allows_wait(const struct softcuda_context *context);
/* Takes over OPERATION, after EVENT if that is not NULL. */
CUresult softcuda_stream_queue(struct softcuda_stream *stream, struct softcuda_operation *operation,
                               const struct softcuda_place_in_stream *event);
/* Queues an operation that does nothing. */
CUresult softcuda_stream_mark(struct softcuda_stream *stream,
                              const struct softcuda_place_in_stream *event);
/* Carries out all that STREAM's operations up to POSITION need. The context's sticky error. */
CUresult softcuda_stream_reach(struct softcuda_stream *stream, unsigned long long position);
/* The same for all that is queued in CONTEXT and its green ones; in all contexts. */
CUresult softcuda_stream_drain(struct softcuda_context *context);
void softcuda_stream_drain_all(void);
/* Gives up what is queued. */
void softcuda_stream_abandon(struct softcuda_stream *stream);

/* ---- kernels ---- */

struct softcuda_entry {
    const char *name;
    softcuda_kernel *kernel;
    size_t bytes; /* of its argument */
};

extern
#ifdef __cplusplus
    "C"
#endif
    const struct softcuda_entry softcuda_table[]; /* ends with a NULL name */

#endif
