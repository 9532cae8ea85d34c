/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Payloads as they go on the wire where many elements are zeros, as in the gradients of embeddings,
 * or where pieces vary (quantiser.h): of those, what they use is sent, and all else as it is. Else,
 * packed, a piece has a map with a bit for each block (blocks.h), and lacks the codes of blocks
 * that are zero, and the headers of buckets that are (doc/format.md). What was packed is unpacked
 * to the bytes that it was. */
#ifndef CGX_CODEC_PACKING_H
#define CGX_CODEC_PACKING_H

#include "codec/format.h"

/* A payload: from offset BEGIN to END, in the terms in which its pieces have theirs. What lies
 * between pieces and behind them is part of it. */
struct cgx_extent {
    const struct cgx_piece *pieces; /* by offset */
    size_t npieces;
    unsigned bucket_size;
    size_t begin, end;
};

/* Whether some piece varies: then the payload is always packed. */
bool cgx_extent_varies(const struct cgx_extent *extent);

/* The most bytes of a packed payload: to pack and unpack one that has more takes as long as a link
 * of 10 Gbit/s takes for what it lacks. */
static inline size_t cgx_packed_most(const struct cgx_extent *extent)
{
    return cgx_extent_varies(extent) ? extent->end - extent->begin
                                     : (extent->end - extent->begin) / 3 * 2;
}

/* Whether pieces vary, or a sample of the payload's blocks says that packing is worth a try. Below,
 * too, PAYLOAD is what is at BEGIN. */
bool cgx_packing_pays(const struct cgx_extent *extent, const unsigned char *payload);

/* Packs the payload to PACKED, where there is room for the most, and returns the bytes; 0: that
 * would be more than the most. */
size_t cgx_pack(const struct cgx_extent *extent, const unsigned char *payload,
                unsigned char *packed);

/* Unpacks BYTES. CGX_ERR_FORMAT, not logged, if they are no packed payload of this EXTENT: then
 * what is in it is anything. */
enum cgx_status cgx_unpack(const struct cgx_extent *extent, const unsigned char *packed,
                           size_t bytes, unsigned char *payload);

#endif
