# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause
"""Trains a small network through mpi4py: client.py layers|fused|apart|hints|profile:LIBRARY SEED.

layers: each gradient is summed on its own, in place; fused: all in one buffer; apart: so, from one
buffer into another; hints: as layers, where the program says how many large sums a step has; profile:
as fused, with the library loaded by mpi4py. Prints "loss X", the mean of the last steps.
"""
import sys

import mpi4py
import numpy

mode, _, library = sys.argv[1].partition(":")
if library:
    mpi4py.profile(library)
from mpi4py import MPI  # what is to be seen of MPI is loaded before

STEPS, BATCH, RATE = 300, 64, 0.02
SIZES = [(128, 256), (256,), (256, 192), (192,), (192, 10), (10,)]


def forward(tensors, x):
    """Activations of all layers, and the logits last."""
    activations = [x]
    for layer in range(0, len(tensors), 2):
        x = x @ tensors[layer] + tensors[layer + 1]
        if layer + 2 < len(tensors):
            x = numpy.maximum(x, 0)
        activations.append(x)
    return activations


def backward(tensors, activations, delta, gradients):
    """Writes GRADIENTS, DELTA being that of the logits."""
    for layer in reversed(range(0, len(tensors), 2)):
        below = activations[layer // 2]
        gradients[layer][...] = below.T @ delta
        gradients[layer + 1][...] = delta.sum(0)
        delta = (delta @ tensors[layer].T) * (below > 0)


def views(flat):
    """The tensors that lie in FLAT."""
    ends = numpy.cumsum([numpy.prod(size) for size in SIZES])
    return [part.reshape(size) for part, size in zip(numpy.split(flat, ends[:-1]), SIZES)]


def sum_up(world, flat, result):
    """RESULT: the sum of FLAT of all ranks, in the way of the mode."""
    if mode == "apart":
        world.Allreduce(flat, result)
        return
    result[:] = flat
    if mode in ("layers", "hints"):
        for gradient in reversed(views(result)):
            world.Allreduce(MPI.IN_PLACE, gradient)
    else:
        world.Allreduce(MPI.IN_PLACE, result)


def main():
    world = MPI.COMM_WORLD
    same = numpy.random.default_rng(1000 * int(sys.argv[2]))
    own = numpy.random.default_rng(1000 * int(sys.argv[2]) + 1 + world.rank)
    teacher = same.standard_normal((128, 10), numpy.float32)
    weights = same.standard_normal(sum(int(numpy.prod(size)) for size in SIZES), numpy.float32)
    tensors = views(weights)
    for tensor in tensors:
        tensor *= (2 / len(tensor)) ** 0.5 if tensor.ndim == 2 else 0
    gradient, total = numpy.zeros_like(weights), numpy.zeros_like(weights)
    if mode == "hints":
        info = MPI.Info.Create()
        info["cgx_step"] = "2"
        world.Set_info(info)
    losses = []
    for _ in range(STEPS):
        x = own.standard_normal((BATCH, 128), numpy.float32)
        labels = (x @ teacher).argmax(1)
        activations = forward(tensors, x)
        odds = numpy.exp(activations[-1] - activations[-1].max(1, keepdims=True))
        odds /= odds.sum(1, keepdims=True)
        losses.append(-numpy.log(odds[numpy.arange(BATCH), labels] + 1e-9).mean())
        odds[numpy.arange(BATCH), labels] -= 1
        backward(tensors, activations, odds / BATCH, views(gradient))
        sum_up(world, gradient, total)
        weights -= RATE * total
    loss = world.allreduce(float(numpy.mean(losses[-100:]))) / world.size
    equal = len(set(world.allgather(weights.tobytes()))) == 1
    if world.rank == 0:
        print(f"loss {loss:.4f}" if equal else "ranks have different weights", flush=True)


main()
