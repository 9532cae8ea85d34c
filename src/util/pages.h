/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Memory for devices that access it directly; safe to fork while it is pinned.
 *
 * A driver pins the pages that are in memory at that moment. After a fork, as in every data loader,
 * private pages are copied on write: the program continues in a copy, the device in the original
 * page, and sums are silently wrong. (Linux 5.9 and later copy such pages for the child, but only
 * if the driver uses pin_user_pages.) So:
 * - The memory is mapped shared, although no other process gets it: shared pages are never copied.
 * - Children do not inherit it (MADV_DONTFORK), where the system supports that. A child that calls
 * MPI, which it must not, faults instead of writing into its parent's messages, and a long-lived
 * child does not hold on to freed memory. This alone would not suffice: libibverbs undoes it
 * (MADV_DOFORK) for memory that an MPI registers and releases.
 * Drivers map their own allocations (cuMemHostAlloc) shared, so these are safe.
 *
 * NUMA hints work as for other memory. Copies are as fast as in private pages of the same size; the
 * first touch of a page takes some 0.3 us longer. There are no huge pages unless the system
 * provides them for shared memory. */
#ifndef CGX_UTIL_PAGES_H
#define CGX_UTIL_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* Maps BYTES of zeros in separate pages: of FILE, which is as large, or anonymous pages if FILE is
 * -1. Accesses behind them fault. NULL: no memory. */
void *cgx_pages_map(size_t bytes, int file);

/* Maps BYTES of zeros for sparse tables: pages exist only once touched, where calloc touches all of
 * them once a program has freed large memory. NULL: no memory. */
void *cgx_sparse_map(size_t bytes);

/* BYTES as for cgx_sparse_map; MEMORY may be NULL. */
void cgx_sparse_unmap(void *memory, size_t bytes);

/* Maps the shared pages at MEMORY at a second address, with the same access, or WRITABLE if their
 * file was opened for writing. The second mapping stays when MEMORY goes, until munmap. NULL: no
 * memory, or not writable. */
void *cgx_pages_again(const void *memory, size_t bytes, bool writable);

/* BYTES as for cgx_pages_map; MEMORY may be NULL and must not be pinned. */
void cgx_pages_unmap(void *memory, size_t bytes);

#endif
