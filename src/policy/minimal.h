/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CGX_COMPRESSION_MINIMAL_SIZE where it is auto. */
#ifndef CGX_POLICY_MINIMAL_H
#define CGX_POLICY_MINIMAL_H

#include "policy/cost.h"
#include "util/settings.h"

/* From how many elements of SIZE bytes on calls between NODES of MEMBERS ranks are compressed: as
 * SETTINGS say or, where that is auto, from where on they take less time on NETWORK, as far as that
 * is a matter of messages: what a processor's codec takes for each element is left out. Ranks that
 * agree on the arguments agree on it. */
uint64_t cgx_minimal_size(const struct cgx_settings *settings, const struct cgx_network *network,
                          unsigned size, unsigned nodes, unsigned members);

#endif
