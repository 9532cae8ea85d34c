/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Inside the host backend: rotated quantisation. */
#ifndef CGX_CODEC_ROTATED_HOST_ROTATED_H
#define CGX_CODEC_ROTATED_HOST_ROTATED_H

#include "codec/host_walk.h"

extern const struct cgx_host_family cgx_host_rotated;

#endif
