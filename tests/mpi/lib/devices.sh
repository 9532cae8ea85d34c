# shellcheck shell=sh
# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# For scripts whose programs have device buffers: where there is no NVIDIA device, or with
# CGX_TEST_DRIVER=soft, the loader finds the software driver, and $driver is soft; else real.
# CGX_TEST_DRIVER=posing is for tests of the tests: the software driver poses as a real one, which
# neither counts nor fails on demand, and $driver is real.
#
#     . "$top_srcdir/tests/mpi/lib/devices.sh"
#
# The software driver runs blocks in an order of SOFTCUDA_BLOCKS, by default another one each time;
# a line says which, so that a failure comes again.

driver=real
case ${CGX_TEST_DRIVER:-} in
soft | posing) driver=$CGX_TEST_DRIVER ;;
*) [ -e /dev/nvidiactl ] || driver=soft ;;
esac
if [ "$driver" != real ]; then
    LD_LIBRARY_PATH=$top_builddir/tests/softcuda/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    : "${SOFTCUDA_BLOCKS:=$(($(date +%s) % 100000 * 1000 + $$ % 1000))}"
    export LD_LIBRARY_PATH SOFTCUDA_BLOCKS
    echo "# SOFTCUDA_BLOCKS=$SOFTCUDA_BLOCKS"
fi
if [ "$driver" = posing ]; then
    driver=real
    SOFTCUDA_POSES=1
    export SOFTCUDA_POSES
fi

# now NAME ARGUMENTS-OF-RUN-MPI: all buffers, all calls but those below 1024 elements.
now() {
    now_name=$1
    shift
    run_now "$now_name" CGX_BUFFERS=all "$@"
}

# only_first: no call of the last run was exact but the first ones of a communicator.
only_first() {
    ! grep ' exact: ' "$scratch/err" | grep -q -v 'one of the first'
}

# peers NAME: the last run had calls from device to device.
peers() {
    expect_unless_skipped "$1: from device to device" said 'compressed, [0-9]* slices*, from device to device'
    expect_unless_skipped "$1: no call is exact but the first" only_first
}
