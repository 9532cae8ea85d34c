/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The lock, failures on demand, counts, and which functions of the driver are called. */

#define _GNU_SOURCE /* recursive mutexes, strchrnul, dladdr */

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

struct softcuda_counts softcuda_counts;

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static bool lost;
static struct {
    unsigned left; /* operations up to the one that fails; 0: none fails */
    bool so_on;
} failures[SOFTCUDA_KINDS];

bool softcuda_fails(enum softcuda_kind kind)
{
    softcuda_counts.operations[kind]++;
    if (failures[kind].left == 0 || --failures[kind].left > 0)
        return false;
    failures[kind].left = failures[kind].so_on;
    return true;
}

bool softcuda_is_lost(void)
{
    return lost;
}

void softcuda_lock(void)
{
    pthread_mutex_lock(&lock);
}

void softcuda_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* Its owner is a thread of the parent, and the only one here may not unlock it. */
void softcuda_unlock_child(void)
{
    lock = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}

void softcuda_fail(enum softcuda_kind kind, unsigned nth, bool so_on)
{
    pthread_mutex_lock(&lock);
    failures[kind].left = nth;
    failures[kind].so_on = so_on;
    if (kind == SOFTCUDA_LOST && nth == 0)
        lost = false;
    pthread_mutex_unlock(&lock);
}

void softcuda_count(struct softcuda_counts *counts)
{
    pthread_mutex_lock(&lock);
    *counts = softcuda_counts;
    pthread_mutex_unlock(&lock);
}

/* ---- the environment ---- */

/* KIND:N or KIND:N+, LENGTH bytes of TEXT. */
static bool read_failure(const char *text, size_t length)
{
    static const char *const kinds[SOFTCUDA_KINDS] = {
        "alloc", "copy", "launch", "async", "lost", "ipc", "readonly", "pin", "rows"};

    for (int kind = 0; kind < SOFTCUDA_KINDS; kind++) {
        size_t name = strlen(kinds[kind]);
        unsigned long nth;
        char *end;

        if (length <= name + 1 || strncmp(text, kinds[kind], name) != 0 || text[name] != ':')
            continue;
        nth = strtoul(text + name + 1, &end, 10);
        failures[kind].so_on = *end == '+';
        end += failures[kind].so_on;
        failures[kind].left = (unsigned)nth;
        return nth > 0 && nth <= UINT_MAX && end == text + length;
    }
    return false;
}

CUresult softcuda_read_environment(void)
{
    const char *fail = getenv("SOFTCUDA_FAIL"), *devices = getenv("SOFTCUDA_DEVICES");
    const char *hidden = getenv("SOFTCUDA_HIDDEN");
    unsigned long count = 2;
    char *end;

    if (devices && *devices) {
        count = strtoul(devices, &end, 10);
        if (*end != '\0' || count > 64) {
            fprintf(stderr, "softcuda: SOFTCUDA_DEVICES is no number up to 64: %s\n", devices);
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    while (fail && *fail) {
        size_t length = (size_t)(strchrnul(fail, ',') - fail);

        if (!read_failure(fail, length)) {
            fprintf(stderr, "softcuda: SOFTCUDA_FAIL is no list of KIND:N or KIND:N+: %s\n", fail);
            return CUDA_ERROR_INVALID_VALUE;
        }
        fail += length + (fail[length] == ',');
    }
    softcuda_hidden = hidden ? atoi(hidden) : 0;
    softcuda_devices = (int)count;
    return count > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

/* ---- calls ---- */

CUresult softcuda_enter(void)
{
    pthread_mutex_lock(&lock);
    if (softcuda_fails(SOFTCUDA_LOST))
        lost = true;
    if (lost)
        return CUDA_ERROR_DEVICE_UNAVAILABLE;
    return softcuda_devices > 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult softcuda_enter_context(struct softcuda_context **context)
{
    CUresult code = softcuda_enter(), current = softcuda_current(context);

    if (code == CUDA_SUCCESS)
        code = current;
    return code == CUDA_SUCCESS ? (*context)->error : code;
}

CUresult softcuda_leave(CUresult code)
{
    pthread_mutex_unlock(&lock);
    return code;
}

/* ---- which functions of the driver the program calls ---- */

/* This library is compiled so that each of its
 * functions says when it begins (-finstrument-functions): those that are entered from outside of it
 * are counted, whatever they do. */

/* Hidden: the C library has functions of these names too. */
#define HOOK __attribute__((no_instrument_function, visibility("hidden")))

HOOK void __cyg_profile_func_enter(void *function, void *caller);
HOOK void __cyg_profile_func_exit(void *function, void *caller);

enum { MOST = 128 };

static struct softcuda_call calls[MOST];
static size_t ncalls;
static atomic_bool recording;

/* The linker's, of this library: where it begins, and where its code ends. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

/* The name of FUNCTION if it is one of the driver's that CALLER has called from outside, or NULL.
 * To know that a caller is not outside takes no look at names: there are many, in kernels. */
__attribute__((no_instrument_function)) static const char *name_of(void *function, void *caller)
{
    Dl_info here;

    if ((const char *)caller >= __ehdr_start && (const char *)caller < etext)
        return NULL;
    if (dladdr(function, &here) == 0 || here.dli_saddr != function ||
        strncmp(here.dli_sname, "cu", 2) != 0)
        return NULL;
    return here.dli_sname;
}

void __cyg_profile_func_enter(void *function, void *caller)
{
    const char *name =
        atomic_load_explicit(&recording, memory_order_relaxed) ? name_of(function, caller) : NULL;
    size_t i = 0;

    if (name == NULL)
        return;
    softcuda_lock();
    while (i < ncalls && strcmp(calls[i].name, name) != 0)
        i++;
    if (i < MOST) {
        calls[i].name = name;
        calls[i].count++;
        ncalls += i == ncalls;
    }
    softcuda_unlock();
}

void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)function, (void)caller;
}

void softcuda_record_calls(bool on)
{
    softcuda_lock();
    if (on) {
        memset(calls, 0, sizeof calls);
        ncalls = 0;
    }
    softcuda_unlock();
    atomic_store(&recording, on);
}

size_t softcuda_calls(struct softcuda_call *copy, size_t most)
{
    size_t count;

    softcuda_lock();
    count = ncalls < most ? ncalls : most;
    memcpy(copy, calls, count * sizeof *copy);
    softcuda_unlock();
    return count;
}
