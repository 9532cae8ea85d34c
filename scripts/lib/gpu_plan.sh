# shellcheck shell=sh
# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# The plan of scripts/gpu-check: what each part may take, and what it is expected to take on an H100
# with 16 processors. To be sourced by it.

# print_plan: lines "CALL|PART|TURNS|BESIDE|LIMIT|EXPECTED|FROM". CALL: all or one of them. PART: a
# pattern of names. TURNS: how many times it runs, one after the other; 0: not on an H100 as it comes.
# BESIDE: parts with the same word run beside each other. LIMIT and EXPECTED: seconds of each time.
# The latter are estimates: a context takes 1 s, a program of ranks 3 s, and a script of tests runs its
# programs one after the other; a compiler takes what it takes elsewhere.
print_plan() {
    cat <<'END_OF_PLAN'
all|bootstrap|1|-|60|15|autoreconf
all|configure|1|-|60|15|compilers
all|the build|1|-|240|60|kernels of one architecture: 43 s if nvcc cannot split them
all|a program of 4 ranks is compiled|1|-|60|1|compilers
all|4 ranks of MPI|1|-|60|1|no context
facts|backends|1|kernels|150|5|a context
facts|kernels_*|1|kernels|150|60|the host's codec, which does the same
facts|pinned_pool|1|kernels|150|5|a context
facts|SHM.*|2|-|90|4|a program of ranks
facts|P2P.*|2|-|90|4|a program of ranks
facts|the kernels' speed|1|-|150|30|15 repeats of some ms for each row
facts|the speed of uniform kernels, *|1|-|60|15|the same, at fewer widths and sizes
right|device|1|tests|200|139|46 programs
right|device_driver|1|tests|200|57|19 programs
right|device_segments|1|tests|200|78|26 programs
right|device_uniform|1|tests|200|54|18 programs
right|exact_device|1|tests|200|30|10 programs
right|examples_gpu|1|tests|200|6|2 programs
right|*check.kernels_*|2|-|55|50|12 programs, 6 beside each other, slower by 10 to 100 times
right|what the profiler runs|0|-|90|5|the software driver alone
right|the profiler (ncu)|1|-|50|30|every kernel once for each group of metrics
right|the profiler (nsys)|0|-|50|10|where there is no ncu
right|what nsys found|0|-|30|5|where there is no ncu
right|device_peers|1|rough|200|184|46 programs, and their waits
right|device_peers_state|1|rough|200|57|19 programs
right|device_faults|1|rough|200|75|25 programs
worth|sums, * with MPS|8|-|45|8|a program of ranks; 9 sizes of 0.5 s
worth|sums, *|5|-|45|4|a program of ranks
worth|NCCL's sums|1|-|60|25|PyTorch is loaded twice; 6 sizes by sockets
worth|a call is traced, *|2|-|40|5|a program of ranks; two sizes
worth|a call is split, *|2|-|20|2|Python
worth|PyTorch: *|5|-|45|15|PyTorch is loaded
worth|device_fork|1|-|60|12|4 programs
worth|exact host calls*|2|-|40|5|a program of ranks; 2,001 rounds
worth|training on the device, *|3|-|60|15|a program of ranks; 3 epochs
worth|other codecs' kernels: *|0|-|60|10|those of GPU_CHECK_PEERS
END_OF_PLAN
}

# find_plan NAME: sets $plan_limit and $plan_expected; false where the plan lacks it.
# shellcheck disable=SC2034
find_plan() {
    while IFS='|' read -r plan_call plan_part _ _ plan_limit plan_expected _; do
        case $plan_call in
        all | "$call") ;;
        *) continue ;;
        esac
        # shellcheck disable=SC2254 # a pattern
        case $1 in
        $plan_part) return 0 ;;
        esac
    done <"$scratch/plan"
    plan_limit=60 plan_expected=0
    return 1
}

# must_plan NAME: the same, and a failure where the plan lacks it.
must_plan() {
    find_plan "$1" || result FAIL "$1 is in the plan (scripts/lib/gpu_plan.sh)"
}

# show_plan: of the call, a line for each part and one for all.
show_plan() {
    awk -F '|' -v call="$call" -v limit="$LIMIT" '
        BEGIN { print "Seconds expected on an H100, estimates:" }
        $1 == "all" || $1 == call {
            seconds = $3 * $6
            printf "  %-46s %3d, limit %3d%s: %s\n", $2, $6, $5, ($3 > 1 ? ", " $3 " times" : ""), $7
            if ($1 == "all")
                build += seconds
            else if ($4 == "-")
                total += seconds
            else if (seconds > longest[$4]) {
                total += seconds - longest[$4]
                longest[$4] = seconds
            }
        }
        END {
            printf "  %-46s %3d, limit %3d; %d more where it has to be built\n", "the whole call", total,
                limit, build
        }
        ' "$scratch/plan"
}
