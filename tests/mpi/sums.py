# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause
"""Sums of numpy arrays through mpi4py, which calls MPI_Allreduce_c."""
import numpy
from mpi4py import MPI

COUNT = 50021
world = MPI.COMM_WORLD
inputs = [numpy.random.default_rng(rank).standard_normal(COUNT) for rank in range(world.size)]
inputs = [array.astype(numpy.float32) for array in inputs]
total = numpy.sum(numpy.array(inputs, dtype=numpy.float64), axis=0)
tests = 0


def check(here, name):
    """One test: passes when HERE is true on every rank."""
    global tests
    tests += 1
    verdict = world.allreduce(bool(here), op=MPI.LAND)
    if world.rank == 0:
        print("ok" if verdict else "not ok", tests, "-", name, flush=True)


# The first sums of a communicator are exact.
for i in range(7):
    world.Allreduce(numpy.zeros(1024 + i, numpy.float32), numpy.zeros(1024 + i, numpy.float32))

# 4 bits: a step is at most 8/15 for each rank's values, and more for the sum.
result = numpy.empty(COUNT, numpy.float32)
world.Allreduce(inputs[world.rank], result)
error = numpy.abs(result - total).max()
check(1e-3 <= error <= 0.6 * world.size, "separate buffers: compressed")
check(len(set(world.allgather(result.tobytes()))) == 1, "the same bytes on all ranks")

result[:] = inputs[world.rank]
world.Allreduce(MPI.IN_PLACE, result)
error = numpy.abs(result - total).max()
check(1e-3 <= error <= 0.6 * world.size, "in place: compressed")

doubles = inputs[world.rank].astype(numpy.float64)
world.Allreduce(MPI.IN_PLACE, doubles)
check(numpy.abs(doubles - total).max() < 1e-12, "doubles: exact")
if world.rank == 0:
    print(f"1..{tests}")
