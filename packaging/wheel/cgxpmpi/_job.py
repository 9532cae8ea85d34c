# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause
"""The MPI job for cgxpmpi.torch: its ranks, and the variables by which PyTorch's processes find each other."""

import fcntl
import functools
import multiprocessing
import os
import socket
import struct
import sys
import time

START = "start the program with: mpiexec -n N cgxrun python train.py"
SIOCGIFADDR = 0x8915
# The port that rank 0 has chosen for PyTorch's store, and a socket that is bound to it and never listens.
_reserved = {}


def require(module, package):
    """Returns MODULE, or raises an error that names the PACKAGE to install."""
    try:
        return __import__(module, fromlist=[""])
    except ImportError as error:
        raise ImportError(
            f"cgxpmpi.torch needs {package}, which cannot be imported ({error}): pip install {package}"
        ) from None


def job():
    """Returns mpi4py's MPI, which has as many ranks as the launcher has started."""
    mpi = require("mpi4py.MPI", "mpi4py")
    if mpi.COMM_WORLD.size > 1:
        return mpi
    if "TORCHELASTIC_RUN_ID" in os.environ:
        raise RuntimeError(f"under torchrun each process is an MPI job of one rank: {START}")
    for name in ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"):
        if int(os.environ.get(name) or 1) > 1:
            raise RuntimeError(
                f"the launcher has started {os.environ[name]} ranks, but mpi4py sees one, since its MPI is"
                f" another ({mpi.Get_library_version().splitlines()[0]}): use the mpiexec of that MPI, or srun"
                " --mpi=pmi2 or --mpi=pmix"
            )
    return mpi


@functools.lru_cache(maxsize=None)
def end_together(mpi, has_groups):
    """Makes an exception that ends this rank's program end the job, as long as HAS_GROUPS() is true.

    Else the rank waits in MPI_Finalize for the others, and they wait for its gradients. A process that it has
    forked is no rank.
    """
    say, rank = sys.excepthook, os.getpid()

    def abort(*exception):
        try:
            say(*exception)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            if os.getpid() == rank and has_groups():
                time.sleep(0.5)  # mpiexec may drop what a rank writes just before it aborts
                mpi.COMM_WORLD.Abort(1)

    sys.excepthook = abort


def announce():
    """Sets the variables that torchrun sets, which init_process_group reads, unless the user has set them."""
    # Processes that a rank has started are no ranks. init_process_group("cgx") refuses torchrun.
    if multiprocessing.parent_process() or "TORCHELASTIC_RUN_ID" in os.environ:
        return
    mpi = job()
    world = mpi.COMM_WORLD
    if world.size == 1 and "WORLD_SIZE" in os.environ:
        return
    _check_environment(world)
    node = world.Split_type(mpi.COMM_TYPE_SHARED)
    own = {"RANK": world.rank, "WORLD_SIZE": world.size, "LOCAL_RANK": node.rank, "LOCAL_WORLD_SIZE": node.size}
    node.Free()
    for name, value in own.items():
        os.environ.setdefault(name, str(value))
    os.environ.update(_rendezvous(world))


def _check_environment(world):
    """RANK and WORLD_SIZE are those of MPI, if they are set."""
    expected = {"RANK": str(world.rank), "WORLD_SIZE": str(world.size)}
    wrong = [f"{name}={os.environ[name]}" for name, own in expected.items() if os.environ.get(name, own) != own]
    wrong = next(filter(None, world.allgather(wrong)), None)
    if wrong:
        raise RuntimeError(
            f"the environment has {' and '.join(wrong)}, but the MPI job has {world.size} ranks, and each has a"
            " RANK of its own: unset RANK and WORLD_SIZE"
        )


def _rendezvous(world):
    """Returns where rank 0's store is to listen, and the interface for gloo. An error of rank 0 is one of all ranks."""
    address, port, error = None, None, None
    if world.rank == 0:
        address, port = os.environ.get("MASTER_ADDR"), os.environ.get("MASTER_PORT")
        if not (address and port):
            try:
                port = _reserve(int(port or 0))
            except (OSError, OverflowError, ValueError) as problem:
                error = f"rank 0 cannot listen at MASTER_PORT={port} ({problem}): unset it, or set it to a free port"
    address, port, error = world.bcast((address, port, error))
    if error:
        raise RuntimeError(error)
    stacks = world.allgather(_network_stack())
    if not address:
        address = "127.0.0.1" if len(set(stacks)) == 1 else _reachable_address(world, stacks)
    found = {"MASTER_ADDR": address, "MASTER_PORT": port}
    # By default gloo listens where this host's name leads, which may be 127.0.1.1.
    interface = _interface_to(address) if len(set(stacks)) > 1 else None
    if interface and "GLOO_SOCKET_IFNAME" not in os.environ:
        found["GLOO_SOCKET_IFNAME"] = interface
    return found


def _reserve(port):
    """Returns PORT, or a free one if it is 0, which only sockets of this process can then have."""
    place = socket.socket()
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    place.bind(("", port))
    if _reserved:
        os.close(_reserved["socket"])
    chosen = str(place.getsockname()[1])
    _reserved.update(port=chosen, socket=place.detach())
    return chosen


def renew_port(comm):
    """Chooses the port of the next default group: at this one's, ranks that are early would find this one's store."""
    last = new = None
    if comm.rank == 0 and _reserved and os.environ.get("MASTER_PORT") == _reserved["port"]:
        last, new = os.environ["MASTER_PORT"], _reserve(0)
    last, new = comm.bcast((last, new))
    if new and os.environ.get("MASTER_PORT") == last:
        os.environ["MASTER_PORT"] = new


def _network_stack():
    """Returns what tells this process's network addresses from those of other hosts and containers."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as boot:
        return boot.read() + os.readlink("/proc/self/ns/net")


def _addresses():
    """Returns this host's IPv4 addresses, except loopback's, by the names of their interfaces."""
    found = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as query:
        for _, name in socket.if_nameindex():
            try:
                reply = fcntl.ioctl(query, SIOCGIFADDR, struct.pack("256s", name.encode()))
            except OSError:
                continue
            found[name] = socket.inet_ntoa(reply[20:24])
    return {name: address for name, address in found.items() if not address.startswith("127.")}


def _reachable_address(world, stacks):
    """Returns rank 0's first address at which all ranks have reached it."""
    own = list(_addresses().values())
    with socket.create_server(("", 0), backlog=world.size) as server:
        candidates, port = world.bcast((own, server.getsockname()[1]))
        near = stacks[world.rank] == stacks[0]
        # An address that this host has too, as those of bridges to containers, leads back here.
        reached = [near or (address not in own and _connects(address, port)) for address in candidates]
        every = world.allgather(reached)
    for index, address in enumerate(candidates):
        if all(reached[index] for reached in every):
            return address
    raise RuntimeError(
        f"no address of rank 0 ({', '.join(candidates) or 'it has no IPv4 one'}) can be reached from all ranks:"
        " set MASTER_ADDR to one that can"
    )


def _connects(address, port):
    """Whether something listens there."""
    try:
        socket.create_connection((address, port), timeout=3).close()
    except OSError:
        return False
    return True


def _interface_to(address):
    """Returns the name of the interface by which this host sends to ADDRESS, or None."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as query:
            query.connect((address, 1))
            source = query.getsockname()[0]
    except OSError:
        return None
    return next((name for name, own in _addresses().items() if own == source), None)
