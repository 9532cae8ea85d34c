# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause
"""Tensor parallelism with mpi4py 4: sums of activations stay exact, sums of gradients are compressed.

    mpiexec -n 4 cgxrun --buffers host python train_tensor.py

Two ranks share a layer, and two such pairs share the data.
"""

import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
tensor = world.Split(world.rank // 2)  # two ranks share a layer
data = world.Split(world.rank % 2)  # two pairs share the data
tensor.Set_info(MPI.Info.Create({"cgx_enable": "0"}))

part = numpy.random.default_rng(1000 + tensor.rank)
teacher = part.standard_normal((256, 64), "f")
own = numpy.random.default_rng(2 + world.rank)
weights = numpy.zeros_like(teacher)
loss = 0
for step in range(400):
    x = own.standard_normal((256, 256), "f")
    error = x @ (weights - teacher)
    if tensor.rank == 0:
        error += own.standard_normal((256, 64), "f")
    tensor.Allreduce(MPI.IN_PLACE, error)
    gradient = x.T @ error / 256
    data.Allreduce(MPI.IN_PLACE, gradient)
    weights -= 0.02 / data.size * gradient
    loss += 0.02 * ((error**2).mean() - loss)
loss = world.allreduce(loss) / world.size
if world.rank == 0:
    print(f"loss {loss:.4f}")
