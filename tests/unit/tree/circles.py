# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""usage: circles.py SRC BUILT NM

Draws who includes whom among the files of SRC, and who calls whom among the objects that were BUILT
of them, and prints each circle, with an edge's reason; exits with 1 if there is one. Folders are
drawn too: a folder has the edges of its files. So are units, x.c with x.h.
"""
import glob
import os
import re
import subprocess
import sys


def units(edges):
    """Edges between units, of those between files."""
    for one, other, _ in edges:
        yield re.sub(r"\.[ch]$", "", one), re.sub(r"\.[ch]$", "", other), one + " -> " + other


def includes(src):
    """Edges between files: (file, file, reason)."""
    for path in glob.glob(os.path.join(src, "**", "*.[ch]*"), recursive=True):
        name = os.path.relpath(path, src)
        with open(path, encoding="utf-8") as text:
            for header in re.findall(r'^\s*#\s*include\s*"([^"]+/[^"]+)"', text.read(), re.M):
                yield name, header, "includes it"


def calls(built, src, nm):
    """Edges between the C files that objects were made of."""
    defined, used = {}, []
    for path in glob.glob(os.path.join(built, "**", ".libs", "libcgx*_la-*.o"), recursive=True):
        folder = os.path.relpath(os.path.dirname(os.path.dirname(path)), built)
        name = folder + "/" + os.path.basename(path).split("_la-", 1)[1][:-2] + ".c"
        if not os.path.exists(os.path.join(src, name)):
            continue  # left behind by an earlier build
        symbols = subprocess.run([nm, "-P", path], capture_output=True, text=True, check=True)
        for symbol, kind in (line.split()[:2] for line in symbols.stdout.splitlines()):
            if kind == "U":
                used.append((name, symbol))
            elif kind in "TDBRVC":
                defined[symbol] = name
    for name, symbol in used:
        if symbol in defined:
            yield name, defined[symbol], symbol


def components(edges):
    """Strongly connected parts of more than one node (Tarjan)."""
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in edges.get(node, ()):
            if other not in number:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], number[other])
        if low[node] == number[node]:
            part = stack[stack.index(node):]
            del stack[-len(part):]
            if len(part) > 1:
                found.append(part)

    for node in list(edges):
        if node not in number:
            visit(node)
    return found


def circles(edges):
    graph = {}
    for one, other, reason in edges:
        if one != other:
            graph.setdefault(one, {})[other] = reason
    for part in components(graph):
        for one in part:
            for other in graph[one]:
                if other in part:
                    yield one, other, graph[one][other]


def main():
    src, built, nm = sys.argv[1:]
    called = list(calls(built, src, nm))
    if not called:
        sys.exit("no objects in " + built)
    failed = False
    included = list(includes(src))
    for edges in (included, list(units(included)), called):
        folders = [(a.split("/")[0], b.split("/")[0], a + " -> " + b) for a, b, _ in edges]
        for circle in list(circles(edges)) + list(circles(folders)):
            print("%s -> %s: %s" % circle)
            failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main())
