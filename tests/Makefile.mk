# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# Tests in three tiers: what every commit needs (core_tests), those of devices, which run with a CUDA driver in
# software or with a real one (device_tests), and what takes long or needs much installed (further_tests).

TEST_EXTENSIONS = .test
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
TEST_LOG_DRIVER = $(LOG_DRIVER)
# Leaks are looked for in unit tests alone: an MPI never frees all, and shells do not either.
TEST_LOG_COMPILER = env
AM_TEST_LOG_FLAGS = ASAN_OPTIONS=detect_leaks=0
AM_TESTS_ENVIRONMENT = \
	top_srcdir='$(abs_top_srcdir)' top_builddir='$(abs_top_builddir)' \
	CC='$(CC)' NM='$(NM_TOOL)' MPICC='$(MPICC)' MPIFORT='$(MPIFORT)' MPIEXEC='$(MPIEXEC)' \
	LIBASAN='$(LIBASAN)' CXX='$(CXX)' NVCC='$(NVCC)' NVCC_FLAGS='$(NVCC_FLAGS)' \
	COVERAGE_CFLAGS='$(COVERAGE_CFLAGS)'; \
	export top_srcdir top_builddir CC NM MPICC MPIFORT MPIEXEC LIBASAN CXX NVCC NVCC_FLAGS COVERAGE_CFLAGS;

# ---- the tests, by folder: programs, and scripts ----

unit_programs = \
	tests/unit/codec/bytes tests/unit/codec/environment tests/unit/codec/error tests/unit/codec/quant \
	tests/unit/codec/sets tests/unit/codec/uniform_limits \
	tests/unit/coll/exchange tests/unit/coll/program tests/unit/coll/pull tests/unit/coll/schedule \
	tests/unit/coll/shared_hostile tests/unit/coll/sketch tests/unit/coll/stages tests/unit/coll/stages_faults \
	tests/unit/coll/staging \
	tests/unit/comm/callsite tests/unit/comm/callsites \
	tests/unit/cuda/memory \
	tests/unit/mpi/mpi \
	tests/unit/observe/observe \
	tests/unit/policy/bursts tests/unit/policy/cost tests/unit/policy/hints tests/unit/policy/plan \
	tests/unit/policy/look tests/unit/policy/sample tests/unit/policy/worth tests/unit/policy/recurrence \
	tests/unit/policy/recurrence_positions tests/unit/policy/resemblance \
	tests/unit/policy/rules tests/unit/policy/rules_mistakes tests/unit/policy/step_size \
	tests/unit/tools/info \
	tests/unit/topo/ranks tests/unit/topo/speed tests/unit/topo/topo \
	tests/unit/util/backoff tests/unit/util/log tests/unit/util/output tests/unit/util/pages \
	tests/unit/util/settings_parse tests/unit/util/settings_values
unit_scripts = \
	tests/unit/bench/scale.test tests/unit/bench/train_table.test \
	tests/unit/pmpi/linkage.test \
	tests/unit/streams/streams.test \
	tests/unit/tools/cgx_info.test tests/unit/tools/cgx_info_model.test tests/unit/tools/cgxrun.test \
	tests/unit/tools/cgxrun_launchers.test tests/unit/tools/report.test tests/unit/tools/report_output.test \
	tests/unit/tools/report_sums.test \
	tests/unit/tree/budget.test tests/unit/tree/layers.test tests/unit/tree/manual.test \
	tests/unit/tree/packages.test tests/unit/tree/supervise.test
# Programs that a script of their name runs on several ranks, ...
mpi_tests = \
	tests/mpi/ballots tests/mpi/codec_faults tests/mpi/communicators tests/mpi/exact tests/mpi/first \
	tests/mpi/first_steps tests/mpi/long_run tests/mpi/memory_faults tests/mpi/missing tests/mpi/ops \
	tests/mpi/pace tests/mpi/rank_faults tests/mpi/reasons tests/mpi/rules tests/mpi/security tests/mpi/shared \
	tests/mpi/shared_faults tests/mpi/stall tests/mpi/state tests/mpi/stats tests/mpi/surroundings \
	tests/mpi/times tests/mpi/transport_faults tests/mpi/uniform
# ... what other scripts run, and these.
mpi_programs = tests/mpi/consensus tests/mpi/find_foreign tests/mpi/find_none tests/mpi/find_sum tests/mpi/freed \
	tests/mpi/lab_vanish tests/mpi/life tests/mpi/session tests/mpi/sums \
	tests/mpi/types_classify
