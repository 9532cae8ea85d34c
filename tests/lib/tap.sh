# shellcheck shell=sh
# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# Results of tests in the Test Anything Protocol, for shell scripts:
#
#     . "$top_srcdir/tests/lib/tap.sh"
#     check "grep finds a line" grep -q line file
#     skip "grep is fast" "no clock"
#     done_testing
#
# skip_all REASON stands for a whole script. $scratch is a directory that goes when the script ends.

tap_results=0
tap_failures=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

# check NAME COMMAND ARGUMENTS...: the command succeeds; if not, its output is shown.
check() {
    tap_name=$1
    shift
    tap_results=$((tap_results + 1))
    # In a subshell of its own with errexit, so that a function stops at its first failing command.
    set +e
    (
        set -e
        "$@"
    ) >"$scratch/.tap" 2>&1 </dev/null
    tap_status=$?
    set -e
    if [ "$tap_status" -eq 0 ]; then
        echo "ok $tap_results - $tap_name"
    else
        tap_failures=$((tap_failures + 1))
        echo "not ok $tap_results - $tap_name"
        sed 's/^/# /' "$scratch/.tap"
        echo "# exit status $tap_status: $*"
    fi
}

skip() {
    tap_results=$((tap_results + 1))
    echo "ok $tap_results - $1 # SKIP $2"
}

# further NAME: whether also the runs that NAME stands for are wanted, which take long and show in other
# circumstances what has been shown: with TEST_ALL=yes; a skip otherwise.
further() {
    [ "${TEST_ALL:-}" = yes ] || {
        skip "$1" "takes long: TEST_ALL=yes"
        return 1
    }
}

skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

done_testing() {
    echo "1..$tap_results"
    [ "$tap_results" -gt 0 ] && [ "$tap_failures" -eq 0 ]
    exit
}
