# shellcheck shell=sh
# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# Running cgx-report on files of tests/data/report, as they are and changed. To be sourced after
# tap.sh.

command -v python3 >/dev/null || skip_all "no python3"
report=$top_builddir/tools/cgx-report
data=$top_srcdir/tests/data/report
cd "$scratch" || exit

# report ARGUMENTS: leaves its output in out and err, in UTF-8.
report() {
    status=0
    PYTHONIOENCODING=utf-8 "$report" "$@" >out 2>err || status=$?
}

# with EXPRESSION [FILE]: the statistics d after it, in changed.json; the report on them.
with() {
    python3 - "$data/${2-stats.json}" "$1" >changed.json <<'END_PYTHON'
import json, sys

d = json.load(open(sys.argv[1], encoding="utf-8"))
world = (d["communicators"] or [None])[-1]
large = d["process"]["large_sums"]
exec(sys.argv[2])
json.dump(d, sys.stdout)
END_PYTHON
    report changed.json
    [ "$status" -eq 0 ] && [ ! -s err ]
}