mpi_scripts = \
	tests/mpi/demo.test tests/mpi/bitwise.test tests/mpi/bound.test tests/mpi/find_mpi.test \
	tests/mpi/fortran.test tests/mpi/life.test tests/mpi/many.test tests/mpi/notices.test tests/mpi/observe.test \
	tests/mpi/preload_order.test tests/mpi/strict.test tests/mpi/trace.test tests/mpi/report.test \
	tests/mpi/versions.test
# What is tested of devices, in builds with CUDA: tests/softcuda/Makefile.mk.
device_units =
device_scripts =
device_mpi_tests =
sanitized =
core_tests = $(unit_programs) $(unit_scripts) $(mpi_tests:=.test) $(mpi_scripts) tests/storm/storm.test

device_tests = $(device_units) $(device_scripts) $(device_mpi_tests:=.test)
all_tests = $(core_tests) $(device_tests) $(further_tests)

# Other MPIs and their clients, hosts of a lab, packages.
further_tests = \
	tests/mpi/abis.test tests/mpi/lab.test tests/mpi/lab_vanish.test tests/mpi/packages.test \
	tests/mpi/python.test tests/mpi/recipes.test tests/mpi/ulfm.test \
	tests/ptx/kernels.test

check_LTLIBRARIES = tests/lib/libtap.la tests/lib/yield.la tests/unit/lib/libunit.la tests/mpi/lib/libmpitest.la
# What the lab and scripts/gpu-check run is for their tests too, and what says how many messages there are.
check_PROGRAMS = tests/lib/supervise $(unit_programs) $(device_units) $(sanitized) tests/unit/streams/replay \
	$(mpi_tests) $(device_mpi_tests) $(mpi_programs) tests/storm/storm bench/allreduce bench/exact_call bench/scale
dist_check_SCRIPTS = $(unit_scripts) $(mpi_tests:=.test) $(mpi_scripts) tests/storm/storm.test $(device_scripts) \
	$(device_mpi_tests:=.test) $(further_tests)
TESTS = $(core_tests) $(device_tests)
# Tests may run beside others (make -j 2 check), but two of these look at which hosts of a lab there are.
tests/mpi/lab_vanish.log: $(filter tests/mpi/lab.log,$(TEST_LOGS))
tests/mpi/demo.log: $(filter tests/mpi/lab.log tests/mpi/lab_vanish.log,$(TEST_LOGS))

