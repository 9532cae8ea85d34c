#!/usr/bin/env python3
# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""usage: coverage.py BUILD REASONS

Which lines of src have run in what was built in BUILD with --enable-coverage: a table by folder and
file, and what has not run, function by function, with the reason that the tables of REASONS (a
Markdown file) give for it. Exits with 1 where less has run than should. A line that is compiled
several times, as those of headers and of the host's kernels are, has run if one of them has.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

LEAST = {"src": 98, "src/codec": 95, "src/policy": 95}  # % of lines

Line = collections.namedtuple("Line", "file number")


def read_counts(notes, top):
    """Of the object with these notes: (line, function, count) of what comes from src."""
    said = subprocess.run(["gcov", "--json-format", "--stdout", notes], check=True, text=True,
                          capture_output=True, cwd=notes.parent).stdout
    counts = []
    for text in said.splitlines():
        data = json.loads(text)
        for file in data["files"]:
            path = os.path.join(data["current_working_directory"], file["file"])
            path = os.path.relpath(os.path.realpath(path), top)
            if path.startswith("src/"):
                counts += [(Line(path, line["line_number"]), line.get("function_name", ""),
                            line["count"]) for line in file["lines"]]
    return counts


def read_build(build, top):
    """Counts and functions of lines."""
    counts, functions = collections.Counter(), {}
    notes = sorted(pathlib.Path(build, "src").resolve().rglob("*.gcno"))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(lambda file: read_counts(file, top), notes):
            for line, function, count in found:
                counts[line] += count
                functions[line] = function or functions.get(line, "")  # one that is inline may have none
    return counts, functions


def read_reasons(path):
    """Rows "| `file` | `function` ... | reason |": reasons by file and function; "all": of a file."""
    reasons = {}
    for row in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        if len(cells) == 3 and cells[0].startswith("`"):
            for function in re.findall(r"`([^`]*)`", cells[1]) or ["all"]:
                reasons[cells[0].strip("`"), function] = cells[2]
    return reasons


def share(lines, counts):
    return 100 * sum(counts[line] > 0 for line in lines) / len(lines)


def print_table(counts):
    """Returns whether all that should have run has."""
    folders = collections.defaultdict(list)
    for line in counts:
        for place in "src", os.path.dirname(line.file), line.file:
            folders[place].append(line)
    for place, lines in sorted(folders.items()):
        least = f"   (at least {LEAST[place]} %)" if place in LEAST else ""
        indent = "    " * min(place.count("/"), 2)
        print(f"{share(lines, counts):6.1f} % of {len(lines):5} lines  {indent}{place}{least}")
    return all(share(folders[place], counts) >= least for place, least in LEAST.items())


def ranges(numbers):
    """1-3 5"""
    found = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return " ".join(f"{a}-{b}" if a < b else f"{a}" for a, b in found)


def print_left(counts, functions, reasons):
    left = collections.defaultdict(list)
    used = set()
    for line in sorted(counts):
        if counts[line] == 0:
            left[line.file, functions[line]].append(line.number)
    unexplained = 0
    print("\nNot run:")
    for (file, function), numbers in left.items():
        keys = [key for key in ((file, function), (file, "all")) if key in reasons]
        used.update(keys)
        unexplained += 0 if keys else len(numbers)
        print(f"{file}:{ranges(numbers)} {function}: {reasons[keys[0]] if keys else '?'}")
    print(f"\n{sum(map(len, left.values()))} lines have not run, {unexplained} of them without a reason")
    for file, function in sorted(set(reasons) - used):
        print(f"has a reason, and has run: {file} {function}")


def main(build, reasons):
    top = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
    counts, functions = read_build(build, top)
    if not any(counts.values()):
        sys.exit(f"coverage.py: nothing in {build} has run with counters")
    is_enough = print_table(counts)
    print_left(counts, functions, read_reasons(reasons))
    sys.exit(0 if is_enough else 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
