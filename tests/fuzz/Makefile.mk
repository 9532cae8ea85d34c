# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# Programs that are given any bytes (tests/fuzz/fuzz.h). Tests replay their corpora; scripts/check --fuzz
# has them linked with libFuzzer, whose main program takes the place of FUZZ_MAIN. That of cgx-report is
# report.py, which tests/unit/tools/report.test replays.

fuzz_programs = tests/fuzz/decode tests/fuzz/hints tests/fuzz/message tests/fuzz/packing \
	tests/fuzz/rules tests/fuzz/settings
unit_programs += $(fuzz_programs)
check_LTLIBRARIES += tests/fuzz/libfuzz.la tests/fuzz/libreplay.la
tests_fuzz_libfuzz_la_SOURCES = tests/fuzz/encoding.c tests/fuzz/fuzz.h tests/fuzz/says.c tests/fuzz/says.h \
	tests/fuzz/turns.c
tests_fuzz_libreplay_la_SOURCES = tests/fuzz/replay.c
FUZZ_MAIN = tests/fuzz/libreplay.la tests/lib/libtap.la
tests_fuzz_libs = $(FUZZ_MAIN) tests/fuzz/libfuzz.la libcgxcore.la $(LIBM)
$(fuzz_programs): tests/fuzz/libfuzz.la tests/fuzz/libreplay.la
fuzz: $(fuzz_programs)
.PHONY: fuzz
EXTRA_DIST += \
	tests/fuzz/corpus/decode/constant \
	tests/fuzz/corpus/decode/grid \
	tests/fuzz/corpus/decode/poison \
	tests/fuzz/corpus/decode/refused \
	tests/fuzz/corpus/decode/rotated \
	tests/fuzz/corpus/decode/rotated_narrow \
	tests/fuzz/corpus/hints/all \
	tests/fuzz/corpus/hints/some \
	tests/fuzz/corpus/hints/twice \
	tests/fuzz/corpus/message/data \
	tests/fuzz/corpus/message/declined \
	tests/fuzz/corpus/message/packed \
	tests/fuzz/corpus/message/version \
	tests/fuzz/corpus/packing/exact \
	tests/fuzz/corpus/packing/two \
	tests/fuzz/corpus/packing/zeros \
	tests/fuzz/corpus/report/huge_time \
	tests/fuzz/corpus/report/large \
	tests/fuzz/corpus/report/names \
	tests/fuzz/corpus/report/ranks \
	tests/fuzz/corpus/report/stats \
	tests/fuzz/corpus/report/subnormal \
	tests/fuzz/corpus/report/timeline \
	tests/fuzz/corpus/rules/layers \
	tests/fuzz/corpus/rules/manual \
	tests/fuzz/corpus/rules/mark \
	tests/fuzz/corpus/rules/overflow \
	tests/fuzz/corpus/settings/control \
	tests/fuzz/corpus/settings/profile \
	tests/fuzz/corpus/settings/some \
	tests/fuzz/report.py
