# shellcheck shell=sh
# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# The machine that scripts/gpu-check runs on: its tools, what keeps it ready, and the build. To be
# sourced by it, after gpu.sh.

# Leaves MPICC, MPIEXEC, NVCC, $nvcc_flags for the device that is there, $cuda, $directory and
# $processors.
find_tools() {
    processors=$(getconf _NPROCESSORS_ONLN)
    directory=${built:-$PWD/build/gpu}
    if [ -z "${MPICC:-}" ]; then
        MPICC=mpicc MPIEXEC=mpiexec
        has mpicc || MPICC=mpicc.mpich MPIEXEC=mpiexec.mpich
    fi
    : "${MPIEXEC:=mpiexec}"
    cuda=${CUDA_HOME:-/usr/local/cuda}
    PATH=$PATH:$cuda/bin
    : "${NVCC:=nvcc}"
    export MPICC MPIEXEC NVCC PATH
    has "$MPICC" ||
        missing "no $MPICC: source env.sh of the folder that scripts/gpu-pack makes, or set MPICC"
    has "$MPIEXEC" || missing "no $MPIEXEC: set MPIEXEC to the launcher of $MPICC"
    [ -n "$built" ] || has "$NVCC" ||
        missing "no $NVCC: install the CUDA toolkit, or set NVCC or CUDA_HOME"
    # In a rehearsal it is any.
    sm=80
    set_nvcc_flags
    [ "$driver" = real ] || return 0
    has nvidia-smi || missing "no nvidia-smi: run this where there is an NVIDIA driver," \
        "or rehearse with --soft"
    # "8.6" becomes "86".
    sm=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>>"$log" | head -n 1 | tr -d '. ')
    case $sm in
    '' | *[!0-9]*) missing "nvidia-smi names no device: see what it prints, and $log" ;;
    esac
    set_nvcc_flags
}

# Of one architecture the kernels are a single job, unless nvcc can split it.
set_nvcc_flags() {
    nvcc_flags="-gencode=arch=compute_$sm,code=sm_$sm"
    if "$NVCC" --help 2>/dev/null | grep -q -e '--split-compile '; then
        nvcc_flags="--split-compile=0 $nvcc_flags"
    fi
}

describe_machine() {
    echo "- date: $(date -u +%Y-%m-%d)"
    commit=$(git -c safe.directory='*' rev-parse --short HEAD 2>/dev/null || echo unknown)
    changed=$(git -c safe.directory='*' status --porcelain -uno 2>/dev/null | head -n 1)
    echo "- commit: ${CGX_COMMIT:-$commit${changed:+, changed}}"
    if [ "$driver" = soft ]; then
        echo "- GPU: none; the software driver, for tests: nothing here is a measure of speed"
    else
        nvidia-smi --format=csv,noheader \
            --query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.mem,ecc.mode.current |
            sed 's/^/- GPU: /'
    fi
    echo "- processor:$(sed -n 's/^model name[^:]*://p' /proc/cpuinfo | head -n 1), $processors processors"
    echo "- memory: $(sed -n 's/^MemTotal: *//p' /proc/meminfo)"
    echo "- system: $(uname -sr), $(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)"
    echo "- compilers: $("${CC:-cc}" --version | head -n 1); nvcc $("$NVCC" --version 2>/dev/null |
        sed -n 's/.*release \([0-9.]*\).*/\1/p')"
    echo "- MPI: $("$MPIEXEC" --version 2>/dev/null | head -n 2 | tr -s ' \n' ' ')"
}

# clocks WHEN: a line of machine.md.
clocks() {
    [ "$driver" = real ] || return 0
    nvidia-smi --format=csv,noheader --query-gpu=clocks.sm,clocks.mem,power.draw,temperature.gpu \
        2>>"$log" | head -n 1 | sed "s!^!- clocks, power and temperature $1: !" >>"$out/machine.md"
}

# Launchers look up the machine's own name, and some machines do not know it.
make_name_known() {
    name=$(uname -n)
    ! getent hosts "$name" >/dev/null || return 0
    if [ "$driver" = soft ]; then
        skipped "the machine's own name" "a rehearsal leaves /etc/hosts alone"
    elif ! echo "127.0.0.1 $name" 2>/dev/null >>/etc/hosts; then
        skipped "the machine's own name" "it has no address, and /etc/hosts cannot be written"
    fi
}

