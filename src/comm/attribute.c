/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/attribute.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "mpi/world.h"

#define NO_KEYVAL INT_MIN

/* The key of the attribute. It must not outlive the MPI instance that made it, since a program of
 * MPI sessions may end one and begin another. It must not be freed while a thread looks it up,
 * which Open MPI treats as an error of the program. A key that is made while MPI_COMM_WORLD exists
 * lasts until MPI_Finalize, and is looked up without the lock. Any other key lives while it has
 * holders: attributes, and threads that look one up. MPI is never called under the lock, since it
 * may hold a lock of its own while it deletes an attribute. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int keyval = NO_KEYVAL;
static bool is_late;                   /* it was made after MPI_Finalize */
static atomic_int lasting = NO_KEYVAL; /* the same key, if it lasts */
static atomic_uint holders;

static bool can_be_used(void)
{
    return atomic_load(&holders) > 0 ||
           (atomic_load(&lasting) != NO_KEYVAL && !cgx_world_finalizing());
}

/* Adds a holder to the key, which is made if there is none. */
static int hold_key(cgx_mpi_attribute_end *end, int *key)
{
    bool lasts = cgx_world_exists(), late = cgx_world_is_over(), acquired = false;
    int made = NO_KEYVAL, code = CGX_MPI_SUCCESS;

    while (!acquired && code == CGX_MPI_SUCCESS) {
        pthread_mutex_lock(&lock);
        acquired = can_be_used() || made != NO_KEYVAL;
        if (acquired && !can_be_used()) {
            keyval = made;
            is_late = late;
            atomic_store(&lasting, lasts ? made : NO_KEYVAL);
            made = NO_KEYVAL;
        }
        if (acquired) {
            atomic_fetch_add(&holders, 1);
            *key = keyval;
        }
        pthread_mutex_unlock(&lock);
        if (!acquired)
            code = cgx_mpi()->Comm_create_keyval(end, &made);
    }
    if (made != NO_KEYVAL)
        cgx_mpi()->Comm_free_keyval(&made);
    return code;
}

void cgx_attribute_end(void)
{
    int unused = NO_KEYVAL;

    pthread_mutex_lock(&lock);
    if (atomic_fetch_sub(&holders, 1) == 1 && atomic_load(&lasting) == NO_KEYVAL &&
        (is_late || !cgx_world_finalizing()))
        unused = keyval;
    pthread_mutex_unlock(&lock);
    if (unused != NO_KEYVAL)
        cgx_mpi()->Comm_free_keyval(&unused);
}

int cgx_attribute_set(cgx_mpi_comm comm, struct cgx_comm *state, cgx_mpi_attribute_end *end)
{
    int key = NO_KEYVAL, code = hold_key(end, &key);

    if (code != CGX_MPI_SUCCESS)
        return code;
    code = cgx_mpi()->Comm_set_attr(comm, key, state);
    if (code != CGX_MPI_SUCCESS)
        cgx_attribute_end();
    return code;
}

/* Adds a holder to the key and returns it, or NO_KEYVAL if there is none; then no communicator has
 * the attribute. */
static int acquire_for_look_up(void)
{
    int key = NO_KEYVAL;

    pthread_mutex_lock(&lock);
    if (atomic_load(&holders) > 0) {
        atomic_fetch_add(&holders, 1);
        key = keyval;
    }
    pthread_mutex_unlock(&lock);
    return key;
}

int cgx_attribute_remove(cgx_mpi_comm comm)
{
    int key = acquire_for_look_up(), code = cgx_mpi()->Comm_delete_attr(comm, key);

    cgx_attribute_end();
    return code;
}

static int look_up(cgx_mpi_comm comm, int key, struct cgx_comm **state)
{
    int found = 0, code = cgx_mpi()->Comm_get_attr(comm, key, state, &found);

    if (!found)
        *state = NULL;
    return code;
}

int cgx_attribute_get(cgx_mpi_comm comm, struct cgx_comm **state)
{
    int key, code;

    *state = NULL;
    /* In this order, since a key that had holders and lasts can still be looked up. */
    if (atomic_load(&holders) == 0)
        return CGX_MPI_SUCCESS;
    key = atomic_load(&lasting);
    if (key != NO_KEYVAL)
        return look_up(comm, key, state);
    key = acquire_for_look_up();
    if (key == NO_KEYVAL)
        return CGX_MPI_SUCCESS;
    code = look_up(comm, key, state);
    cgx_attribute_end();
    return code;
}

/* ---- the communicators that this thread is freeing ---- */

enum { DEEPEST = 8 };

static _Thread_local struct cgx_freeing stack[DEEPEST]; /* the innermost last */
static _Thread_local unsigned depth;
static atomic_bool dropped; /* a state, in any thread */

static void drop_deeper(uintptr_t frame)
{
    for (; depth > 0 && stack[depth - 1].frame <= frame; depth--)
        if (stack[depth - 1].state)
            atomic_store(&dropped, true);
}

bool cgx_freeing_push(const struct cgx_freeing *begun)
{
    drop_deeper(begun->frame);
    if (depth == DEEPEST)
        return false;
    stack[depth++] = *begun;
    return true;
}

struct cgx_comm *cgx_freeing_pop(cgx_mpi_comm comm)
{
    for (unsigned i = depth; i > 0; i--) {
        if (stack[i - 1].comm == comm) {
            depth = i - 1;
            return stack[depth].state;
        }
    }
    return NULL;
}

bool cgx_freeing_has(cgx_mpi_comm comm, uintptr_t frame)
{
    drop_deeper(frame);
    for (unsigned i = 0; i < depth; i++)
        if (stack[i].comm == comm)
            return true;
    return false;
}

bool cgx_freeing_lost(void)
{
    return atomic_load(&dropped);
}
