/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#ifndef CGX_CODEC_HOST_INSPECT_H
#define CGX_CODEC_HOST_INSPECT_H

#include "codec/codec.h"

/* Carries out WORK, CGX_INSPECT, on the host. The caller's floating-point modes must
 * not matter. */
void cgx_host_inspect(const struct cgx_work *work);

#endif
