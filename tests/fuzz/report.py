# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""cgx-report reads any bytes: it prints a summary and writes a page, or refuses them in one line.

usage: report.py CORPUS                      reads its inputs for cgx-report (replay.c), and prints TAP
       report.py --damage TIMES SEED FILE... reads these files damaged at random, TIMES in all
       report.py --atheris ARGUMENTS...      is led by what code is reached (https://pypi.org/project/atheris);
                                             ARGUMENTS are those of libFuzzer

PYTHONPATH has the modules of cgx-report.
"""

import contextlib
import io
import json
import os
import random
import re
import sys
import traceback
import unittest.mock

WORDS = (
    *("null", "true", "0", "-1", "1e999", "1e-320", "1e308", "NaN", "-Infinity", "9" * 30, "9" * 400),
    *("{}", "[]", "[5]", '""', '"\\ud800"', '"\\u001b[2J"', '"<script>"', "5e-324", "1e200"),
)


class Files:
    """What cgx-report is given: a file to read, and one to write. Memory that has a name."""

    def __init__(self):
        self.source, self.page = os.memfd_create("source"), os.memfd_create("page")

    @staticmethod
    def name(file):
        return f"/proc/self/fd/{file}"

    def put(self, data):
        os.ftruncate(self.source, 0)
        os.pwrite(self.source, data, 0)

    def got(self):
        return os.pread(self.page, os.fstat(self.page).st_size, 0).decode("utf-8")


files = Files()


def run(arguments):
    """The exit status, and what was printed on stdout and stderr."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
    lines = []
    with contextlib.redirect_stdout(out), unittest.mock.patch(
        "os.write", lambda file, line: lines.append((file, line))
    ):
        status = main.main(arguments, "")
    out.flush()
    return status, out.buffer.getvalue().decode("utf-8"), lines


def require(holds, what):
    if not holds:
        raise AssertionError(what)


def is_clean(text):
    """No terminal obeys a character of it."""
    return text.replace("\n", "").isprintable()


def check(data):
    """What holds of any DATA. Returns whether it was read."""
    files.put(data)
    source = files.name(files.source)
    status, out, lines = run([source])
    if status == 0:
        require(out.endswith("\n") and is_clean(out), "a summary is lines of text")
        require(not lines, "what is read is not refused")
        require(not re.search(r"\b(nan|inf)\b", out), "figures are numbers")
    else:
        require(status == 1 and not out, "what is refused is not shown")
        require(len(lines) == 1 and lines[0][0] == 2, "it is refused once")
        line = lines[0][1].decode("utf-8")
        require(re.match(rf"cgx-report: {source} .*\n$", line), "in one line")
        require(is_clean(line), "of text")
    status_too, out, lines_too = run(["--html", files.name(files.page), source])
    require((status_too, lines_too) == (status, lines), "a page is had of what has a summary")
    require(not out, "a page is not printed")
    if status == 0:
        page = files.got()
        require(page.endswith("</html>\n") and is_clean(page), "a page is lines of text")
        require(not re.search(r"<script|\b(nan|inf)\b", page), "and has figures that are numbers")
    for arguments in (["--suggest", source], [source, source]):
        more, out, lines = run(arguments)
        require(more == 1 or status == 0, "rules and comparisons are had of what has a summary")
        require((more == 1) == (not out) == (len(lines) == 1), "or they are refused once")
        require(is_clean(out) and not re.search(r"\b(nan|inf)\b", out), "they are lines of text")
    return status == 0


# ---- damage ----


def places(value):
    """Of all that is in VALUE: an object or array, and its key or index there."""
    found, containers = [], [value] if isinstance(value, (dict, list)) else []
    for container in containers:
        keys = container if isinstance(container, dict) else range(len(container))
        for key in keys:
            found.append((container, key))
            if isinstance(container[key], (dict, list)):
                containers.append(container[key])
    return found


def change_value(data, chance):
    """One value becomes another, is gone, or comes twice; what is not JSON stays as it is."""
    try:
        value = json.loads(data)
        container, key = chance.choice(places(value))
    except (IndexError, RecursionError, ValueError):
        return data
    kind = chance.randrange(6)
    if kind == 0:
        del container[key]
    elif kind == 1:
        other, there = chance.choice(places(value))
        container[key] = json.loads(json.dumps(other[there]))
    elif kind == 2 and isinstance(container, list):
        container.insert(key, json.loads(json.dumps(container[key])))
    elif kind == 2:
        container["\ud800\u001b[2J"] = container.pop(key)
    else:
        container[key] = "\x00here"
    word = chance.choice(WORDS)
    if chance.randrange(4) == 0:
        word = f"{chance.uniform(1, 10)}e{chance.randint(-330, 310)}"
    # Characters of any kind, in no need of an escape, if the chance says so.
    text = json.dumps(value, ensure_ascii=chance.randrange(2) == 0)
    return text.replace('"\\u0000here"', word).encode("utf-8", "surrogatepass")


def change_bytes(data, chance):
    """One byte is dropped, doubled or becomes another; or all from there on is gone."""
    at = chance.randrange(len(data) + 1)
    if chance.randrange(8) == 0:
        return data[:at]
    return data[:at] + bytes([chance.randrange(256)]) * chance.randint(0, 2) + data[at + 1 :]


def damaged(data, chance):
    for _ in range(chance.randint(1, 4)):
        data = (change_bytes if chance.randrange(5) == 0 else change_value)(data, chance)
    return data


def damage(times, seed, paths):
    """Prints how many were read and refused, and what a file was of which something else holds."""
    contents = [open(path, "rb").read() for path in paths]
    chance = random.Random(seed)
    outcomes = {True: 0, False: 0}
    for number in range(times):
        data = damaged(contents[number % len(contents)], chance)
        try:
            outcomes[check(data)] += 1
        except Exception:
            print(f"seed {seed}, number {number}: {data!r}")
            raise
    print(f"{outcomes[True]} were read, {outcomes[False]} refused")
    return 0 if min(outcomes.values()) > 0 else 1


def replay(corpus):
    failed = number = 0
    with open(corpus, encoding="ascii") as file:
        lines = [line.rstrip("\n").split(" ", 2) for line in file]
    for name, text in [line[1:] for line in lines if line[0] == "report"]:
        number += 1
        try:
            check(re.sub(r"\\0(...)", lambda found: chr(int(found[1], 8)), text).encode("latin-1"))
            print(f"ok {number} - {name}")
        except Exception:
            failed = 1
            print(f"not ok {number} - {name}")
            print("# " + traceback.format_exc().replace("\n", "\n# "))
    print(f"1..{number}")
    return failed


def lead(arguments):
    """Half of the inputs are damaged as above, half as libFuzzer does."""

    def mutate(data, most, seed):
        chance = random.Random(seed)
        changed = damaged(data, chance) if chance.randrange(2) == 0 else atheris.Mutate(data, most)
        return changed if len(changed) <= most else data

    atheris.Setup([sys.argv[0], *arguments], check, custom_mutator=mutate)
    atheris.Fuzz()


if sys.argv[1:2] == ["--atheris"]:
    import atheris

    with atheris.instrument_imports(include=["cgx_report"]):
        from cgx_report import main
    lead(sys.argv[2:])
else:
    from cgx_report import main

    if sys.argv[1:2] == ["--damage"]:
        sys.exit(damage(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]))
    sys.exit(replay(sys.argv[1]))
