/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A device backend in software for ranks that are threads: the host codec, in a mirror of the
 * staging memory. What no operation brings to the staging memory is not there, but NaNs. */
#ifndef CGX_TESTS_MIRROR_H
#define CGX_TESTS_MIRROR_H

#include "coll/scratch.h"

/* Makes OPS those of a mirror of SCRATCH's shared staging memory, for the calling thread, which is
 * RANK. Local peers may pull when all of them have called it. */
void mirror_open(unsigned rank, const struct cgx_nodes *nodes, const struct cgx_scratch *scratch,
                 struct cgx_backend_ops *ops);

/* Frees RANK's mirror; no local peer pulls any more. */
void mirror_close(unsigned rank);

#endif
