# shellcheck shell=sh
# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# scripts/gpu-check worth: what compression is worth to programs. To be sourced by it.

SIZES=64K,256K,1,2,4,8,16,32,64 # MiB, or K: KiB

run_worth() {
    mps=
    has_ranks "what needs ranks" || return 0
    sections measure_with_mps check_sums split_calls run_torch run_fork measure_exact train_all \
        measure_others
}

# ---- compressed sums against exact ones ----

UNIFORM="CGX_CODEC=uniform CGX_COMPRESSION_QUANTIZATION_BITS=2"

# sums LABEL RANKS TRANSPORT ARGUMENTS...: a run of the benchmark. Settings may follow TRANSPORT.
sums() {
    sums_label=$1
    sums_ranks=$2
    sums_transport=$3
    shift 3
    on_ranks "$sums_ranks"
    # shellcheck disable=SC2086 # words
    part "sums, $sums_ranks ranks, $sums_label" $launch env \
        CGX_INNER_COMMUNICATOR_TYPE=$sums_transport "$directory/bench/allreduce_device" "$@" \
        --label "$sums_label" "$sums_table" || :
}

# Ranks that share a device without MPS wait for its scheduler in each step of a call: their times are
# no measure of the library, and are left out.
check_sums() {
    sums_table=$scratch/unmeasured.csv
    sums P2P 2 P2P --size 1
    sums SHM 2 SHM --size 1
    sums "default settings" 2 AUTO --size 1 --defaults
    sums "uniform, 2 bits" 2 "AUTO $UNIFORM" --size 1 --defaults
    sums "messages by TCP" 2 "MPI UCX_TLS=tcp" --size 1 --leave
}

# By the library's own timeline, in a run of its own.
split_calls() {
    has python3 || {
        skipped "a call is split" "no python3"
        return 0
    }
    on_ranks 2
    for transport in SHM P2P; do
        # shellcheck disable=SC2086 # words
        part "a call is traced, $transport" $launch env CGX_INNER_COMMUNICATOR_TYPE=$transport \
            CGX_TRACE="$scratch/trace.json" "$directory/bench/allreduce_device" --size 4,64 || continue
        into "$out/trace.csv" part "a call is split, $transport" bench/gpu_trace "$transport" \
            "$scratch"/trace.json.* || :
    done
}

# The daemon's pipe is our own, so that nobody else is in its way.
start_mps() {
    mps=$scratch/mps
    mkdir -p "$mps"
    export CUDA_MPS_PIPE_DIRECTORY="$mps" CUDA_MPS_LOG_DIRECTORY="$mps"
    timeout 20 nvidia-cuda-mps-control -d >>"$log" 2>&1 </dev/null || {
        mps=
        unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
        return 1
    }
}

