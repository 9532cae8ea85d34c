# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""What programs sum: lists of steps, a step being a list of calls (count, type, label, position).

Labels: g gradient, n something else (metrics, evaluation), o a pass over weights that must stay
exact, w a late or recurring pass over weights. The position says which part of the model it is,
within the step; -1: none."""

import random

FLOAT32 = 1
MIB = 2**20 // 4  # in elements


def buckets(sizes, cap=25 * MIB, first=MIB):
    """Fused as PyTorch's DistributedDataParallel does it."""
    fused = []
    current = 0
    limit = first
    for size in sizes:
        current += size
        if current >= limit:
            fused.append(current)
            current = 0
            limit = cap
    return fused + ([current] if current else [])


def step(sizes, label="g"):
    return [(size, FLOAT32, label, i) for i, size in enumerate(sizes)]


def one_off(sizes, label="o"):
    return [(size, FLOAT32, label, -1) for size in sizes]


def metric(count):
    return (count, FLOAT32, "n", -1)


def ddp(sizes, steps, rebuild=True, seed=0):
    """Buckets by reversed registration in the first step, then by order of readiness."""
    rng = random.Random(seed)
    registered = sizes[::-1]
    ready = list(registered)
    if not rebuild:
        return [step(buckets(ready))] * steps
    for _ in range(max(2, len(ready) // 20)):
        i = rng.randrange(len(ready) - 1)
        ready[i], ready[i + 1] = ready[i + 1], ready[i]
    ready = ready[1:] + ready[:1]
    first = [(count, FLOAT32, "g", -1) for count in buckets(registered)]
    return [first] + [step(buckets(ready))] * (steps - 1)


def horovod(sizes, steps, backward, jitter, cycle, seed=0, cap=64 * MIB, cost=0.5):
    """Fused by time: every CYCLE ms, what of a BACKWARD pass in ms is ready by then; summing takes
    COST ms for 2^20 elements."""
    rng = random.Random(seed)
    sizes = sizes[::-1]
    n = len(sizes)
    result = []
    for _ in range(steps):
        scale = rng.gauss(1, jitter)
        time = 0
        ready = []
        tick = rng.random() * cycle
        first = 0
        calls = []
        for _ in range(n):
            time += backward / n * max(0.05, rng.gauss(1, jitter)) * scale
            ready.append(time)
        while first < n:
            fused = 0
            i = first
            while i < n and ready[i] <= tick and not (fused and fused + sizes[i] > cap):
                fused += sizes[i]
                i += 1
            if fused:
                calls.append((fused, FLOAT32, "g", first * 1000 + i - first))
                tick += fused / 2**20 * cost
            tick += cycle
            first = i
        result.append(calls)
    return result


def append(steps, calls):
    """CALLS(i) at the end of step i."""
    return [each + calls(i) for i, each in enumerate(steps)]


def insert(steps, rng, calls):
    """CALLS(i) anywhere in step i."""
    result = []
    for i, each in enumerate(steps):
        each = list(each)
        for call in calls(i):
            each.insert(rng.randrange(len(each) + 1), call)
        result.append(each)
    return result


def interleave(rng, first, second):
    """Two libraries on one communicator, each in its own order."""
    first, second, result = list(first), list(second), []
    while first or second:
        if first and (not second or rng.random() < 0.5):
            result.append(first.pop(0))
        else:
            result.append(second.pop(0))
    return result


def write(file, kind, name, steps):
    """A line '= KIND NAME', a line 'count type label position' for each call, '#' after each step."""
    texts = {}
    file.write(f"= {kind} {name}\n")
    for each in steps:
        if id(each) not in texts:
            texts[id(each)] = "".join(["%d %d %s %d\n" % call for call in each]) + "#\n"
        file.write(texts[id(each)])
