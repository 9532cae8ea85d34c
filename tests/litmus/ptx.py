# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""What the memory model of PTX lets small programs do: "ptx.py [--needed] FILE...".

A file is a litmus test as Dartagnan reads it: threads side by side, a row an instruction of each, and what must hold of
the registers at the end. All executions are enumerated: from which store each load reads, and how stores to a
location are ordered. An execution counts if it has the axioms of Lustig, Sahasrabuddhe and Giroux, A Formal Analysis
of the NVIDIA PTX Memory Consistency Model (ASPLOS 2019), as Dartagnan's ptx-v7.5.cat has them for generic memory.
Left out: atomics, fence.sc, branches, deadlocks, values that are not constants, and conditions on memory.

Prints a TAP line a file: whether its condition holds. With --needed also one for each weaker program, whose condition
must not hold: with a release or acquire as relaxed, with a smaller scope, without an awaited flag, or without a barrier.
"""

import itertools
import re
import sys
from collections import namedtuple

Event = namedtuple("Event", "thread place kind order scope location value")  # kind: W R F B
Test = namedtuple("Test", "initial scopes threads condition")
INSTRUCTION = re.compile(
    r"(?:(?P<op>st|ld)\.(?P<order>weak|relaxed|acquire|release)(?:\.(?P<scope>cta|gpu|sys))? (?P<a>\w+), (?P<b>\w+)"
    r"|fence\.acq_rel\.(?P<fence>cta|gpu|sys)|bar\.cta\.sync (?P<barrier>\d+))$")
CONDITION = re.compile(r"(~?)\s*(exists|forall)\s+(.*)", re.S)


def read(text):
    """The test in TEXT. ValueError: it has what is left out."""
    initial, program = re.search(r"\{(.*?)\}(.*)", text, re.S).groups()
    program, *condition = re.split(r"(?=~?\s*(?:exists|forall))", program, maxsplit=1)
    rows = [[cell.strip() for cell in row.split("|")] for row in program.split(";") if row.strip()]
    scopes = [tuple(re.search(r"cta (\d+), *gpu (\d+)", cell).groups()) for cell in rows[0]]
    threads = [[row[i] for row in rows[1:] if i < len(row) and row[i]] for i in range(len(scopes))]
    values = {name: int(value) for name, value in re.findall(r"(?<![\w:])(\w+)\s*=\s*(\d+)", initial)}
    if not condition:
        raise ValueError("no condition")
    return Test(values, scopes, threads, CONDITION.match(condition[0]).groups())


def parse(thread, place, text):
    found = INSTRUCTION.match(text)
    if not found:
        raise ValueError(text)
    part = found.groupdict()
    if part["barrier"]:
        return Event(thread, place, "B", None, "cta", None, part["barrier"])
    if part["fence"]:
        return Event(thread, place, "F", "acq_rel", part["fence"], None, None)
    if part["op"] == "st":
        return Event(thread, place, "W", part["order"], part["scope"], part["a"], int(part["b"]))
    return Event(thread, place, "R", part["order"], part["scope"], part["b"], part["a"])


# ---- relations: sets of pairs ----

def then(*relations):
    result = relations[0]
    for relation in relations[1:]:
        after = {}
        for a, b in relation:
            after.setdefault(a, []).append(b)
        result = {(a, c) for a, b in result for c in after.get(b, ())}
    return result


def closure(relation):
    while True:
        more = relation | then(relation, relation)
        if more == relation:
            return relation
        relation = more


class Program:
    """The events of a test, and what does not depend on an execution."""

    def __init__(self, test):
        self.scopes = test.scopes
        locations = {parse(0, 0, text).location for thread in test.threads for text in thread} - {None}
        self.initial = [Event(-1, i, "W", "weak", None, name, test.initial.get(name, 0))
                        for i, name in enumerate(sorted(locations))]
        self.events = self.initial + [parse(i, j, text) for i, thread in enumerate(test.threads)
                                      for j, text in enumerate(thread)]
        self.same = {(e, e) for e in self.events}
        self.po = {(a, b) for a in self.events for b in self.events
                   if a.thread == b.thread >= 0 and a.place < b.place}
        self.strong = {(a, b) for a in self.events for b in self.events if self.is_morally_strong(a, b)}
        self.barriers = {(a, b) for a in self.events for b in self.events if self.meet(a, b)}
        self.release = {(a, b) for a, b in self.po | self.same if b.kind == "W" and b.order != "weak" and
                        (a.kind == "F" or a.order == "release" and a.location == b.location)}
        self.acquire = {(a, b) for a, b in self.po | self.same if a.kind == "R" and a.order != "weak" and
                        (b.kind == "F" or b.order == "acquire" and a.location == b.location)}

    def includes(self, event, other):
        here, there = self.scopes[event.thread], self.scopes[other.thread]
        return {"cta": here == there, "gpu": here[1] == there[1], "sys": True}[event.scope]

    def is_morally_strong(self, a, b):
        if a == b or a.kind == "B" or b.kind == "B" or (a.location and b.location and a.location != b.location):
            return False
        if (a, b) in self.po or (b, a) in self.po:
            return True
        return "weak" not in (a.order, b.order) and self.includes(a, b) and self.includes(b, a)

    def meet(self, a, b):
        """The same barrier of a block, as often before."""
        def number(event):
            return sum(1 for e in self.events if e[:3] == (event.thread, e.place, "B") and
                       e.value == event.value and e.place < event.place)
        return (a.kind == b.kind == "B" and a.thread != b.thread and a.value == b.value and
                self.scopes[a.thread] == self.scopes[b.thread] and number(a) == number(b))

    def causes(self, rf):
        """Causality order, of events at the same location."""
        sync = self.strong & then(self.release, self.strong & rf, self.acquire)
        step = self.po | self.same
        base = closure(then(step, sync | self.barriers, step)) | self.po
        base = {(a, b) for a, b in base if a.location and a.location == b.location}
        return base | then(self.strong & rf, base)

    def has_order(self, rf):
        """Whether stores can be ordered so that all axioms hold."""
        cause = self.causes(rf)
        read_from = {read: write for write, read in rf}
        for location in {e.location for e in self.initial}:
            writes = [e for e in self.events if e.kind == "W" and e.location == location]
            if not any(self.is_coherent(order, writes, cause, rf, read_from) for order in orders(writes)):
                return False
        return True

    def is_coherent(self, order, writes, cause, rf, read_from):
        location = writes[0].location
        pairs = {(a, b) for a in writes for b in writes if a != b}
        before = {(read, later) for read, write in read_from.items() for earlier, later in order if earlier == write}
        reads = {(a, b) for a, b in rf if a.location == location}
        return (pairs & cause <= order and
                all((a, b) in order or (b, a) in order for a, b in pairs & self.strong) and
                all(a != b for a, b in then(reads | before, cause)))


def orders(writes):
    """All partial orders of WRITES, of which the first is the initial one."""
    pairs = list(itertools.combinations(writes, 2))
    for choice in itertools.product((0, 1, 2), repeat=len(pairs)):
        order = {(a, b) if way == 0 else (b, a) for (a, b), way in zip(pairs, choice) if way < 2}
        order |= {(writes[0], write) for write in writes[1:]}
        if closure(order) == order and all((b, a) not in order for a, b in order):
            yield order


def holds(test):
    program = Program(test)
    negated, quantifier, text = test.condition
    text = re.sub(r"P?(\d+):(\w+)", r"registers[(\1, '\2')]", text).replace("/\\", " and ").replace("\\/", " or ")
    if re.search(r"(?<![\w('])[a-z]\w*(?!\w*[\[(])", re.sub(r"registers\[[^]]*\]| and | or |not", " ", text)):
        raise ValueError(text)
    condition = compile(text.strip(), "condition", "eval")
    reads = [e for e in program.events if e.kind == "R"]
    sources = [[e for e in program.events if e.kind == "W" and e.location == read.location] for read in reads]
    outcomes = set()
    for chosen in itertools.product(*sources):
        registers = {(read.thread, read.value): write.value for read, write in zip(reads, chosen)}
        outcome = bool(eval(condition, {"registers": registers}))  # pylint: disable=eval-used
        if outcome not in outcomes and program.has_order(set(zip(chosen, reads))):
            outcomes.add(outcome)
    return (True in outcomes) != bool(negated) if quantifier == "exists" else False not in outcomes


# ---- what a program needs ----

def replaced(test, thread, place, text):
    threads = [list(rows) for rows in test.threads]
    threads[thread][place:place + 1] = [text] if text else []
    return test._replace(threads=threads)


def weaker(test):
    """Names of weaker programs, and these."""
    for thread, rows in enumerate(test.threads):
        for place, text in enumerate(rows):
            name = f"thread {thread}, {text}"
            if re.search("acquire|release", text):
                yield f"{name}: relaxed", replaced(test, thread, place, re.sub("acquire|release", "relaxed", text))
            if ".sys" in text:
                yield f"{name}: of the GPU", replaced(test, thread, place, text.replace(".sys", ".gpu"))
            awaited = re.match(r"ld\.acquire\.sys (\w+),", text)
            if awaited:
                away = re.sub(rf"P{thread}:{awaited[1]} == \d+ */\\", "", test.condition[2])
                yield f"{name}: none", replaced(test, thread, place, "")._replace(
                    condition=(*test.condition[:2], away))
    for barrier in sorted({text for rows in test.threads for text in rows if text.startswith("bar.")}):
        for scope in sorted(set(test.scopes)):
            threads = [[t for t in rows if t != barrier or test.scopes[i] != scope] for i, rows in
                       enumerate(test.threads)]
            if threads != test.threads:
                yield f"GPU {scope[1]}, {barrier}: none", test._replace(threads=threads)


def main(arguments):
    number = failures = 0
    needed = "--needed" in arguments
    for name in [a for a in arguments if a != "--needed"]:
        with open(name, encoding="utf-8") as file:
            test = read(file.read())
        programs = [("its condition holds", test, True)]
        programs += [(f"{what}: found", other, False) for what, other in weaker(test)] if needed else []
        for what, program, expected in programs:
            number += 1
            good = holds(program) == expected
            failures += not good
            print(f"{'' if good else 'not '}ok {number} - {name.rsplit('/', 1)[-1]}: {what}")
    print(f"1..{number}")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
