# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""Large sums of floats: which were exact, and what exact and compressed ones took."""

import collections

from .files import items, number, text, whole

Total = collections.namedtuple("Total", "calls bytes seconds")

# Exact sums of one kind; POSITION in the step is None where it is not known.
Exact = collections.namedtuple("Exact", "elements datatype reason position calls seconds")

# Sums of one size: calls and seconds of exact and of compressed ones.
Size = collections.namedtuple(
    "Size", "elements datatype exact exact_seconds compressed compressed_seconds"
)

_BYTES = {"float64": 8, "float32": 4}

# The first sums of a communicator wait for ranks that begin later, and for connections.
_UNSETTLED = "first"


def _total(of):
    items(of, dict)
    return Total(whole(of["calls"]), number(of["bytes"]), number(of["seconds"]))


def _exact(of):
    items(of, dict)
    position = None if of["position"] is None else whole(of["position"])
    names = text(of["datatype"]), text(of["reason"])
    return Exact(whole(of["elements"]), *names, position, whole(of["calls"]), number(of["seconds"]))


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
        self.kinds = [_exact(kind) for kind in items(of["exact_kinds"], list)]
        self.kinds.sort(key=lambda kind: -kind.calls * kind.elements)
        self.others = whole(items(of["exact_others"], dict)["calls"])
        self.settled = [kind for kind in self.kinds if kind.reason != _UNSETTLED]
        self.sizes = _sizes(self.kinds, layers)
        self.settled_sizes = _sizes(self.settled, layers)

    @property
    def seconds(self):
        return self.compressed.seconds + self.exact.seconds

    @property
    def calls(self):
        return self.compressed.calls + self.exact.calls

    @property
    def instead(self):
        """Seconds that the compressed sums would have taken as exact ones, as those that there were
        took for each byte; None where there were no exact or no compressed ones."""
        seconds = sum(kind.seconds for kind in self.settled)
        size = sum(kind.calls * kind.elements * _BYTES.get(kind.datatype, 2) for kind in self.settled)
        if not seconds or not size or not self.compressed.calls:
            return None
        return seconds / size * self.compressed.bytes


def mean(seconds, calls):
    """None of no calls."""
    return seconds / calls if calls else None


def gains_from(sizes):
    """The least number of elements from which on compressed sums take less time in all sizes that
    were summed both ways; None where the largest do not."""
    least = None
    for one in sorted(sizes, key=lambda one: -one.elements):
        if not one.exact or not one.compressed:
            continue
        if one.compressed_seconds / one.compressed >= one.exact_seconds / one.exact:
            break
        least = one.elements
    return least
