# shellcheck shell=sh
# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# Other MPIs, and Python's clients of MPI, as pip has them. To be sourced in the top directory by what has $logs.

# install_wheels DIRECTORY PACKAGES: a virtual environment that has them; false where that fails.
install_wheels() {
    # shellcheck disable=SC2086 # words
    ! "$1/bin/pip" show -q $2 >/dev/null 2>&1 || return 0
    say "installing the wheels $2"
    # shellcheck disable=SC2086 # words
    {
        rm -rf "$1" &&
            python3 -m venv "$1" &&
            "$1/bin/pip" install --disable-pip-version-check $2
    } >>"${logs:?}/wheels.log" 2>&1 || {
        rm -rf "$1"
        say "not installed: see $logs/wheels.log"
        return 1
    }
}

# install_client CLIENT: beside MPICH's wheel and built with its compiler. mpi4jax else takes the mpicc on
# PATH, and its sums go to an MPI library that nobody has initialised. Nobody knows which compiler built
# what pip has in its cache.
install_client() {
    {
        "$prefix/bin/pip" uninstall --disable-pip-version-check -q -y "$1"
        MPICC=$prefix/bin/mpicc MPI4JAX_BUILD_MPICC=$prefix/bin/mpicc \
            "$prefix/bin/pip" install --disable-pip-version-check --no-cache-dir "$1"
    } >>"$logs/wheels.log" 2>&1
}

# find_second_mpi CLIENTS: sets WHEEL_PREFIX, if it is not set, to MPICH's wheel and mpi4py, with CLIENTS of MPI.
find_second_mpi() {
    [ -z "${WHEEL_PREFIX:-}" ] || return 0
    prefix=$PWD/build/wheels
    install_wheels "$prefix" "numpy mpi4py mpich" || return 0
    # One by one, since tests skip what is not there.
    for client in $1; do
        "$prefix/bin/python" -c "import $client" >/dev/null 2>&1 || install_client "$client" ||
            say "no $client: see $logs/wheels.log"
    done
    export WHEEL_PREFIX="$prefix"
}

# find_mpi VARIABLE NAME PACKAGES: likewise another MPI.
find_mpi() {
    eval "[ -z \"\${$1:-}\" ]" || return 0
    ! install_wheels "$PWD/build/$2" "$3" || export "$1=$PWD/build/$2"
}