stop_mps() {
    [ -n "${mps:-}" ] || return 0
    echo quit | timeout 20 nvidia-cuda-mps-control >>"$log" 2>&1 || :
    cat "$mps"/*.log >>"$log" 2>/dev/null || :
    mps=
    unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
}

measure_with_mps() {
    is_hardware "how fast compressed sums are beside NCCL's, and where they begin to pay" || return 0
    has nvidia-cuda-mps-control || {
        skipped "how fast compressed sums are" "no nvidia-cuda-mps-control here"
        return 0
    }
    start_mps || {
        skipped "how fast compressed sums are" "its control program does not start here: $(tail -n 1 "$log")"
        return 0
    }
    sums_table=$out/allreduce.csv
    for ranks in 2 4; do
        sums "P2P with MPS" $ranks P2P --size "$SIZES"
        sums "default settings with MPS" $ranks AUTO --size "$SIZES" --defaults
        sums "SHM with MPS" $ranks SHM --size "$SIZES"
    done
    sums "uniform, 2 bits, with MPS" 2 "AUTO $UNIFORM" --size "$SIZES" --defaults
    sums "messages by TCP with MPS" 2 "MPI UCX_TLS=tcp" --size "$SIZES" --leave
    measure_nccl
    stop_mps
}

# As between hosts: what it takes is to be compared with sums of which the messages go by TCP.
measure_nccl() {
    bench/gpu_nccl --look >>"$log" 2>&1 || {
        skipped "NCCL's sums" "$(tail -n 1 "$log")"
        return 0
    }
    into "$out/nccl.csv" part "NCCL's sums" bench/gpu_nccl || :
}

# ---- programs ----

# row PART SETTING WHAT VALUE UNIT: of programs.csv.
row() {
    [ -s "$out/programs.csv" ] || echo "part,setting,what,value,unit" >"$out/programs.csv"
    echo "\"$1\",\"$2\",\"$3\",$4,$5" >>"$out/programs.csv"
}

# torch NAME TRANSPORT ALLOCATOR ARGUMENTS...
torch() {
    torch_name=$1
    torch_transport=$2
    torch_allocator=$3
    shift 3
    on_ranks 2
    # shellcheck disable=SC2086 # words
    into "$out/torch.csv" part "PyTorch: $torch_name" $launch env CGX_WARMUP=0 CGX_COMPRESSION_MINIMAL_SIZE=1024 CGX_INNER_COMMUNICATOR_TYPE="$torch_transport" \
        PYTORCH_CUDA_ALLOC_CONF="$torch_allocator" \
        PYTORCH_ALLOC_CONF="$torch_allocator" "$directory/tools/cgxrun" bench/gpu_torch "$@" \
        "$torch_name" || :
}

run_torch() {
    is_hardware "PyTorch's tensors through mpi4py" || return 0
    has python3 || {
        skipped "PyTorch" "no python3"
        return 0
    }
    bench/gpu_torch --look >>"$log" 2>&1 || {
        skipped "PyTorch" "$(tail -n 1 "$log")"
        return 0
    }
    torch "its own allocator" SHM ""
    torch "expandable segments" SHM expandable_segments:True
    torch "expandable segments, P2P" P2P expandable_segments:True
    torch "cudaMallocAsync, P2P" P2P backend:cudaMallocAsync
    torch "a side stream" SHM "" --stream side --may-be-stale
}

# A child that is forked in mid-run, as data loaders are, changes no sum.
run_fork() {
    [ -f tests/mpi/device_fork.test ] || {
        skipped "a fork in mid-run" "there is no tests/mpi/device_fork.test"
        return 0
    }
    [ "$quick" = no ] || {
        skipped "a fork in mid-run" "make check runs it with the software driver"
        return 0
    }
    test_line device_fork tests/mpi/device_fork.test | together 1
    collect_tap device_fork
}

# What every call of a program with a GPU pays, compressed or not.
measure_exact() {
    rounds=2001
    [ "$driver" = real ] || rounds=3
    on_ranks 2
    for setting in "" --driver; do
        : >"$scratch/exact"
        # shellcheck disable=SC2086 # words
        if into "$scratch/exact" part "exact host calls${setting:+, a driver loaded}" $launch \
            "$directory/tools/cgxrun" "$directory/bench/exact_call" $setting --rounds $rounds; then
            sed -n 's/^\([^ ].*[^ ]\)  *[0-9]* ns, plain .*more *\([-0-9]*\) ns of.*/\1|\2/p' \
                "$scratch/exact" |
                while IFS='|' read -r what more; do
                    row "exact host call" "${setting:+with a driver}" "$what" "$more" "ns more"
                done
        fi
    done
}

# train NAME SETTINGS...: so few steps are no evidence that sums recur.
train() {
    train_name=$1
    shift
    set -- CGX_WARMUP=0 CGX_LOG=info "$@" -- "$directory/bench/models/train_digits" --device \
        --data "$PWD/examples/data/digits.csv"
    if [ "$driver" = soft ]; then
        set -- "$@" --quick --epochs 1
    else
        set -- "$@" --epochs 3
    fi
    part "training on the device, $train_name" env RUN_MPI_TIMEOUT=750 tests/lib/run-mpi \
        -n "$train_ranks" "$@" || return 0
    for what in accuracy seconds allreduce_seconds; do
        value=$(sed -n "s/^result.* $what=\([0-9.]*\).*/\1/p" "$log" | tail -n 1)
        row "training" "$train_name" "$what" "$value" "$([ $what = accuracy ] && echo % || echo s)"
    done
    row "training" "$train_name" "bytes sent compressed" \
        "$(sed -n 's/^cgx\[0\]: info: sent \([0-9]*\) bytes in .*/\1/p' "$log" | tail -n 1)" bytes
}

train_all() {
    train_ranks=4
    [ "$quick" = no ] || train_ranks=2
    train plain CGX_ENABLE=0
    train compressed
}

# ---- other codecs ----

measure_others() {
    [ -d "${GPU_CHECK_PEERS:-}" ] || {
        skipped "other codecs' kernels" "GPU_CHECK_PEERS names no folder of programs that measure them"
        return 0
    }
    for program in "$GPU_CHECK_PEERS"/*; do
        [ -x "$program" ] || continue
        part "other codecs' kernels: ${program##*/}" "$program" "$scratch/peers.csv" || continue
        [ ! -s "$out/peers.csv" ] || sed -i 1d "$scratch/peers.csv"
        cat "$scratch/peers.csv" >>"$out/peers.csv"
        rm -f "$scratch/peers.csv"
    done
}
