# shellcheck shell=sh
# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# scripts/gpu-check facts: the kernels' bytes and their speed. To be sourced by it.

run_facts() {
    sections check_bytes check_transports measure_kernels
}

# The kernels' bytes against the host codec's, for all widths, types and roundings.
check_bytes() {
    set -- backends kernels_bytes kernels_hostile kernels_uniform pinned_pool
    [ "$quick" = no ] || set -- backends
    for program in "$@"; do
        echo "$program|$directory/tests/unit/cuda/$program"
    done | together 5
    for program in "$@"; do
        collect_tap "$program"
    done
    [ "$quick" = no ] || skipped "the other kernels" "make check runs them with the software driver"
}

# Sums of two ranks, whose payloads go through shared memory, then from device to device.
check_transports() {
    has_ranks "sums of two ranks" || return 0
    for transport in SHM P2P; do
        for type in float32 float16; do
            [ "$quick" = no ] || [ $type = float32 ] || continue
            set -- tests/lib/run-mpi -n 2 CGX_BUFFERS=all CGX_WARMUP=0 \
                CGX_COMPRESSION_MINIMAL_SIZE=1024 CGX_INNER_COMMUNICATOR_TYPE=$transport \
                CGX_LOG=debug -- "$directory/tests/mpi/device" $type
            echo "$transport.$type|$*" | together 1
            collect_tap "$transport.$type"
            if [ $transport = SHM ]; then
                check_way "$transport.$type" "copied by the devices" info
            else
                check_way "$transport.$type" "from device to device" warn
            fi
        done
    done
}

# check_way RUN WAY LEVEL: payloads go that way. Where the driver refuses, the library takes the next
# slower one and says so at that level.
check_way() {
    if grep -q "slices*, $2" "$scratch/together/$1.out"; then
        result PASS "$1: payloads: $2"
    else
        skipped "$1: payloads: $2" \
            "$(sed -n "s/^cgx.0.: $3: //p" "$scratch/together/$1.out" | head -n 1)"
    fi
}

# ---- speed ----

measure_kernels() {
    set -- --dtype float32,float16,bfloat16
    [ "$driver" = real ] || set -- --dtype float32 --bits 4
    clocks "before bench/codec"
    part "the kernels' speed" "$directory/bench/codec_device" --kinds maxmin "$@" "$out/codec.csv" || :
    measure_other_kinds
    clocks "after bench/codec"
    is_hardware "the kernels' speed against its limits" || return 0
    judge_limits
}

# Uniform quantisation and kernels with history, at widths and sizes that say enough.
measure_other_kinds() {
    if [ "$driver" = real ]; then
        set -- --kinds uniform,uniform+history \
            --dtype float32,float16,bfloat16 --bits 2,4,8 --size 1,16,256
    else
        set -- --kinds uniform+history --dtype bfloat16 --bits 4
    fi
    part "the speed of uniform kernels, and with history" \
        "$directory/bench/codec_device" "$@" "$scratch/kinds.csv" || return 0
    [ ! -s "$scratch/kinds.csv" ] || sed 1d "$scratch/kinds.csv" >>"$out/codec.csv"
}

# A result for each type and operation that has limits.
judge_limits() {
    [ -s "$out/codec.csv" ] || return 0
    awk -F, 'NR > 1 && $11 != "" {
            name = $2 " " $4
            if (!(name in worst)) { order[++n] = name; worst[name] = 9 }
            if ($10 / $11 < worst[name]) {
                worst[name] = $10 / $11
                where[name] = $10 " of the copy at " $3 " bits, limit " $11
            }
        }
        END {
            for (i = 1; i <= n; i++)
                print (worst[order[i]] < 1 ? "FAIL" : "PASS"), "speed of " order[i] ": " \
                    where[order[i]]
        }' "$out/codec.csv" | tee -a "$results"
}
