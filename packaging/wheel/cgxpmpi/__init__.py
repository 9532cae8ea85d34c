# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause
"""libcgxpmpi for Python: where the library is, and whether this process has loaded it.

A program needs this package only for cgxpmpi.torch and for cgxpmpi.active(); cgxrun starts any program, and
"python -m cgxpmpi train.py" does the same. Importing cgxpmpi imports nothing but Python's own modules.
"""

import ctypes
from importlib.metadata import distribution

__version__ = distribution("cgxpmpi").version


def _installed(name):
    """The path of the file NAME of this package."""
    for file in distribution("cgxpmpi").files or ():
        if file.name == name:
            return str(file.locate().resolve())
    raise FileNotFoundError(
        f"the file {name} of the package cgxpmpi is missing: pip install --force-reinstall cgxpmpi"
    )


def library():
    """The path of libcgxpmpi.so, for LD_PRELOAD and for mpi4py.profile."""
    return _installed("libcgxpmpi.so")


def cgxrun():
    """The path of the command cgxrun."""
    return _installed("cgxrun")


def active():
    """The version of libcgxpmpi that this process has loaded, or None if it runs without the library."""
    try:
        version = ctypes.c_char.in_dll(ctypes.CDLL(None), "libcgxpmpi_version")
    except ValueError:
        return None
    return ctypes.string_at(ctypes.addressof(version)).decode()


def devices():
    """Whether this process has loaded a libcgxpmpi that knows memory of GPUs: one that was built with CUDA."""
    return active() is not None and bool(ctypes.CDLL(None).libcgxpmpi_devices())
