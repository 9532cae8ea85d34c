# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch with its gradients summed by MPI, where libcgxpmpi compresses them.

    import cgxpmpi.torch
    torch.distributed.init_process_group("cgx")

The backend cgx gives sums of float32, float16 and bfloat16 to MPI and all else to gloo, or to NCCL for tensors on
GPUs. With another backend, MPI sums the gradients of those DistributedDataParallel (DDP) objects that are registered:

    cgxpmpi.torch.init()                                         # in place of init_process_group()
    model = torch.nn.parallel.DistributedDataParallel(model)
    cgxpmpi.torch.register(model)

Start the program with "mpiexec -n 8 cgxrun --buffers host python train.py", not with torchrun; for gradients on GPUs
leave out "--buffers host". The import sets the variables that torchrun sets (RANK, WORLD_SIZE, LOCAL_RANK,
LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT) and, on several hosts, GLOO_SOCKET_IFNAME, unless the user has set them.
It needs torch and mpi4py.
"""

import contextlib
import functools
import sys
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor

import cgxpmpi
from cgxpmpi import _job

torch = _job.require("torch", "torch")
_job.require("mpi4py", "mpi4py")
dist = torch.distributed


def init(backend=None, **arguments):
    """Makes the default process group of torch.distributed, with the ranks of MPI.COMM_WORLD.

    BACKEND and ARGUMENTS are those of torch.distributed.init_process_group; without BACKEND it is nccl where
    there are GPUs and gloo elsewhere.
    """
    _job.job()
    dist.init_process_group(backend or ("nccl" if torch.cuda.is_available() else "gloo"), **arguments)


@functools.lru_cache(maxsize=None)
def _say(text):
    """Prints TEXT, once."""
    print(f"cgxpmpi: {text}", file=sys.stderr, flush=True)


def _check_ranks(comm):
    """All ranks have the library, in one version, or none has it, which rank 0 says."""
    versions = comm.allgather(cgxpmpi.active())
    without = [str(rank) for rank, version in enumerate(versions) if version is None]
    if len(without) == comm.size:
        if comm.rank == 0:
            _say(f"libcgxpmpi is not preloaded, so nothing is compressed: {_job.START}")
    elif without:
        raise RuntimeError(
            f"libcgxpmpi is preloaded on some ranks and not on {', '.join(without[:8])}: sums would be wrong;"
            f" {_job.START}"
        )
    elif len(set(versions)) > 1:
        raise RuntimeError(
            f"ranks have different versions of libcgxpmpi ({', '.join(sorted(set(versions)))}): install one"
            " version on all hosts"
        )


class _Sums:
    """Sums tensors on one communicator, in the order of calls; in a thread if MPI allows threads."""

    def __init__(self, mpi, comm):
        _check_ranks(comm)
        if comm.size > 1:
            _job.end_together(mpi, dist.is_initialized)
        self.mpi = mpi
        self.comm = comm
        self.thread = ThreadPoolExecutor(1, "cgxpmpi") if mpi.Query_thread() == mpi.THREAD_MULTIPLE else None
        self.last = None

    def begin(self, tensor, result, divisor=1):
        """Returns a future of RESULT, which comes when TENSOR, divided by DIVISOR, has been replaced by its sum."""
        if tensor.is_cuda:
            ready = torch.cuda.current_stream(tensor.device).record_event()
            self.last = future = torch.futures.Future(devices=[tensor.device])
        else:
            ready = None
            self.last = future = torch.futures.Future()
        if self.thread:
            self.thread.submit(self._serve, tensor, ready, divisor, future, result)
        else:
            self._serve(tensor, ready, divisor, future, result)
        # For C++ set_exception is success, and a callback that raises is failure.
        return future.then(lambda done: done.value())

    def _serve(self, tensor, ready, divisor, future, result):
        """Completes FUTURE with RESULT, or with the error, which whoever waits for it gets."""
        try:
            with torch.cuda.device(tensor.device) if ready else contextlib.nullcontext():
                if ready:
                    ready.synchronize()
                self._sum(tensor.detach(), divisor)
        except Exception as error:  # pylint: disable=broad-except
            future.set_exception(error)
        else:
            future.set_result(result)

    def _sum(self, tensor, divisor):
        """Replaces TENSOR by its sum; those of 16 bits are summed as float32, which all MPIs have."""
        sums = tensor.float().contiguous()
        if divisor != 1:
            sums /= divisor
        if sums.is_cuda:
            torch.cuda.current_stream().synchronize()
        self.comm.Allreduce(self.mpi.IN_PLACE, sums)
        if sums is not tensor:
            tensor.copy_(sums)
        if sums.is_cuda:
            torch.cuda.current_stream().synchronize()

    def end(self):
        """Frees the communicator, if no sum is under way: the other ranks of one that is may never come."""
        if self.thread:
            self.thread.shutdown(wait=False)
        if self.last is None or self.last.done():
            self.comm.Free()


def _communicator(mpi, options):
    """Returns a communicator of a process group's processes, which tell each other their ranks in the group's store."""
    world, processes = mpi.COMM_WORLD, options.group_size
    if processes > world.size or (not options.global_ranks_in_group and processes != world.size):
        raise RuntimeError(
            f"the process group has {processes} processes, and the MPI job has {world.size} of them as its ranks: leave"
            f" rank and world_size to cgxpmpi.torch, and {_job.START}"
        )
    options.store.set(f"cgxpmpi{options.group_rank}", str(world.rank))
    ranks = options.store.multi_get([f"cgxpmpi{process}" for process in range(processes)])
    group = world.group.Incl([int(rank) for rank in ranks])
    # Threads may make groups at the same time. Any MPI has tags of 15 bits.
    return world.Create_group(group, zlib.crc32(options.group_id.encode()) & 0x7FFF)


class _Work(torch._C._distributed_c10d.Work):  # pylint: disable=protected-access
    """A sum under way. wait() of PyTorch's own class for futures hides errors."""

    def __init__(self, future):
        super().__init__()
        self._future = future

    def get_future(self):
        """Overrides Work's; C++ calls it too, as it calls wait()."""
        return self._future

    def wait(self, timeout=None):
        """Overrides Work's."""
        if timeout:
            raise RuntimeError("the backend cgx: a sum of MPI cannot be left, so wait() has no timeout")
        self._future.wait()
        return True

    def is_completed(self):
        """Overrides Work's."""
        return self._future.done()

    def result(self):
        """Overrides Work's."""
        return self._future.value()


