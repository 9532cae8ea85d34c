/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Green contexts (CUDA 12.4): parts of a device's processors, as contexts that share the memory of
 * its primary one. The library does not work in them: it would have a few processors alone, a green
 * context may be current to one thread at a time, and what is made in it goes with it while the
 * memory stays. What is allocated in one belongs to the primary context, and so that is where its
 * sums are done; of memory without a context, the same is chosen (driver.h).
 *
 * But a green context has a default stream of its own, which that of the primary context does not
 * wait for. What the program has queued there comes first all the same, through an event. */
#ifndef CGX_CUDA_GREEN_H
#define CGX_CUDA_GREEN_H

#include "cuda/driver.h"

/* Whether the calling thread's current context is a green one. */
bool cgx_green_is_current(void);

/* To be called before a context is entered for a call of the program, and when it is left:
 * remembers, for this thread, what the default stream of the program's current context has to do,
 * if that is a green one. Calls nest: only the first looks, and the
 * last forgets. */
void cgx_green_begin(void);
void cgx_green_end(void);

/* Between the two: has STREAM wait for what was remembered. */
enum cgx_status cgx_green_order(CUstream stream);

#endif
