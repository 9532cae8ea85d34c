# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause
"""On 4 ranks, sums, groups and DDP are right with the backend cgx, and errors are raised. Prints "right"."""

import cgxpmpi.torch
import torch
from torch import distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.nn.parallel import DistributedDataParallel


def check(what, result, expected):
    assert torch.equal(result.to(torch.float64), expected.to(torch.float64)), f"{what}: {result}, not {expected}"


def full(value, dtype=torch.float32):
    return torch.full((6,), value).to(dtype)


def check_sums(rank, ranks):
    """Types, layouts, operations and ways to call."""
    total = ranks * (ranks + 1) // 2
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64):
        dist.all_reduce(tensor := full(rank + 1, dtype))
        check(str(dtype), tensor, full(total))
    dist.all_reduce(tensor := full(rank + 1, torch.complex64))
    check("complex64", tensor.real, full(total))
    dist.all_reduce(tensor := full(rank + 1.0), dist.ReduceOp.MAX)
    check("maximum", tensor, full(ranks))
    sparse = torch.sparse_coo_tensor([[rank]], [1.0], (ranks,), check_invariants=True)
    dist.all_reduce(sparse)
    check("sparse", sparse.to_dense(), torch.ones(ranks))
    images = torch.arange(96.0).reshape(2, 3, 4, 4)
    dist.all_reduce(tensor := images.clone(memory_format=torch.channels_last if rank else torch.contiguous_format))
    check("layouts that differ", tensor, ranks * images)
    columns = torch.zeros(4, 6)
    dist.all_reduce(columns[:, ::2].fill_(1))
    check("strides", columns, torch.tensor([ranks, 0.0] * 3).expand(4, 6))
    dist.all_reduce(tensor := torch.tensor(rank + 1.0))
    check("a scalar", tensor, torch.tensor(total))
    dist.all_reduce(torch.zeros(0))
    dist.all_reduce(tensor := torch.nn.Parameter(full(rank + 1.0)))
    check("a parameter", tensor.detach(), full(total))
    works = [dist.all_reduce(full(rank + 1.0), async_op=True) for _ in range(20)]
    means = [work.get_future().then(lambda future: future.value()[0] / ranks) for work in works]
    check("futures", sum(mean.wait() for mean in means), full(20 * total / ranks))
    group = dist.group.WORLD
    for arguments in ((), (dist.ReduceOp.SUM,)):
        group.allreduce(tensor := full(rank + 1.0), *arguments).wait()
        check("a call of the group", tensor, full(total))


def check_groups(rank, ranks):
    """Subsets of the ranks, in their order and in another, and meshes."""
    groups = [dist.new_group([other for other in reversed(range(ranks)) if other != left]) for left in range(ranks)]
    for left, group in enumerate(groups):
        if rank != left:
            dist.all_reduce(tensor := full(rank + 1.0), group=group)
            check("a group", tensor, full(ranks * (ranks + 1) // 2 - left - 1))
    pairs = init_device_mesh("cpu", (ranks // 2, 2), mesh_dim_names=("pair", "inner"))
    dist.all_reduce(tensor := full(rank + 1.0), group=pairs.get_group("inner"))
    check("a mesh", tensor, full(4 * (rank // 2) + 3))


def check_training(rank, **options):
    """DDP's gradients are those of gloo, with steps that are not synchronised and ranks that have less data."""
    weights = []
    for backend in ("gloo", "cgx"):
        torch.manual_seed(1)
        model = DistributedDataParallel(torch.nn.Linear(8, 4), process_group=dist.new_group(backend=backend), **options)
        torch.manual_seed(rank)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        with model.join(enable="static_graph" not in options):
            for step in range(4 if options else 4 + rank):
                optimizer.zero_grad()
                if step == 2:
                    with model.no_sync():
                        model(torch.randn(3, 8)).square().mean().backward()
                model(torch.randn(3, 8)).square().mean().backward()
                optimizer.step()
        weights.append(model.module.weight.detach())
    assert torch.allclose(*weights, atol=1e-6), f"{options}: {weights}"


def check_errors():
    """An error of MPI is raised where the sum is waited for: in the call, in wait(), in backward()."""

    def fail(*_):
        raise OSError("of MPI")

    model = DistributedDataParallel(torch.nn.Linear(8, 4))
    working, cgxpmpi.torch._Sums._sum = cgxpmpi.torch._Sums._sum, fail
    work = dist.all_reduce(full(1.0), async_op=True)
    for wait in (lambda: dist.all_reduce(full(1.0)), work.wait, model(torch.ones(3, 8)).mean().backward):
        try:
            wait()
        except RuntimeError as error:
            assert "of MPI" in str(error), error
        else:
            raise AssertionError(f"{wait} raised nothing")
    cgxpmpi.torch._Sums._sum = working


def main():
    for _ in range(2):  # and once more, after destroy_process_group
        dist.init_process_group("cgx")
        assert dist.get_backend() == "cgx"
        rank, ranks = dist.get_rank(), dist.get_world_size()
        check_sums(rank, ranks)
        check_groups(rank, ranks)
        check_training(rank)
        check_training(rank, static_graph=True)
        check_training(rank, gradient_as_bucket_view=True, bucket_cap_mb=0.0001)
        everyone = [None] * ranks
        dist.all_gather_object(everyone, rank)
        assert everyone == list(range(ranks))
        dist.barrier()
        check_errors()
        dist.destroy_process_group()
    if rank == 0:
        print("right", flush=True)


main()
