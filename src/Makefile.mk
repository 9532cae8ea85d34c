# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# The library.

lib_LTLIBRARIES = libcgxpmpi.la
noinst_LTLIBRARIES = libcgxcore.la

libcgxcore_la_LIBADD =
libcgxcore_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden $(COVERAGE_CFLAGS)
libcgxcore_la_SOURCES = \
	src/util/backoff.h \
	src/util/float_state.h \
	src/util/hash.c src/util/hash.h \
	src/util/integers.h \
	src/util/log.c src/util/log.h \
	src/util/names.c \
	src/util/output.c src/util/output.h \
	src/util/pages.c src/util/pages.h \
	src/util/parse.c src/util/parse.h \
	src/util/settings.c src/util/settings.h \
	src/util/settings_values.c src/util/settings_values.h \
	src/util/status.h \
	src/util/trace.c src/util/trace.h \
	src/codec/backend.h \
	src/codec/codec.h \
	src/codec/encoding.c src/codec/encoding.h \
	src/codec/format.c src/codec/format.h \
	src/codec/history.h \
	src/codec/host_backend.c \
	src/codec/host_kernels.h \
	src/codec/host_kernels_body.h \
	src/codec/host_operations.c \
	src/codec/host_portable.c \
	src/codec/host_walk.h \
	src/codec/packing.c src/codec/packing.h \
	src/codec/quant.h \
	src/codec/maxmin/host_maxmin.c \
	src/codec/uniform/host_uniform.c \
	src/codec/uniform/uniform.h \
	src/codec/uniform/uniform_decode.h \
	src/codec/uniform/uniform_encode.h \
	src/codec/uniform/uniform_special.h \
	src/codec/uniform/uniform_portable.c \
	src/topo/claims.c src/topo/claims.h \
	src/topo/machine.h \
	src/topo/nodes.c src/topo/nodes.h \
	src/topo/speed.c \
	src/cuda/device_backend.h \
	src/cuda/kernels.h \
	src/cuda/memory.h \
	src/cuda/pinned_pool.h \
	src/policy/cost.c src/policy/cost.h \
	src/policy/plan.c src/policy/plan.h \
	src/policy/look.c src/policy/look.h \
	src/policy/sample.c \
	src/policy/step_size.c src/policy/step_size.h \
	src/policy/worth.c src/policy/worth.h \
	src/policy/rules/override.c src/policy/rules/override.h \
	src/policy/rules/rules.c src/policy/rules/rules.h \
	src/policy/step/evidence.c src/policy/step/evidence.h \
	src/policy/step/pattern.c src/policy/step/pattern.h \
	src/policy/step/periods.c \
	src/policy/step/recurrence.c src/policy/step/recurrence.h \
	src/policy/step/sums.c src/policy/step/sums.h \
	src/mpi/abi.h \
	src/mpi/abi_body.h \
	src/mpi/abi_mpich.c \
	src/mpi/abi_openmpi.c \
	src/mpi/abi_pointers.h \
	src/mpi/abi_standard.c \
	src/mpi/config.c src/mpi/config.h \
	src/mpi/errors.c src/mpi/errors.h \
	src/mpi/stall.c src/mpi/stall.h \
	src/mpi/table.c src/mpi/table.h \
	src/mpi/request.h \
	src/mpi/types.c src/mpi/types.h \
	src/mpi/world.c src/mpi/world.h \
	src/coll/coll.h \
	src/coll/exchange.c src/coll/exchange.h \
	src/coll/exchange_shared.c \
	src/coll/messages.c \
	src/coll/program.c src/coll/program.h \
	src/coll/pull.c \
	src/coll/rounds.c \
	src/coll/run.c \
	src/coll/schedule.c src/coll/schedule.h \
	src/coll/scratch.c \
	src/coll/shm.c src/coll/shm.h \
	src/coll/slice.h \
	src/coll/work.c \
	src/observe/json.c src/observe/json.h \
	src/observe/notices.c src/observe/notices.h \
	src/observe/observe.c \
	src/observe/record.h \
	src/observe/reason.c src/observe/reason.h \
	src/observe/stats.c src/observe/stats.h \
	src/observe/stats_json.c \
	src/observe/timeline.c \
	src/observe/totals.c src/observe/totals.h \
	src/comm/agreement.c \
	src/comm/attribute.c src/comm/attribute.h \
	src/comm/ballot.c src/comm/ballot.h \
	src/comm/callsite.c src/comm/callsite.h \
	src/comm/callsites.c \
	src/comm/comm.c src/comm/comm.h \
	src/comm/connect.c src/comm/connect.h \
	src/comm/decide.c src/comm/decide.h \
	src/comm/placement.c \
	src/comm/private_comm.c src/comm/private_comm.h \
	src/comm/resources.c \
	src/comm/state.h \
	src/comm/tables.c \
	src/pmpi/allreduce.c \
	src/pmpi/bounce.c \
	src/pmpi/call.h \
	src/pmpi/compress.c \
	src/pmpi/exact.c \
	src/pmpi/exports.c \
	src/pmpi/finalize.c \
	src/pmpi/fortran.c \
	src/pmpi/look.c \
	src/pmpi/request.c src/pmpi/request.h \
	src/pmpi/trial.c

