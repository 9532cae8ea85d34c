# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# Benchmarks.

EXTRA_PROGRAMS = bench/codec
CLEANFILES += bench/codec
bench_allreduce_SOURCES = bench/allreduce.c bench/allreduce_work.c bench/allreduce_work.h
bench_allreduce_LDADD = $(MPI_LIBS) $(LIBM)
bench_codec_SOURCES = bench/codec.c bench/times.h
bench_exact_call_SOURCES = bench/exact_call.c bench/models/device_memory.h bench/times.h
bench_exact_call_LDADD = $(MPI_LIBS)
bench_scale_SOURCES = bench/scale.c bench/scale.h bench/scale_codec.c bench/scale_mpi.c \
	bench/scale_network.c bench/scale_run.c bench/scale_world.h
bench_scale_LDADD = libcgxcore.la $(LIBM)
if CUDA
check_PROGRAMS += bench/codec_device bench/allreduce_device
# Without a device they say so and exit with 77.
BENCH_DEVICE = { bench/codec_device && $(MPIEXEC) -n 4 bench/allreduce_device; } || test $$? -eq 77
device_benches = bench/codec_device bench/allreduce_device
bench_codec_device_SOURCES = bench/codec_device.c bench/device.c bench/device.h bench/times.h \
	bench/slots.c bench/slots.h
bench_codec_device_LDADD = libcgxcore.la
bench_allreduce_device_SOURCES = bench/allreduce_device.c bench/device.c bench/device.h bench/times.h \
	bench/driver_calls.c bench/driver_calls.h
bench_allreduce_device_LDADD = libcgxcore.la $(MPI_LIBS) $(LIBM)
endif

# Networks that bench/train and scripts/demo train.
noinst_PROGRAMS = bench/models/train_attention bench/models/train_conv bench/models/train_digits \
	bench/models/train_embedding bench/models/train_quadratic
bench_models_libs = $(MPI_LIBS) $(LIBM)
training = bench/models/device_memory.h bench/models/leave.h bench/models/matrix.h \
	bench/models/optimiser.c bench/models/optimiser.h bench/models/options.c bench/models/options.h \
	bench/models/samples.c bench/models/samples.h bench/models/sums.c bench/models/sums.h bench/models/training.c bench/models/training.h
dense = bench/models/dense.c bench/models/dense.h
digits = bench/models/data.h bench/models/digits.c
text = bench/models/data.h bench/models/text.c
bench_models_train_attention_SOURCES = bench/models/attention.c bench/models/attention.h \
	bench/models/train_attention.c $(dense) $(text) $(training)
bench_models_train_conv_SOURCES = bench/models/train_conv.c $(digits) $(training)
bench_models_train_digits_SOURCES = bench/models/train_digits.c $(dense) $(digits) $(training)
bench_models_train_embedding_SOURCES = bench/models/train_embedding.c $(dense) $(text) $(training)
bench_models_train_quadratic_SOURCES = bench/models/train_quadratic.c bench/models/matrix.h

bench: all bench/codec bench/exact_call $(device_benches)
	bench/codec
	$(MPIEXEC) -n 2 tools/cgxrun bench/exact_call
	$(BENCH_DEVICE)

# What each call of scripts/gpu-check runs, so that it builds no more.
gpu_always = libcgxpmpi.la tools/cgxrun tests/lib/supervise tests/lib/yield.la
gpu-facts: $(gpu_always) $(device_programs) tests/mpi/device $(device_benches)
gpu-right: $(gpu_always) $(device_programs) $(device_mpi_tests) $(device_mpi_programs) $(device_benches) \
		tests/mpi/consensus tests/mpi/state tests/mpi/uniform examples/mpi/allreduce_gpu bench/models/train_digits
gpu-worth: $(gpu_always) $(device_benches) bench/exact_call bench/models/train_digits
