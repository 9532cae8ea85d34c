# shellcheck shell=sh
# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# The parts of scripts/demo, to be sourced by it after setup.sh and training.sh. In $results: plain/out
# and compressed/out, what the programs printed; err; status; stats.json, which the library writes as
# it goes; and loss.csv, a line for each line of progress.

# Steps from a line of progress to the next.
report_every=18

# Sums of the first eight steps are exact; they are over by the first line of progress.
settled=$report_every

rate=1000000000

# Hosts, or one machine: $place in words, and why where there are no hosts ($here). Says so, that nobody
# takes one machine for the lab.
choose_place() {
    if [ -z "$here" ] && bench/lab --probe --hosts "$ranks" >/dev/null 2>"$results/probe"; then
        place="$ranks hosts, links of 1 Gbit/s"
        say "on $place, which this machine is divided into (network namespaces)"
    else
        here=${here:-$(sed -n 's/^lab: //p' "$results/probe" | head -n 1)}
        place="$ranks ranks on one machine"
        say "on one machine: ${here:-it cannot be divided into hosts}"
        say "no link is between its ranks: there are fewer bytes, but sums need not be faster"
    fi
}

# Programs on hosts end without MPI_Finalize, as bench/allreduce does, in which MPICH may hang there.
train_both() {
    echo 1 >"$results/status"
    rm -f "$results/stats.json"
    set -- "$top_builddir/bench/models/train_digits" --data "$data" --seed "$seed" \
        --optimiser "$optimiser" --report-every "$report_every"
    # shellcheck disable=SC2086 # words
    set -- "$@" $training
    if [ -n "$here" ]; then
        train_here "$@"
    else
        bench/lab --hosts "$ranks" --priority --yield --repeat 1 \
            --settings "CGX_STATS=$results/stats.json" -- "$@" --leave
    fi
    echo 0 >"$results/status"
}

train_here() {
    tests/lib/run-mpi -n "$ranks" --plain -- "$@"
    tests/lib/run-mpi -n "$ranks" --defaults CGX_BUFFERS=host CGX_STATS="$results/stats.json" \
        -- "$@"
}

# total NAME: the first number of that name in the statistics, which is that of all communicators; 0 as long
# as there are none.
total() {
    tr -s '{},' '\n' <"$results/stats.json" 2>/dev/null | sed -n "s/^ *\"$1\": *\([0-9]*\)$/\1/p" |
        head -n 1 | grep . || echo 0
}

# "step 18 of 90: loss 0.1, 2.0 s, 1.5 s in sums" becomes a line of loss.csv, and now and then one to read.
follow_step() {
    step=$2
    of=${4%:}
    echo "$run,$step,$7,${6%,},$9" >>"$results/loss.csv"
    [ $((step % show_every)) -eq 0 ] || [ "$step" -eq "$of" ] || return 0
    saved=
    [ "$run" = plain ] || saved=", $((($(total uncompressed) - $(total bytes_sent)) / 1048576)) MiB saved"
    printf '   %-10s  step %3d of %d, loss %.4f, %5.1f s, of which %5.1f s in sums%s\n' "$run" "$step" \
        "$of" "${6%,}" "$7" "$9" "$saved"
}

# The programs print of which network they are first; the plain one is before the other.
follow() {
    run=before
    echo run,step,seconds,loss,sums >"$results/loss.csv"
    while IFS= read -r line; do
        case $line in
        *' network, '*)
            [ "$run" = plain ] && run=compressed || run=plain
            say "$run: $line"
            ;;
        step\ *)
            # shellcheck disable=SC2086 # words
            follow_step $line
            ;;
        esac
        [ "$run" = before ] || echo "$line" >>"$results/$run/out"
    done
}

# results_of RUN BYTES: a line of figures, of a run whose rank sent so many bytes.
results_of() {
    logs=$results/$1
    echo "$1 $(field accuracy) $(field loss) $2 $(times_of "$1")"
}

# times_of RUN: seconds, those in sums, and milliseconds of a sum once these are settled.
times_of() {
    awk -F , -v run="$1" -v settled="$settled" '
        $1 == run {
            if ($2 <= settled) {
                steps = $2
                early = $5
            }
            last = $2
            seconds = $3
            sums = $5
        }
        END { print seconds, sums, 1e3 * (sums - early) / (last - steps) }
        ' "$results/loss.csv"
}

# What rank 0 sent in compressed calls, and at least in exact ones.
sent_compressed() {
    echo $(($(total bytes_sent) + $(uncompressed "$(total exact_bytes)")))
}

print_table() {
    # shellcheck disable=SC2034 # for sent_plain
    logs=$results/plain
    {
        results_of plain "$(sent_plain)"
        results_of compressed "$(sent_compressed)"
    } >"$results/table"
    awk -v rate="${here:-$rate}" -v settled="$settled" '
        function times(x, y) { return y > 0 ? sprintf("%.1f x", x / y) : "-" }
        BEGIN {
            format = "%-12s %9s %10s %12s %10s %10s %10s %10s\n"
            printf "\n" format format, "", "test", "training", "sent by a", "", "of which", "over the", "a sum,",
                   "", "accuracy", "loss", "rank, MiB", "seconds", "in sums", "wire limit", "ms"
        }
        {
            limit = rate + 0 > 0 ? times($6 * rate, 8 * $4) : "-"
            printf "%-12s %7.2f %% %10.6f %12.1f %10.1f %10.1f %10s %10.1f\n", $1, $2, $3, $4 / 1048576, $5, $6,
                   limit, $7
            for (i = 4; i <= 7; i++)
                figure[NR, i] = $i
        }
        END {
            printf format, "better by", "", "", times(figure[1, 4], figure[2, 4]),
                   times(figure[1, 5], figure[2, 5]), times(figure[1, 6], figure[2, 6]), "",
                   times(figure[1, 7], figure[2, 7])
            print "\nIn sums: from the last rank on that begins one. Wire limit: what the bytes need on a link.\n" \
                  "A sum: once the first ones, which are exact and show what recurs, are over (step " settled ")."
        }' "$results/table"
}
