# shellcheck shell=sh
# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# What scripts/check and scripts/demo share: installing what is missing, and building. To be sourced
# in the top directory.

started=$(date +%s)

# With minutes and seconds since the start.
say() {
    elapsed=$(($(date +%s) - started))
    printf '== %d:%02d %s\n' $((elapsed / 60)) $((elapsed % 60)) "$*"
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo -n "$@"
    else
        echo "neither root nor sudo, so not run: $*"
        return 1
    fi
}

has_header() {
    echo "#include <$1>" | "${CC:-cc}" -E - >/dev/null 2>&1
}

has_python_venv() {
    python3 -c 'import ensurepip, venv' >/dev/null 2>&1
}

# A package of its own, for this version of clang.
has_fuzzer() {
    echo 'int LLVMFuzzerTestOneInput(void); int LLVMFuzzerTestOneInput(void) { return 0; }' |
        clang -fsanitize=fuzzer -x c - -o /dev/null >/dev/null 2>&1
}

# Prints a line for each thing that is missing: how it is recognised, and its Debian package.
list_missing() {
    while read -r kind name package; do
        case $kind in
        command) command -v "$name" ;;
        header) has_header "$name" ;;
        mpi) [ -n "${MPICC:-}" ] || command -v "$name" ;;
        python-venv) has_python_venv ;;
        fuzzer) has_fuzzer ;;
        esac >/dev/null || echo "$kind $name $package"
    done
}

to_build() {
    cat <<'END'
command cc gcc
command g++ g++
command make make
command autoreconf autoconf
command automake automake
command libtoolize libtool
mpi mpicc.mpich libmpich-dev
mpi mpiexec.mpich mpich
header hwloc.h libhwloc-dev
END
}

to_demo() {
    to_build
    cat <<'END'
command ip iproute2
command python3 python3
END
}

to_check() {
    to_build
    cat <<'END'
command clang-format-14 clang-format-14
command clang-tidy clang-tidy
command cppcheck cppcheck
command gfortran gfortran
command git git
command ip iproute2
command mandoc mandoc
command modulecmd environment-modules
command pkg-config pkg-config
command python3 python3
command shellcheck shellcheck
END
}

to_fuzz() {
    to_build
    cat <<'END'
command clang clang
command python3 python3
fuzzer - libclang-rt-dev
python-venv - python3-venv
END
}

to_check_all() {
    to_check
    cat <<'END'
command dh debhelper
command dpkg-buildpackage dpkg-dev
command lintian lintian
command mpicc.openmpi libopenmpi-dev
command mpiexec.openmpi openmpi-bin
python-venv - python3-venv
END
}

# install_missing LIST LOG: what LIST (to_build, to_demo, to_check, to_check_all, to_fuzz) names is there afterwards, as
# far as this machine lets itself be changed; details are in LOG. No MPI that is installed becomes the system's,
# except that the demo leaves MPICH to users who have no MPI.
install_missing() {
    missing=$($1 | list_missing | awk '{ printf " %s", $3 }')
    [ -n "$missing" ] || return 0
    path=/usr/sbin:/usr/bin:/sbin:/bin
    [ "$1" = to_demo ] && [ ! -L /etc/alternatives/mpirun ] || path=$PWD/scripts/lib/alternatives:$path
    say "installing:$missing"
    DEBIAN_FRONTEND=noninteractive
    export DEBIAN_FRONTEND
    as_root apt-get update >>"$2" 2>&1 || say "apt-get update failed: see $2"
    # One by one, since apt-get installs nothing where it lacks one of several.
    for package in $missing; do
        as_root apt-get install -y --no-install-recommends -o DPkg::Path="$path" "$package" >>"$2" 2>&1 ||
            say "$package could not be installed: see $2"
    done
    missing=$(to_build | list_missing | awk '!/hwloc/ { printf " %s", $2 }')
    [ -z "$missing" ] || {
        say "cannot build without:$missing"
        return 1
    }
    command -v mpiexec >/dev/null ||
        say "there is no mpiexec: 'apt install --reinstall mpich libmpich-dev' makes MPICH the system's MPI"
}

# build DIRECTORY LOG CONFIGURE-ARGUMENTS...: bootstraps, configures and makes in DIRECTORY, with the
# MPI of MPICC and MPIEXEC or else with MPICH, whatever else there is.
build() {
    if [ -z "${MPICC:-}" ]; then
        MPICC=mpicc.mpich
        MPIEXEC=mpiexec.mpich
        export MPICC MPIEXEC
    fi
    build_directory=$1
    build_log=$2
    shift 2
    say "building in $build_directory"
    {
        if [ -e config.status ]; then
            echo "The source directory is configured; run 'make distclean' in it first."
            return 1
        fi
        ./bootstrap &&
            mkdir -p "$build_directory" &&
            (cd "$build_directory" && "$OLDPWD/configure" "$@") &&
            make -C "$build_directory" -j "$(getconf _NPROCESSORS_ONLN)"
    } >"$build_log" 2>&1 || {
        tail -n 40 "$build_log"
        say "the build failed: see $build_log"
        return 1
    }
}
