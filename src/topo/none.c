/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "topo/machine.h"

enum cgx_status cgx_topo_machine(struct cgx_topo_machine *machine)
{
    (void)machine;
    return CGX_ERR_INVALID;
}

const char *cgx_topo_build(void)
{
    return "none";
}
