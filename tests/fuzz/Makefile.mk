# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# Programs that are given any bytes (tests/fuzz/fuzz.h). Tests replay their corpora; scripts/check --fuzz
# has them linked with libFuzzer, whose main program takes the place of FUZZ_MAIN. That of cgx-report is
# report.py, which tests/unit/tools/report.test replays.

fuzz_programs = \
	tests/fuzz/decode \
	tests/fuzz/hints \
	tests/fuzz/message \
	tests/fuzz/packing \
	tests/fuzz/rules \
	tests/fuzz/settings \
	tests/fuzz/uniform
unit_programs += $(fuzz_programs)
check_LTLIBRARIES += tests/fuzz/libfuzz.la tests/fuzz/libreplay.la
tests_fuzz_libfuzz_la_SOURCES = tests/fuzz/fuzz.c
tests_fuzz_libreplay_la_SOURCES = tests/fuzz/replay.c
FUZZ_MAIN = tests/fuzz/libreplay.la tests/lib/libtap.la
tests_fuzz_libs = $(FUZZ_MAIN) tests/fuzz/libfuzz.la libcgxcore.la $(LIBM)
fuzz: $(fuzz_programs)
.PHONY: fuzz
