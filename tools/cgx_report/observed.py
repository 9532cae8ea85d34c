# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""What CGX_ENABLE=observe has seen: for each large sum what compression would do to it."""

import collections

from . import units, words
from .stats import mean
from .reasons import reason
from .suggest import RULES, condition, is_slower

# A sum as it is formed: bytes and seconds of a call; RELATIVE is the squared error over the squares of the
# sum, None where it is not known.
Row = collections.namedtuple("Row", "width sent relative seconds")

HEAD = ("bits of an element", "sent", "of exact", "relative error", "time")

MEANING = (
    "Compressed: with this run's settings, and the history that they keep. The relative error is the squared error "
    "over the squares of the sum; the error by a step is of elements divided by their history. Times are those of this run on its network, without waits for late ranks. A "
    "rule like 'count=N -> bits=8' gives a sum another width (cgx-rules(5))."
)

# Those for which nothing is said of a sum: it began, or would be compressed.
_PASSING = {"first", "looked_at", "observed"}


class Sum:
    """A large sum of the program: LAYER is None if none of its calls would be compressed."""

    def __init__(self, elements, datatype, layer, kinds):
        self.elements = elements
        self.datatype = datatype
        self.layer = layer
        self.kinds = kinds

    def calls(self, *reasons):
        return sum(kind.calls for kind in self.kinds if kind.reason in reasons)


def sums(stats):
    """Those that would be compressed, in the order of the step; then those that would not."""
    kinds = collections.defaultdict(list)
    for kind in stats.large.kinds:
        kinds[kind.elements, kind.datatype].append(kind)
    found = []
    for layer in stats.layers:
        places = (None, layer.position)
        own = [
            kind
            for kind in kinds[layer.elements, layer.datatype]
            if layer.position is None or kind.position in places
        ]
        found.append(Sum(layer.elements, layer.datatype, layer, own))
    seen = {(one.elements, one.datatype) for one in found}
    return found + [Sum(*key, None, own) for key, own in kinds.items() if own and key not in seen]


def rows(layer):
    """LAYER exact, and as it would be compressed."""
    own = f"{units.bits(layer.bits)}, compressed"
    return [
        Row("32, exact" if layer.datatype == "float32" else "16, exact",
            mean(layer.bytes.plain, layer.compressed), 0, layer.plain_time),
        Row(own, mean(layer.bytes.sent, layer.compressed), layer.relative, layer.time),
    ]


def cells(row, exact):
    """ROW as text, beside that of EXACT sums."""
    return (
        row.width,
        units.size(row.sent),
        units.percent(row.sent, exact.sent),
        units.ratio(row.relative),
        units.seconds(row.seconds),
    )


def title(one, several):
    """SEVERAL: communicators have such sums."""
    size = words.size(one.elements, one.datatype)
    if one.layer and several:
        size = f"{words.communicator(one.layer)}: {size}"
    if one.layer is None:
        return f"{size}: none of {units.counted(one.calls(*{k.reason for k in one.kinds}), 'call')}"
    place = "any place" if one.layer.position is None else f"position={one.layer.position}"
    return f"{size}, {place}: {units.counted(one.layer.compressed, 'call')} would be compressed"


def remarks(stats, one, all_sums):
    """Sentences on ONE: whether it recurs, what looks have shown, and the rule to write."""
    where = condition(one.elements, one.datatype, all_sums)
    lines = []
    if one.layer:
        error = one.layer.error
        step = f"; a quantisation has an error of {units.ratio(error)} by its step"
        lines.append(f"{words.share(stats, one.layer)} of all bytes{step if error is not None else ''}.")
        held = one.calls("held") + one.layer.redone
        lines.append(
            f"It recurs. Looks at the data would have held {units.counted(held, 'call')}."
            if held
            else "It recurs, and looks like gradients."
        )
    for name in sorted({kind.reason for kind in one.kinds} - _PASSING):
        if one.layer and name in ("not_recurring", "held"):
            continue  # before it was known to recur; said above
        line = f"{units.counted(one.calls(name), 'call')} exact, {name}: {reason(name).meaning}"
        if name in RULES:
            line += f" If it is a gradient: {where} -> {RULES[name]}"
        lines.append(line)
    if one.layer and is_slower(one.layer):
        lines.append(f"It is faster exact: {where} -> exact")
    elif one.layer:
        lines.append("No rule is needed.")
    return lines


def keys(all_sums):
    """Elements and datatype of each."""
    return [(one.elements, one.datatype) for one in all_sums]
