# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause
"""In the place of PyTorch, which takes gigabytes: as much of it as cgxpmpi.torch uses, on top of numpy."""

import concurrent.futures
import types

import numpy
from mpi4py import MPI

__version__ = "2.7"
float16 = numpy.dtype("float16")
float32 = numpy.dtype("float32")
bfloat16 = object()
strided = object()


class Tensor(numpy.ndarray):
    """What a bucket has."""

    is_cuda = False
    layout = strided
    device = types.SimpleNamespace(type="cpu")

    def detach(self):
        return self

    def contiguous(self):
        return self

    def float(self):
        return self if self.dtype == float32 else self.astype(float32)

    def copy_(self, other):
        self[...] = other


class Future(concurrent.futures.Future):
    """torch.futures.Future as hooks use it."""

    error = None

    def set_exception(self, error):
        """Python's value() raises it. For C++ it is a result."""
        self.error = error
        self.set_result(error)

    def value(self):
        result = self.result(60)
        if self.error:
            raise self.error
        return result

    wait = value

    def then(self, callback):
        """An error of CALLBACK is one for C++ too."""
        after = Future()

        def call(_):
            try:
                after.set_result(callback(self))
            except Exception as error:  # pylint: disable=broad-except
                concurrent.futures.Future.set_exception(after, error)

        self.add_done_callback(call)
        return after


class Store:
    """A process's own part of a store, with which it answers for all processes."""

    def __init__(self):
        self.values = {}

    def set(self, key, value):
        self.values[key] = value

    def multi_get(self, keys):
        every = {}
        for values in MPI.COMM_WORLD.allgather(self.values):
            every.update(values)
        return [every[key].encode() for key in keys]


class ProcessGroup:
    """The base of a backend's class. The other backend says what it would sum."""

    BackendType = types.SimpleNamespace(GLOO="gloo")

    def __init__(self, *place):
        assert len(place) == 2 or type(self) is ProcessGroup, "PyTorch 2.11 takes a store for no Python class"
        self.others = {}

    def _set_default_backend(self, kind):
        assert kind == "gloo"

    def _register_backend(self, device, kind, backend):
        self.others[device, kind] = backend

    def allreduce(self, tensors, options):
        return f"{tensors[0].dtype} by {self.others['cpu', 'gloo']}"


class Backend:
    """Where backends are registered."""

    makers = {}

    @classmethod
    def register_backend(cls, name, maker, **options):
        cls.makers[name] = maker


groups = []


def init_process_group(backend, **options):
    """The group of a registered backend, or the name of one that is PyTorch's own."""
    place = types.SimpleNamespace(
        store=Store(),
        group_rank=MPI.COMM_WORLD.rank,
        group_size=options.get("world_size", MPI.COMM_WORLD.size),
        group_id="0",
        global_ranks_in_group=[],
        timeout=60,
    )
    maker = Backend.makers.get(backend)
    groups.append(maker(place, None) if maker else backend)


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

    def hook(self, bucket):
        """Without a hook, the group sums the quotients."""
        gradients = bucket.buffer()
        gradients /= MPI.COMM_WORLD.size
        work = groups[0].allreduce([gradients], types.SimpleNamespace(reduceOp="sum"))
        return work.get_future().then(lambda done: done.value()[0])

    def average(self, buckets):
        """Waits as C++ does."""
        return [future.result(60) for future in [self.hook(Bucket(bucket)) for bucket in buckets]]

    def parameters(self):
        return [Tensor(1)]


futures = types.SimpleNamespace(Future=Future)
cuda = types.SimpleNamespace(is_available=lambda: False)
distributed = types.SimpleNamespace(
    Backend=Backend,
    ProcessGroup=ProcessGroup,
    ProcessGroupGloo=lambda store, rank, size, timeout: "gloo",
    ReduceOp=types.SimpleNamespace(SUM="sum"),
    init_process_group=init_process_group,
    is_initialized=lambda: bool(groups),
    get_world_size=lambda group: MPI.COMM_WORLD.size,
)
device = str
_C = types.SimpleNamespace(_distributed_c10d=types.SimpleNamespace(Work=object))