class _Group(dist.ProcessGroup):
    """A process group that gives sums to MPI, and all else to another group, which has PyTorch's own backends."""

    def __init__(self, options, _):
        mpi = _job.job()
        place = options.store, options.group_rank, options.group_size
        # With a store PyTorch 2.11 makes no object of a Python class.
        super().__init__(*place[1:])
        self._sums = _Sums(mpi, _communicator(mpi, options))
        if not options.global_ranks_in_group:
            _job.renew_port(self._sums.comm)
        kinds = dist.ProcessGroup.BackendType
        backends = {"cpu": (kinds.GLOO, dist.ProcessGroupGloo(*place, timeout=options.timeout))}
        if torch.cuda.is_available():
            nccl_options = dist.ProcessGroupNCCL.Options()
            nccl_options._timeout = options.timeout  # pylint: disable=protected-access
            nccl = dist.ProcessGroupNCCL(dist.PrefixStore("cuda/", place[0]), *place[1:], nccl_options)
            backends["cuda"] = kinds.NCCL, nccl
        self._other = dist.ProcessGroup(*place)
        for group in (self, self._other):
            group._set_default_backend(kinds.GLOO)
            for device, backend in backends.items():
                group._register_backend(torch.device(device), *backend)

    def allreduce(self, tensors, *arguments, **named):
        """Overrides ProcessGroup's; C++ calls it too."""
        options = arguments[0] if arguments else named.get("opts", named.get("op", dist.ReduceOp.SUM))
        if not self._is_for_mpi(tensors, getattr(options, "reduceOp", options)):
            return self._other.allreduce(tensors, *arguments, **named)
        return _Work(self._sums.begin(tensors[0], tensors))

    def _is_for_mpi(self, tensors, op):
        """Whether MPI sums TENSORS. For those on GPUs it needs a library that knows them."""
        if op != dist.ReduceOp.SUM or not isinstance(tensors, list) or len(tensors) != 1:
            return False
        tensor = tensors[0]
        return (
            tensor.dtype in (torch.float32, torch.float16, torch.bfloat16)
            and tensor.layout == torch.strided
            and (tensor.device.type == "cpu" or (tensor.is_cuda and cgxpmpi.devices()))
        )

    def shutdown(self):
        """Overrides ProcessGroup's: destroy_process_group calls it."""
        self._sums.end()
        super().shutdown()


