# shellcheck shell=sh
# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# Runs of cgx-info, for the tests of what it prints.

. "$top_srcdir/tests/lib/tap.sh"

info=$top_builddir/tools/cgx-info
for name in $(env | sed -n 's/^\(CGX_[A-Z_]*\)=.*/\1/p'); do
    unset "$name"
done
unset HWLOC_XMLFILE HWLOC_SYNTHETIC

exits_with() {
    status=0
    expected=$1
    shift
    "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
    cat "$scratch/out" "$scratch/err"
    [ "$status" -eq "$expected" ]
}

shows_usage() {
    exits_with 2 "$info" "$@"
    [ ! -s "$scratch/out" ]
    grep '^usage: cgx-info' "$scratch/err"
}

# explains LINE ARGUMENTS: what is wrong with them, in one line that begins so.
explains() {
    what=$1
    shift
    exits_with 2 "$info" "$@"
    [ ! -s "$scratch/out" ] && [ "$(wc -l <"$scratch/err")" -eq 1 ]
    grep "^$what" "$scratch/err"
}
