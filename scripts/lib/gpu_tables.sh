# shellcheck shell=sh
# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# Tables of scripts/gpu-report, in Markdown. To be sourced by it.

# print_tables DIR: all that a call has left there.
print_tables() {
    directory=$1
    table print_codec codec.csv
    table print_profile profile.csv
    table print_sums allreduce.csv
    table print_worth allreduce.csv
    table print_csv nccl.csv "NCCL's exact sums by sockets, 2 processes on the device"
    table print_csv trace.csv "A call by the library's timeline, milliseconds on the slowest rank"
    table print_csv torch.csv "PyTorch's tensors through mpi4py, 2 ranks"
    table print_csv programs.csv "Programs"
    table print_csv peers.csv "Other codecs' kernels"
    print_results "$directory/results"
}

# table FUNCTION FILE ARGUMENTS...: nothing if the file is not there, or empty.
table() {
    table_print=$1
    table_file=$directory/$2
    shift 2
    [ ! -s "$table_file" ] || "$table_print" "$table_file" "$@"
}

# Any CSV, of which fields in quotes may have commas; heads that come again are left out.
print_csv() {
    printf '\n## %s\n\n' "$2"
    awk 'NR > 1 && $0 == heads { next }
        NR == 1 { heads = $0 }
        {
            line = "|"
            text = $0
            fields = 0
            while (text != "") {
                if (match(text, /^"[^"]*"/)) {
                    field = substr(text, 2, RLENGTH - 2)
                    text = substr(text, RLENGTH + 2)
                } else {
                    match(text, /^[^,]*/)
                    field = substr(text, 1, RLENGTH)
                    text = substr(text, RLENGTH + 2)
                }
                line = line " " field " |"
                fields++
            }
            print line
            if (NR == 1) {
                line = "|"
                for (i = 0; i < fields; i++) line = line "---|"
                print line
            }
        }' "$1"
}

# Rows are types and operations, columns widths; a cell is the ratio, and the limit if it is missed.
print_codec() {
    printf '\n## The kernels\n\n%s\n%s\n\n' \
        "Speed over that of a device-to-device copy, 256 MiB of elements, buckets of 512; in" \
        "parentheses the limit, where it was not reached."
    echo "| type | operation | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 bits |"
    echo "|---|---|---|---|---|---|---|---|---|---|"
    awk -F, 'NR > 1 && $5 == 256 {
            row = $2 " | " $4
            if (!(row in rows)) { rows[row] = 1; order[++n] = row }
            cell[row, $3] = sprintf("%.2f", $10) ($11 != "" && $10 < $11 ? " (" $11 ")" : "")
            if (copy == "") copy = $9
        }
        END {
            for (i = 1; i <= n; i++) {
                printf "| %s", order[i]
                for (b = 1; b <= 8; b++) printf " | %s", cell[order[i], b]
                print " |"
            }
            if (copy != "") print "\nThe copy: " copy " GB/s, read and written."
        }' "$1"
}

# Of what ncu printed, the kernels and what was measured of them, once where one was launched again
# and again; of what nsys printed, its table.
print_profile() {
    if ! grep -q '^"ID","Process ID"' "$1"; then
        grep ',' "$1" >"$1.table" || :
        print_csv "$1.table" "A profile"
        rm -f "$1.table"
        return 0
    fi
    printf '\n## A profile\n\n'
    awk '/^"/ {
            n = split(substr($0, 2, length($0) - 2), field, "\",\"")
            if (field[1] == "ID") {
                line = "|"
                rule = "|"
                for (i = 1; i <= n; i++)
                    if (field[i] == "Kernel Name" || field[i] ~ /__/) {
                        chosen[++m] = i
                        line = line " " field[i] " |"
                        rule = rule "---|"
                    }
                print line "\n" rule
                next
            }
            if (field[chosen[1]] == last && last != "") next
            last = field[chosen[1]]
            line = "|"
            for (i = 1; i <= m; i++) line = line " " field[chosen[i]] " |"
            print line
        }' "$1"
}

print_sums() {
    printf '\n## Compressed sums\n\n%s\n%s\n%s\n\n' \
        "Ranks share the GPU; times of the slowest; what a call of a rank needs, beside the least" \
        "possible; kernels and copies as events around them say, with what others did on the device" \
        "meanwhile."
    echo "| how | ranks | MiB | bits | exact, ms | compressed, ms | ratio | kernels, ms | copies, ms |" \
        "launches | MiB down | MiB up | MiB across |"
    echo "|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    awk -F, '$3 ~ /^[0-9]+$/ {
            m = 1048576
            printf "| %s | %s | %s | %s | %.3f | %.3f | %s | %.3f | %.3f | %s (%s) | %.2f (%.2f) | " \
                "%.2f (%.2f) | %.2f |\n", $1, $3, $4, $5, $6, $7, $8, $16, $17, $9, $10, $11 / m, \
                $12 / m, $13 / m, $14 / m, $15 / m
        }' "$1"
}

# The least size from which on every larger one is faster compressed.
print_worth() {
    echo
    awk -F, '$3 ~ /^[0-9]+$/ {
            run = $1 ", " $3 " ranks"
            if (!(run in pays)) { order[++n] = run; pays[run] = "" }
            if ($8 < 1) pays[run] = ""
            else if (pays[run] == "") pays[run] = $4
        }
        END {
            for (i = 1; i <= n; i++)
                print "- compression pays, " order[i] ": " \
                    (pays[order[i]] == "" ? "at none of these sizes" : \
                        "from " pays[order[i]] " MiB on")
        }' "$1"
}

print_results() {
    printf '\n## Results\n\n'
    echo "$(grep -c '^PASS ' "$1") passed, $(grep -c '^FAIL ' "$1") failed," \
        "$(grep -c '^SKIP ' "$1") skipped."
    if grep -q '^FAIL ' "$1"; then
        echo
        sed -n 's/^FAIL /- FAIL /p' "$1"
    fi
    printf '\n| part | seconds |\n|---|---|\n'
    sed -n 's/^TIME \([0-9]*\) \(.*\)/| \2 | \1 |/p' "$1"
    print_skips "$1" hardware "What only hardware can answer:"
    print_skips "$1" others "Skipped for other reasons:"
}

# print_skips FILE hardware|others HEAD
print_skips() {
    case $2 in
    hardware) sed -n 's/^SKIP \(.*\): only hardware can answer$/- \1/p' "$1" ;;
    *) sed -n '/: only hardware can answer$/d; s/^SKIP /- /p' "$1" ;;
    esac | awk -v head="$3" 'NR == 1 { print "\n" head "\n" } { print }'
}
