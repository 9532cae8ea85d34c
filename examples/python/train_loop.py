# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch and mpi4py: each gradient is summed on its own.

    mpiexec -n 2 cgxrun --buffers host python train_loop.py

The hint cgx_step says how many large sums a step has, so that compression begins after a few steps.
"""

import torch
from mpi4py import MPI

world = MPI.COMM_WORLD
torch.manual_seed(1)
teacher = torch.randn(64, 10)
model = torch.nn.Sequential(
    torch.nn.Linear(64, 256), torch.nn.ReLU(),
    torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
info = MPI.Info.Create()
large = sum(p.numel() >= 16384 for p in model.parameters())
info["cgx_step"] = str(large)
world.Set_info(info)
torch.manual_seed(2 + world.rank)
mean = 0
for step in range(300):
    x = torch.randn(64, 64)
    labels = (x @ teacher).argmax(1)
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), labels)
    loss.backward()
    for parameter in model.parameters():
        world.Allreduce(MPI.IN_PLACE, parameter.grad)
        parameter.grad /= world.size
    optimizer.step()
    mean += 0.02 * (loss.item() - mean)
mean = world.allreduce(mean) / world.size
if world.rank == 0:
    print(f"loss {mean:.4f}")
