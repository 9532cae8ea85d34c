# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""What is said in the terminal and on the page alike: sentences, and names of things."""

from . import units
from .stats import gains_from
from .reasons import LOOKS, reason

_ENDS = {
    "MPI_Finalize": "to its end, in MPI_Finalize",
    "MPI_Abort": "until it called MPI_Abort",
    "exit": "until it exited without MPI_Finalize",
}

# What to do about compressed sums that take longer than exact ones.
WHEN_SLOWER = (
    "Inside one node, or on a network that is fast for its processors, exact sums may be faster: set "
    "CGX_ENABLE=0 there. cgx-info --measure says from which size on compression pays."
)

# Characters of a communicator's name before that of a layer.
NAME = 20

# Reasons for which nothing is to be done, however many bytes have them.
_AS_MEANT = {
    "op",
    "type",
    "enable",
    "hint_enable",
    "rule",
    "hint",
    "looked_at",
    "stray",
    "one_rank",
    "observed",
}


def source(stats):
    """Whose figures they are, and of how much of the run."""
    if stats.end is None:
        state = "while it was still running"
    else:
        state = _ENDS.get(stats.end, stats.end)
    return f"Rank {stats.rank} of {stats.ranks}, {state}; libcgxpmpi {stats.version}."


def _observed(stats):
    """What compression would do, of a run with CGX_ENABLE=observe."""
    layers = stats.layers
    calls = sum(layer.compressed for layer in layers)
    if not calls:
        return "Nothing was compressed (CGX_ENABLE=observe), and nothing would be."
    all_calls = units.counted(stats.large.calls, "large sum")
    plain, sent = stats.observed.plain, stats.observed.sent
    return (
        f"Nothing was compressed (CGX_ENABLE=observe). {units.count(calls)} of {all_calls} would be: "
        f"{units.size(sent)} sent instead of {units.size(plain)}, {plain / max(1, sent):.1f} times less; "
        f"a sum takes {units.seconds(sum(layer.seconds for layer in layers) / calls)} instead of "
        f"{units.seconds(sum(layer.plain_seconds for layer in layers) / calls)}."
    )


def verdict(stats):
    """The run in a sentence or two."""
    if stats.observe and stats.exact_calls:
        return _observed(stats)
    if not stats.compressed_calls:
        if not stats.exact_calls:
            return "No call of MPI_Allreduce was made."
        return (
            f"Nothing was compressed: all {units.counted(stats.exact_calls, 'call')} of "
            "MPI_Allreduce were exact."
        )
    plain, sent = stats.bytes.plain, stats.bytes.sent
    sentence = (
        f"{units.percent(stats.compressed_bytes, stats.summed_bytes)} of the bytes that were "
        f"summed were compressed."
    )
    if not plain or not sent:
        return sentence
    if sent > plain:
        return f"{sentence} That took more bytes than it would have taken without."
    return (
        f"{sentence} For these the rank sent {units.size(sent)} instead of {units.size(plain)}: "
        f"{plain / sent:.1f} times less."
    )


def warnings(stats):
    """Lines on what a user should know before all else."""
    lines = []
    failed = sum(layer.failed for layer in stats.layers)
    if failed:
        lines.append(f"{units.counted(failed, 'compressed call')} failed with an MPI error.")
    slower = _slower(stats)
    if slower:
        lines.append(slower)
    for exact in stats.exact:
        if exact.reason not in _AS_MEANT and exact.units > 0.2 * stats.summed_bytes:
            lines.append(
                f"{units.percent(exact.units, stats.summed_bytes)} of the bytes stayed exact: "
                f"{exact.reason}. {reason(exact.reason).advice}"
            )
    return lines


def on_data(stats):
    """Lines on calls that were done twice, and on what looks at the data have found."""
    lines = [f"{name}, {units.counted(n, 'time')}: {LOOKS.get(name, name)}." for name, n in stats.found]
    calls = sum(layer.redone for layer in stats.layers)
    if calls:
        would = "would be" if stats.observe else "was" if calls == 1 else "were"
        lines.append(
            f"{units.counted(calls, 'call')} {would} compressed and then done again exactly, because "
            "of the data: nothing to do."
        )
    return lines


