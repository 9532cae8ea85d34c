/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Device buffers for MPI test programs, through the libcuda.so.1 that the loader finds: a real
 * driver or the software one. What fails here, and was not told to, ends the program with
 * "Bail out!". */
#ifndef TESTS_MPI_LIB_DEVICE_H
#define TESTS_MPI_LIB_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "../../softcuda/softcuda.h"

/* Loads the driver, and makes the primary context of device INDEX modulo their number current in
 * the calling thread. False: there is no driver or no device. May be called again for another. */
bool device_open(int index);

/* Leaves the calling thread without a current context. */
void device_close(void);

/* Destroys the primary context of device INDEX, all that is in it included, for device_open to make
 * a new one. */
void device_reset(int index);

/* More of the driver, once it was opened: sets each FUNCTION, a pointer to a function's pointer.
 * False: it lacks one. */
struct device_function {
    const char *name;
    void *function;
};
bool device_find(const struct device_function *functions, size_t count);

/* Ends the program if CODE, of the call WHAT, is not CUDA_SUCCESS. */
void device_must(int code, const char *what);

/* What is the calling thread's own: its current context and how it captures streams. A library that
 * changes them puts them back. */
struct device_thread {
    void *context;
    int capture_mode; /* CUstreamCaptureMode */
};
struct device_thread device_thread(void);
bool device_thread_is(const struct device_thread *before);
void device_set_capture_mode(int mode);

/* Whether the driver is the software one, and does not pose as a real one (devices.sh): only then
 * are there device_fail and device_count. */
bool device_is_soft(void);
void device_fail(enum softcuda_kind kind, unsigned nth, bool so_on);
struct softcuda_counts device_count(void);
/* The program's exit status is 1 if objects of the software driver are left at its end. */
void device_leave_nothing(void);
/* What is live but for memory that other processes may open, which the library keeps. */
unsigned long long device_live(void);
void device_record_calls(bool on);
size_t device_recorded(struct softcuda_call *calls, size_t most);

/* Memory of the current context, aligned to 256 bytes. The program cannot touch it, but may compute
 * with the address. */
void *device_alloc(size_t bytes);
void *device_alloc_managed(size_t bytes);
void device_free(void *memory);

/* Done when they return. */
void device_upload(void *device, const void *host, size_t bytes);
void device_download(void *host, const void *device, size_t bytes);

/* The same on STREAM alone: what is still queued elsewhere is not waited for. */
void device_download_on(void *stream, void *host, const void *device, size_t bytes);

/* A device buffer of the BYTES at HOST. */
void *device_clone(const void *host, size_t bytes);

/* The calling thread's default stream. */
#define DEVICE_STREAM_PER_THREAD ((void *)2)

/* A stream that is not ordered with the legacy default stream; it is never destroyed. */
void *device_stream(void);

/* Queues an upload, of pinned memory that stays as it is until it is done; STREAM NULL: the legacy
 * default stream. */
void device_upload_later(void *device, const void *host, size_t bytes, void *stream);

/* Pins memory (cuMemHostRegister) and lets it go again. */
void device_pin(void *host, size_t bytes);
void device_unpin(void *host);

/* Memory of device_alloc that other processes may reach (CUDA IPC). False: the driver refuses. */
#define DEVICE_HANDLE_BYTES 64
bool device_share(void *memory, char handle[DEVICE_HANDLE_BYTES]);

/* What another process shares, until device_leave. NULL: the driver refuses. */
void *device_reach(const char handle[DEVICE_HANDLE_BYTES]);
void device_leave(void *reached);

#endif
