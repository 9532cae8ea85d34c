# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# The software CUDA driver, and what is tested with it or with a real one.

# All C++ is of devices. What CUDA has built in comes first; each variable in shared memory is guarded by itself.
AM_CXXFLAGS += -include $(srcdir)/tests/softcuda/device.h -Wno-unknown-pragmas \
	$(if $(SANITIZE_CFLAGS),-fsanitize-sections=softcuda_shared)
if CUDA
device_units += \
	tests/ptx/machine \
	tests/softcuda/planted \
	tests/unit/softcuda/driver
device_scripts += \
	tests/unit/cuda/devices.test \
	tests/unit/cuda/numa.test
# What devices.test runs.
device_programs = tests/unit/cuda/backends tests/unit/cuda/kernels_bytes tests/unit/cuda/kernels_history \
	tests/unit/cuda/kernels_hostile tests/unit/cuda/kernels_uniform tests/unit/cuda/pinned_pool
device_mpi_tests += \
	tests/mpi/device \
	tests/mpi/device_faults \
	tests/mpi/device_fork \
	tests/mpi/device_peers \
	tests/mpi/exact_device
device_mpi_programs = tests/mpi/device_calls tests/mpi/device_contexts tests/mpi/device_counts \
	tests/mpi/device_input tests/mpi/device_late tests/mpi/device_memory \
	tests/mpi/device_order tests/mpi/exact_device_errors
mpi_programs += $(device_mpi_programs)
device_scripts += \
	tests/mpi/device_driver.test \
	tests/mpi/device_peers_state.test \
	tests/mpi/device_segments.test \
	tests/mpi/device_uniform.test \
	tests/mpi/examples_gpu.test \
	tests/softcuda/gpu_check.test
check_PROGRAMS += $(device_programs) examples/mpi/allreduce_gpu

check_LTLIBRARIES += tests/softcuda/libcuda.la tests/unit/lib/libdevice.la
tests_softcuda_libcuda_la_SOURCES = tests/softcuda/allocate.c tests/softcuda/context.c tests/softcuda/copy.c \
	tests/softcuda/device.c tests/softcuda/event.c tests/softcuda/fail.c tests/softcuda/fork.c \
	tests/softcuda/green.c tests/softcuda/kernels.cpp tests/softcuda/launch.c \
	tests/softcuda/mapped.c tests/softcuda/memory.c tests/softcuda/object.c tests/softcuda/pointer.c \
	tests/softcuda/share.c tests/softcuda/stream.c tests/softcuda/table.cpp $(softcuda_engine)
# For fail.c; and for the names of objects, which tests/ptx/kernels.test knows.
tests_softcuda_libcuda_la_CFLAGS = $(AM_CFLAGS) -finstrument-functions
tests_softcuda_libcuda_la_CXXFLAGS = $(AM_CXXFLAGS)
# libtool links C++ without the sanitizers' libraries, which the program then brings.
tests_softcuda_libcuda_la_LDFLAGS = $(SANITIZE_CFLAGS) \
	$(if $(SANITIZE_CFLAGS),,-Wl,-z,defs) -version-number 1:0:0 \
	-rpath $(abs_top_builddir)/tests/softcuda
tests_unit_lib_libdevice_la_SOURCES = tests/unit/lib/kernels_run.c tests/unit/lib/kernels_scene.c
tests_unit_cuda_libs = tests/unit/lib/libdevice.la $(unit_libs)
$(filter tests/unit/softcuda/%,$(device_units)): tests/softcuda/libcuda.la
tests_unit_softcuda_libs = tests/softcuda/libcuda.la tests/lib/libtap.la
softcuda_engine = tests/softcuda/fibers.c tests/softcuda/grid.c tests/softcuda/threads.c
tests_ptx_machine_SOURCES = tests/ptx/machine.cpp $(softcuda_engine)
# All blocks at once. UndefinedBehaviorSanitizer reports the threadIdx of each thread of the process, so a build with
# sanitizers is without this test.
tests_softcuda_look_back_SOURCES = tests/softcuda/look_back.cpp tests/softcuda/resident.c $(softcuda_engine)
tests_softcuda_look_back_CFLAGS = $(AM_CFLAGS) -DSOFTCUDA_RESIDENT
tests_softcuda_look_back_CXXFLAGS = $(AM_CXXFLAGS) -DSOFTCUDA_RESIDENT
tests_softcuda_planted_SOURCES = tests/softcuda/planted.cpp $(softcuda_engine)
# With each sanitizer, since each catches its own bugs.
if !SANITIZE
sanitized += \
	tests/softcuda/kernels_asan \
	tests/softcuda/kernels_tsan \
	tests/softcuda/look_back \
	tests/softcuda/planted_asan \
	tests/softcuda/planted_tsan \
	tests/softcuda/uniform_asan \
	tests/softcuda/uniform_tsan
