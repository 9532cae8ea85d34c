/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The common part of Open MPI's ABI and the standard's: handles are pointers, and most constants
 * agree. An ABI's file defines STATUS_BYTES and includes this once. */
#define HANDLE void *
#define STATUS_ERROR 8
#define STATUS_IGNORE NULL
#include "mpi/abi_body.h"

static void set_constants(struct cgx_mpi *table)
{
    table->IN_PLACE = (void *)1;
    table->ANY_SOURCE = -1;
    table->UNDEFINED = -32766;
    table->ERR_BUFFER = 1;
    table->ERR_COUNT = 2;
    table->ERR_TYPE = 3;
    table->ERR_OTHER = 16;
    table->ERR_NO_MEM = 39;
}
