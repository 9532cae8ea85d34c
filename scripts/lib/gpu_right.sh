# shellcheck shell=sh
# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# scripts/gpu-check right: the tests of devices, and the kernels under compute-sanitizer and a
# profiler. To be sourced by it.

JOBS=6 # of several ranks each

# What may disturb the device comes last.
run_right() {
    sections run_most_tests run_sanitizers run_profiler run_rough_tests
}

# Unit tests are those of facts.
run_most_tests() {
    if [ "$quick" = yes ]; then
        run_tests tests/mpi/examples_gpu.test
        skipped "the other tests of devices" "make check runs them with the software driver"
    else
        run_tests tests/mpi/device.test tests/mpi/device_driver.test tests/mpi/device_segments.test \
            tests/mpi/device_uniform.test tests/mpi/exact_device.test tests/mpi/examples_gpu.test
    fi
}

run_rough_tests() {
    [ "$quick" = yes ] || run_tests tests/mpi/device_peers.test \
        tests/mpi/device_peers_state.test tests/mpi/device_faults.test
}

# run_tests TEST...
run_tests() {
    has_ranks "$*" || return 0
    for test in "$@"; do
        name=${test##*/}
        test_line "${name%.test}" "$test"
    done | together "$JOBS"
    for test in "$@"; do
        name=${test##*/}
        collect_tap "${name%.test}"
    done
}

# ---- compute-sanitizer ----

list_sanitized() {
    for program in kernels_bytes kernels_hostile kernels_uniform; do
        echo "memcheck $program"
        echo "racecheck $program"
    done
    for program in backends kernels_bytes; do
        echo "synccheck $program"
        echo "initcheck $program"
    done
}

# Not all machines let it, and it may be too slow.
run_sanitizers() {
    is_hardware "compute-sanitizer" || return 0
    has compute-sanitizer || {
        skipped "compute-sanitizer" "not installed"
        return 0
    }
    list_sanitized >"$scratch/sanitized"
    while read -r tool program; do
        echo "$tool.$program|compute-sanitizer --tool $tool --error-exitcode 9" \
            "$directory/tests/unit/cuda/$program"
    done <"$scratch/sanitized" | together "$JOBS"
    while read -r tool program; do
        judge_sanitizer "$tool.$program"
    done <"$scratch/sanitized"
}

judge_sanitizer() {
    told "$1"
    if grep -qi 'device not supported' "$scratch/together/$1.out"; then
        skipped "$1" "compute-sanitizer does not support this device"
    elif [ "$told_status" -eq 124 ]; then
        skipped "$1" "no end in $told_seconds s under compute-sanitizer; nothing was found so far"
    else
        judge "$1" "$told_status" "$told_seconds"
    fi
}

# ---- a profiler ----

METRICS=gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum
METRICS=$METRICS,dram__throughput.avg.pct_of_peak_sustained_elapsed
METRICS=$METRICS,sm__throughput.avg.pct_of_peak_sustained_elapsed
METRICS=$METRICS,smsp__issue_active.avg.pct_of_peak_sustained_active
METRICS=$METRICS,sm__warps_active.avg.pct_of_peak_sustained_active
METRICS=$METRICS,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
METRICS=$METRICS,l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum
METRICS=$METRICS,l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum
METRICS=$METRICS,l1tex__t_requests_pipe_lsu_mem_global_op_st.sum

# Encode, decode and reduce, once each; the clocks are left as they are.
run_profiler() {
    set -- "$directory/bench/codec_device" --once --kinds uniform --dtype float32,float16 --bits 3,4,8
    if [ "$driver" = soft ]; then
        part "what the profiler runs" "$@" --bits 4 --dtype float32 || :
        skipped "the profiler" "only hardware can answer"
    elif has ncu; then
        into "$out/profile.csv" part "the profiler (ncu)" ncu --clock-control none --target-processes all --csv --page raw \
            --metrics "$METRICS" --kernel-name 'regex:cgx_(encode|decode|reduce)_' \
            "$@" --size 64 || :
    elif has nsys; then
        part "the profiler (nsys)" nsys profile --force-overwrite true -o "$scratch/profile" \
            "$@" --size 64 || return 0
        into "$out/profile.csv" part "what nsys found" nsys stats --format csv \
            --report cuda_gpu_kern_sum "$scratch/profile.nsys-rep" || :
    else
        skipped "the profiler" "neither ncu nor nsys is installed"
    fi
}
