# shellcheck shell=sh
# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# The parts of a call of scripts/gpu-check: limits, results, output. To be sourced by it, after
# results.sh; $out is the folder that is written to.

LIMIT=520 # seconds of the whole call
PATIENCE=10 # in a rehearsal, where all is slow, limits are so many times as long

# begin: of the call.
begin() {
    results=$out/results
    log=$out/log
    scratch=$(mktemp -d)
    [ "$driver" = real ] && PATIENCE=1
    end=$(($(date +%s) + LIMIT * PATIENCE))
    to_stop=
    trap 'finish_call; rm -rf "$scratch"' EXIT
    trap 'exit 1' HUP INT TERM
    rm -f "$out/machine.md"
    for table in allreduce codec nccl peers profile programs torch trace; do
        rm -f "$out/$table.csv"
    done
    : >"$results"
    : >"$log"
    print_plan >"$scratch/plan"
    # Programs are given their settings one by one.
    for name in $(env | sed -n 's/^\(CGX_[A-Za-z0-9_]*\)=.*/\1/p'); do
        case $name in
        CGX_COMMIT) ;;
        *) unset "$name" ;;
        esac
    done
}

# Processes that the call started, by their ids, and what else it left running.
finish_call() {
    leave_none
    for process in $to_stop; do
        kill "$process" 2>/dev/null || :
    done
    ! command -v stop_mps >/dev/null || stop_mps
}

has() {
    command -v "$1" >/dev/null 2>&1
}

# Seconds left of SECONDS, if the whole is to end in time.
allowed() {
    set -- $(($1 * PATIENCE)) $((end - $(date +%s)))
    [ "$1" -le "$2" ] || set -- "$2"
    [ "$1" -gt 0 ] || set -- 0
    echo "$1"
}

# What is left of programs that were stopped, in whichever session or group: they have a mark in their
# environment.
leave_none() {
    for signal in TERM KILL; do
        # Processes that end meanwhile are an error of grep's.
        marked=$(grep -l -z -x "GPU_CHECK_PART=$$" /proc/[0-9]*/environ 2>/dev/null || :)
        [ -n "$marked" ] || return 0
        for process in $marked; do
            process=${process#/proc/}
            kill -s $signal "${process%/environ}" 2>/dev/null || :
        done
        sleep 1
    done
}

# limited SECONDS COMMAND...: at most so long, and not beyond the end of the whole. Its output goes
# to the file $to, if that is set, and else to the log. Status 124: it was stopped.
limited() {
    seconds=$(allowed "$1")
    shift
    echo "== $(date +%H:%M:%S) $*" >>"$log"
    [ "$seconds" -gt 0 ] || return 124
    limited_status=0
    GPU_CHECK_PART=$$ timeout --kill-after=5 "$seconds" "$@" >>"${to:-$log}" 2>>"$log" \
        </dev/null || limited_status=$?
    if [ "$limited_status" -eq 124 ]; then
        echo "stopped after $seconds s" >>"$log"
        leave_none
    fi
    return "$limited_status"
}

# into FILE COMMAND...: what the programs of its parts print goes to FILE.
into() {
    to=$1
    shift
    into_status=0
    "$@" || into_status=$?
    to=
    return "$into_status"
}

# judge NAME STATUS SECONDS: a result, and how long it took. 77 is a skip, for which what was asked
# for last in the log is the reason.
judge() {
    case $2 in
    0) result PASS "$1" ;;
    77) result SKIP "$1: $(tail -n 1 "$log")" ;;
    124) result FAIL "$1: no end in time" ;;
    *) result FAIL "$1: exit status $2" ;;
    esac
    echo "TIME $3 $1" >>"$results"
    find_plan "$1" || :
    echo "$(tail -n 2 "$results" | head -n 1) ($3 s; $plan_expected expected, limit $plan_limit)"
}

