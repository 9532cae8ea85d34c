# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause
"""Horovod, built with HOROVOD_WITH_MPI=1: it fuses by time, so a rule says that its sums recur.

    echo "-> recurs=always" >rules.txt    # with Compression.fp16: recurs=always op=float16
    CGX_RULES=rules.txt mpiexec -n 2 cgxrun --buffers host python train_hvd.py
"""

import horovod.torch as hvd
import torch

hvd.init()
torch.manual_seed(1)
teacher = torch.randn(64, 10)
model = torch.nn.Sequential(
    torch.nn.Linear(64, 256), torch.nn.ReLU(),
    torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
optimizer = hvd.DistributedOptimizer(
    torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
    named_parameters=model.named_parameters())
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
torch.manual_seed(2 + hvd.rank())
mean = 0
for step in range(300):
    x = torch.randn(64, 64)
    labels = (x @ teacher).argmax(1)
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), labels)
    loss.backward()
    optimizer.step()
    mean += 0.02 * (loss.item() - mean)
mean = hvd.allreduce(torch.tensor(mean)).item()
if hvd.rank() == 0:
    print(f"loss {mean:.4f}")
hvd.shutdown()
