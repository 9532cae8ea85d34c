# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause
"""Trains a linear model through cgxpmpi.torch, with a stand-in of PyTorch: hook.py DTYPE [HOW].

A step has two buckets of DTYPE. HOW: own, to give register() a communicator; self, one of too few ranks; backend, to
have the backend sum; raise, the same with an exception on one rank; fail, with one in its sums.
Prints "loss X", the mean of the last steps, and "version X" of the library; fails if the environment is not that of
the job.
"""

import os
import sys
import types

import numpy
import torch  # tests/mpi/standin
from mpi4py import MPI

import cgxpmpi.torch

STEPS, BATCH, RATE = 300, 32, 0.02


def fail(*_):
    raise ValueError("of a sum")


def main():
    world = MPI.COMM_WORLD
    dtype = numpy.dtype(sys.argv[1])
    how = sys.argv[2] if len(sys.argv) > 2 else ""
    assert os.environ["RANK"] == os.environ["LOCAL_RANK"] == str(world.rank)
    assert os.environ["WORLD_SIZE"] == str(world.size) and os.environ["MASTER_ADDR"] == "127.0.0.1"
    assert len(set(world.allgather(os.environ["MASTER_PORT"]))) == 1
    model = torch.DistributedDataParallel()
    if how in ("backend", "raise", "fail"):
        torch.distributed.init_process_group("cgx")
        other = torch.groups[0].allreduce([numpy.zeros(2).view(torch.Tensor)], types.SimpleNamespace(reduceOp="sum"))
        assert other == "float64 by gloo", other
    else:
        cgxpmpi.torch.init()
        assert torch.groups == ["gloo"], torch.groups
        comm = {"own": world.Dup, "self": lambda: MPI.COMM_SELF}.get(how, lambda: None)
        cgxpmpi.torch.register(model, comm())
    if how == "raise" and world.rank == 1:
        raise ValueError("of one rank")
    if how == "fail" and world.rank == 1:
        cgxpmpi.torch._Sums._sum = fail
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
