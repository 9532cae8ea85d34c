/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Powers of contributions, of sums and of their change, for struct cgx_feedback: found by the rank
 * that owns a sum, in payloads that are on the host. Its own contribution is none of these: the
 * power of all P is taken for P / (P - 1) times that of the others. Between nodes the contributions
 * are sums of nodes, and in a grid of rows, which are
 * taken for equally long. What a ring brings together is no contribution, and of
 * what goes from device to device on one node too little is on the host: these powers are not
 * known. Payloads have the errors of their quantisation in them. */
#ifndef CGX_COLL_POWERS_H
#define CGX_COLL_POWERS_H

#include "coll/slice.h"

/* P: how many contributions the sums of SCHEDULE have. */
unsigned cgx_powers_contributions(const struct cgx_schedule *schedule);

/* To be called for the own part when its sum is complete, with the arguments of seal (trailer.h).
 */
void cgx_powers_add(const struct cgx_slice *slice, const struct cgx_block *part,
                    const struct cgx_payloads *from);

#endif
