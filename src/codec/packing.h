/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Packs payloads for the wire: of pieces of variable size (encoding.h), only the bytes that they
 * use are sent. Unpacking restores these bytes exactly. */
#ifndef CGX_CODEC_PACKING_H
#define CGX_CODEC_PACKING_H

#include "codec/format.h"

/* A payload from offset BEGIN to END, in which offsets of pieces count. Bytes between and behind
 * pieces belong to the payload. */
struct cgx_extent {
    const struct cgx_piece *pieces; /* in order of offsets */
    size_t npieces;
    size_t begin, end;
};

/* Whether any piece has a variable size: then the payload is always packed. */
bool cgx_extent_has_variable_size(const struct cgx_extent *extent);

/* A walk over the bytes of a payload that are in use: all but the ends of pieces of variable size.
 */
struct cgx_runs {
    size_t piece; /* number of the next piece */
    size_t begin; /* where the next run begins */
};

/* Sets *RUN to the next run of bytes in use of EXTENT's payload, with an offset from its begin.
 * RUNS is zero at first. PAYLOAD is the data at BEGIN; of a piece with an invalid head all bytes
 * are in use. False: there are no more runs. */
bool cgx_runs_next(const struct cgx_extent *extent, const unsigned char *payload,
                   struct cgx_runs *runs, struct cgx_shown *run);

/* Packs the payload, the data at BEGIN, into PACKED, which has room for it unpacked, and returns
 * the packed size; 0 if the head of a piece is invalid. */
size_t cgx_pack(const struct cgx_extent *extent, const unsigned char *payload,
                unsigned char *packed);

/* Unpacks BYTES. CGX_ERR_FORMAT, not logged: the bytes are no packed payload of EXTENT, and PAYLOAD
 * is undefined. */
enum cgx_status cgx_unpack(const struct cgx_extent *extent, const unsigned char *packed,
                           size_t bytes, unsigned char *payload);

#endif
