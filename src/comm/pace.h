/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How the messages of a communicator go: what both sides of a message must know alike. */
#ifndef CGX_COMM_PACE_H
#define CGX_COMM_PACE_H

#include "comm/state.h"

/* Bytes of fragments where the network's speed chooses them, and up to which speed it is slow. */
#define CGX_PACE_SLOW 16384
#define CGX_PACE_FAST 1048576
#define CGX_PACE_SLOW_MBITS 10000

/* Collective on the caller's communicator, whose errors return: sets STATE's pace once all ranks
 * are READY, and *READY says whether they are. NODES are as on all ranks; NULL on one that is not
 * ready. Fragments are of CGX_FRAGMENT_BYTES or, with auto, as the slowest network of the ranks has
 * it: slow where it is unknown, and where all ranks are on one node and send nothing over it.
 * Returns MPI's code. */
int cgx_pace_agree(struct cgx_comm *state, const struct cgx_nodes *nodes, bool *ready);

#endif
