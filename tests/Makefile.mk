# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# Tests, of which those of devices run with a CUDA driver in software or with a real one.

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

unit_programs = tests/unit/policy/adapt tests/unit/policy/adapt_budget tests/unit/policy/adapt_families \
	tests/unit/policy/adapt_powers \
	tests/unit/policy/adapt_replay tests/unit/policy/allocate \
	tests/unit/util/backoff tests/unit/comm/callsite tests/unit/comm/callsites \
	tests/unit/codec/bytes tests/unit/codec/environment tests/unit/codec/error \
	tests/unit/codec/hostile tests/unit/codec/quant tests/unit/codec/reduce \
	tests/unit/codec/sets tests/unit/codec/stochastic tests/unit/codec/types \
	tests/unit/policy/consensus tests/unit/policy/recent tests/unit/policy/cost tests/unit/cuda/memory tests/unit/coll/exchange tests/unit/policy/families tests/unit/mpi/find_abi tests/unit/policy/hints \
	tests/unit/policy/hints_recurrence tests/unit/tools/info_link tests/unit/tools/info_model \
	tests/unit/codec/history tests/unit/coll/layout tests/unit/util/log tests/unit/tree/man tests/unit/codec/measure tests/unit/codec/measure_power tests/unit/topo/nodes \
	tests/unit/mpi/ops_large tests/unit/mpi/ops_probe tests/unit/mpi/ops_records tests/unit/util/output tests/unit/codec/packing tests/unit/util/pages \
	tests/unit/util/parse tests/unit/policy/plan tests/unit/coll/pull tests/unit/policy/recurrence \
	tests/unit/policy/recurrence_positions tests/unit/codec/residuals tests/unit/coll/residuals_room tests/unit/topo/room \
	tests/unit/codec/rotated_bytes tests/unit/codec/rotated_error tests/unit/codec/rotated_feedback \
	tests/unit/codec/rotated_hostile tests/unit/codec/rotated_reduce tests/unit/codec/rotated_residuals tests/unit/codec/rotated_sets \
	tests/unit/policy/rules tests/unit/policy/rules_mistakes \
	tests/unit/codec/sampling tests/unit/util/settings_parse tests/unit/util/settings_values tests/unit/coll/shared_hostile \
	tests/unit/coll/schedule tests/unit/topo/speed tests/unit/coll/split tests/unit/coll/stages tests/unit/coll/stages_empty \
	tests/unit/coll/stages_faults tests/unit/coll/stages_rotated tests/unit/coll/stages_sparse tests/unit/coll/staging \
	tests/unit/comm/tables tests/unit/topo/topo tests/unit/topo/machine tests/unit/util/trace tests/unit/coll/watch tests/unit/coll/watch_limits
unit_scripts = tests/ptx/kernels.test tests/unit/tools/cgx_info.test tests/unit/tools/cgxrun.test tests/unit/tools/cgxrun_launchers.test \
	tests/unit/pmpi/exports.test \
	tests/unit/tree/layers.test tests/unit/pmpi/linkage.test tests/unit/tree/manual.test tests/unit/mpi/ops_objects.test \
	tests/unit/tree/packages.test tests/unit/bench/plot.test tests/unit/tools/report.test tests/unit/tools/report_output.test tests/unit/tools/report_page.test \
	tests/unit/bench/results.test tests/unit/bench/scale.test tests/unit/streams/streams.test tests/unit/tree/supervise.test tests/unit/bench/train_table.test
