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

# Sums of one size, of which at least ten were exact and ten compressed: calls, and the median of
# their seconds.
Compared = collections.namedtuple(
    "Compared", "elements datatype exact exact_median compressed compressed_median"
)

_BYTES = {"float32": 4}


def _total(of):
    items(of, dict)
    return Total(whole(of["calls"]), number(of["bytes"]), number(of["seconds"]))


def _exact(of):
    items(of, dict)
    position = None if of["position"] is None else whole(of["position"])
    names = text(of["datatype"]), text(of["reason"])
    return Exact(whole(of["elements"]), *names, position, whole(of["calls"]), number(of["seconds"]))


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
        self.kinds = [_exact(kind) for kind in items(of["exact_kinds"], list)]
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
