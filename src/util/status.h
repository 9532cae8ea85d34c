/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The status of functions. Whoever first names an error logs it; callers pass it up silently. */
#ifndef CGX_UTIL_STATUS_H
#define CGX_UTIL_STATUS_H

enum cgx_status {
    CGX_OK = 0,
    CGX_ERR_NOMEM,   /* no host memory */
    CGX_ERR_INVALID, /* an argument or a setting is out of range */
    CGX_ERR_FORMAT,  /* a message or payload differs from what the schedule expects */
    CGX_ERR_MPI,     /* a call of the MPI library failed */
    CGX_ERR_DEVICE,  /* a call of the CUDA driver failed */
    CGX_ERR_BUSY,    /* the CUDA driver refuses while the program captures a stream */
};

#endif