mpi_programs = tests/mpi/adaptive tests/mpi/adaptive_rules tests/mpi/adaptive_settings \
	tests/mpi/adaptive_streams tests/mpi/adaptive_values tests/mpi/adaptive_withdrawn \
	tests/mpi/arguments tests/mpi/bitwise tests/mpi/bound tests/mpi/bytes \
	tests/mpi/check tests/mpi/codec_faults tests/mpi/communicators tests/mpi/connect \
	tests/mpi/consensus tests/mpi/exact \
	tests/mpi/families tests/mpi/families_change tests/mpi/feedback tests/mpi/first tests/mpi/find_foreign tests/mpi/find_none tests/mpi/find_private tests/mpi/find_sum \
	tests/mpi/forward tests/mpi/half_sum tests/mpi/held tests/mpi/history tests/mpi/keyval tests/mpi/lab_vanish tests/mpi/leave \
	tests/mpi/long_run tests/mpi/many \
	tests/mpi/memory_faults tests/mpi/missing \
	tests/mpi/nonfinite tests/mpi/ops_beyond tests/mpi/ops_half tests/mpi/ops_strict tests/mpi/pace tests/mpi/pass_messages tests/mpi/pass_objects \
	tests/mpi/progress tests/mpi/rank_faults \
	tests/mpi/reasons tests/mpi/security tests/mpi/session tests/mpi/signals \
	tests/mpi/shared tests/mpi/shared_faults tests/mpi/sparse tests/mpi/spawn tests/mpi/stats \
	tests/mpi/state tests/mpi/streams tests/mpi/surroundings tests/mpi/threads tests/mpi/trace tests/mpi/trace_memory tests/mpi/transport_faults tests/mpi/traps \
	tests/mpi/types_classify tests/mpi/warmup
storm_programs = tests/storm/storm
storm_scripts = tests/storm/storm.test
mpi_scripts = tests/mpi/abis.test tests/mpi/adaptive.test tests/mpi/adaptive_rules.test \
	tests/mpi/adaptive_settings.test tests/mpi/arguments.test tests/mpi/bitwise.test \
	tests/mpi/bound.test tests/mpi/bytes.test tests/mpi/check.test tests/mpi/clients.test \
	tests/mpi/codec_faults.test tests/mpi/communicators.test tests/mpi/consensus.test \
	tests/mpi/demo.test tests/mpi/digits.test tests/mpi/exact.test tests/mpi/families.test tests/mpi/feedback.test tests/mpi/first.test tests/mpi/find_mpi.test \
	tests/mpi/fortran.test tests/mpi/half_sum.test tests/mpi/history.test tests/mpi/lab.test \
	tests/mpi/lab_vanish.test tests/mpi/life.test tests/mpi/long_run.test tests/mpi/many.test \
	tests/mpi/memory_faults.test tests/mpi/missing.test tests/mpi/no_dev_shm.test tests/mpi/notices.test \
	tests/mpi/nonfinite.test tests/mpi/ops_beyond.test tests/mpi/ops_half.test tests/mpi/ops_strict.test tests/mpi/pace.test \
	tests/mpi/packages.test tests/mpi/pass_through.test tests/mpi/preload_order.test tests/mpi/rank_faults.test \
	tests/mpi/reasons.test tests/mpi/recipes.test tests/mpi/report.test tests/mpi/security.test \
	tests/mpi/shared.test tests/mpi/shared_faults.test tests/mpi/signals.test tests/mpi/sparse.test \
	tests/mpi/state.test tests/mpi/stats.test tests/mpi/streams.test tests/mpi/surroundings.test tests/mpi/trace.test tests/mpi/training.test \
	tests/mpi/transport_faults.test tests/mpi/traps.test \
	tests/mpi/types_classify.test tests/mpi/ulfm.test tests/mpi/versions.test tests/mpi/warmup.test \
	tests/mpi/wheel.test

check_LTLIBRARIES = tests/lib/libtap.la tests/lib/yield.la tests/unit/lib/libreference.la \
	tests/mpi/lib/libmpitest.la
# What the lab and scripts/gpu-check run is for their tests too, and what says how many messages there are.
check_PROGRAMS = tests/lib/supervise $(unit_programs) tests/unit/mpi/ops_objects tests/unit/streams/replay $(mpi_programs) \
	$(storm_programs) bench/allreduce bench/exact_call bench/scale
dist_check_SCRIPTS = $(unit_scripts) $(mpi_scripts) $(storm_scripts)
TESTS = $(unit_programs) $(dist_check_SCRIPTS)
# Tests may run beside others (make -j 2 check), but two of these look at which hosts of a lab there are.
tests/mpi/lab_vanish.log: $(filter tests/mpi/lab.log,$(TEST_LOGS))
tests/mpi/demo.log: $(filter tests/mpi/lab.log tests/mpi/lab_vanish.log,$(TEST_LOGS))

include tests/fuzz/Makefile.mk

