# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause
"""Trains a linear model through the hook of cgxpmpi.torch, with a stand-in of PyTorch: hook.py DTYPE [COMM].

A step has two buckets of DTYPE. COMM: own, to give register() a communicator; self, one of too few ranks.
Prints "loss X", the mean of the last steps, "version X" of the library, and the environment that init() makes.
"""

import os
import sys

import numpy
import torch  # tests/mpi/standin
from mpi4py import MPI

import cgxpmpi.torch

STEPS, BATCH, RATE = 300, 32, 0.02


def main():
    world = MPI.COMM_WORLD
    dtype = numpy.dtype(sys.argv[1])
    cgxpmpi.torch.init()
    backend, store, rank, ranks = torch.groups[0]
    assert (backend, rank, ranks) == ("gloo", world.rank, world.size), torch.groups
    assert store.is_master == (world.rank == 0) and store.host == "127.0.0.1"
    assert os.environ["RANK"] == str(world.rank) and os.environ["LOCAL_RANK"] == str(world.rank)
    model = torch.DistributedDataParallel()
    comm = {"own": world.Dup, "self": lambda: MPI.COMM_SELF}.get(sys.argv[2] if len(sys.argv) > 2 else "", lambda: None)
    cgxpmpi.torch.register(model, comm())
    teacher = numpy.random.default_rng(1).standard_normal((512, 64), "f")
    own = numpy.random.default_rng(2 + world.rank)
    weights = numpy.zeros_like(teacher)
    loss = 0
    for _ in range(STEPS):
        x = own.standard_normal((BATCH, 512), "f")
        error = x @ (weights - teacher) + own.standard_normal((BATCH, 64), "f")
        gradient = (x.T @ error / BATCH).astype(dtype)
        halves = model.average([gradient[:256].ravel(), gradient[256:].ravel()])
        weights -= RATE * numpy.concatenate(halves).reshape(weights.shape).astype("f")
        loss += 0.02 * ((error**2).mean() - loss)
    loss = world.allreduce(float(loss)) / world.size
    equal = len(set(world.allgather(weights.tobytes()))) == 1
    if world.rank == 0:
        print(f"loss {loss:.4f}" if equal else "ranks have different weights")
        print(f"version {cgxpmpi.active()}", flush=True)


main()
