# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's DistributedDataParallel, with gradients that MPI sums and libcgxpmpi compresses.

    pip install cgxpmpi-*.whl torch mpi4py
    mpiexec -n 2 cgxrun --buffers host python train_ddp.py

Not torchrun: under it each process would be an MPI job of one rank.
"""

import cgxpmpi.torch
import torch
from torch.nn.parallel import DistributedDataParallel

torch.distributed.init_process_group("cgx")
rank, ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
torch.manual_seed(1)
teacher = torch.randn(64, 10)
model = torch.nn.Sequential(
    torch.nn.Linear(64, 512), torch.nn.ReLU(),
    torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))  # fmt: skip
model = DistributedDataParallel(model, bucket_cap_mb=0.5)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
torch.manual_seed(2 + rank)
mean = torch.zeros(1)
for step in range(300):
    x = torch.randn(64, 64)
    labels = (x @ teacher).argmax(1)
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), labels)
    loss.backward()
    optimizer.step()
    mean += 0.02 * (loss.detach() - mean)
torch.distributed.all_reduce(mean)
if rank == 0:
    print(f"loss {mean.item() / ranks:.4f}")
torch.distributed.destroy_process_group()