# What programs link: as their folder says, or as unit tests do; those that say otherwise are below.
LDADD = $(or $($(subst /,_,$(@D))_libs),$(unit_libs))
examples_libs = $(MPI_LIBS) $(LIBM)
unit_libs = tests/mpi/lib/libmpitest.la tests/lib/libtap.la tests/unit/lib/libreference.la \
	libcgxcore.la $(LIBM)
tests_mpi_libs = tests/mpi/lib/libmpitest.la tests/lib/libtap.la $(MPI_LIBS) $(LIBM)
# The first sums of communicators: tests/mpi/lib/first.c.
tests_mpi_ldflags = -Wl,--undefined=MPI_Allreduce,--wrap=MPI_Allreduce,--wrap=MPI_Allreduce_c
tests_storm_ldflags = $(tests_mpi_ldflags)
tests_storm_libs = $(tests_mpi_libs)
$(check_PROGRAMS) $(EXTRA_PROGRAMS): \
		$(filter tests/lib/%.la tests/unit/lib/%.la tests/mpi/%.la,$(check_LTLIBRARIES)) libcgxcore.la

tests_lib_libtap_la_SOURCES = tests/lib/tap.c tests/lib/tap.h tests/lib/wrap.h
tests_lib_yield_la_SOURCES = tests/lib/yield.c
tests_lib_supervise_SOURCES = tests/lib/supervise.c
# Without an -rpath libtool would make it a static library.
tests_lib_yield_la_LDFLAGS = -module -avoid-version -rpath $(abs_top_builddir)/tests/lib
tests_unit_lib_libreference_la_SOURCES = tests/unit/lib/codec_data.h tests/unit/lib/codec_reference.c \
	tests/unit/lib/codec_reference_sums.c \
	tests/unit/lib/codec_reference.h tests/unit/lib/distributions.h tests/unit/lib/rotated_bucket.c tests/unit/lib/rotated_bucket.h \
	tests/unit/lib/rotated_data.h tests/unit/lib/rotated_reference.c tests/unit/lib/rotated_reference.h
EXTRA_DIST += tests/lib/run-mpi tests/lib/tap.sh tests/mpi/lib/draw.sh tests/mpi/lib/on-rank tests/mpi/lib/own-shm tests/mpi/lib/runs.sh tests/mpi/lib/together \
	tests/mpi/abi_constants.c tests/mpi/abi_split.c tests/mpi/client.py tests/mpi/lib/clients.sh \
	tests/mpi/lib/watch-launcher tests/mpi/pmpi_tool.c tests/mpi/sums.py tests/mpi/ulfm.c

replay_sources = tests/unit/lib/loopback.c tests/unit/lib/loopback.h tests/unit/lib/replay.c tests/unit/lib/replay.h
tests_unit_policy_adapt_SOURCES = tests/unit/policy/adapt.c tests/unit/lib/adapt_steps.h
tests_unit_policy_adapt_budget_SOURCES = tests/unit/policy/adapt_budget.c tests/unit/lib/adapt_steps.h
tests_unit_policy_adapt_powers_SOURCES = tests/unit/policy/adapt_powers.c $(replay_sources)
tests_unit_policy_adapt_replay_SOURCES = tests/unit/policy/adapt_replay.c $(replay_sources)
# What a communicator asks for is counted.
tests_unit_policy_recurrence_SOURCES = tests/unit/policy/recurrence.c tests/unit/lib/recurrence.h
tests_unit_policy_recurrence_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=calloc -Wl,--wrap=malloc -Wl,--wrap=realloc -Wl,--wrap=cgx_sparse_map
tests_unit_policy_recurrence_positions_SOURCES = tests/unit/policy/recurrence_positions.c tests/unit/lib/recurrence.h
EXTRA_DIST += tests/unit/tree/circles.py tests/unit/streams/held_out.py tests/unit/streams/models.py \
	tests/unit/streams/programs.py tests/unit/streams/zoo.py
