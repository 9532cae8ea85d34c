# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""The summary in the terminal, of lines up to 100 characters."""

import textwrap

from . import observed, units, words
from .reasons import reason
from .stats import largest
from .trace import STAGES

BAR = 30
LAYERS = 20
SUMS = 10
_EIGHTHS = " ▏▎▍▌▋▊▉"


def _bar(value, most, ascii_only):
    """A bar of up to BAR characters; what is more than nothing is seen."""
    if not most or value <= 0:
        return ""
    eighths = max(1, round(8 * BAR * min(1, value / most)))
    if ascii_only:
        return "#" * max(1, eighths // 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


class Terminal:
    """Collects lines; ASCII_ONLY: for an encoding that has no more."""

    def __init__(self, ascii_only=False):
        self.lines = []
        self.ascii_only = ascii_only

    def line(self, text="", indent=0):
        filled = textwrap.wrap(
            text, 98, initial_indent=" " * indent, subsequent_indent=" " * indent
        )
        self.lines.extend(filled or [""])

    def title(self, text):
        self.lines += ["", text.upper()]

    def bar(self, label, figures, value, most):
        """A row: LABEL, FIGURES, a bar."""
        if len(label) > 38:
            label = label[:37] + "…"
        self.lines.append(
            f"  {label:38} {figures:>26}  {_bar(value, most, self.ascii_only)}".rstrip()
        )

    def text(self):
        text = "\n".join(self.lines) + "\n"
        if self.ascii_only:
            for fancy, plain in (
                ("×", "x"),
                ("–", "-"),
                ("−", "-"),
                ("µ", "u"),
                ("→", "->"),
                ("…", "~"),
                ("“", '"'),
                ("”", '"'),
            ):
                text = text.replace(fancy, plain)
            text = text.encode("ascii", "replace").decode("ascii")
        return text


# ---- statistics ----


def _put_verdict(out, stats):
    out.line(words.verdict(stats))
    for line in words.warnings(stats):
        out.line("! " + line)
    out.line(words.source(stats))


def _put_calls(out, stats):
    out.title("What was summed, in bytes")
    rows = [("compressed", stats.compressed_calls, stats.compressed_bytes)]
    rows += [(f"exact: {one.reason}", one.calls, one.units) for one in stats.exact]
    most = max(number for _, _, number in rows)
    for label, calls, number in rows:
        out.bar(label, f"{units.counted(calls, 'call'):>15} {units.size(number):>10}", number, most)
    for line in words.on_data(stats):
        out.line(line, 2)
    if stats.exact:
        out.title("Why calls were exact, and what to do")
    for one in stats.exact:
        out.line(f"{one.reason}: {reason(one.reason).meaning}", 2)
        out.line(reason(one.reason).advice, 6)


def _put_exact_sums(out, stats):
    """Which sums, so that a rule can be written; the whole of it is in the file."""
    kinds = stats.large.kinds
    if not kinds:
        return
    out.title("Large sums that were exact, each size and reason")
    for kind in kinds[:SUMS]:
        size = words.size(kind.elements, kind.datatype)
        calls = units.counted(kind.calls, "call")
        out.lines.append(f"  {size:30} {calls:>15}  {words.exact_kind(kind)}")
    left = sum(kind.calls for kind in kinds[SUMS:]) + stats.large.others
    if left:
        out.line(f"... and {units.counted(left, 'call')} of others.", 2)
    out.line("cgx-report --suggest prints rules for those that recur.", 2)


def _put_speed(out, stats):
    if not stats.large.compressed.calls:
        return
    out.title("What a large sum took")
    rows = []
    for one in stats.large.compared[:SUMS]:
        label = words.size(one.elements, one.datatype)
        rows.append((f"{label}, exact", one.exact, one.exact_median))
        rows.append((f"{label}, compressed", one.compressed, one.compressed_median))
    for label, calls, seconds in rows:
        figures = f"{units.counted(calls, 'call'):>15} {units.seconds(seconds):>10}"
        out.bar(label, figures, seconds, max(row[2] for row in rows))
    out.line(words.speed(stats.large), 2)


def _put_observed(out, stats):
    """What compression would do to each large sum, with CGX_ENABLE=observe."""
    sums = observed.sums(stats)
    if not sums:
        return
    out.title("What compression would do, in a call on average")
    keys, several = observed.keys(sums), words.has_several(stats.layers)
    for one in sums[:LAYERS]:
        out.line(observed.title(one, several), 2)
        table = observed.rows(one.layer) if one.layer else []
        for row in [observed.HEAD] * bool(table) + [observed.cells(row, table[0]) for row in table]:
            out.lines.append("      " + "{:20}{:>12}{:>12}{:>18}{:>12}".format(*row))
        for line in observed.remarks(stats, one, keys):
            out.line(line, 6)
    if len(sums) > LAYERS:
        out.line(f"... and {len(sums) - LAYERS} more sums.", 2)
    out.line(observed.MEANING, 2)


def _put_bytes(out, stats):
    if not stats.bytes.plain:
        return
    out.title("What the rank sent in compressed calls")
    rows = (
        ("uncompressed it would have been", stats.bytes.plain),
        ("sent", stats.bytes.sent),
    )
    for label, number in rows:
        out.bar(label, f"{units.size(number):>10}", number, max(row[1] for row in rows))
    saved = stats.bytes.plain - stats.bytes.sent
    out.line(f"Saved: {units.size(saved)}, {units.percent(saved, stats.bytes.plain)}.", 2)


def _put_layer(out, stats, layer):
    bits = f"{units.bits(layer.bits)} bits"
    out.bar(words.layer(layer, False), bits, min(layer.bits or 0, 8), 8)
    out.line(
        f"error {units.ratio(layer.error)}; {words.share(stats, layer)} of the bytes; "
        f"sent {units.size(layer.bytes.sent)} of {units.size(layer.bytes.plain)} in "
        f"{units.counted(layer.compressed, 'call')}",
        6,
    )


def _put_layers(out, stats):
    out.title("Layers, in bits of an element")
    shown = largest(stats.layers, LAYERS)
    if not shown:
        out.line(words.NO_LAYERS, 2)
    for communicator in stats.communicators:
        own = [layer for layer in shown if layer.communicator is communicator]
        if own:
            ranks = units.counted(communicator.ranks, "rank")
            out.line(f"{communicator.name}, {ranks}: {words.step(communicator)}", 2)
        for layer in own:
            _put_layer(out, stats, layer)
    if len(stats.layers) > LAYERS:
        out.line(f"... and {len(stats.layers) - LAYERS} layers of fewer bytes.", 2)
    if any(layer.error is not None for layer in shown):
        out.line(words.ERROR, 2)


# ---- the timeline ----


def _put_times(out, trace):
    out.title("Time by stage, on average of the ranks")
    ranks = max(1, len(trace.ranks))
    compressed = sum(rank.compressed.seconds for rank in trace.ranks) / ranks
    exact = sum(rank.exact.seconds for rank in trace.ranks) / ranks
    calls = sum(rank.compressed.events for rank in trace.ranks) // ranks
    exacts = sum(rank.exact.events for rank in trace.ranks) // ranks
    for label, number, seconds in (
        ("compressed calls", calls, compressed),
        ("exact calls", exacts, exact),
    ):
        out.bar(
            label,
            f"{units.counted(number, 'call'):>15} {units.seconds(seconds):>10}",
            seconds,
            max(compressed, exact),
        )
    stages = {
        name: sum(rank.stages[name].seconds for rank in trace.ranks) / ranks
        for name in trace.stages()
    }
    if stages:
        out.line("Of the compressed calls:", 2)
    for name, seconds in stages.items():
        out.bar(STAGES[name][0], f"{units.seconds(seconds):>10}", seconds, max(stages.values()))
    out.line(
        "Two slices are worked on by turns, so that stages may add up to more than the calls.", 2
    )
    out.line(words.trace_source(trace), 2)


def summary(stats, trace, ascii_only=False):
    """Of what there is: either may be None."""
    out = Terminal(ascii_only)
    if stats and stats.observe:
        for put in (_put_verdict, _put_observed, _put_calls, _put_exact_sums):
            put(out, stats)
    elif stats:
        for put in (
            _put_verdict,
            _put_calls,
            _put_exact_sums,
            _put_bytes,
            _put_speed,
            _put_layers,
        ):
            put(out, stats)
    if trace:
        _put_times(out, trace)
    return out.text()
