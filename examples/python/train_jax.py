# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause
"""JAX and mpi4jax: sums in jitted functions are compressed like any other.

    mpiexec -n 2 cgxrun --buffers host python train_jax.py
"""

import jax
import jax.numpy as jnp
from mpi4jax import allreduce
from mpi4py import MPI

world = MPI.COMM_WORLD

def loss(weights, x, noise):
    return jnp.mean((x @ (weights - teacher) + noise) ** 2)

@jax.jit
def step(weights, x, noise):
    error, gradient = jax.value_and_grad(loss)(weights, x, noise)
    gradient = allreduce(gradient, op=MPI.SUM, comm=world)
    return weights - 0.5 / world.size * gradient, error

teacher = jax.random.normal(jax.random.key(1), (256, 64))
key = jax.random.key(2 + world.rank)
weights = jnp.zeros_like(teacher)
mean = 0
for _ in range(400):
    key, of_x, of_noise = jax.random.split(key, 3)
    x = jax.random.normal(of_x, (32, 256))
    noise = jax.random.normal(of_noise, (32, 64))
    weights, error = step(weights, x, noise)
    mean += 0.02 * (float(error) - mean)
jax.block_until_ready(weights)  # JAX may still be summing, and MPI ends when Python does
jax.effects_barrier()
mean = world.allreduce(mean) / world.size
if world.rank == 0:
    print(f"loss {mean:.4f}")