fake_mpi = tests/unit/lib/fake_mpi.c tests/unit/lib/fake_mpi.h
tests_unit_mpi_find_abi_SOURCES = tests/unit/mpi/find_abi.c $(fake_mpi)
tests_unit_mpi_ops_objects_SOURCES = tests/unit/mpi/ops_objects.c $(fake_mpi)
tests_unit_mpi_ops_probe_SOURCES = tests/unit/mpi/ops_probe.c $(fake_mpi)
tests_unit_mpi_ops_records_SOURCES = tests/unit/mpi/ops_records.c $(fake_mpi)
scene_sources = tests/unit/lib/loopback.c tests/unit/lib/loopback.h tests/unit/lib/scene.c tests/unit/lib/scene.h
tests_unit_util_settings_parse_SOURCES = tests/unit/util/settings_parse.c tests/unit/lib/settings_messages.h
tests_unit_util_settings_values_SOURCES = tests/unit/util/settings_values.c tests/unit/lib/settings_messages.h
tests_unit_coll_pull_SOURCES = tests/unit/coll/pull.c tests/unit/lib/loopback.c tests/unit/lib/loopback.h
tests_unit_coll_exchange_SOURCES = tests/unit/coll/exchange.c tests/unit/lib/loopback.c tests/unit/lib/loopback.h
tests_unit_util_output_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=cgx_cookie,--wrap=lstat
tests_unit_coll_exchange_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=nanosleep,--wrap=sched_yield
tests_unit_coll_stages_SOURCES = tests/unit/coll/stages.c tests/unit/lib/stages_reference.c \
	tests/unit/lib/stages_reference.h $(scene_sources)
tests_unit_coll_stages_empty_SOURCES = tests/unit/coll/stages_empty.c $(scene_sources)
tests_unit_coll_stages_faults_SOURCES = tests/unit/coll/stages_faults.c $(scene_sources)
tests_unit_coll_stages_rotated_SOURCES = tests/unit/coll/stages_rotated.c $(scene_sources)
tests_unit_coll_stages_sparse_SOURCES = tests/unit/coll/stages_sparse.c $(scene_sources)
tests_unit_coll_stages_sparse_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=cgx_packing_pays,--wrap=cgx_slice_send
tests_unit_util_trace_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_gettime
watch_sources = tests/unit/lib/watch_scene.c tests/unit/lib/watch_scene.h $(scene_sources)
tests_unit_coll_watch_SOURCES = tests/unit/coll/watch.c $(watch_sources)
tests_unit_coll_watch_limits_SOURCES = tests/unit/coll/watch_limits.c $(watch_sources)
tests_unit_policy_allocate_SOURCES = tests/unit/policy/allocate.c tests/unit/lib/allocate_exact.h
tests_unit_tools_info_link_SOURCES = tests/unit/tools/info_link.c tools/info_link.c tools/info_link.h
tests_unit_tools_info_link_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/tools
tests_unit_tools_info_model_SOURCES = tests/unit/tools/info_model.c tools/info_model.c tools/info_model.h
tests_unit_tools_info_model_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/tools
EXTRA_DIST += tests/data/report/stats.json tests/data/report/summary.txt \
	tests/data/report/trace.json tests/lib/measure-page.js
EXTRA_DIST += tests/data/topo/broken.xml tests/data/topo/cluster.xml tests/data/topo/desktop.xml \
	tests/data/topo/dgx.xml tests/data/topo/dual8.xml

# MPI's programs know nothing of the library, which is preloaded.
tests_mpi_lib_libmpitest_la_SOURCES = tests/mpi/lib/bound.c tests/mpi/lib/bound.h \
	tests/mpi/lib/bound_study.c tests/mpi/lib/bound_study.h tests/mpi/lib/scheme.c \
	tests/mpi/lib/check.c tests/mpi/lib/check.h tests/mpi/lib/comms.c tests/mpi/lib/comms.h \
	tests/mpi/lib/data.c tests/mpi/lib/data.h \
	tests/mpi/lib/device.c tests/mpi/lib/device.h tests/mpi/lib/elements.c tests/mpi/lib/elements.h \
	tests/mpi/lib/families.c tests/mpi/lib/families.h tests/mpi/lib/first.c \
	tests/mpi/lib/placed.c tests/mpi/lib/placed.h tests/mpi/lib/repeat.c \
	tests/mpi/lib/repeat.h tests/mpi/lib/sum.c \
	tests/mpi/lib/sum.h tests/mpi/lib/traffic.c tests/mpi/lib/traffic.h

# These are MPI's programs with the library inside ...
tests_mpi_codec_faults_LDADD = libcgxcore.la $(tests_mpi_libs)
tests_mpi_codec_faults_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=cgx_codec_run
tests_mpi_memory_faults_LDADD = libcgxcore.la $(tests_mpi_libs)
tests_mpi_memory_faults_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc \
	-Wl,--wrap=realloc,--wrap=cgx_pages_map,--wrap=cgx_sparse_map
