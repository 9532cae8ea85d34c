/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Inside the host backend: the operations of each family. */
#ifndef CGX_CODEC_HOST_FAMILIES_H
#define CGX_CODEC_HOST_FAMILIES_H

#include "codec/host_walk.h"

/* By enum cgx_family. */
extern const struct cgx_host_family *const cgx_host_families[CGX_FAMILIES];

#endif