# part NAME COMMAND...
part() {
    part_name=$1
    shift
    part_status=0
    part_began=$(date +%s)
    must_plan "$part_name"
    limited "$plan_limit" "$@" || part_status=$?
    judge "$part_name" "$part_status" $(($(date +%s) - part_began))
    [ "$part_status" -eq 0 ]
}

# sections FUNCTION...: of a call. (After "||" a shell goes on where a command fails.)
sections() {
    for section in "$@"; do
        "$section" || :
    done
}

# skipped NAME REASON
skipped() {
    result SKIP "$1: $2"
    echo "SKIP $1: $2"
}

# is_hardware NAME: false, which is a named skip, with the software driver.
is_hardware() {
    [ "$driver" = real ] || {
        skipped "$1" "only hardware can answer"
        return 1
    }
}

# ---- several at a time ----

# together JOBS: runs lines of stdin, "NAME|COMMAND", where NAME has no spaces. What each
# printed is then in $scratch/together/NAME.out, and "STATUS SECONDS" in NAME.end.
together() {
    rm -rf "$scratch/together"
    mkdir "$scratch/together"
    while IFS='|' read -r name command; do
        must_plan "$name"
        echo "$name|$plan_limit|$command"
    done >"$scratch/lines"
    # shellcheck disable=SC2016 # expanded by the inner shell
    GPU_CHECK_PART=$$ end=$end patience=$PATIENCE together=$scratch/together xargs -d '\n' -P "$1" -n 1 sh -c '
        name=${1%%|*} rest=${1#*|} status=0 began=$(date +%s)
        seconds=$((end - began)) limit=$((${rest%%|*} * patience))
        [ "$limit" -gt "$seconds" ] || seconds=$limit
        if [ "$seconds" -gt 0 ]; then
            timeout --kill-after=5 "$seconds" sh -c "${rest#*|}" >"$together/$name.out" 2>&1 \
                </dev/null || status=$?
        else
            status=124
            : >"$together/$name.out"
        fi
        echo "$status $(($(date +%s) - began))" >"$together/$name.end"
        ' sh <"$scratch/lines"
    ! grep -q '^124 ' "$scratch"/together/*.end || leave_none
}

# told NAME: what a program of together printed goes to the log; sets told_status and told_seconds.
told() {
    {
        echo "== $1"
        cat "$scratch/together/$1.out"
    } >>"$log"
    read -r told_status told_seconds <"$scratch/together/$1.end" || :
}

# test_line NAME TEST: of a test that is a script, for together.
test_line() {
    echo "$1|$([ "$driver" = real ] || echo CGX_TEST_DRIVER=soft) sh $2"
}

# collect_tap NAME: results of a test that printed TAP; each also has "NAME: " before it.
collect_tap() {
    told "$1"
    sed -n "s!^ok [0-9]* - \(.*\) # SKIP \(.*\)!SKIP $1: \1: \2!p; t
        s!^ok [0-9]* - !PASS $1: !p; s!^not ok [0-9]* - !FAIL $1: !p
        s!^1\.\.0 # SKIP \(.*\)!SKIP $1: \1!p" "$scratch/together/$1.out" >"$scratch/tap"
    cat "$scratch/tap" >>"$results"
    grep '^FAIL ' "$scratch/tap" || :
    # Failures explain a status; otherwise the test broke off.
    if [ "$told_status" -eq 124 ]; then
        result FAIL "$1: no end in time"
    elif [ "$told_status" -ne 0 ] && ! grep -q '^FAIL ' "$scratch/tap"; then
        result FAIL "$1: exit status $told_status"
    elif [ ! -s "$scratch/tap" ]; then
        result FAIL "$1: no test was run"
    fi
    echo "TIME $told_seconds $1" >>"$results"
    find_plan "$1" || :
    echo "$1: $(grep -c '^PASS' "$scratch/tap") passed ($told_seconds s; $plan_expected expected, limit $plan_limit)"
}