tests_mpi_pace_LDADD = libcgxcore.la $(tests_mpi_libs)
tests_mpi_pace_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=cgx_topo_speed_here
tests_mpi_trace_memory_LDADD = libcgxcore.la $(tests_mpi_libs)
tests_mpi_trace_memory_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=calloc
tests_mpi_security_LDADD = libcgxcore.la $(tests_mpi_libs)
tests_mpi_security_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=cgx_trace_end
tests_mpi_shared_faults_LDADD = libcgxcore.la $(tests_mpi_libs)
tests_mpi_shared_faults_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=memfd_create,--wrap=fchmod,--wrap=ftruncate \
	-Wl,--wrap=mmap,--wrap=readlink,--wrap=open,--wrap=fstat \
	-Wl,--wrap=getrandom,--wrap=calloc
tests_mpi_types_classify_LDADD = libcgxcore.la $(tests_mpi_libs)

# ... and these without an MPI.
tests_mpi_find_foreign_LDADD = tests/lib/libtap.la
tests_mpi_find_none_LDADD = tests/lib/libtap.la
tests_mpi_find_private_LDADD =

# Not in the library: programs that count messages (traffic.c) would have PMPI_Isend twice.
call_faults = tests/mpi/faults/call_faults.c tests/mpi/faults/call_faults.h
tests_mpi_check_SOURCES = tests/mpi/check.c $(call_faults)
tests_mpi_codec_faults_SOURCES = tests/mpi/codec_faults.c $(call_faults)
tests_mpi_trace_SOURCES = tests/mpi/trace.c $(call_faults)
tests_mpi_transport_faults_SOURCES = tests/mpi/transport_faults.c $(call_faults)

# Not in a library, where MPI_Allreduce would be the MPI's own.
player = tests/mpi/lib/player.c tests/mpi/lib/player.h
tests_mpi_state_SOURCES = tests/mpi/state.c $(player)
tests_mpi_streams_SOURCES = tests/mpi/streams.c $(player)

tests_storm_storm_SOURCES = tests/storm/storm.c tests/storm/draw.c tests/storm/draw.h \
	tests/storm/episode.c tests/storm/episode.h tests/storm/hint.c tests/storm/hint.h \
	tests/storm/make.c tests/storm/make.h tests/storm/oracle.c tests/storm/oracle.h \
	tests/storm/quantisations.c tests/storm/quantisations.h tests/storm/rule.c tests/storm/rule.h

# These count collectives, below the library.
steps = tests/mpi/lib/collectives.c tests/mpi/lib/collectives.h tests/mpi/lib/steps.c \
	tests/mpi/lib/steps_judge.c tests/mpi/lib/steps_judge.h \
	tests/mpi/lib/steps.h
tests_mpi_first_SOURCES = tests/mpi/first.c tests/mpi/lib/collectives.c tests/mpi/lib/collectives.h
tests_mpi_adaptive_SOURCES = tests/mpi/adaptive.c $(steps)
tests_mpi_adaptive_rules_SOURCES = tests/mpi/adaptive_rules.c $(steps)
tests_mpi_adaptive_settings_SOURCES = tests/mpi/adaptive_settings.c $(steps)
tests_mpi_adaptive_streams_SOURCES = tests/mpi/adaptive_streams.c $(steps)
tests_mpi_adaptive_values_SOURCES = tests/mpi/adaptive_values.c $(steps)
tests_mpi_adaptive_withdrawn_SOURCES = tests/mpi/adaptive_withdrawn.c $(steps)
tests_mpi_adaptive_withdrawn_LDADD = libcgxcore.la $(tests_mpi_libs)
tests_mpi_adaptive_withdrawn_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=cgx_eligible_offer
tests_mpi_device_adaptive_SOURCES = tests/mpi/device_adaptive.c $(steps)


# ---- the software CUDA driver, and what is tested with it or with a real one ----

