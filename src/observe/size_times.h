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

/* Counts a large sum that was compressed, or one that was not as long as sums like it are not. */
void cgx_size_times_count(const struct cgx_record *record);

/* Sets *TIMES to the INDEXth size, from 0, with at least CGX_SIZE_LEAST sums of each kind; false
 * behind the last. */
bool cgx_size_times_get(size_t index, struct cgx_size_times *times);

#endif
