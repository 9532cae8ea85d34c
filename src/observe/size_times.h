/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What large sums of one size took, exact and compressed: sums of other sizes do not tell, since
 * small ones wait for ranks and not for bytes. For all communicators together, in constant memory.
 * Thread-safe. */
#ifndef CGX_OBSERVE_SIZE_TIMES_H
#define CGX_OBSERVE_SIZE_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "observe/record.h"

/* Sizes that are kept, those with the most sums; the fewest sums of each kind for a comparison; and
 * the most samples for a median. */
#define CGX_SIZES 64
#define CGX_SIZE_LEAST 10
#define CGX_SIZE_SAMPLES 32

struct cgx_size_times {
    uint64_t elements;
    enum cgx_type_class type;
    struct cgx_size_time {
        uint64_t calls;
        double median; /* seconds */
    } exact, compressed;
};

/* Adds a large sum that was exact. Counts it only if its reason is one that all sums of a step have
 * before they are compressed, or that they are faster: sums that stay exact by a rule may have
 * another place in the step. */
void cgx_size_times_exact(const struct cgx_record *record);

/* Adds a sum that was compressed. */
void cgx_size_times_compressed(const struct cgx_record *record);

/* Sets *TIMES to the INDEXth size, from 0, with at least CGX_SIZE_LEAST sums of each kind; false
 * behind the last. */
bool cgx_size_times_get(size_t index, struct cgx_size_times *times);

#endif
