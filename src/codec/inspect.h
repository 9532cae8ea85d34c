/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What a rank inspects of a sum that it has just formed, of the payloads that were summed and of
 * its own input, to judge whether the sum is of gradients (coll/trailer/watch.h). The results are
 * small, and each backend forms the same ones: the order of additions is fixed, as in squares.h. */
#ifndef CGX_CODEC_INSPECT_H
#define CGX_CODEC_INSPECT_H

#include <stddef.h>

#include "codec/quant.h"

/* The most buckets that are sampled and asked about, the most members that are sampled, and the
 * most that are asked. */
#define CGX_INSPECT_SAMPLED 256
#define CGX_INSPECT_ASKED 16
#define CGX_INSPECT_MEMBERS 8
#define CGX_INSPECT_CONTRIBUTORS 256

/* Parts into which the headers of a sum are divided to find signs. */
#define CGX_INSPECT_SHARES 16

/* With fewer bits most elements are on level zero and show nothing. */
#define CGX_INSPECT_LEAST_BITS 3

/* Bucket INDEX of piece PIECE. If it is sampled, RUN of its elements from FIRST on are kept, AT
 * so many elements of buckets before. */
struct cgx_inspected_bucket {
    uint32_t piece, index, first, run, at;
};

/* What is to be inspected. The sources are payloads: of the sampled members; of those that are
 * asked, NULL for none; and last the sum. Passed to devices as it is. */
struct cgx_inspection {
    double shares[CGX_INSPECT_MEMBERS]; /* of the sampled members in the sum's ranks */
    uint32_t nmembers, nsampled, nasked;
    uint32_t kept;       /* elements of all sampled buckets */
    uint32_t is_last;    /* signs are looked for, in headers of the sum and in the input */
    uint32_t sees_input; /* the input can be read */
    uint32_t dtype;      /* enum cgx_dtype: of the input */
    struct cgx_inspected_bucket sampled[CGX_INSPECT_SAMPLED], asked[CGX_INSPECT_ASKED];
};

/* ---- results, in this order ---- */

enum { CGX_SIGN_POSITIVE = 1, CGX_SIGN_NEGATIVE = 2 };

/* In a share of the sum's headers: signs (CGX_SIGN_) and the number of buckets that show them. */
struct cgx_inspected_signs {
    uint32_t signs, buckets;
};

/* Who contributes to a bucket that is asked about. */
struct cgx_inspected_contributors {
    float sum;         /* the bucket's step in the sum */
    float only;        /* in the payload of BRINGER */
    uint32_t others;   /* those that are asked whose step is not 0 */
    uint32_t bringer;  /* the last of them */
    uint32_t poisoned; /* not 0: in some payload, and all other fields but SUM are 0 */
    uint32_t shared;   /* not 0: if OTHERS is 1, there are elements in the input; if the piece is
                        * uniform, an element has several contributors */
};

/* A sampled bucket in the sum. If it is poisoned STEP is NaN, and all but OWN is 0. */
struct cgx_inspected_sum {
    double squares, magnitude; /* sums of s^2 and |s| */
    float step;
    uint32_t nonzero; /* elements that are not 0 */
    uint32_t own;     /* signs in the input */
    uint32_t unused;
};

/* The same in the payload of a member, with its share w. */
struct cgx_inspected_member {
    double squared; /* the sum of (x - w s)^2 */
    float step;
    uint32_t nonzero;
};

/* Of sizes that depend on what is inspected follow: a struct cgx_inspected_sum for each sampled
 * bucket; for each of these one struct cgx_inspected_member for each member; and the kept elements
 * of the sum, as the upper halves of float32. */
struct cgx_inspected {
    struct cgx_inspected_signs signs[CGX_INSPECT_SHARES];
    struct cgx_inspected_contributors asked[CGX_INSPECT_ASKED];
};

/* The results behind the fixed ones at RESULTS, and where they end. */
CGX_QUANT struct cgx_inspected_sum *cgx_inspected_sums(void *results)
{
    return (struct cgx_inspected_sum *)(void *)((struct cgx_inspected *)results + 1);
}

CGX_QUANT struct cgx_inspected_member *
cgx_inspected_members(const struct cgx_inspection *inspection, void *results)
{
    return (struct cgx_inspected_member *)(void *)(cgx_inspected_sums(results) +
                                                   inspection->nsampled);
}

CGX_QUANT uint16_t *cgx_inspected_kept(const struct cgx_inspection *inspection, void *results)
{
    return (uint16_t *)(void *)(cgx_inspected_members(inspection, results) +
                                (size_t)inspection->nsampled * inspection->nmembers);
}

/* The bytes of the results for so many. */
static inline size_t cgx_inspected_bytes(size_t nsampled, size_t nmembers, size_t kept)
{
    return sizeof(struct cgx_inspected) +
           nsampled *
               (sizeof(struct cgx_inspected_sum) + nmembers * sizeof(struct cgx_inspected_member)) +
           kept * sizeof(uint16_t);
}

/* ---- shared by all backends ---- */

/* The sign of an element. */
CGX_QUANT uint32_t cgx_sign_of(float value)
{
    return (value > 0 ? CGX_SIGN_POSITIVE : 0) | (value < 0 ? CGX_SIGN_NEGATIVE : 0);
}

/* Adds what a bucket HEADER of a max-min quantised sum of STEPS steps shows. The least element of a
 * bucket is on the first level of its grid, the greatest near the last. A constant bucket shows
 * nothing. */
CGX_QUANT void cgx_signs_add(struct cgx_inspected_signs *signs, uint32_t header, int32_t steps)
{
    int32_t zero = cgx_header_zero(header);

    if (!cgx_header_is_grid(header))
        return;
    signs->buckets++;
    signs->signs |=
        (zero < 0 ? CGX_SIGN_NEGATIVE : 0) | (8 * zero > -7 * steps ? CGX_SIGN_POSITIVE : 0);
}

/* A NaN becomes the canonical one. */
CGX_QUANT double cgx_plain_double(double value)
{
    const uint64_t bits = UINT64_C(0x7FF8000000000000);

    if (value != value)
        memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
