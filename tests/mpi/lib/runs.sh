# shellcheck shell=sh
# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# Runs of MPI programs, their tests merged into those of a script:
#
#     . "$top_srcdir/tests/mpi/lib/runs.sh"
#     run "default settings" -n 4 -- "$programs/exact" sums
#     done_testing
#
# After a run, $scratch/out and $scratch/err hold its output and $status its exit status.

[ -n "${tap_results-}" ] || . "$top_srcdir/tests/lib/tap.sh"

# What many runs have in their arguments.
# shellcheck disable=SC2034
{
    programs=$top_builddir/tests/mpi
    on_rank=$top_srcdir/tests/mpi/lib/on-rank
    together=$top_srcdir/tests/mpi/lib/together
    in_grid=CGX_CROSS_REDUCTION_TYPE=GRID
    slices=CGX_FUSION_BUFFER_SIZE_MB=1
    small=CGX_COMPRESSION_MINIMAL_SIZE=1024
    # For the linker, where a script builds programs with what is in this folder: first.c.
    first_sums=-Wl,--wrap=MPI_Allreduce,--wrap=MPI_Allreduce_c
    transport=CGX_INNER_COMMUNICATOR_TYPE
    width=CGX_COMPRESSION_QUANTIZATION_BITS
}

# What all runs of a script have, before the arguments of launch: words.
settings=

# launch ARGUMENTS-OF-RUN-MPI: only runs. Programs count the messages that MPI moves, so it moves all
# of them, unless the arguments say otherwise. Between nodes the same sums are compressed as on one,
# whatever network the machine has.
launch() {
    status=0
    # shellcheck disable=SC2086 # words
    "$top_srcdir/tests/lib/run-mpi" $transport=MPI $settings "$@" \
        >"$scratch/out" 2>"$scratch/all" || status=$?
    # That a first sum is compressed, or lies elsewhere, is said by nearly all; notices.test and
    # exact.test look at it.
    grep -a -v -e '^cgx\[[0-9?]*\]: [a-z]*: compressing from now on' \
        -e '^cgx\[[0-9?]*\]: warn: large sums of floats are in' "$scratch/all" >"$scratch/err" || :
}

# The same with host buffers compressed from the first call on, at one width, and without history:
# the bound of an element with it is 252 times as wide.
launch_now() {
    launch CGX_BUFFERS=host CGX_HISTORY=0 CGX_WARMUP=0 CGX_COMPRESSION_MINIMAL_SIZE=1024 "$@"
}

# result VERDICT NAME: one test, where VERDICT is "ok" or "not ok".
result() {
    tap_results=$((tap_results + 1))
    [ "$1" = ok ] || tap_failures=$((tap_failures + 1))
    echo "$1 $tap_results - $2"
}

# expect NAME COMMAND ARGUMENTS...: one test; unlike tap.sh's check it does not show the command's
# output but what the last run wrote.
expect() {
    expect_name=$1
    shift
    if "$@" >/dev/null 2>&1; then
        result ok "$expect_name"
    else
        result "not ok" "$expect_name"
        show
    fi
}

# skipped: the last run's program could do nothing of what it was to do; $why is its reason.
skipped() {
    why=$(sed -n 's/^ok 1 - .*# SKIP //p' "$scratch/out")
    [ "$status" -eq 0 ] && [ -n "$why" ] && grep -q -x '1\.\.1' "$scratch/out"
}

# expect_unless_skipped NAME COMMAND ARGUMENTS...: of the last run, where its program did something.
expect_unless_skipped() {
    if skipped; then
        skip "$1" "$why"
    else
        expect "$@"
    fi
}

show() {
    echo "# exit status $status; the last of its output:"
    tail -n 20 "$scratch/out" | sed 's/^/# out: /'
    tail -n 20 "$scratch/err" | sed 's/^/# err: /'
}

# merge PREFIX: the results in $scratch/out become results of this script; false if there are not
# as many as the program said.
merge() {
    merge_seen=0
    merge_planned=none
    while IFS= read -r line; do
        case $line in
        "ok "* | "not ok "*)
            merge_seen=$((merge_seen + 1))
            result "${line%%ok *}ok" "$1: ${line#*- }"
            ;;
        "1.."*) merge_planned=${line#1..} ;;
        "#"*) echo "$line" ;;
        esac
    done <"$scratch/out"
    [ "$merge_seen" = "$merge_planned" ]
}

# run NAME ARGUMENTS-OF-RUN-MPI: runs a program that prints TAP; one test more holds that it ends
# well.
run() {
    run_name=$1
    shift
    launch "$@"
    finish
}

run_now() {
    run_name=$1
    shift
    launch_now "$@"
    finish
}

finish() {
    # What a local peer then finds there is undefined.
    ! said '^softcuda: .* were freed while other processes had them open' || {
        result "not ok" "$run_name: nothing is freed that another process has open"
        show
    }
    if merge "$run_name" && [ "$status" -eq 0 ]; then
        result ok "$run_name: the program ends well"
    else
        result "not ok" "$run_name: the program ends well"
        show
    fi
}

# said PATTERN: some line of stderr matches.
said() {
    grep -q -e "$1" "$scratch/err"
}

# without_times FILE: what was said, without what depends on what else the machine does: whether compression was
# slower, and whether ranks waited for long.
without_times() {
    grep -v -e 'compression was slower' -e 'waited [0-9]* s for' "$1" || :
}

silent() {
    [ -z "$(without_times "$scratch/err")" ]
}
