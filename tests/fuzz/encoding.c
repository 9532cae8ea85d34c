/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/encoding.h"
#include "codec/rotated/rotated.h"
#include "fuzz/fuzz.h"

unsigned fuzz_encoding(struct fuzz_input *input)
{
    unsigned which = fuzz_take(input, CGX_WIDTHS + CGX_ROTATED_WIDTHS);

    return which < CGX_WIDTHS ? 1 + which : CGX_ROTATED + 1 + which - CGX_WIDTHS;
}