# Features that are absent here are swapped for a file that says so.
unbuilt =
if HWLOC
libcgxcore_la_SOURCES += src/topo/hwloc.c
else
libcgxcore_la_SOURCES += src/topo/no_hwloc.c
unbuilt += src/topo/hwloc.c
endif
cuda_sources = src/cuda/device_backend.c src/cuda/backends.c src/cuda/context.c src/cuda/driver.c src/cuda/exported.c \
	src/cuda/launch.c src/cuda/memory.c \
	src/cuda/module.c src/cuda/peers.c \
	src/cuda/pinned_pool.c src/cuda/work.c
cuda_headers = src/cuda/context.h src/cuda/driver.h src/cuda/exported.h src/cuda/module.h src/cuda/work.h
kernel_sources = src/cuda/kernels.cu src/cuda/codes.cuh src/cuda/elements.cuh \
	src/cuda/encode.cuh \
	src/cuda/row_history.cuh \
	src/cuda/tile.cuh \
	src/cuda/uniform.cuh src/cuda/uniform_bits.cuh src/cuda/uniform_codes.cuh src/cuda/uniform_heads.cuh \
	src/cuda/uniform_levels.cuh src/cuda/uniform_tile.cuh src/cuda/uniform_words.cuh
EXTRA_DIST += $(cuda_headers) $(kernel_sources)
if CUDA
libcgxcore_la_SOURCES += $(cuda_sources)
else
libcgxcore_la_SOURCES += src/cuda/no_cuda.c
unbuilt += $(cuda_sources)
endif

# The arithmetic is that of the host: no contraction, no flush to zero, IEEE division.
NVCC_FLAGS = -O3 -fmad=false -ftz=false -prec-div=true -prec-sqrt=true
# By default nvcc compresses PTX alone. The driver expands the code of the device that is there. Architectures are
# compiled beside each other, with or without make -j.
src/cuda/kernels.fatbin: $(kernel_sources) src/cuda/kernels.h \
		src/codec/format.h src/codec/history.h \
		src/codec/quant.h \
		src/codec/uniform/uniform.h src/util/settings.h Makefile
	@echo '  NVCC     $@: $(KERNELS)'
	$(AM_V_at)$(MKDIR_P) src/cuda && $(NVCC) --threads=0 $(NVCC_ARCHITECTURES) $(NVCC_FLAGS) \
		-Xfatbin=-compress-all -I$(srcdir)/src --fatbin -o $@ $<
src/cuda/module.lo src/cuda/libcgxcore_la-module.lo: src/cuda/kernels.fatbin
CLEANFILES += src/cuda/kernels.fatbin

if X86_64
noinst_LTLIBRARIES += libcgxavx2.la libcgxshifts.la
libcgxcore_la_LIBADD += libcgxavx2.la libcgxshifts.la
libcgxcore_la_SOURCES += src/codec/host_x86.c
libcgxavx2_la_SOURCES = src/codec/host_avx2.c src/codec/uniform/uniform_avx2.c
libcgxavx2_la_CFLAGS = $(libcgxcore_la_CFLAGS) -mavx2 -mfma -mf16c -mbmi2 -mpclmul
libcgxshifts_la_SOURCES = src/codec/uniform/uniform_avx2.c
libcgxshifts_la_CFLAGS = $(libcgxavx2_la_CFLAGS) -DCGX_UNIFORM_SHIFTS
else
libcgxcore_la_SOURCES += src/codec/host_generic.c
libcgxcore_la_LIBADD += $(LIBM)
unbuilt += src/codec/host_avx2.c src/codec/host_x86.c src/codec/uniform/uniform_avx2.c
endif

libcgxpmpi_la_SOURCES =
libcgxpmpi_la_LIBADD = libcgxcore.la
libcgxpmpi_la_LDFLAGS = $(SANITIZE_CFLAGS) -module -avoid-version -no-undefined -Wl,-z,defs,-z,nodelete \
	-Wl,--version-script=$(srcdir)/src/libcgxpmpi.map
libcgxpmpi_la_DEPENDENCIES = libcgxcore.la src/libcgxpmpi.map
EXTRA_DIST += src/libcgxpmpi.map

# It is preloaded and never linked: libtool's description of it is of no use.
install-exec-hook:
	rm -f $(DESTDIR)$(libdir)/libcgxpmpi.la
uninstall-local:
	rm -f $(DESTDIR)$(libdir)/libcgxpmpi.so
