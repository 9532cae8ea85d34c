/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What cgx-info --measure prints on stdout. */
#ifndef CGX_TOOLS_INFO_MEASURE_H
#define CGX_TOOLS_INFO_MEASURE_H

#include "info_model.h"
#include "util/settings.h"

/* Times the host codec, with the family and bucket size of SETTINGS, and memcpy, *COPY in bytes per
 * ns, on one thread. False: no memory. */
bool info_time_codec(const struct cgx_settings *settings, double *copy,
                     struct info_speed speeds[INFO_WIDTHS]);

/* Measures, and prints what was measured, what it makes of a link, and settings for it. LINK says
 * which one that is. False: no memory. */
bool info_measure(const struct cgx_settings *settings, const char *link, double bytes_per_second,
                  double latency_us);

#endif
