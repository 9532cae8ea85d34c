# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""What statistics say (cgx-stats(5)): figures, with the names and units that people look for."""

import collections

from .files import Unreadable, items, known, number, read_statistics, text, whole

VERSION = 4

# Calls that were exact, and the bytes of their buffers.
Exact = collections.namedtuple("Exact", "reason calls units")


# ---- large sums ----

Total = collections.namedtuple("Total", "calls bytes seconds")

# Exact sums of one kind; POSITION in the step is None where it is not known.
Kind = collections.namedtuple("Kind", "elements datatype reason position calls seconds")

# Sums of one size: calls and seconds of exact and of compressed ones.
Size = collections.namedtuple(
    "Size", "elements datatype exact exact_seconds compressed compressed_seconds"
)

# Sums of one size, of which at least ten were exact and ten compressed: calls, and the median of
# their seconds.
Compared = collections.namedtuple(
    "Compared", "elements datatype exact exact_median compressed compressed_median"
)

_BYTES = {"float32": 4}


def _total(of):
    items(of, dict)
    return Total(whole(of["calls"]), number(of["bytes"]), number(of["seconds"]))


def _kind(of):
    items(of, dict)
    position = None if of["position"] is None else whole(of["position"])
    names = text(of["datatype"]), text(of["reason"])
    return Kind(whole(of["elements"]), *names, position, whole(of["calls"]), number(of["seconds"]))


def _compared(of):
    items(of, dict)
    exact, compressed = items(of["exact"], dict), items(of["compressed"], dict)
    return Compared(
        whole(of["elements"]),
        text(of["datatype"]),
        whole(exact["calls"]),
        number(exact["median"]),
        whole(compressed["calls"]),
        number(compressed["median"]),
    )


def _sizes(kinds, layers):
    """By size, the most bytes first."""
    sums = collections.defaultdict(lambda: [0, 0, 0, 0])
    for kind in kinds:
        row = sums[kind.elements, kind.datatype]
        row[0] += kind.calls
        row[1] += kind.seconds
    for layer in layers:
        row = sums[layer.elements, layer.datatype]
        row[2] += layer.compressed + layer.redone + layer.failed
        row[3] += layer.seconds
    sizes = [Size(*key, *row) for key, row in sums.items()]
    sizes.sort(key=lambda one: -one.elements * (one.exact + one.compressed))
    return [one for one in sizes if one.exact + one.compressed]


class LargeSums:
    """What the statistics of a process say of them, in OF; LAYERS are those of all communicators."""

    def __init__(self, of, layers):
        self.compressed = _total(of["compressed"])
        self.exact = _total(of["exact"])
        self.kinds = [_kind(kind) for kind in items(of["exact_kinds"], list)]
        self.kinds.sort(key=lambda kind: -kind.calls * kind.elements)
        self.others = whole(items(of["exact_others"], dict)["calls"])
        self.sizes = _sizes(self.kinds, layers)
        # The most compressed bytes first.
        self.compared = [_compared(size) for size in items(of["sizes"], list)]
        self.compared.sort(key=lambda one: -one.compressed * one.elements * _BYTES.get(one.datatype, 2))

    @property
    def seconds(self):
        return self.compressed.seconds + self.exact.seconds

    @property
    def calls(self):
        return self.compressed.calls + self.exact.calls


def mean(seconds, calls):
    """None of no calls."""
    return seconds / calls if calls else None


def gains_from(compared):
    """The least number of elements from which on compressed sums take less time; None where the
    largest do not."""
    least = None
    for one in sorted(compared, key=lambda one: -one.elements):
        if one.compressed_median >= one.exact_median:
            break
        least = one.elements
    return least


# ---- all sums ----


class Bytes:
    """What a rank sent, and what it would have sent uncompressed."""

    def __init__(self, of):
        self.sent = number(of.get("sent", 0))
        self.plain = number(of.get("uncompressed", 0))


class Layer:
    """With CGX_ENABLE=observe the compressed calls are those that would be."""

    def __init__(self, of, communicator):
        calls = items(items(of, dict)["calls"], dict)
        observed = items(of["observed"], dict) if "observed" in of else None
        self.compressed = whole(observed["calls"] if observed else calls["compressed"])
        self.plain_seconds = number(observed["exact_seconds"]) if observed else 0
        self.relative = known(observed["relative"]) if observed else None
        self.redone = whole(calls["redone"])
        self.failed = whole(calls["failed"])
        self.seconds = number(of["seconds"])
        self.bytes = Bytes(items(of["bytes"], dict))
        self.communicator = communicator
        self.position = None if of["position"] is None else whole(of["position"])
        self.rule = whole(of["rule"])
        self.elements = whole(of["elements"])
        self.datatype = text(of["datatype"])
        self.bits = known(of["bits"])
        # Squared, of a quantisation, relative to what was quantised.
        self.error = known(of["estimated_error"])

    def order(self):
        return (self.position is None, self.position or 0, -self.bytes.plain)

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
        step = items(of["step"], dict)
        self.evidence = text(step["evidence"])
        self.after = whole(step["after"])
        self.positions = whole(step["calls"])
        self.layers = [Layer(layer, self) for layer in items(of["layers"], list)]


class Stats:
    """What the statistics in FILE say; raises Unreadable."""

    def __init__(self, file):
        of = read_statistics(file)
        if of["cgx_stats"] != VERSION:
            raise Unreadable(
                f"has statistics of a version that is not {VERSION}: use the cgx-report of "
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
        self.end = None if of["end"] is None else text(of["end"])
        # From the first call to when this was written.
        self.seconds = number(of["seconds"])
        self.observe = bool(items(of["settings"], dict)["observe"])
        self.communicators = [Communicator(one) for one in items(of["communicators"], list)]
        process = items(of["process"], dict)
        self.compressed_calls = whole(process["compressed_calls"])
        self.exact_calls = whole(process["exact_calls"])
        self.exact_bytes = number(process["exact_bytes"])
        exact = [
            Exact(text(name), whole(counts["calls"]), number(counts["bytes"]))
            for name, counts in items(process["exact"], dict).items()
        ]
        self.exact = sorted(exact, key=lambda one: (-one.units, -one.calls, one.reason))
        self.found = [(text(name), whole(n)) for name, n in items(process["found"], dict).items()]
        large = items(process["large_sums"], dict)
        self.large = LargeSums(large, self.layers)
        self.bytes = Bytes(items(large["compressed"], dict))
        # What they would be, with CGX_ENABLE=observe.
        self.observed = Bytes(items(large["observed"], dict) if self.observe else {})
        # Of the buffers in compressed calls.
        self.compressed_bytes = self.large.compressed.bytes

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
