# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""What statistics say (cgx-stats(5)): figures, with the names and units that people look for."""

import collections

from .files import Unreadable, items, known, number, read_statistics, text, whole
from .large import LargeSums

VERSIONS = (2, 3, 4)

# Calls that were exact: UNITS are bytes of the process, and elements of a communicator.
Exact = collections.namedtuple("Exact", "reason calls units")


class Bytes:
    """What a rank sent, and what it would have sent uncompressed."""

    def __init__(self, of=None):
        self.sent = number(of["sent"]) if of else 0
        self.plain = number(of["uncompressed"]) if of else 0

    def add(self, other):
        self.sent += other.sent
        self.plain += other.plain


class Counts:
    """Of a layer, or of all that have no layer of their own; with CGX_ENABLE=observe the compressed
    calls are those that would be."""

    def __init__(self, of):
        calls = items(of["calls"], dict)
        observed = items(of["observed"], dict) if "observed" in of else None
        self.compressed = whole(observed["calls"] if observed else calls["compressed"])
        self.plain_seconds = number(observed["exact_seconds"]) if observed else 0
        self.exact = whole(calls["exact"])
        self.redone = whole(calls["redone"])
        self.failed = whole(calls["failed"])
        self.seconds = number(of["seconds"])
        self.bytes = Bytes(items(of["bytes"], dict))
        # Version 2 has it in another place.
        self.relative = known(of["check"]["relative"] if "check" in of else observed and observed["relative"])


class Layer(Counts):
    def __init__(self, of, communicator):
        super().__init__(items(of, dict))
        self.communicator = communicator
        self.position = None if of["position"] is None else whole(of["position"])
        self.rule = whole(of["rule"])
        self.elements = whole(of["elements"])
        self.datatype = text(of["datatype"])
        self.segments = whole(of["segments"])
        # Squared, of a quantisation, relative to what was quantised; earlier versions do not say.
        self.error = known(of.get("estimated_error"))

    def order(self):
        return (self.position is None, self.position or 0, -self.bytes.plain)

    @property
    def bits(self):
        """Sent for an element."""
        width = 32 if self.datatype == "float32" else 16
        return width * self.bytes.sent / self.bytes.plain if self.bytes.plain else None

    @property
    def time(self):
        """Seconds of a compressed call."""
        return self.seconds / self.compressed if self.compressed else 0

    @property
    def plain_time(self):
        """Seconds of an exact call beside one that was observed."""
        return self.plain_seconds / self.compressed if self.compressed else 0


class Communicator:
    def __init__(self, of):
        items(of, dict)
        self.name = text(of["name"]) or "(no name)"
        self.ranks = whole(of["ranks"])
        self.freed = bool(of["freed"])
        step = items(of["step"], dict)
        self.evidence = text(step["evidence"])
        self.after = whole(step["after"])
        self.positions = whole(step["calls"])
        self.held_back = whole(of["held_back"])
        self.layers = [Layer(layer, self) for layer in items(of["layers"], list)]
        self.other = Counts(items(of["other"], dict))


class Stats:
    """What the statistics in FILE say; raises Unreadable."""

    def __init__(self, file):
        of = read_statistics(file)
        if of["cgx_stats"] not in VERSIONS:
            raise Unreadable(
                "has statistics of a version that is not 2, 3 or 4: use the cgx-report of "
                "the library that wrote it"
            )
        try:
            self._fill(of)
        except KeyError as error:
            raise Unreadable(f"is damaged: it lacks {error}") from None
        except (AttributeError, TypeError, ValueError) as error:
            raise Unreadable(f"is damaged: {error}") from None

    def _fill(self, of):
        self.version = text(of["version"])
        self.rank = whole(of["rank"])
        self.ranks = whole(of["ranks"])
        self.end = text(of["end"]) if of.get("end", None) is not None else None
        self.says_end = "end" in of
        # From the first call to when this was written; earlier versions do not say.
        self.seconds = known(of.get("seconds"))
        self._fill_settings(items(of["settings"], dict))
        self.communicators = [Communicator(one) for one in items(of["communicators"], list)]
        self.merged = Counts(items(of["merged"], dict))
        self._fill_process(items(of["process"], dict))

    def _fill_settings(self, of):
        self.base_bits = whole(of["bits"])
        # In earlier versions there was no such mode.
        self.observe = bool(of.get("observe", False))

    def _fill_process(self, of):
        self.compressed_calls = whole(of["compressed_calls"])
        self.exact_calls = whole(of["exact_calls"])
        self.exact_bytes = number(of["exact_bytes"])
        exact = [
            Exact(text(name), whole(counts["calls"]), number(counts["bytes"]))
            for name, counts in items(of["exact"], dict).items()
        ]
        self.exact = sorted(exact, key=lambda one: (-one.units, -one.calls, one.reason))
        self.found = [(text(name), whole(n)) for name, n in items(of.get("found", {}), dict).items()]
        self.bytes = Bytes()
        # What they would be, with CGX_ENABLE=observe.
        self.observed = Bytes()
        # Of the buffers in compressed calls.
        self.compressed_bytes = 0
        for communicator in self.communicators:
            for counts in [*communicator.layers, communicator.other]:
                self._add(counts, communicator.ranks)
        self._add(self.merged, self.ranks)
        # None in files of earlier versions.
        self.large = LargeSums(items(of["large_sums"], dict), self.layers) if "large_sums" in of else None

    def _add(self, counts, ranks):
        if self.observe:
            self.observed.add(counts.bytes)
            return
        self.bytes.add(counts.bytes)
        if ranks > 1:
            self.compressed_bytes += counts.bytes.plain * ranks / (2 * (ranks - 1))

    @property
    def summed_bytes(self):
        return self.compressed_bytes + self.exact_bytes

    @property
    def exact_sent(self):
        """What an uncompressed reduce-scatter and allgather sends of the exact calls."""
        return self.exact_bytes * 2 * (self.ranks - 1) / max(1, self.ranks)

    @property
    def sent(self):
        return self.bytes.sent + self.exact_sent

    @property
    def layers(self):
        """All that were compressed, communicator by communicator in the order of the step."""
        return [
            layer
            for one in self.communicators
            for layer in sorted(one.layers, key=Layer.order)
            if layer.compressed
        ]


def largest(layers, most):
    """Those of LAYERS with the most bytes, in the order that they have."""
    chosen = {id(one) for one in sorted(layers, key=lambda one: -one.bytes.plain)[:most]}
    return [one for one in layers if id(one) in chosen]
