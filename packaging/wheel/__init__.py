# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""Where libcgxpmpi is, for launchers and for mpi4py.profile; programs run with cgxrun need none of this."""

from importlib.metadata import distribution

__version__ = distribution("cgxpmpi").version


def library():
    """The path of libcgxpmpi.so, to be preloaded."""
    for file in distribution("cgxpmpi").files or ():
        if file.name == "libcgxpmpi.so":
            return str(file.locate().resolve())
    raise FileNotFoundError("libcgxpmpi.so is not among the files of the package cgxpmpi")
