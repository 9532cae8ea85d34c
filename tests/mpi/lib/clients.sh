# shellcheck shell=sh
# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# Programs that train, of the kind that users bring; each prints "loss X" in the end. To be sourced
# after runs.sh, which see.
#
#     recipe train.c 1 >"$scratch/train.c"
#     compare "C" -n 4 -- "$scratch/train"
#     compressed "C" 380

# recipe NAME SEED: an example that is installed. The number that tells ranks' data apart is 2 + RANK there: the
# seed 1.
recipe() {
    recipe_file=$top_srcdir/examples/mpi/$1
    [ -f "$recipe_file" ] || recipe_file=$top_srcdir/examples/python/$1
    sed "s/\\<2 + /$((100 * $2 - 98)) + /" "$recipe_file"
}

loss() {
    sed -n 's/^ *loss  *\([.0-9]*\)$/\1/p' "$scratch/out"
}

# of_statistics FIELD: a number of the process, of rank 0.
of_statistics() {
    sed -n "s/^  \"process\": .*\"$1\": \([0-9]*\).*/\1/p" "$scratch/stats.json" 2>/dev/null
}

close_to() {
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && b > 0 && a < 1.05 * b && b < 1.05 * a) }'
}

# compare NAME ARGUMENTS-OF-RUN-MPI: a program that reads host memory, plain and at default settings.
compare() {
    compared=$1
    shift
    launch --plain "$@"
    plain=$(loss)
    expect "$compared, plain: learns" test "$status" -eq 0 -a -n "$plain"
    rm -f "$scratch/stats.json"
    launch --defaults CGX_BUFFERS=host "$transport=AUTO" CGX_STATS="$scratch/stats.json" "$@"
    expect "$compared: ends well" test "$status" -eq 0
    expect "$compared: nothing is said but that sums are compressed" \
        test -z "$(without_times "$scratch/err" | grep '^cgx')"
    calls=$(of_statistics compressed_calls)
    exact=$(of_statistics exact_calls)
    echo "# loss $plain plain, $(loss) compressed; ${calls:-no} calls compressed, ${exact:-no} exact"
    expect "$compared: the loss is within 5 % of plain" close_to "$(loss)" "$plain"
}

# compressed NAME CALLS: of what was compared last at least as many, which are its gradients.
compressed() {
    expect "$1: gradients are compressed" test "${calls:-0}" -ge "$2"
}
