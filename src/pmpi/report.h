/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What this process did with its all-reduces. Thread-safe. */
#ifndef CGX_PMPI_REPORT_H
#define CGX_PMPI_REPORT_H

#include <stddef.h>
#include <stdint.h>

/* BYTES: of the buffer that was reduced, 0 where its type is not one that may be compressed. */
void cgx_report_exact(size_t bytes);

/* SENT: bytes of the messages that this rank sent for the call. */
void cgx_report_compressed(size_t sent);

struct cgx_report_totals {
    uint64_t exact_calls, exact_bytes, compressed_calls, bytes_sent;
};
struct cgx_report_totals cgx_report_totals(void);

/* One line at level info. */
void cgx_report_log(void);

#endif
