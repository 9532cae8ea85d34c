# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""What a timeline says: time by rank, stage and slice, and one call of many as an example."""

import collections

from .files import Timeline, Unreadable, items, number, signed, text, whole

# In the order of a call; the name of an event of CGX_TRACE, in few words, and its colour.
STAGES = {
    "encode": ("encode", "encode"),
    "wait for the encoder": ("wait for the encoder", "wait"),
    "reduce-scatter inside the node": ("reduce-scatter, inside nodes", "scatter-inside"),
    "reduce-scatter between nodes": ("reduce-scatter, between nodes", "scatter"),
    "sum": ("sum", "sum"),
    "allgather between nodes": ("allgather, between nodes", "gather"),
    "allgather inside the node": ("allgather, inside nodes", "gather-inside"),
    "decode": ("decode", "decode"),
    "wait for the last work": ("wait for the last work", "wait"),
}

# Slices that are told apart, ranks of the example, its events, and calls that it is chosen from.
SLICES = 64
EXAMPLE_RANKS = 8
EXAMPLE_EVENTS = 2000
CANDIDATES = 4096

Call = collections.namedtuple("Call", "begin end elements slices sent")
Span = collections.namedtuple("Span", "slot slice stage begin end")


class Kind:
    """How many events there were, and how long they took."""

    def __init__(self):
        self.events = 0
        self.seconds = 0.0

    def add(self, seconds):
        self.events += 1
        self.seconds += seconds


class Rank:
    def __init__(self, about):
        items(about, dict)
        self.rank = whole(about["rank"])
        self.dropped = whole(about["dropped"])
        self.host = text(about["host"])
        self.clock_error = 0.0
        # Seconds from its clock to that of the first rank; None until its calls are known.
        self.shift = None
        self.compressed = Kind()
        self.exact = Kind()
        self.undone = 0
        self.sent = 0
        self.stages = collections.defaultdict(Kind)
        # Of the example: whether it is shown of this rank, the rank's part, and what was done.
        self.is_shown = False
        self.call = None
        self.spans = []
        # Of its first thread: the ends of the first calls, and the first compressed ones.
        self.ends = []
        self.calls = []

    def follow(self, first, known):
        """Brings its clock to that of the rank FIRST. Ranks of one host have one clock; KNOWN are the
        shifts of hosts. A sum ends on all ranks at about the same time."""
        if self.host not in known:
            apart = sorted(theirs - mine for theirs, mine in zip(first.ends, self.ends))
            known[self.host] = shift = apart[len(apart) // 2] if apart else 0
            off = sorted(abs(one - shift) for one in apart)
            self.clock_error = off[len(off) // 2] if off else 0
        self.shift = known[self.host]


class Example:
    """One call, typical of the largest, as the ranks have seen it."""

    def __init__(self):
        self._candidates = []
        self.call = None

    def offer(self, call):
        if len(self._candidates) < CANDIDATES:
            self._candidates.append(call)

    def choose(self):
        """The median one of those with most slices and, of these, most elements."""
        if self.call or not self._candidates:
            return
        most = max((call.slices, call.elements) for call in self._candidates)
        alike = sorted(
            (call for call in self._candidates if (call.slices, call.elements) == most),
            key=lambda call: call.end - call.begin,
        )
        self.call = alike[len(alike) // 2]
        self._candidates = []

    def overlap(self, call):
        return min(call.end, self.call.end) - max(call.begin, self.call.begin)


class Trace:
    """What timelines say, of one rank each or, by earlier versions, of all; raises Unreadable."""

    def __init__(self):
        self.ranks = []
        # Of all ranks: by the number of a slice and the name of a stage.
        self.slices = collections.defaultdict(Kind)
        self.example = Example()
        self.events = 0
        self._of = {}
        self._first = None
        self._hosts = {}

    def add(self, file):
        """Takes the timeline in FILE too."""
        timeline = Timeline(file)
        try:
            about = items(timeline.head["otherData"], dict)
            self.library = text(about["library"])
            if not self.library.startswith("libcgxpmpi"):
                raise ValueError("another program's")
            ranks = [Rank(rank) for rank in items(about["ranks"], list)]
        except (KeyError, ValueError):
            raise Unreadable("is not a timeline of libcgxpmpi") from None
        for rank in ranks:
            if rank.rank in self._of:
                raise Unreadable(f"has rank {rank.rank}, which another file has too")
            self._of[rank.rank] = rank
            rank.is_shown = len(self.ranks) < EXAMPLE_RANKS
            self.ranks.append(rank)
        self._first = self._first or next(iter(ranks), None)
        self.ranks.sort(key=lambda rank: rank.rank)
        self._row = None
        for event in timeline:
            try:
                self._take(event)
            except (KeyError, TypeError, ValueError):
                raise Unreadable("is damaged: what is in its events is not of libcgxpmpi") from None
        self._end_calls()

    def _end_calls(self):
        """The calls of a rank's first thread come before what is done in its slots."""
        rank = self._of.get(self._row[0]) if self._row else None
        if not rank or rank.shift is not None:
            return
        rank.follow(self._first, self._hosts)
        self.example.choose()
        if self.example.call:
            rank.call = self._nearest(rank)

    def _nearest(self, rank):
        """Its part of the example, or None."""
        moved = [call._replace(begin=call.begin + rank.shift, end=call.end + rank.shift) for call in rank.calls]
        call = max(moved, key=self.example.overlap, default=None)
        return call if call and self.example.overlap(call) > 0 else None

    def _take(self, event):
        if event["ph"] != "X":
            return
        rank = self._of[event["pid"]]
        name, arguments = event["name"], event["args"]
        begin, seconds = signed(event["ts"]) * 1e-6, number(event["dur"]) * 1e-6
        row = event["pid"], event["tid"]
        if row != self._row:
            self._end_calls()
            self._row = row
            if event["tid"] != 0 and rank.shift is None:
                self._end_calls()
        begin += rank.shift or 0
        if name in ("compressed call", "exact call") and event["tid"] == 0 and len(rank.ends) < CANDIDATES:
            rank.ends.append(begin + seconds)
        self.events += 1
        if name == "compressed call":
            self._take_call(rank, begin, seconds, event["tid"], arguments)
        elif name == "exact call":
            rank.exact.add(seconds)
        elif name in STAGES:
            rank.stages[name].add(seconds)
            if "slice" in arguments:
                self._take_slice(rank, name, begin, seconds, arguments)

    def _take_call(self, rank, begin, seconds, thread, arguments):
        call = Call(
            begin,
            begin + seconds,
            whole(arguments["count"]),
            whole(arguments["slices"]),
            whole(arguments["bytes sent"]),
        )
        rank.compressed.add(seconds)
        rank.sent += call.sent
        if arguments["outcome"] != "done":
            rank.undone += 1
        elif thread == 0 and rank is self._first:
            self.example.offer(call)
        if thread == 0 and len(rank.calls) < CANDIDATES:
            rank.calls.append(call)

    def _take_slice(self, rank, name, begin, seconds, arguments):
        number_of_slice = whole(arguments["slice"])
        slot = whole(arguments["slot"])
        if number_of_slice < SLICES:
            self.slices[number_of_slice, name].add(seconds)
        call = rank.call or self.example.call
        if (
            call
            and rank.is_shown
            and len(rank.spans) < EXAMPLE_EVENTS
            and call.begin <= begin
            and begin + seconds <= call.end
        ):
            rank.spans.append(Span(slot, number_of_slice, name, begin, begin + seconds))

    def stages(self):
        """The stages that there were, in the order of a call."""
        return [name for name in STAGES if any(name in rank.stages for rank in self.ranks)]
