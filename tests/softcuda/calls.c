/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Which functions of the driver the program calls. This library is compiled so that each of its
 * functions says when it begins (-finstrument-functions): those that are entered from outside of it
 * are counted, whatever they do. */

#define _GNU_SOURCE /* dladdr */

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "driver.h"

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
