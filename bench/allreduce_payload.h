/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* An exchange of as many bytes as a compressed all-reduce sends, without a codec: what the library
 * could reach if encoding and decoding cost nothing. */
#ifndef BENCH_ALLREDUCE_PAYLOAD_H
#define BENCH_ALLREDUCE_PAYLOAD_H

#include <stddef.h>

#include <mpi.h>

/* Opaque; for CHUNKS of as many bytes as the ranks of COMM own, one after the other. */
struct payload;
struct payload *payload_create(MPI_Comm comm, const size_t *chunks);
void payload_free(struct payload *payload);

/* Every rank sends each owner his chunk, and then his own to all. */
void payload_exchange(struct payload *payload);

#endif
