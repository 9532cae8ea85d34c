# shellcheck shell=sh
# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# For scripts whose programs have device buffers: the software driver, where it was built and
# CGX_TEST_REAL_DRIVER does not say that the machine's is to be used.
#
#     . "$top_srcdir/tests/mpi/lib/devices.sh"

if [ -z "${CGX_TEST_REAL_DRIVER:-}" ] && [ -e "$top_builddir/tests/softcuda/.libs/libcuda.so.1" ]; then
    LD_LIBRARY_PATH=$top_builddir/tests/softcuda/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
fi
