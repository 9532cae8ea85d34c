# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause
"""usage: mpiexec -n RANKS python -m cgxpmpi [OPTION ...] train.py [ARGUMENT ...]

Runs a Python program with libcgxpmpi preloaded; OPTIONs are those of cgxrun, which starts it. In place of
train.py, "-m MODULE" runs a module, and anything else is a command for cgxrun.
"""

import os
import sys

from cgxpmpi import cgxrun

# Options of cgxrun that a value follows.
VALUES = ("--bits", "--buffers", "--first", "--log", "--rules", "--stats")


def interpreter():
    """This Python, with the options that it was started with ahead of -m cgxpmpi."""
    words = getattr(sys, "orig_argv", [])
    words = words[: len(words) - len(sys.argv) + 1]
    return [sys.executable, *(words[1:-2] if words[-2:] == ["-m", "cgxpmpi"] else [])]


def command(words):
    """The command of cgxrun for WORDS, which follow "python -m cgxpmpi"."""
    first = 0
    while first < len(words) and words[first].startswith("--") and words[first] != "--":
        first += 2 if words[first] in VALUES else 1
    options, program = words[:first], words[first:]
    if program[:1] == ["--"]:
        program = program[1:]
    if program and (program[0] in ("-m", "-c") or program[0].endswith(".py")):
        program = interpreter() + program
    return [cgxrun(), *options, *(["--", *program] if program else [])]


def main():
    """Becomes cgxrun."""
    words = command(sys.argv[1:])
    try:
        os.execv(words[0], words)
    except OSError as error:
        sys.exit(f"cgxpmpi: {words[0]} cannot be started: {error.strerror}")


main()
