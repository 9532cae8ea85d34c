# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""The command line: see cgx-report(1)."""

import os
import sys

from .files import File, Unreadable
from .output import replace
from .page import page
from .stats import Stats
from .terminal import summary
from .trace import Trace

USAGE = """usage: cgx-report [--html PAGE] FILE [FILE]
       cgx-report --help | --version

Says what libcgxpmpi did in a run, from the file of CGX_STATS, that of CGX_TRACE, or both: a summary
on stdout, or with --html a page with plots.
"""


class Refused(Exception):
    """What is wrong with the arguments or a file: a line."""


def _read_one(path, has):
    """Sets the statistics or the timeline of HAS to what PATH has."""
    try:
        file = File(path)
        if file.kind in has:
            raise Unreadable(f"is a second file of {file.kind}: give one of each")
        has[file.kind] = Stats(file) if file.kind == "statistics" else Trace(file)
    except Unreadable as error:
        raise Refused(f"{path} {error}") from None
    except MemoryError:
        raise Refused(f"{path} does not fit into memory") from None


def _arguments(arguments):
    """The page to write, or None, and the files to read."""
    html, files, only_files = None, [], False
    arguments = list(arguments)
    while arguments:
        argument = arguments.pop(0)
        if only_files or not argument.startswith("-"):
            files.append(argument)
        elif argument == "--":
            only_files = True
        elif argument == "--html" and arguments:
            html = arguments.pop(0)
        elif argument.startswith("--html="):
            html = argument[len("--html=") :]
        elif argument == "--html":
            raise Refused("--html lacks the page that is to be written (see --help)")
        else:
            raise Refused(f"'{argument}' is no option (see --help)")
    if not files:
        raise Refused("which file? (see --help)")
    return html, files


def _write(path, text):
    try:
        replace(path, text)
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error.strerror}") from None


def _is_ascii_only(stream):
    try:
        "█▏×–−µ→…".encode(stream.encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return True
    return False


def _run(arguments):
    html, files = _arguments(arguments)
    has = {}
    for path in files:
        _read_one(path, has)
    stats, trace = has.get("statistics"), has.get("timeline")
    if html is not None:
        _write(html, page(stats, trace))
        return
    sys.stdout.write(summary(stats, trace, _is_ascii_only(sys.stdout)))
    sys.stdout.flush()


def main(arguments, version):
    """The exit status."""
    if arguments in (["--help"], ["-h"]):
        print(USAGE, end="")
        return 0
    if arguments == ["--version"]:
        print(f"cgx-report (libcgxpmpi) {version}")
        return 0
    try:
        _run(arguments)
    except Refused as refused:
        # Bytes of a name that are no text are printed as they came.
        line = f"cgx-report: {refused}\n".encode(sys.stderr.encoding or "ascii", "surrogateescape")
        os.write(2, line)
        return 1
    except BrokenPipeError:
        # Nobody reads any more; nothing is left to be flushed at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0