# Headers, data, and what scripts run or compile.
EXTRA_DIST += $(wildcard $(foreach name,data/*/* fuzz/*.txt */*.h */*/*.h */*.py */*/*.py */*.sh */*/*.sh, \
		$(srcdir)/tests/$(name))) \
	tests/lib/run-mpi tests/lib/unjudged.rules tests/mpi/lib/on-rank tests/mpi/lib/own-shm \
	tests/mpi/lib/together tests/mpi/lib/watch-launcher tests/mpi/ulfm.c tests/ptx/translate

include tests/fuzz/Makefile.mk

# ---- what they are made of ----

# Programs link what their folder says, or what unit tests do; those that say otherwise are below.
LDADD = $(or $($(subst /,_,$(@D))_libs),$(unit_libs))
unit_libs = tests/unit/lib/libunit.la tests/mpi/lib/libmpitest.la tests/lib/libtap.la libcgxcore.la $(LIBM)
# MPI's programs know nothing of the library, which is preloaded; these have it inside.
with_library = ballots codec_faults device_faults device_late memory_faults pace security \
	shared_faults types_classify
tests_mpi_libs = $(if $(filter $(with_library),$(@F)),libcgxcore.la) tests/mpi/lib/libmpitest.la \
	tests/lib/libtap.la $(MPI_LIBS) $(LIBM)
# The first sums of communicators: tests/mpi/lib/first.c.
tests_mpi_ldflags = -Wl,--undefined=MPI_Allreduce,--wrap=MPI_Allreduce,--wrap=MPI_Allreduce_c
tests_storm_ldflags = $(tests_mpi_ldflags)
tests_storm_libs = $(tests_mpi_libs)
$(check_PROGRAMS) $(EXTRA_PROGRAMS): $(filter-out tests/softcuda/%,$(check_LTLIBRARIES)) libcgxcore.la
# make check TESTS=... builds what these need: a program itself, a script the programs of its folder (those of tests/ptx
# and tests/softcuda all). An empty TESTS builds all.
are_named = $(and $(filter command,$(origin TESTS)),$(strip $(TESTS)))
folders = $(patsubst tests/ptx/%,%,$(patsubst tests/softcuda/%,%,$(addsuffix %,$(sort $(dir $(filter %.test,$(TESTS)))))))
needed = $(TESTS) $(if $(folders),tests/lib/% bench/% examples/% $(folders))
override check_PROGRAMS := $(if $(are_named),$(filter $(needed),$(check_PROGRAMS)),$(check_PROGRAMS))
AM_MAKEFLAGS = $(if $(are_named),check_PROGRAMS='$(check_PROGRAMS)')

tests_lib_libtap_la_SOURCES = tests/lib/tap.c
tests_lib_yield_la_SOURCES = tests/lib/yield.c
# Without an -rpath libtool would make it a static library.
tests_lib_yield_la_LDFLAGS = -module -avoid-version -rpath $(abs_top_builddir)/tests/lib
tests_unit_lib_libunit_la_SOURCES = tests/unit/lib/loopback.c tests/unit/lib/mirror.c tests/unit/lib/scene.c
tests_mpi_lib_libmpitest_la_SOURCES = tests/mpi/lib/bound.c tests/mpi/lib/check.c tests/mpi/lib/data.c \
	tests/mpi/lib/device.c tests/mpi/lib/first.c tests/mpi/lib/placed.c tests/mpi/lib/quantisations.c \
	tests/mpi/lib/traffic.c
tests_unit_coll_program_SOURCES = tests/unit/coll/program.c tools/info_program.c
tests_unit_tools_info_SOURCES = tests/unit/tools/info.c tools/info_link.c tools/info_model.c
tests_storm_storm_SOURCES = tests/storm/storm.c tests/storm/draw.c tests/storm/episode.c \
	tests/storm/loudness.c tests/storm/rule.c

# Functions that programs have in the place of the library's or the system's (tests/lib/tap.h).
tests_unit_coll_exchange_wraps = nanosleep sched_yield
tests_unit_cuda_backends_wraps = cgx_cuda
tests_unit_cuda_pinned_pool_wraps = cgx_topo_bind
tests_unit_policy_recurrence_wraps = calloc malloc realloc cgx_sparse_map
tests_unit_mpi_mpi_wraps = clock_gettime
tests_unit_observe_observe_wraps = cgx_config clock_gettime
tests_unit_util_output_wraps = cgx_cookie lstat
tests_mpi_codec_faults_wraps = cgx_codec_run
tests_mpi_device_faults_wraps = cgx_coll_schedule cgx_cuda cgx_slice_decode cgx_slice_post \
	malloc calloc cgx_pages_map
tests_mpi_device_late_wraps = cgx_coll_schedule
tests_mpi_memory_faults_wraps = malloc calloc realloc cgx_pages_map cgx_sparse_map
tests_mpi_pace_wraps = cgx_topo_speed_here
tests_mpi_shared_faults_wraps = memfd_create fchmod ftruncate mmap readlink open fstat getrandom calloc

# These are without an MPI.
tests_mpi_find_foreign_LDADD = tests/lib/libtap.la
tests_mpi_find_none_LDADD = tests/lib/libtap.la

# Not in the library: programs that count messages (traffic.c) would have PMPI_Isend twice.
call_faults = tests/mpi/faults/call_faults.c
tests_mpi_codec_faults_SOURCES = tests/mpi/codec_faults.c $(call_faults)
tests_mpi_times_SOURCES = tests/mpi/times.c $(call_faults)
tests_mpi_transport_faults_SOURCES = tests/mpi/transport_faults.c $(call_faults)
# Not in a library, where MPI_Allreduce would be the MPI's own.
device_sum = tests/mpi/lib/device_sum.c
tests_mpi_device_faults_SOURCES = tests/mpi/device_faults.c $(device_sum)
tests_mpi_device_input_SOURCES = tests/mpi/device_input.c $(device_sum)
allreduce = tests/mpi/lib/allreduce.c
tests_mpi_ballots_SOURCES = tests/mpi/ballots.c $(allreduce)
tests_mpi_exact_SOURCES = tests/mpi/exact.c $(allreduce)
tests_mpi_exact_device_SOURCES = tests/mpi/exact_device.c $(allreduce)
tests_mpi_first_SOURCES = tests/mpi/first.c $(allreduce)
tests_mpi_rules_SOURCES = tests/mpi/rules.c $(allreduce)
tests_mpi_state_SOURCES = tests/mpi/state.c tests/mpi/lib/player.c

include tests/softcuda/Makefile.mk