def _forward(name):
    """Returns a method that calls NAME of the other group.

    ProcessGroup's own, which a subclass inherits, holds Python's lock while it waits for one of gloo, whose
    threads wait for Python's.
    """

    def call(self, *arguments, **named):
        return getattr(self._other, name)(*arguments, **named)  # pylint: disable=protected-access

    return call


for _name in (
    *("allreduce_coalesced", "alltoall", "alltoall_base", "all_to_all_single", "barrier", "broadcast"),
    *("monitored_barrier", "allgather", "allgather_coalesced", "_allgather_base", "all_gather_single"),
    *("allgather_into_tensor_coalesced", "all_gather_single_coalesced"),
    *("gather", "gather_single", "gather_into_tensor", "reduce", "scatter", "send", "recv", "recv_anysource"),
    *("reduce_scatter", "_reduce_scatter_base", "reduce_scatter_single"),
    *("reduce_scatter_tensor_coalesced", "reduce_scatter_single_coalesced"),
):
    if hasattr(dist.ProcessGroup, _name):
        setattr(_Group, _name, _forward(_name))


def _hook(sums, bucket):
    """DDP's hook: the mean of a bucket's gradients, as a future."""
    return sums.begin(bucket.buffer(), bucket.buffer(), sums.comm.size)


def register(ddp, comm=None):
    """Has the gradients of DDP, a DistributedDataParallel, averaged by MPI_Allreduce, bucket by bucket.

    COMM has the ranks of DDP's process group, and nothing else may use it while gradients are computed; without
    it a duplicate of MPI.COMM_WORLD is taken. Where MPI allows threads (MPI.THREAD_MULTIPLE, mpi4py's default),
    sums are made beside the rest of the backward pass.
    """
    mpi = _job.job()
    if not hasattr(ddp, "register_comm_hook"):
        raise TypeError("register() takes a torch.nn.parallel.DistributedDataParallel: wrap the model in one first")
    if cgxpmpi.active() and not cgxpmpi.devices() and any(parameter.is_cuda for parameter in ddp.parameters()):
        raise RuntimeError("the model is on GPUs, and this libcgxpmpi was built without CUDA: build it with nvcc")
    comm = comm or mpi.COMM_WORLD.Dup()
    processes = dist.get_world_size(ddp.process_group)
    if processes != comm.size:
        raise RuntimeError(
            f"the model's process group has {processes} processes and the communicator {comm.size} ranks:"
            " make the group with cgxpmpi.torch.init(), or give register() a communicator of the same ranks"
        )
    ddp.register_comm_hook(_Sums(mpi, comm), _hook)


def _refuse_old(*_):
    """In the place of _Group, for which this PyTorch lacks what it needs."""
    raise RuntimeError(
        f"the backend cgx needs PyTorch 2.7 or newer, and this is {torch.__version__}: pip install --upgrade torch, or"
        " call cgxpmpi.torch.init() and register()"
    )


def _register_backend():
    """Makes "cgx" a word for init_process_group and new_group."""
    # Before 2.7 C++ does not keep the objects of _Work that it has.
    if tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 7):
        dist.Backend.register_backend("cgx", _Group, extended_api=True, devices=["cpu", "cuda"])
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dist.Backend.register_backend("cgx", _refuse_old)


_register_backend()
_job.announce()
