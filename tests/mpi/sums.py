# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause
"""Sums of numpy arrays through mpi4py, which calls MPI_Allreduce_c: sums.py compressed|exact."""
import sys

import numpy
from mpi4py import MPI

COUNT = 50021
expected = sys.argv[1]
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
most = world.size * 0.6 if expected == "compressed" else 1e-5
least = 1e-3 if expected == "compressed" else 0
result = numpy.empty(COUNT, numpy.float32)
world.Allreduce(inputs[world.rank], result)
error = numpy.abs(result - total).max()
check(least <= error <= most, f"separate buffers: {expected}")
check(len(set(world.allgather(result.tobytes()))) == 1, "the same bytes on all ranks")

result[:] = inputs[world.rank]
world.Allreduce(MPI.IN_PLACE, result)
error = numpy.abs(result - total).max()
check(least <= error <= most, f"in place: {expected}")

doubles = inputs[world.rank].astype(numpy.float64)
world.Allreduce(MPI.IN_PLACE, doubles)
check(numpy.abs(doubles - total).max() < 1e-12, "doubles: exact")
if world.rank == 0:
    print(f"1..{tests}")
