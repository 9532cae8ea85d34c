/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "fibers.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STACK = 256 * 1024 };

/* ---- sanitizers ---- */

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#ifdef SOFTCUDA_TSAN
#include <sanitizer/tsan_interface.h>

/* Else each process that made a fiber sleeps for a second as it exits. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "atexit_sleep_ms=0";
}

void softcuda_fiber_release(const void *place)
{
    __tsan_release((void *)(uintptr_t)place);
}

void softcuda_fiber_acquire(const void *place)
{
    __tsan_acquire((void *)(uintptr_t)place);
}
#else
void softcuda_fiber_release(const void *place)
{
    (void)place;
}

void softcuda_fiber_acquire(const void *place)
{
    (void)place;
}
#endif

/* ---- contexts ---- */

#ifdef SOFTCUDA_UCONTEXT

static void set_entry(struct softcuda_fiber *fiber, void (*entry)(void))
{
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->stack;
    fiber->context.uc_stack.ss_size = fiber->size;
    fiber->context.uc_link = NULL;
    makecontext(&fiber->context, entry, 0);
}

static void switch_context(struct softcuda_fiber *from, struct softcuda_fiber *to)
{
    swapcontext(&from->context, &to->context);
}

#else

/* System V ABI: what a function must preserve goes to the stack. The modes of rounding stay as they
 * are: no kernel alters them. */
void softcuda_switch(void **from, void *to) __attribute__((visibility("hidden")));
__asm__(".text\n"
        ".p2align 4\n"
        ".hidden softcuda_switch\n"
        ".globl softcuda_switch\n"
        ".type softcuda_switch, @function\n"
        "softcuda_switch:\n"
        "    push %rbp\n"
        "    push %rbx\n"
        "    push %r12\n"
        "    push %r13\n"
        "    push %r14\n"
        "    push %r15\n"
        "    mov %rsp, (%rdi)\n"
        "    mov %rsi, %rsp\n"
        "    pop %r15\n"
        "    pop %r14\n"
        "    pop %r13\n"
        "    pop %r12\n"
        "    pop %rbx\n"
        "    pop %rbp\n"
        "    ret\n"
        ".size softcuda_switch, . - softcuda_switch\n");

/* Six registers, ENTRY to return to, and no address that it could return to. */
static void set_entry(struct softcuda_fiber *fiber, void (*entry)(void))
{
    uintptr_t *top = (uintptr_t *)((char *)fiber->stack + fiber->size) - 8;

    for (int i = 0; i < 8; i++)
        top[i] = 0;
    top[6] = (uintptr_t)entry;
    fiber->saved = top;
}

static void switch_context(struct softcuda_fiber *from, struct softcuda_fiber *to)
{
    softcuda_switch(&from->saved, to->saved);
}

#endif

/* ---- fibers ---- */

/* A stack has a page without access below it. */
static bool make_stack(struct softcuda_fiber *fiber)
{
    size_t guard = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, guard + STACK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

    if (memory == MAP_FAILED)
        return false;
    if (mprotect(memory, guard, PROT_NONE) != 0) {
        munmap(memory, guard + STACK);
        return false;
    }
    fiber->stack = memory + guard;
    fiber->size = STACK;
    return true;
}

/* Who switches to whom. */
static SOFTCUDA_LOCAL struct softcuda_fiber *leaving, *arriving;

static void leave(struct softcuda_fiber *from, struct softcuda_fiber *to)
{
    leaving = from;
    arriving = to;
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&from->fake, to->stack, to->size);
#endif
#ifdef SOFTCUDA_TSAN
    __tsan_switch_to_fiber(to->tsan, __tsan_switch_to_fiber_no_sync);
#endif
}

/* Where the stack of an adopted fiber is, is known once it was left. */
static void arrive(void)
{
#ifdef __SANITIZE_ADDRESS__
    const void *stack;

    __sanitizer_finish_switch_fiber(arriving->fake, &stack, &leaving->size);
    leaving->stack = (void *)(uintptr_t)stack;
#endif
}

static void fiber_main(void)
{
    arrive();
    arriving->entry();
}

bool softcuda_fiber_start(struct softcuda_fiber *fiber, void (*entry)(void))
{
    if (fiber->stack == NULL && !make_stack(fiber))
        return false;
    fiber->entry = entry;
    fiber->fake = NULL;
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region(fiber->stack, fiber->size);
#endif
#ifdef SOFTCUDA_TSAN
    if (fiber->tsan != NULL) { /* all that it did was before now */
        void *current = __tsan_get_current_fiber();

        __tsan_switch_to_fiber(fiber->tsan, 0);
        __tsan_switch_to_fiber(current, 0);
        __tsan_destroy_fiber(fiber->tsan);
    }
    fiber->tsan = __tsan_create_fiber(0);
#endif
    set_entry(fiber, fiber_main);
    return true;
}

void softcuda_fiber_adopt(struct softcuda_fiber *fiber)
{
    fiber->fake = NULL;
#ifdef SOFTCUDA_TSAN
    fiber->tsan = __tsan_get_current_fiber();
#else
    fiber->tsan = NULL;
#endif
}

void softcuda_fiber_switch(struct softcuda_fiber *from, struct softcuda_fiber *to)
{
    leave(from, to);
    switch_context(from, to);
    arrive();
}