def size(elements, datatype):
    """Of sums, with all digits, as rules want them."""
    return f"{elements} × {datatype}"


def exact_kind(kind):
    """Where in the step, and why."""
    place = "" if kind.position is None else f", position={kind.position}"
    return f"{kind.reason}{place}"


def speed(large):
    """What large sums of one size took, exact and compressed, in a sentence."""
    if not large.compared:
        return (
            "Too few sums of one size were exact, and others compressed, to compare times: give "
            "cgx-report this run and one with CGX_ENABLE=0 (cgx-report PLAIN COMPRESSED)."
        )
    most = large.compared[0]
    return (
        f"A sum of {size(most.elements, most.datatype)} took {units.seconds(most.compressed_median)} "
        f"compressed and {units.seconds(most.exact_median)} exact: medians of "
        f"{units.count(most.compressed)} and {units.count(most.exact)} sums. A run with CGX_ENABLE=0 "
        "and cgx-report PLAIN COMPRESSED tell it better."
    )


def _slower(stats):
    """From as much on as the library's own warning, unless times decided."""
    large = stats.large
    if (
        not large.compared
        or any(exact.reason == "slower" for exact in stats.exact)
        or large.compared[0].compressed_median <= 1.5 * large.compared[0].exact_median
    ):
        return None
    most = large.compared[0]
    least = gains_from(large.compared)
    line = (
        f"Compressed sums of {size(most.elements, most.datatype)} took "
        f"{most.compressed_median / most.exact_median:.2f} times as long as exact ones. {WHEN_SLOWER}"
    )
    if least:
        line += (
            f" Here it pays from {units.count(least)} elements on (CGX_COMPRESSION_MINIMAL_SIZE)."
        )
    return line


def communicator(of):
    """The name of a layer's."""
    name = of.communicator.name
    return name if len(name) <= NAME else name[: NAME - 1] + "…"


def layer(of, with_communicator):
    """A layer's name: its place in the step, and what it is."""
    place = "any place" if of.position is None else f"position={of.position}"
    if of.position is None and of.rule:
        place = f"rule {of.rule}"
    name = f"{place}, {units.short_count(of.elements)} × {of.datatype}"
    return f"{name}, {communicator(of)}" if with_communicator else name


def has_several(layers):
    return len({id(one.communicator) for one in layers}) > 1


def share(stats, of):
    """Of the bytes that were sent."""
    return units.percent(of.bytes.sent, sum(one.bytes.sent for one in stats.layers))


# Why nothing is said of layers, ...
NO_LAYERS = "Nothing was compressed, so there are no layers."
# ... and what the error and the bits of a layer are.
ERROR = (
    "The error is that of a quantisation, by its step: squared, over the squares of what was "
    "quantised, which is divided by its history. Bits follow the data: loud layers take more, quiet "
    "ones fewer, and the first 48 sums up to five more."
)


def step(communicator):
    """What is known of the step."""
    if communicator.evidence == "nothing yet":
        return "No sign yet that its calls recur in steps."
    after = f"after {units.counted(communicator.after, 'large sum')}"
    if communicator.positions:
        return f"Its step has {units.counted(communicator.positions, 'large sum')}; known {after}."
    evidence = f"told by {communicator.evidence}, {after}"
    return f"Its calls recur ({evidence}), at no known place in the step."


def trace_source(trace):
    dropped = sum(rank.dropped for rank in trace.ranks)
    line = f"{units.counted(trace.events, 'event')} of {units.counted(len(trace.ranks), 'rank')}"
    if dropped:
        line += f"; {units.counted(dropped, 'later event')} were dropped: this is how the run began"
    error = max((rank.clock_error for rank in trace.ranks), default=0)
    if error:
        line += f"; clocks may be off by {units.seconds(error)}"
    return line + "."
