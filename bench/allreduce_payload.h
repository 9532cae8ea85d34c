/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* An exchange of as many bytes as a compressed all-reduce sends, without a codec: what the library
 * could reach if encoding and decoding cost nothing. */
#ifndef BENCH_ALLREDUCE_PAYLOAD_H
#define BENCH_ALLREDUCE_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>

#include <mpi.h>

/* How messages go; the defaults are the library's on slow networks where ranks share processors. */
struct pace {
    size_t fragment; /* bytes of a message on the wire; 0: whole messages, and MPI_Waitall */
    int window;      /* fragments of one message that are under way */
    long nap;        /* nanoseconds a rank sleeps that waits for long; 0: it yields */
};

#define PACE_DEFAULT                                 \
    {                                                \
        .fragment = 16384, .window = 8, .nap = 20000 \
    }

/* Opaque; for CHUNKS of as many bytes as the ranks of COMM own, one after the other. */
struct payload;
struct payload *payload_create(MPI_Comm comm, const struct pace *pace, const size_t *chunks);
void payload_free(struct payload *payload);

/* Every rank sends each owner his chunk, and then his own to all. */
void payload_exchange(struct payload *payload);

#endif
