# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's DistributedDataParallel (DDP) with its gradients summed by MPI, where libcgxpmpi compresses them.

    cgxpmpi.torch.init()                                         # in place of init_process_group()
    model = torch.nn.parallel.DistributedDataParallel(model)
    cgxpmpi.torch.register(model)

Start the program with "mpiexec -n 8 cgxrun --buffers host python train.py", not with torchrun. Both functions
need torch and mpi4py, and say so in one line where one is not there.
"""

import os
import socket
import sys
from concurrent.futures import ThreadPoolExecutor

import cgxpmpi

START = "start the program with: mpiexec -n N cgxrun python train.py"


def _import(module, package):
    """MODULE, or an error that names the PACKAGE to install."""
    try:
        return __import__(module, fromlist=[""])
    except ImportError as error:
        raise ImportError(
            f"cgxpmpi.torch needs {package}, which cannot be imported ({error}): pip install {package}"
        ) from None


def _world():
    """mpi4py's MPI, with as many ranks as the launcher has started."""
    mpi = _import("mpi4py.MPI", "mpi4py")
    if mpi.COMM_WORLD.size > 1:
        return mpi
    if "TORCHELASTIC_RUN_ID" in os.environ:
        raise RuntimeError(f"under torchrun each process is an MPI job of one rank: {START}")
    for name in ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"):
        if int(os.environ.get(name, "1")) > 1:
            raise RuntimeError(
                f"the launcher has started {os.environ[name]} ranks, but mpi4py sees one, since its MPI is"
                f" another ({mpi.Get_library_version().splitlines()[0]}): use the mpiexec of that MPI, or srun"
                " --mpi=pmi2 or --mpi=pmix"
            )
    return mpi


def _address(node, world):
    """What rank 0 is reached by: a name that the other ranks can resolve."""
    if node.size == world.size:
        return "127.0.0.1"
    return socket.getfqdn()


def _store(torch, world, address, port):
    """The store by which processes find each other; rank 0 has it. An error of rank 0 is one of all."""
    store, error = None, None
    if world.rank == 0:
        try:
            store = torch.distributed.TCPStore(
                address, int(port or 0), world.size, is_master=True, wait_for_workers=False
            )
        except (OSError, RuntimeError, ValueError) as problem:
            error = str(problem).partition("\n")[0]
    port, error = world.bcast((store and store.port, error))
    if error:
        raise RuntimeError(
            f"rank 0 cannot listen at {address} ({error}): unset MASTER_PORT, or set it to a free port"
        )
    return store or torch.distributed.TCPStore(address, port, world.size, is_master=False)


def init(backend=None, **arguments):
    """Makes the default process group of torch.distributed, with the ranks of MPI.COMM_WORLD.

    BACKEND and ARGUMENTS are those of torch.distributed.init_process_group; without BACKEND it is nccl where
    there are GPUs and gloo elsewhere. Sets the variables that torchrun sets: RANK, WORLD_SIZE, LOCAL_RANK,
    MASTER_ADDR and MASTER_PORT, the last two only where they are not set.
    """
    torch = _import("torch", "torch")
    mpi = _world()
    world = mpi.COMM_WORLD
    node = world.Split_type(mpi.COMM_TYPE_SHARED)
    local_rank = node.rank
    place = world.bcast((os.environ.get("MASTER_ADDR") or _address(node, world), os.environ.get("MASTER_PORT")))
    node.Free()
    store = _store(torch, world, *place)
    os.environ.update(
        RANK=str(world.rank),
        WORLD_SIZE=str(world.size),
        LOCAL_RANK=str(local_rank),
        MASTER_ADDR=place[0],
        MASTER_PORT=str(store.port),
    )
    torch.distributed.init_process_group(
        backend or ("nccl" if torch.cuda.is_available() else "gloo"),
        store=store,
        rank=world.rank,
        world_size=world.size,
        **arguments,
    )


def _check_ranks(comm):
    """All ranks have the library, in one version, or none has it, which rank 0 says."""
    versions = comm.allgather(cgxpmpi.active())
    without = [str(rank) for rank, version in enumerate(versions) if version is None]
    if len(without) == comm.size:
        if comm.rank == 0:
            print(f"cgxpmpi: libcgxpmpi is not preloaded, so nothing is compressed: {START}", file=sys.stderr)
    elif without:
        raise RuntimeError(
            f"libcgxpmpi is preloaded on some ranks and not on {', '.join(without[:8])}: sums would be wrong;"
            f" {START}"
        )
    elif len(set(versions)) > 1:
        raise RuntimeError(
            f"ranks have different versions of libcgxpmpi ({', '.join(sorted(set(versions)))}): install one"
            " version on all hosts"
        )


class _Sums:
    """What the hook of one DDP object needs: its communicator and, where MPI allows threads, a thread."""

    def __init__(self, torch, mpi, comm):
        self.torch = torch
        self.mpi = mpi
        self.comm = comm
        threads = mpi.Query_thread() == mpi.THREAD_MULTIPLE
        self.thread = ThreadPoolExecutor(1, "cgxpmpi") if threads else None

    def average(self, gradients):
        """Replaces GRADIENTS by their mean over the ranks; those of 16 bits are summed as float32."""
        torch = self.torch
        halves = gradients.dtype in (torch.bfloat16, torch.float16)
        sums = gradients.float() if halves else gradients
        sums /= self.comm.size
        if sums.is_cuda:
            torch.cuda.current_stream(sums.device).synchronize()
        self.comm.Allreduce(self.mpi.IN_PLACE, sums)
        if halves:
            gradients.copy_(sums)
        if sums.is_cuda:
            torch.cuda.current_stream(sums.device).synchronize()

    def serve(self, gradients, ready, future):
        """Completes FUTURE with the mean of GRADIENTS, which are there when the event READY has come."""
        try:
            if ready is not None:
                ready.synchronize()
            self.average(gradients)
        except Exception as error:  # pylint: disable=broad-except # the backward pass raises it
            future.set_exception(error)
        else:
            future.set_result(gradients)


def _hook(sums, bucket):
    """DDP's hook: the mean of a bucket's gradients, as a future."""
    gradients, ready = bucket.buffer(), None
    if gradients.is_cuda:
        ready = sums.torch.cuda.Event()
        ready.record()
        future = sums.torch.futures.Future(devices=[gradients.device])
    else:
        future = sums.torch.futures.Future()
    if sums.thread:
        sums.thread.submit(sums.serve, gradients, ready, future)
    else:
        sums.serve(gradients, ready, future)
    return future


def register(ddp, comm=None):
    """Has the gradients of DDP, a DistributedDataParallel, averaged by MPI_Allreduce, bucket by bucket.

    COMM has the ranks of DDP's process group, and nothing else may use it while gradients are computed; without
    it a duplicate of MPI.COMM_WORLD is taken. Where MPI allows threads (MPI.THREAD_MULTIPLE, mpi4py's default),
    sums are made beside the rest of the backward pass.
    """
    torch = _import("torch", "torch")
    mpi = _world()
    if not hasattr(ddp, "register_comm_hook"):
        raise TypeError("register() takes a torch.nn.parallel.DistributedDataParallel: wrap the model in one first")
    comm = comm or mpi.COMM_WORLD.Dup()
    processes = torch.distributed.get_world_size(ddp.process_group)
    if processes != comm.size:
        raise RuntimeError(
            f"the model's process group has {processes} processes and the communicator {comm.size} ranks:"
            " make the group with cgxpmpi.torch.init(), or give register() a communicator of the same ranks"
        )
    _check_ranks(comm)
    ddp.register_comm_hook(_Sums(torch, mpi, comm), _hook)
