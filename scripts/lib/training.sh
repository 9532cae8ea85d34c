# shellcheck shell=sh
# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# What scripts/demo and bench/train share: training a model, and reading what it and the library
# print. To be sourced in the top directory, after setup.sh, where top_builddir is a directory that
# has been built in, $ranks is set, and $logs is a directory for out and err. $data is the file that
# a model learns from, or empty for one that needs none.

RUN_MPI_TIMEOUT=${RUN_MPI_TIMEOUT:-900}
export RUN_MPI_TIMEOUT
data=$PWD/examples/data/digits.csv

# build_models DIRECTORY: builds in it all that train needs. Models have their gradients in host memory:
# without kernels for GPUs the build takes a fraction of the time.
build_models() {
    install_missing to_build "$logs/packages.log"
    say "without kernels for GPUs: the gradients are in host memory"
    build "$1" "$logs/build.log" --without-cuda
    make -C "$1" tests/lib/supervise tests/lib/yield.la >>"$logs/build.log" 2>&1
}

# train "MODEL ARGUMENTS" SEED RUN-MPI-ARGUMENTS...: leaves its output in $logs/out and $logs/err.
train() {
    program=$1
    seed=$2
    shift 2
    # shellcheck disable=SC2086 # words
    tests/lib/run-mpi -n "$ranks" "$@" -- "$top_builddir/bench/models/"$program \
        ${data:+--data "$data"} --seed "$seed" >"$logs/out" 2>"$logs/err" || {
        cat "$logs/out" "$logs/err"
        say "the training failed"
        exit 1
    }
}

# field NAME: from the line that the program ends with.
field() {
    value=$(sed -n "s/^result.* $1=\([-+.0-9e]*\).*/\1/p" "$logs/out")
    [ -n "$value" ] || {
        cat "$logs/out" >&2
        say "the example printed no '$1='" >&2
        exit 1
    }
    echo "$value"
}

# The least that a rank sends in uncompressed all-reduces of BYTES.
uncompressed() {
    echo $((2 * (ranks - 1) * $1 / ranks))
}

# What rank 0 has sent in the last run, which was plain.
sent_plain() {
    elements=$(field allreduce_elements)
    uncompressed $((4 * elements))
}

# ... which was preloaded with CGX_LOG=info: at its end rank 0 says what it sent in compressed calls,
# and what exact calls reduced.
sent_preloaded() {
    counts=$(sed -n 's/^cgx\[0\]: info: sent \([0-9]*\) bytes .* exact ones, of \([0-9]*\) bytes$/\1 \2/p' \
        "$logs/err")
    [ -n "$counts" ] || {
        cat "$logs/err" >&2
        say "the library did not say what it sent" >&2
        exit 1
    }
    echo $((${counts% *} + $(uncompressed "${counts#* }")))
}
