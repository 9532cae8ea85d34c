/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "util/status.h"

const char *cgx_status_string(enum cgx_status status)
{
    switch (status) {
    case CGX_OK:
        return "no error";
    case CGX_ERR_NOMEM:
        return "out of memory";
    case CGX_ERR_INVALID:
        return "argument or setting out of range";
    case CGX_ERR_FORMAT:
        return "unexpected message or payload";
    case CGX_ERR_MPI:
        return "a call of the MPI library failed";
    case CGX_ERR_DEVICE:
        return "a call of the CUDA driver failed";
    }
    return "unknown error";
}
