# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""For Spack 1.0 or later. In the folder of libcgxpmpi-VERSION.tar.gz:

spack repo add packaging/spack/spack_repo/cgxpmpi && spack install --no-checksum libcgxpmpi
"""

import os

from spack_repo.builtin.build_systems.autotools import AutotoolsPackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Libcgxpmpi(AutotoolsPackage, CudaPackage):
    """Compressed MPI_Allreduce of gradients for unmodified MPI programs, which it is preloaded into."""

    url = f"file://{os.getcwd()}/libcgxpmpi-0.2.0.tar.gz"
    manual_download = True

    license("BSD-3-Clause")

    # What a tarball contains cannot say what its checksum is.
    version("0.2.0")

    variant("hwloc", default=True, description="Ask hwloc for the topology of nodes")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    # One build serves all MPIs that it knows; this one is for its tests.
    depends_on("mpi", type=("build", "test"))
    # Its header; the library is opened at run time.
    depends_on("hwloc@2.1:", when="+hwloc", type=("build", "run"))
    depends_on("python@3.7:", type="run")

    def configure_args(self):
        """The arguments of configure, for this spec."""
        spec = self.spec
        args = [f"MPICC={spec['mpi'].mpicc}"]
        args.append(f"--with-hwloc={spec['hwloc'].prefix}" if "+hwloc" in spec else "--without-hwloc")
        if "+cuda" not in spec:
            return args + ["--without-cuda"]
        args.append(f"--with-cuda={spec['cuda'].prefix}")
        architectures = spec.variants["cuda_arch"].value
        if "none" not in architectures:
            args.append("CUDA_ARCHITECTURES=" + " ".join(architectures))
        return args
