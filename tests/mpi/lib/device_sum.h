/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums of device buffers in which something goes wrong. With 4 bits and inputs in [-1, 1]. */
#ifndef TESTS_MPI_LIB_DEVICE_SUM_H
#define TESTS_MPI_LIB_DEVICE_SUM_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

/* What came of a call. */
enum device_end { DEVICE_COMPRESSED, DEVICE_EXACT, DEVICE_ERROR, DEVICE_WRONG, DEVICE_ENDS };

struct device_sum {
    size_t count;
    float *input, *exact, *result;
    char *send, *receive; /* on the device, COUNT elements each */
};

/* After device_open. Buffers and what exact calls keep on the device are there then. */
void device_sum_begin(struct device_sum *sum, size_t count);
void device_sum_end(struct device_sum *sum);

/* After device_reset and device_open: gets the device buffers again, the old ones being gone. */
void device_sum_renew(struct device_sum *sum);

/* The parts of a call: the input goes to the device, then MPI_Allreduce, then what came of it on
 * this rank. */
void device_sum_upload(const struct device_sum *sum);
int device_sum_call(const struct device_sum *sum, bool in_place, MPI_Comm comm);
enum device_end device_sum_look(const struct device_sum *sum, bool in_place, int code);

/* All of them. */
enum device_end device_sum_once(const struct device_sum *sum, bool in_place, MPI_Comm comm);

/* Whether all ranks came to the same END, with the same result where there is one. For all ranks to
 * call. */
bool device_sum_alike(const struct device_sum *sum, enum device_end end);

/* CALLS calls, alternately in place, are right on all ranks; *COMPRESSED: the last was. */
bool device_sum_right(const struct device_sum *sum, int calls, MPI_Comm comm, bool *compressed);

#endif
