# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause
"""In the place of PyTorch, which takes gigabytes: as much of it as cgxpmpi.torch uses, on top of numpy."""

import concurrent.futures
import types

import numpy

float16 = numpy.dtype("float16")
float32 = numpy.dtype("float32")
bfloat16 = object()


class Tensor(numpy.ndarray):
    """What a bucket has."""

    is_cuda = False

    def float(self):
        return self.astype(float32)

    def copy_(self, other):
        self[...] = other


class Future(concurrent.futures.Future):
    """torch.futures.Future as hooks use it."""

    def wait(self):
        return self.result(60)


class TCPStore:
    """A store that keeps nothing: where it would be is all that is looked at."""

    def __init__(self, host, port, ranks, is_master, wait_for_workers=True):
        if port == 1:
            raise RuntimeError("address in use\nframe 0")
        self.host, self.ranks, self.is_master = host, ranks, is_master
        self.port = port or 29500


groups = []


def init_process_group(backend, store, rank, world_size):
    groups.append((backend, store, rank, world_size))


class Bucket:
    """torch.distributed.GradBucket."""

    def __init__(self, gradients):
        self.gradients = gradients.view(Tensor)

    def buffer(self):
        return self.gradients


class DistributedDataParallel:
    """A model whose gradients are the arrays BUCKETS; the hook averages them all and then is waited for."""

    process_group = None

    def register_comm_hook(self, state, hook):
        self.hook = lambda bucket: hook(state, bucket)

    def average(self, buckets):
        return [future.wait() for future in [self.hook(Bucket(bucket)) for bucket in buckets]]


futures = types.SimpleNamespace(Future=Future)
cuda = types.SimpleNamespace(is_available=lambda: False)
distributed = types.SimpleNamespace(
    TCPStore=TCPStore,
    init_process_group=init_process_group,
    get_world_size=lambda group: groups[0][3] if groups else 1,
)
