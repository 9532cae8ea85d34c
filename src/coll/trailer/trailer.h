/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Trailers follow the pieces of a part, up to the end of its payload (doc/format.md). The rank that
 * quantises the part writes them; all ranks that receive the part receive them. */
#ifndef CGX_COLL_TRAILER_TRAILER_H
#define CGX_COLL_TRAILER_TRAILER_H

#include <stdbool.h>
#include <stddef.h>

#include "util/status.h"

struct cgx_block;
struct cgx_coll;
struct cgx_payloads;
struct cgx_schedule;
struct cgx_scheme;
struct cgx_slice;

struct cgx_trailer {
    /* Whether parts of SCHEDULE, formed as SCHEME says, have this trailer; called before SCHEDULE's
     * slices, hash and needs are set. */
    bool (*needed)(const struct cgx_schedule *schedule, const struct cgx_scheme *scheme);

    /* Bytes of the trailer per part of the first slice. */
    size_t by_first;

    /* Writes the trailer over zeros, after every quantisation of PART, a sum of FROM; LAST: the
     * final sum. NULL, here and in other functions: nothing to do. */
    void (*seal)(struct cgx_slice *slice, const struct cgx_block *part,
                 const struct cgx_payloads *from, bool last);

    /* Passes the trailers of SLICE's parts, which have arrived, to COLL. */
    void (*take)(struct cgx_coll *coll, const struct cgx_slice *slice);

    /* Called when the sum of FROM in PART is queued; may queue more work, which writes to ROOM
     * bytes of the first slice's staging memory before seal is called. */
    enum cgx_status (*inspect)(struct cgx_slice *slice, const struct cgx_block *part,
                               const struct cgx_payloads *from, bool last);
    size_t (*room)(const struct cgx_schedule *schedule);
};

extern const struct cgx_trailer cgx_watch;

/* In payload order. */
enum { CGX_TRAILER_WATCH, CGX_TRAILERS };
static const struct cgx_trailer *const cgx_trailers[CGX_TRAILERS] = {&cgx_watch};

#endif