softcuda_sources = tests/softcuda/allocate.c tests/softcuda/calls.c tests/softcuda/context.c \
	tests/softcuda/copy.c tests/softcuda/device.c tests/softcuda/event.c tests/softcuda/fail.c \
	tests/softcuda/fibers.c tests/softcuda/fork.c tests/softcuda/green.c tests/softcuda/ipc.c \
	tests/softcuda/kernels.cpp tests/softcuda/launch.c tests/softcuda/mapped.c \
	tests/softcuda/memory.c tests/softcuda/object.c tests/softcuda/order.c tests/softcuda/pointer.c \
	tests/softcuda/register.c tests/softcuda/share.c tests/softcuda/stream.c \
	tests/softcuda/table.cpp tests/softcuda/threads.c
EXTRA_DIST += $(softcuda_sources) tests/softcuda/device.h \
	tests/softcuda/driver.h tests/softcuda/fibers.h tests/softcuda/gpu_check.test \
	tests/softcuda/order.h tests/softcuda/planted.cpp \
	tests/softcuda/softcuda.h tests/softcuda/threads.h tests/softcuda/trust.cpp \
	tests/softcuda/trust.h tests/mpi/lib/devices.sh tests/unit/cuda/numa.c \
	tests/unit/cuda/numa.test tests/unit/cuda/pinned_pool.c tests/unit/cuda/events.c \
	tests/unit/cuda/exported.c tests/unit/cuda/holding.c \
	tests/unit/softcuda/driver.c tests/unit/softcuda/failures.c tests/unit/lib/softcuda_helpers.h \
	tests/unit/softcuda/ipc.c tests/unit/softcuda/ipc_ends.c tests/unit/lib/softcuda_peer.c \
	tests/unit/softcuda/fork.c tests/unit/softcuda/green.c tests/unit/softcuda/mapped.c \
	tests/unit/lib/softcuda_peer.h \
	tests/unit/softcuda/streams.c tests/unit/cuda/devices.test tests/mpi/exact_aware.c \
	tests/mpi/exact_device.c tests/mpi/exact_device_errors.c tests/mpi/exact_device.test \
	tests/mpi/device.c tests/mpi/device.test tests/mpi/device_adaptive.c \
	tests/mpi/device_adaptive.test tests/mpi/device_contexts.c \
	tests/mpi/device_calls.c tests/mpi/device_counts.c tests/mpi/device_fork.c \
	tests/mpi/device_fork.test tests/mpi/device_hidden.c tests/mpi/device_kinds.c \
	tests/mpi/device_none.c \
	tests/mpi/device_order.c tests/mpi/device_faults.c tests/mpi/device_faults.test \
	tests/mpi/device_peers.c tests/mpi/device_peers.test tests/mpi/device_places.c \
	tests/mpi/device_segments.test \
	tests/mpi/device_input.c tests/mpi/lib/device_sum.c tests/mpi/lib/device_sum.h \
	tests/softcuda/kernels_direct.cpp tests/unit/cuda/kernels_bytes.c tests/unit/cuda/kernels_ranges.c \
	tests/unit/cuda/kernels_hostile.c tests/unit/cuda/kernels_measure.c tests/unit/cuda/kernels_random.c \
	tests/unit/cuda/kernels_requests.c tests/unit/lib/kernels_run.c tests/unit/lib/kernels_run.h \
	tests/unit/lib/kernels_scene.c tests/unit/lib/kernels_scene.h \
	tests/ptx/float.h tests/ptx/integer.h tests/ptx/machine.cpp tests/ptx/machine.h \
	tests/ptx/translate
# What CUDA has built in comes first; each variable in shared memory is guarded by itself.
DEVICE_CXXFLAGS = -include $(srcdir)/tests/softcuda/device.h -Wno-unknown-pragmas \
	$(if $(SANITIZE_CFLAGS),-fsanitize-sections=softcuda_shared)
if CUDA
check_LTLIBRARIES += tests/softcuda/libcuda.la
tests_softcuda_libcuda_la_SOURCES = $(softcuda_sources)
# For calls.c.
tests_softcuda_libcuda_la_CFLAGS = $(AM_CFLAGS) -finstrument-functions
tests_softcuda_libcuda_la_CXXFLAGS = $(AM_CXXFLAGS) $(DEVICE_CXXFLAGS)
# libtool links C++ without the sanitizers' libraries, which the program then brings.
tests_softcuda_libcuda_la_LDFLAGS = $(SANITIZE_CFLAGS) \
	$(if $(SANITIZE_CFLAGS),,-Wl,-z,defs) -version-number 1:0:0 \
	-rpath $(abs_top_builddir)/tests/softcuda
