/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The compressed all-reduce of one recurring buffer over a private communicator: runs the
 * schedule's program slice by slice, also when a rank cannot take part. While one slice is on the
 * wire, the next is encoded and the last decoded. Device backends queue that work; the host does it
 * during an exchange and polls the messages meanwhile. No rank ever leaves the schedule: a rank
 * that cannot serve the call sends headers only, with a flag that every round passes on. */
#ifndef CGX_COLL_COLL_H
#define CGX_COLL_COLL_H

#include "coll/task.h"

/* Begin starts the call. poll returns whether it is over and then sets *OUTCOME. Both wait for this
 * rank's device but never for other ranks. */
void cgx_coll_begin(struct cgx_coll *coll);
bool cgx_coll_poll(struct cgx_coll *coll, enum cgx_outcome *outcome);

enum cgx_outcome cgx_coll_run(struct cgx_coll *coll);

#endif
