/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The operands of this rank's sum, in the order that they are summed in: what it brings itself and
 * what other members of a stage have sent. */
#ifndef CGX_COLL_OPERANDS_H
#define CGX_COLL_OPERANDS_H

#include <stdbool.h>
#include <stddef.h>

struct cgx_operands {
    /* COUNT of them, in the scratch memory. Each pointer is biased so that its first byte is that
     * of staging offset ORIGIN. NULL: the caller's input. */
    const unsigned char **at;
    size_t count, origin;
    /* Which of them are raw, or elements; raw ones begin with a message. */
    size_t first_raw, raws;
};

/* The payloads that a sum was formed from, as the host sees them; none where what was encoded are
 * elements. */
struct cgx_payloads {
    const unsigned char *const *at; /* COUNT of them, each from staging offset ORIGIN on */
    size_t count, origin;
};

/* In the array at MEMORY: the caller's input alone. */
struct cgx_operands cgx_operands_start(const unsigned char **memory);

/* Rebases all encoded operands to staging offset ORIGIN; raw ones keep theirs. */
void cgx_operands_rebase(struct cgx_operands *operands, size_t origin);

/* Puts what has ARRIVED before all others. */
void cgx_operands_prepend(struct cgx_operands *operands, const unsigned char *arrived);

/* Puts messages of EXTENT bytes each, from ARRIVED on, around the others: BEFORE of them, then the
 * operands so far, then AFTER. ARE_RAW: they hold elements, as the operands so far do. */
void cgx_operands_surround(struct cgx_operands *operands, const unsigned char *arrived,
                           size_t extent, unsigned before, unsigned after, bool are_raw);

#endif