unit_programs += tests/softcuda/planted tests/softcuda/trust tests/unit/softcuda/driver \
	tests/unit/softcuda/failures tests/unit/softcuda/ipc tests/unit/softcuda/ipc_ends \
	tests/unit/softcuda/fork tests/unit/softcuda/green tests/unit/softcuda/mapped \
	tests/unit/softcuda/streams
softcuda_engine = tests/softcuda/fibers.c tests/softcuda/order.c tests/softcuda/threads.c
tests_softcuda_planted_SOURCES = tests/softcuda/planted.cpp $(softcuda_engine)
tests_softcuda_planted_CXXFLAGS = $(AM_CXXFLAGS) $(DEVICE_CXXFLAGS)
# With each sanitizer, since each catches its own bugs.
if !SANITIZE
unit_programs += tests/softcuda/planted_asan tests/softcuda/planted_tsan
tests_softcuda_planted_asan_SOURCES = $(tests_softcuda_planted_SOURCES)
tests_softcuda_planted_asan_CFLAGS = $(AM_CFLAGS) $(ASAN)
tests_softcuda_planted_asan_CXXFLAGS = $(AM_CXXFLAGS) $(DEVICE_CXXFLAGS) $(ASAN) \
	-fsanitize-sections=softcuda_shared
tests_softcuda_planted_asan_LDFLAGS = $(ASAN)
tests_softcuda_planted_tsan_SOURCES = $(tests_softcuda_planted_SOURCES)
tests_softcuda_planted_tsan_CFLAGS = $(AM_CFLAGS) -DSOFTCUDA_TSAN
tests_softcuda_planted_tsan_CXXFLAGS = $(AM_CXXFLAGS) $(DEVICE_CXXFLAGS) $(TSAN)
tests_softcuda_planted_tsan_LDFLAGS = $(TSAN)

# Of the scenes every fifth, unless CGX_TEST_KERNELS=all: each has all widths, and together they still
# show each kernel all sizes of buckets, misalignments, numbers of sources and ends of pieces.
KERNELS_EVERY = -DKERNELS_EVERY=5
unit_programs += tests/softcuda/kernels_asan tests/softcuda/kernels_tsan
kernels_sanitized = tests/unit/cuda/kernels_bytes.c tests/unit/lib/kernels_scene.c \
	tests/softcuda/kernels_direct.cpp $(softcuda_engine)
tests_softcuda_kernels_asan_SOURCES = $(kernels_sanitized)
tests_softcuda_kernels_asan_CPPFLAGS = $(AM_CPPFLAGS) $(KERNELS_EVERY)
tests_softcuda_kernels_asan_CFLAGS = $(tests_softcuda_planted_asan_CFLAGS)
tests_softcuda_kernels_asan_CXXFLAGS = $(tests_softcuda_planted_asan_CXXFLAGS)
tests_softcuda_kernels_asan_LDFLAGS = $(ASAN)
tests_softcuda_kernels_tsan_SOURCES = $(kernels_sanitized)
tests_softcuda_kernels_tsan_CPPFLAGS = $(AM_CPPFLAGS) $(KERNELS_EVERY)
tests_softcuda_kernels_tsan_CFLAGS = $(tests_softcuda_planted_tsan_CFLAGS)
tests_softcuda_kernels_tsan_CXXFLAGS = $(tests_softcuda_planted_tsan_CXXFLAGS)
tests_softcuda_kernels_tsan_LDFLAGS = $(TSAN)
endif
ASAN = -fsanitize=address,undefined -fno-sanitize-recover=undefined
TSAN = -fsanitize=thread
tests_softcuda_trust_SOURCES = tests/softcuda/trust.cpp $(softcuda_engine)
tests_softcuda_trust_CXXFLAGS = $(AM_CXXFLAGS) $(DEVICE_CXXFLAGS)
unit_programs += tests/ptx/machine
tests_ptx_machine_SOURCES = tests/ptx/machine.cpp $(softcuda_engine)
tests_ptx_machine_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/tests/softcuda
tests_ptx_machine_CXXFLAGS = $(AM_CXXFLAGS) $(DEVICE_CXXFLAGS) -ffp-contract=off
tests_unit_softcuda_libs = tests/softcuda/libcuda.la tests/lib/libtap.la
softcuda_peer = tests/unit/lib/softcuda_peer.c tests/unit/lib/softcuda_peer.h
tests_unit_softcuda_ipc_SOURCES = tests/unit/softcuda/ipc.c $(softcuda_peer)
tests_unit_softcuda_ipc_ends_SOURCES = tests/unit/softcuda/ipc_ends.c $(softcuda_peer)
device_programs = tests/unit/cuda/events tests/unit/cuda/exported tests/unit/cuda/holding \
	tests/unit/cuda/pinned_pool \
	tests/unit/cuda/kernels_bytes tests/unit/cuda/kernels_history tests/unit/cuda/kernels_hostile tests/unit/cuda/kernels_measure \
	tests/unit/cuda/kernels_random tests/unit/cuda/kernels_ranges tests/unit/cuda/kernels_requests
