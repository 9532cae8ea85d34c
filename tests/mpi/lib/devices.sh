# shellcheck shell=sh
# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# For scripts whose programs have device buffers: where there is no NVIDIA device, or with
# CGX_TEST_DRIVER=soft, the loader finds the software driver, and $driver is soft; else real.
#
#     . "$top_srcdir/tests/mpi/lib/devices.sh"

# shellcheck disable=SC2034
driver=real
if [ "${CGX_TEST_DRIVER:-}" = soft ] || [ ! -e /dev/nvidiactl ]; then
    driver=soft
    LD_LIBRARY_PATH=$top_builddir/tests/softcuda/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
fi
