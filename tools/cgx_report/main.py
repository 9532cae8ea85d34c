# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""The command line: see cgx-report(1)."""

import os
import sys

from .compare import compare
from .files import File, Unreadable
from .output import replace
from .page import page
from .stats import Stats
from .suggest import suggest
from .terminal import summary
from .trace import Trace

USAGE = """usage: cgx-report [--html PAGE] FILE...
       cgx-report STATS STATS
       cgx-report --suggest STATS
       cgx-report --help | --version

Says what libcgxpmpi did in a run, from the file of CGX_STATS, those of CGX_TRACE, or both: a summary
on stdout, or with --html a page with plots. From two files of CGX_STATS, of a plain and of a
compressed run, what the runs sent, and how long their large sums took. With --suggest, a file of
rules (cgx-rules(5)) for sums that stayed exact.
"""


class Refused(Exception):
    """What is wrong with the arguments or a file: a line."""


def _read_one(path, has):
    """Adds what PATH has to the statistics or the timelines of HAS."""
    try:
        file = File(path)
        if file.kind == "statistics":
            has[file.kind].append(Stats(file))
            return
        has[file.kind] = has[file.kind] or [Trace()]
        has[file.kind][0].add(file)
    except Unreadable as error:
        raise Refused(f"{path} {error}") from None
    except MemoryError:
        raise Refused(f"{path} does not fit into memory") from None


def _arguments(arguments):
    """The page to write, or None, whether rules are asked for, and the files to read."""
    html, rules, files, only_files = None, False, [], False
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
        elif argument == "--suggest":
            rules = True
        else:
            raise Refused(f"'{argument}' is no option (see --help)")
    if not files:
        raise Refused("which file? (see --help)")
    if html is not None and rules:
        raise Refused("--html and --suggest do not go together: a page has no rules")
    return html, rules, files


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


def _rules(files, has):
    if len(files) != 1 or not has["statistics"]:
        raise Refused("--suggest wants one file, of CGX_STATS (see --help)")
    return suggest(has["statistics"][0], os.path.basename(files[0]).replace("\n", " "))


def _run(arguments):
    html, rules, files = _arguments(arguments)
    has = {"statistics": [], "timeline": []}
    for path in files:
        _read_one(path, has)
    several = len(has["statistics"]) > 1
    if len(has["statistics"]) > 2 or several and has["timeline"]:
        raise Refused("files of CGX_STATS are of one run, or two alone are compared (see --help)")
    if html is not None and several:
        raise Refused("--html makes a page of one run: give one file of CGX_STATS")
    stats, trace = (has[kind][0] if has[kind] else None for kind in ("statistics", "timeline"))
    if html is not None:
        _write(html, page(stats, trace))
        return
    if rules:
        text = _rules(files, has)
    elif several:
        text = compare(has["statistics"], files, _is_ascii_only(sys.stdout))
    else:
        text = summary(stats, trace, _is_ascii_only(sys.stdout))
    sys.stdout.write(text)
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
