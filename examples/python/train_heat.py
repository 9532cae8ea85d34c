# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause
"""HeAT: its data-parallel optimiser in blocking mode; the other mode calls MPI_Iallreduce, which stays exact.

    echo "-> step=2" >rules.txt    # two tensors are large
    CGX_RULES=rules.txt mpiexec -n 2 cgxrun --buffers host python train_heat.py
"""

import heat
import torch

world = heat.get_comm()
torch.manual_seed(1)
teacher = torch.randn(64, 10)
model = torch.nn.Sequential(
    torch.nn.Linear(64, 256), torch.nn.ReLU(),
    torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
optimizer = heat.optim.DataParallelOptimizer(
    torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
    blocking=True)
network = heat.nn.DataParallel(
    model, world, optimizer, blocking_parameter_updates=True)
torch.manual_seed(2 + world.rank)
mean = 0
for step in range(300):
    x = torch.randn(64, 64)
    labels = (x @ teacher).argmax(1)
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(network(x), labels)
    loss.backward()
    optimizer.step()
    mean += 0.02 * (loss.item() - mean)
mean = world.handle.allreduce(mean) / world.size
if world.rank == 0:
    print(f"loss {mean:.4f}")
