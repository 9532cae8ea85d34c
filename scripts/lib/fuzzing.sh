# shellcheck shell=sh
# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# What is fuzzed, in a build in $directory for $seconds each. To be sourced in the top directory.

# fuzz_program PROGRAM LENGTH COMMAND: inputs have up to LENGTH bytes. What is found is left in
# $directory: the program says where memory comes from when it is run on that alone. The bytes for a line of the corpus:
#     od -An -v -to1 FILE | sed 's/ /\\0/g' | tr -d '\n'
fuzz_program() {
    program=$1
    length=$2
    shift 2
    say "fuzzing $program for ${seconds:?} s"
    mkdir -p "${directory:?}/corpus/$program" "$directory/inputs/$program"
    grep "^$program " tests/fuzz/corpus.txt | while read -r _ input bytes; do
        printf '%b' "$bytes" >"$directory/inputs/$program/$input"
    done
    verdict=PASS
    # Freed blocks are kept back up to 1 MiB, more than an input has, and less than leaves the caches.
    ASAN_OPTIONS=quarantine_size_mb=1:malloc_context_size=0 \
        "$@" -max_total_time="$seconds" -max_len="$length" -print_final_stats=1 \
        -artifact_prefix="$directory/$program-" "$directory/corpus/$program" \
        "$directory/inputs/$program" >"${logs:?}/$program.log" 2>&1 || verdict=FAIL
    [ $verdict = PASS ] ||
        grep -e '^not so' -e 'ERROR: ' -e 'Error: ' -e 'runtime error' "$logs/$program.log" || :
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$logs/$program.log")
    result $verdict "fuzzing $program: ${executions:-no} executions"
}

fuzz() {
    say "building what is fuzzed"
    make -C "$directory" FUZZ_MAIN= LDFLAGS=-fsanitize=fuzzer fuzz >"$logs/fuzz.log" 2>&1 ||
        give_up "what is fuzzed can be built"
    for program in $(sed 's/ .*//' tests/fuzz/corpus.txt | uniq); do
        [ "$program" = report ] || fuzz_program "$program" 512 "$directory/tests/fuzz/$program"
    done
    if install_wheels "$PWD/build/atheris" atheris; then
        fuzz_program report 4096 env PYTHONPATH=tools build/atheris/bin/python -B tests/fuzz/report.py \
            --atheris
    else
        result SKIP "fuzzing report: atheris cannot be installed"
    fi
}