kernels_test = tests/unit/lib/kernels_run.c tests/unit/lib/kernels_run.h tests/unit/lib/kernels_scene.c \
	tests/unit/lib/kernels_scene.h
tests_unit_cuda_kernels_bytes_SOURCES = tests/unit/cuda/kernels_bytes.c $(kernels_test)
tests_unit_cuda_kernels_ranges_SOURCES = tests/unit/cuda/kernels_ranges.c tests/unit/lib/kernels_run.c \
	tests/unit/lib/kernels_run.h
tests_unit_cuda_kernels_requests_SOURCES = tests/unit/cuda/kernels_requests.c
tests_unit_cuda_kernels_history_SOURCES = tests/unit/cuda/kernels_history.c
tests_unit_cuda_kernels_hostile_SOURCES = tests/unit/cuda/kernels_hostile.c $(kernels_test)
tests_unit_cuda_kernels_measure_SOURCES = tests/unit/cuda/kernels_measure.c $(kernels_test)
tests_unit_cuda_kernels_random_SOURCES = tests/unit/cuda/kernels_random.c $(kernels_test)
check_PROGRAMS += $(device_programs) tests/unit/cuda/numa
unit_scripts += tests/unit/cuda/numa.test tests/unit/cuda/devices.test
tests_unit_cuda_numa_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=cgx_topo_bind
tests_unit_cuda_events_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=cgx_cuda
device_mpi_programs = tests/mpi/device tests/mpi/device_adaptive tests/mpi/device_calls \
	tests/mpi/device_contexts tests/mpi/device_counts tests/mpi/device_faults \
	tests/mpi/device_fork tests/mpi/device_hidden tests/mpi/device_input \
	tests/mpi/device_kinds \
	tests/mpi/device_none tests/mpi/device_order tests/mpi/device_peers tests/mpi/device_places \
	tests/mpi/exact_aware tests/mpi/exact_device tests/mpi/exact_device_errors
mpi_programs += $(device_mpi_programs)
mpi_scripts += tests/mpi/device.test tests/mpi/device_adaptive.test tests/mpi/device_faults.test \
	tests/mpi/device_fork.test \
	tests/mpi/device_peers.test tests/mpi/device_segments.test tests/mpi/exact_device.test
# Not in a library, where MPI_Allreduce would be the MPI's own.
device_sum = tests/mpi/lib/device_sum.c tests/mpi/lib/device_sum.h
tests_mpi_device_input_SOURCES = tests/mpi/device_input.c $(device_sum)
tests_mpi_device_faults_SOURCES = tests/mpi/device_faults.c $(device_sum)
tests_mpi_device_faults_LDADD = libcgxcore.la $(tests_mpi_libs)
tests_mpi_device_faults_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=cgx_coll_schedule,--wrap=cgx_coll_follow \
	-Wl,--wrap=cgx_cuda \
	-Wl,--wrap=cgx_slice_decode,--wrap=cgx_slice_post \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=cgx_pages_map

# Which driver it runs with is decided when it is started.
mpi_scripts += tests/mpi/examples_gpu.test tests/softcuda/gpu_check.test
check_PROGRAMS += examples/allreduce_gpu
examples_allreduce_gpu_LDADD = tests/softcuda/.libs/libcuda.so $(MPI_LIBS) $(LIBM)
tests/softcuda/.libs/libcuda.so: tests/softcuda/libcuda.la
endif
