/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Memory that a device reads and writes by itself: it is safe to fork while it is pinned.
 *
 * A driver pins the pages that lie in memory at that moment. Private pages are copied on write
 * after a fork, as every data loader makes: the program goes on in a copy, the device in the page
 * that it was given, and sums are wrong without a word. (Linux 5.9 and later copy such pages for
 * the child, but only if the driver takes them by pin_user_pages.) So:
 * - The memory is mapped shared, though no other process gets it. Shared pages are never copied.
 * - It is kept from children (MADV_DONTFORK) where the system does that. A child that calls MPI,
 * which it must not, ends by a fault instead of writing into its parent's messages, and one that
 * lives long does not hold on to memory that its parent gave back. This alone would not do:
 * libibverbs undoes it (MADV_DOFORK) for memory that an MPI registers and lets go.
 * What a driver allocates itself (cuMemHostAlloc) is mapped shared by it, and safe.
 *
 * A wish for a NUMA node holds for this memory as for any other. Copies are as fast as in private
 * pages of the same size; the first touch of a page takes some 0.3 us longer. There are no huge
 * pages unless the system gives them to shared memory. */
#ifndef CGX_UTIL_PAGES_H
#define CGX_UTIL_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* BYTES of zeros in pages of their own; of FILE, which is as large, unless that is -1. What is
 * touched behind them faults. NULL: there is no memory. */
void *cgx_pages_map(size_t bytes, int file);

/* BYTES of zeros for tables that are nearly empty: no page is there before it is touched, as with a
 * calloc that gets its memory anew. Once a program has freed large memory it does not, and touches
 * all of it. NULL: there is no memory. */
void *cgx_sparse_map(size_t bytes);

/* With the same BYTES; MEMORY may be NULL. */
void cgx_sparse_unmap(void *memory, size_t bytes);

/* What is mapped at MEMORY, shared and in whole pages, at another address too, with the same
 * access or, WRITABLE, for writing too, which its file must have been opened for; it stays when
 * MEMORY goes, until munmap. NULL: there is no room, or it may not be written. */
void *cgx_pages_again(const void *memory, size_t bytes, bool writable);

/* With the same BYTES; MEMORY may be NULL. It is pinned no more. */
void cgx_pages_unmap(void *memory, size_t bytes);

#endif
