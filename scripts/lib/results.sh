# shellcheck shell=sh
# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# Results of several parts, gathered in the file $results, and what make check left. To be sourced.

# result STATE NAME, where STATE is PASS, FAIL or SKIP, and the name of a skip ends with its reason.
result() {
    echo "$1 $2" >>"${results:?}"
}

count_results() {
    grep -c "^$1 " "$results" || :
}

# Shows the results, and beneath each failure up to 15 of the lines "# ..." that follow it in $results;
# the last line is for machines.
summary() {
    echo
    grep '^SKIP ' "$results" || :
    awk '/^FAIL / { print; left = 15; next }
        !/^#/ { left = 0 }
        left > 0 { print; left-- }' "$results"
    echo "$(count_results PASS) passed, $(count_results FAIL) failed, $(count_results SKIP) skipped"
    ! grep -q '^FAIL ' "$results" && grep -q '^PASS ' "$results"
}

# collect_results DIRECTORY: make check leaves a log for each test program, with a line for each
# result; there is an ERROR where a program crashed or broke off. What it says of a failure follows.
collect_results() {
    find "$1" -name '*.trs' | sort | while read -r file; do
        test=${file#"$1/"}
        test=${test%.trs}
        sed -n ":line
            s!^\(PASS\|SKIP\): \(${test}[. ].*\)!\1 \2!p; t
            s!^\(FAIL\|ERROR\|XFAIL\|XPASS\): \(${test}[. ].*\)!FAIL \2!p; t failed
            b
            :failed
            n
            /^#/{ p; b failed }
            b line" "${file%.trs}.log"
    done
}

# list_longest DIRECTORY: the ten tests that took longest, with their seconds on the clock. A log is made when a
# test begins, and its .trs when it ends.
list_longest() {
    find "$1" -name '*.trs' | while read -r file; do
        test=${file#"$1/"}
        begun=$(stat -c %W "${file%.trs}.log")
        echo "$(($(stat -c %Y "$file") - begun)) ${test%.trs}"
    done | sort -nr | head -n 10
}
