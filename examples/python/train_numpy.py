# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause
"""numpy and mpi4py: one array has all gradients, and its sum is compressed.

    mpiexec -n 4 cgxrun --buffers host python train_numpy.py

Sum arrays of float32 with Allreduce; allreduce, in lower case, sends pickled objects and is never compressed.
"""

import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
teacher = numpy.random.default_rng(1).standard_normal((512, 64), "f")
own = numpy.random.default_rng(2 + world.rank)
weights = numpy.zeros_like(teacher)
loss = 0
for step in range(400):
    x = own.standard_normal((32, 512), "f")
    error = x @ (weights - teacher) + own.standard_normal((32, 64), "f")
    gradient = x.T @ error / 32
    world.Allreduce(MPI.IN_PLACE, gradient)
    weights -= 0.02 / world.size * gradient
    loss += 0.02 * ((error**2).mean() - loss)
loss = world.allreduce(loss) / world.size
if world.rank == 0:
    print(f"loss {loss:.4f}")
