/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Forks while memory of the program is pinned, as old kernels have them, and a child that lives for
 * ever. The device keeps the pages that it was given. A private page is copied when the parent
 * writes to it for the first time after the fork, and from then on the two of them have a page
 * each. Shared pages, and those that are kept from children (MADV_DONTFORK), stay as they are.
 *
 * Kept here is what the device has of private pages. While an operation runs, it lies in their
 * place: a thread of the program that touches them meanwhile touches the device's. */

#define _GNU_SOURCE /* getline */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

#define PAGE ((uintptr_t)4096)

enum state {
    KEPT, /* not copied on write */
    SAME, /* not written to since the fork */
    APART
};

struct softcuda_split {
    unsigned char *device; /* what the device has, at the offset that it has in the allocation */
    size_t pages;
    unsigned char states[];
};

static size_t splits;

/* ---- at a fork ---- */

static void give_up(const char *what)
{
    perror(what);
    abort();
}

static struct softcuda_split *create(struct softcuda_allocation *allocation)
{
    uintptr_t first = (uintptr_t)allocation->start / PAGE;
    size_t pages = ((uintptr_t)allocation->start + allocation->bytes - 1) / PAGE - first + 1;
    struct softcuda_split *made = calloc(1, sizeof *made + pages);

    if (made)
        made->device = malloc(allocation->bytes);
    if (made == NULL || made->device == NULL)
        give_up("softcuda: no memory for a fork");
    memcpy(made->device, allocation->start, allocation->bytes);
    made->pages = pages;
    splits++;
    return made;
}

/* The pages of ALLOCATION from FROM to TO are private. */
static void mark(struct softcuda_allocation *allocation, uintptr_t from, uintptr_t to)
{
    uintptr_t start = (uintptr_t)allocation->start, last = start + allocation->bytes - 1;

    if (to <= start || from > last)
        return;
    if (allocation->split == NULL)
        allocation->split = create(allocation);
    for (size_t i = 0; i < allocation->split->pages; i++) {
        uintptr_t page = (start / PAGE + i) * PAGE;

        if (page >= from && page < to && allocation->split->states[i] == KEPT)
            allocation->split->states[i] = SAME;
    }
}

static void mark_all(uintptr_t from, uintptr_t to)
{
    struct softcuda_allocation *allocation;

    for (size_t i = 0; (allocation = softcuda_memory_at(i)); i++) {
        if (allocation->memory == SOFTCUDA_REGISTERED)
            mark(allocation, from, to);
    }
}

static bool has_registered(void)
{
    const struct softcuda_allocation *allocation;

    for (size_t i = 0; (allocation = softcuda_memory_at(i)); i++) {
        if (allocation->memory == SOFTCUDA_REGISTERED)
            return true;
    }
    return false;
}

static void before_fork(void)
{
    unsigned long from = 0, to = 0, start, end;
    char *line = NULL;
    size_t room = 0;
    FILE *maps;

    softcuda_lock();
    if (!has_registered())
        return;
    maps = fopen("/proc/self/smaps", "re");
    if (maps == NULL)
        give_up("softcuda: /proc/self/smaps");
    while (getline(&line, &room, maps) > 0) {
        if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
            from = start, to = end;
        /* "sh" would lack where shared memory is mapped for reading alone. */
        else if (strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " ms") == NULL &&
                 strstr(line, " dc") == NULL)
            mark_all(from, to);
    }
    free(line);
    fclose(maps);
}

static void after_fork_in_child(void)
{
    struct softcuda_allocation *allocation;

    for (size_t i = 0; (allocation = softcuda_memory_at(i)); i++)
        softcuda_fork_forget(allocation);
    softcuda_unlock_child();
}

bool softcuda_fork_watch(void)
{
    static bool watched;

    if (!watched)
        watched = pthread_atfork(before_fork, softcuda_unlock, after_fork_in_child) == 0;
    return watched;
}

void softcuda_fork_forget(struct softcuda_allocation *allocation)
{
    if (allocation->split == NULL)
        return;
    free(allocation->split->device);
    free(allocation->split);
    allocation->split = NULL;
    splits--;
}

/* ---- afterwards ---- */

static void swap(unsigned char *a, unsigned char *b, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        unsigned char byte = a[i];

        a[i] = b[i];
        b[i] = byte;
    }
}

/* A page of the program and what the device has of it, BYTES of both. */
static void turn_page(unsigned char *state, unsigned char *host, unsigned char *device,
                      size_t bytes, bool to_device)
{
    if (*state == SAME && to_device && memcmp(host, device, bytes) != 0)
        *state = APART;
    if (*state == APART)
        swap(host, device, bytes);
    else if (*state == SAME)
        memcpy(device, host, bytes);
}

static void turn(const struct softcuda_allocation *allocation, bool to_device)
{
    struct softcuda_split *split = allocation->split;
    size_t bytes;

    for (size_t i = 0, at = 0; i < split->pages; i++, at += bytes) {
        bytes = PAGE - ((uintptr_t)allocation->start + at) % PAGE;
        if (bytes > allocation->bytes - at)
            bytes = allocation->bytes - at;
        turn_page(&split->states[i], allocation->start + at, split->device + at, bytes, to_device);
    }
}

void softcuda_fork_turn(bool to_device)
{
    const struct softcuda_allocation *allocation;

    for (size_t i = 0; splits > 0 && (allocation = softcuda_memory_at(i)); i++) {
        if (allocation->split)
            turn(allocation, to_device);
    }
}