# The device stays initialised as long as a process has a context, and the driver takes seconds to do it
# anew for each program else. Its settings are left alone.
hold_device() {
    cat >"$scratch/hold.c" <<'END'
#include <unistd.h>
#include "models/device_memory.h"
int main(void)
{
    for (int device = device_count() - 1; device >= 0; device--)
        device_allocate(device, 1);
    return sleep(600);
}
END
    "${CC:-cc}" -O1 -Ibench -o "$scratch/hold" "$scratch/hold.c" -ldl >>"$log" 2>&1 || {
        result FAIL "the program that holds a context is built"
        return 0
    }
    "$scratch/hold" 2>>"$log" &
    to_stop="$to_stop $!"
}

start_machine() {
    UCX_TLS=self,sm
    export UCX_TLS
    if [ "$driver" = soft ]; then
        LD_LIBRARY_PATH=$directory/tests/softcuda/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
        export LD_LIBRARY_PATH
    fi
    make_name_known
    # In a rehearsal that builds, there is no driver yet.
    if [ "$driver" = real ] || [ -n "$built" ]; then
        hold_device
    fi
    describe_machine >"$out/machine.md" 2>>"$log"
    [ "$driver" = soft ] || nvidia-smi >>"$log" 2>&1 || :
}

# ---- the build ----

# What came with a copy of the tree may look older than what it was made from.
make_configure() {
    if [ -f configure ]; then
        touch aclocal.m4 && sleep 1 && touch configure && find . -name Makefile.in -exec touch {} +
    elif has autoreconf; then
        part "bootstrap" ./bootstrap
    else
        result FAIL "there is a configure script, or autoreconf to make one"
        return 1
    fi
}

# Only what this call runs, with the code of the device that is there. A program that cannot be built
# stops no other.
build() {
    mkdir -p "$directory"
    set -- -k -C "$directory" -j "$processors" "gpu-$call" "NVCC_ARCHITECTURES=$nvcc_flags"
    [ "$driver" = real ] || set -- "$@" tests/softcuda/libcuda.la
    if [ -f tests/mpi/device_fork.c ] && [ "$call" = worth ]; then
        set -- "$@" tests/mpi/device_fork
    fi
    [ -f "$directory/config.status" ] || {
        make_configure && part "configure" env -C "$directory" "$PWD/configure" --with-cuda
    } || return 1
    part "the build" make "$@" || [ -f "$directory/.libs/libcgxpmpi.so" ]
}

# ---- ranks ----

# What tests are given, and $launch, before a number of ranks and "--": how programs are started
# whose times count. Where ranks outnumber processors they must give way to each other.
prepare_ranks() {
    top_srcdir=$PWD top_builddir=$directory
    : "${CC:=cc}" "${NM:=nm}" "${MPIFORT:=}" "${LIBASAN:=}"
    export top_srcdir top_builddir CC NM MPIFORT LIBASAN
    cat >"$scratch/smoke.c" <<'END'
#include <mpi.h>
int main(int argc, char **argv)
{
    int one = 1, ranks = 0, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&one, &ranks, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return ranks != size || size != 4;
}
END
    ranks_work=yes
    part "a program of 4 ranks is compiled" "$MPICC" -o "$scratch/smoke" "$scratch/smoke.c" &&
        part "4 ranks of MPI" "$MPIEXEC" -n 4 "$scratch/smoke" || ranks_work=no
}

# has_ranks NAME: false, which is a named skip, where MPI does not work here.
has_ranks() {
    [ "$ranks_work" = yes ] || {
        skipped "$1" "4 ranks of MPI do not run here"
        return 1
    }
}

# on_ranks RANKS: sets $launch.
# shellcheck disable=SC2034
on_ranks() {
    launch="$MPIEXEC -n $1"
    { [ "$driver" = real ] && [ "$processors" -ge "$1" ]; } ||
        launch="tests/lib/run-mpi -n $1 --plain --"
}
