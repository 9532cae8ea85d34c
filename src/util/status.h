/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How functions end, and compressed calls. */
#ifndef CGX_UTIL_STATUS_H
#define CGX_UTIL_STATUS_H

/* Whoever first names an error logs it; callers pass it up silently. */
enum cgx_status {
    CGX_OK = 0,
    CGX_ERR_NOMEM,   /* no host memory */
    CGX_ERR_INVALID, /* an argument or a setting is out of range */
    CGX_ERR_FORMAT,  /* a message or payload differs from what the schedule expects */
    CGX_ERR_MPI,     /* a call of the MPI library failed */
    CGX_ERR_DEVICE,  /* a call of the CUDA driver failed */
    CGX_ERR_BUSY,    /* the CUDA driver refuses while the program captures a stream */
};

/* Of a compressed call. */
enum cgx_outcome {
    CGX_OUTCOME_DONE,
    CGX_OUTCOME_DECLINED, /* all ranks know that the call cannot be done; no rank wrote output */
    CGX_OUTCOME_HELD,     /* all ranks know that its data is no gradient; no rank wrote output */
    CGX_OUTCOME_HALFWAY,  /* declined after output was written: an error on all ranks */
    CGX_OUTCOME_UNRECOVERABLE, /* all ranks know that one cannot do it uncompressed either: an error
                                  on all */
    CGX_OUTCOME_LOST,          /* this rank has no result; others may have one */
    /* MPI failed; or this rank does not know whether the call is held. Its communicator and its
     * memory must never be used again. */
    CGX_OUTCOME_BROKEN,
};

#endif
