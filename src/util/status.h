/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What functions of this library return. Whoever first names an error logs it; callers pass it up
 * silently. */
#ifndef CGX_UTIL_STATUS_H
#define CGX_UTIL_STATUS_H

enum cgx_status {
    CGX_OK = 0,
    CGX_ERR_NOMEM,   /* host memory could not be had */
    CGX_ERR_INVALID, /* an argument or a setting is out of its range */
    CGX_ERR_FORMAT,  /* a message or payload is not what the schedule expects */
    CGX_ERR_MPI,     /* a call of the MPI library failed */
    CGX_ERR_DEVICE,  /* a call of the CUDA driver failed */
    CGX_ERR_BUSY,    /* the CUDA driver cannot do it while the program captures a stream */
};

#endif
