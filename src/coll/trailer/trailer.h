/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Trailers follow the pieces of a part, to the end of its payload (doc/format.md). The rank that
 * quantises the part writes them, and all ranks that get the part get them. */
#ifndef CGX_COLL_TRAILER_TRAILER_H
#define CGX_COLL_TRAILER_TRAILER_H

#include <stdbool.h>
#include <stddef.h>

struct cgx_block;
struct cgx_coll;
struct cgx_payloads;
struct cgx_schedule;
struct cgx_scheme;
struct cgx_shown;
struct cgx_slice;

struct cgx_trailer {
    /* Whether parts of SCHEDULE, formed as SCHEME says, have it. The schedule's slices, hash and
     * needs are not set yet. NULL: they have it where the plan is adaptive. */
    bool (*needed)(const struct cgx_schedule *schedule, const struct cgx_scheme *scheme);

    /* Bytes of the trailer for each piece, each bucket and each part of the first slice. */
    size_t by_piece, by_bucket, by_first;

    /* Called after every quantisation of PART, which is a sum of what is in FROM; LAST: of all.
     * Writes the trailer, where zeros are. CORRECT, before all SEAL, may change the pieces of the
     * last sum. NULL, here and below: there is nothing to do. */
    void (*correct)(struct cgx_slice *slice, const struct cgx_block *part,
                    const struct cgx_payloads *from, bool last);
    void (*seal)(struct cgx_slice *slice, const struct cgx_block *part,
                 const struct cgx_payloads *from, bool last);

    /* Tells COLL what the parts of SLICE say, which have arrived. */
    void (*take)(struct cgx_coll *coll, const struct cgx_slice *slice);

    /* Where payloads go from device to device: lists what the host reads of PART beside its bucket
     * headers, in the sum and in what local peers send to be summed. Returns the number of ranges;
     * 0: it does not read the headers either. NULL: it reads the headers alone. */
    size_t (*list_shown)(const struct cgx_slice *slice, const struct cgx_block *part,
                         struct cgx_shown *ranges);
    size_t shown, shown_by_part; /* the most ranges of a slice, or of a part if that is more */
};

extern const struct cgx_trailer cgx_energies, cgx_bounds, cgx_watch;

/* In their order in a payload. */
enum { CGX_TRAILER_ENERGIES, CGX_TRAILER_BOUNDS, CGX_TRAILER_WATCH, CGX_TRAILERS };
static const struct cgx_trailer *const cgx_trailers[CGX_TRAILERS] = {&cgx_energies, &cgx_bounds,
                                                                     &cgx_watch};

#endif
