/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* cgx-info --data: which data the library sees is no gradient, and how a user says so. */
#ifndef CGX_INFO_DATA_H
#define CGX_INFO_DATA_H

void info_print_data(void);

#endif