ASAN = -fsanitize=address,undefined -fno-sanitize-recover=undefined
TSAN = -fsanitize=thread
tests_softcuda_planted_asan_SOURCES = $(tests_softcuda_planted_SOURCES)
tests_softcuda_planted_asan_CFLAGS = $(AM_CFLAGS) $(ASAN)
tests_softcuda_planted_asan_CXXFLAGS = $(AM_CXXFLAGS) $(ASAN) -fsanitize-sections=softcuda_shared
tests_softcuda_planted_asan_LDFLAGS = $(ASAN)
tests_softcuda_planted_tsan_SOURCES = $(tests_softcuda_planted_SOURCES)
tests_softcuda_planted_tsan_CFLAGS = $(AM_CFLAGS) -DSOFTCUDA_TSAN
tests_softcuda_planted_tsan_CXXFLAGS = $(AM_CXXFLAGS) $(TSAN)
tests_softcuda_planted_tsan_LDFLAGS = $(TSAN)
# Of the scenes every fifth, unless TEST_ALL=yes: each has all widths, and together they still
# show each kernel all sizes of buckets, misalignments, numbers of sources and ends of pieces.
kernels_sanitized = tests/unit/cuda/kernels_bytes.c \
	tests/unit/lib/kernels_scene.c tests/softcuda/kernels_direct.cpp $(softcuda_engine)
tests_softcuda_kernels_asan_SOURCES = $(kernels_sanitized)
tests_softcuda_kernels_asan_CFLAGS = $(tests_softcuda_planted_asan_CFLAGS) -DKERNELS_EVERY=5
tests_softcuda_kernels_asan_CXXFLAGS = $(tests_softcuda_planted_asan_CXXFLAGS)
tests_softcuda_kernels_asan_LDFLAGS = $(ASAN)
tests_softcuda_kernels_tsan_SOURCES = $(kernels_sanitized)
tests_softcuda_kernels_tsan_CFLAGS = $(tests_softcuda_planted_tsan_CFLAGS) -DKERNELS_EVERY=5
tests_softcuda_kernels_tsan_CXXFLAGS = $(tests_softcuda_planted_tsan_CXXFLAGS)
tests_softcuda_kernels_tsan_LDFLAGS = $(TSAN)
uniform_sanitized = tests/unit/cuda/kernels_uniform.c tests/softcuda/kernels_direct.cpp $(softcuda_engine)
tests_softcuda_uniform_asan_SOURCES = $(uniform_sanitized)
tests_softcuda_uniform_asan_CFLAGS = $(tests_softcuda_kernels_asan_CFLAGS)
tests_softcuda_uniform_asan_CXXFLAGS = $(tests_softcuda_kernels_asan_CXXFLAGS)
tests_softcuda_uniform_asan_LDFLAGS = $(ASAN)
tests_softcuda_uniform_tsan_SOURCES = $(uniform_sanitized)
tests_softcuda_uniform_tsan_CFLAGS = $(tests_softcuda_kernels_tsan_CFLAGS)
tests_softcuda_uniform_tsan_CXXFLAGS = $(tests_softcuda_kernels_tsan_CXXFLAGS)
tests_softcuda_uniform_tsan_LDFLAGS = $(TSAN)
endif
# Which driver it runs with is decided when it is started.
examples_mpi_allreduce_gpu_LDADD = tests/softcuda/.libs/libcuda.so $(MPI_LIBS) $(LIBM)
tests/softcuda/.libs/libcuda.so: tests/softcuda/libcuda.la
endif
