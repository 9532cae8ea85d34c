/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What ranks have agreed about calls that recur on one communicator: a bounded table by signature,
 * which counts and types make and handles and pointers never do. What is forgotten when the table
 * is full depends on the sequence of look-ups alone, so that all ranks forget the same. */
#ifndef CGX_PMPI_SIGNATURES_H
#define CGX_PMPI_SIGNATURES_H

#include <stdbool.h>
#include <stdint.h>

#include "coll/coll.h"

struct cgx_signature {
    uint64_t key;
    unsigned rule; /* of CGX_RULES that the calls follow; 0: none */
    uint64_t used; /* look-up number; 0: this place is empty */
    bool agreed;   /* to be compressed, as SHAPE says */
    /* Otherwise it is exact for WAIT more calls; then ranks ask each other again. */
    uint64_t wait;
    uint64_t next_wait;
    struct cgx_plan *plan; /* owned; NULL until agreed */
    struct cgx_shape shape;
    bool by_device; /* and calls go from device to device inside nodes */
};

struct cgx_signatures;
struct cgx_signatures *cgx_signatures_create(void); /* NULL if memory is short */
void cgx_signatures_free(struct cgx_signatures *table);

/* The entry for KEY and RULE, new if there is none. Valid until the next look-up. */
struct cgx_signature *cgx_signatures_find(struct cgx_signatures *table, uint64_t key,
                                          unsigned rule);

/* The entry, or NULL if there is none; is no look-up. */
const struct cgx_signature *cgx_signatures_peek(const struct cgx_signatures *table, uint64_t key,
                                                unsigned rule);

/* Empties the table. */
void cgx_signatures_clear(struct cgx_signatures *table);

/* Ranks ask each other about SIGNATURE in the next call with it. */
void cgx_signature_forget(struct cgx_signature *signature);

/* Takes SIGNATURE back to exact; ranks ask again after twice as many calls as the last time. */
void cgx_signature_refuse(struct cgx_signature *signature);

/* True if ranks are to ask each other in this call; counts the call otherwise. */
bool cgx_signature_due(struct cgx_signature *signature);

#endif
