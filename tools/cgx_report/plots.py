# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""Plots of statistics and of a timeline. Each is a function of these and a width, and gives a drawing or,
where there is nothing to draw, None. Labels stand above what they name, so that they have the whole
width.
"""

from . import units, words
from .reasons import reason
from .stats import largest
from .svg import Drawing, Scale, SizeScale, TEXT, axis_below, text_width
from .trace import STAGES

BAR = 14
ROW = BAR + TEXT + 14
LAYERS = 24
EDGE = 8

# Up to this width words are left out.
NARROW = 600


def _size_axis(drawing, scale, top, bottom, name):
    ticks = [(tick, units.size(tick).replace(".0 ", " ")) for tick in scale.ticks(70)]
    axis_below(drawing, scale, ticks, top, bottom, name)


def _row(drawing, top, label, figures):
    """The text of a row: LABEL, and FIGURES at the other end where there is room for them."""
    room = drawing.width - 2 * EDGE
    drawing.text(drawing.width - EDGE, top + TEXT, figures, "figure", "end")
    drawing.fitted(EDGE, top + TEXT, label, room - text_width(figures) - 12)


def _exact(name, width):
    """What is exact for the reason of NAME; in a wide drawing with what that means."""
    return f"exact: {name}" + (f" – {reason(name).meaning}" if width > NARROW else "")


def calls(stats, width):
    """What was summed: compressed, and exact by reason."""
    if not stats.summed_bytes:
        return None
    drawing = Drawing(width, "Bytes that were summed, compressed and exact by reason")
    rows = [("compressed", stats.compressed_calls, stats.compressed_bytes, "compressed")]
    rows += [(_exact(one.reason, width), one.calls, one.units, "exact") for one in stats.exact]
    scale = SizeScale(max(row[2] for row in rows), EDGE, width - 2 * EDGE)
    bottom = ROW * len(rows)
    _size_axis(drawing, scale, 0, bottom, "bytes of the buffers")
    for number, (label, count, size, style) in enumerate(rows):
        top = ROW * number
        share = units.percent(size, stats.summed_bytes)
        _row(drawing, top, label, f"{units.counted(count, 'call')}, {units.size(size)}, {share}")
        drawing.rect(
            EDGE,
            top + TEXT + 6,
            max(1.5, scale(size) - EDGE),
            BAR,
            style,
            f"{label}: {units.counted(count, 'call')}, {units.size(size)}, {share}",
        )
    return drawing


def bytes_sent(stats, width):
    """Of all compressed calls and of the largest layers: sent, and uncompressed."""
    layers = stats.layers
    if not stats.bytes.plain:
        return None
    drawing = Drawing(width, "Bytes sent in compressed calls, beside those of uncompressed calls")
    several = words.has_several(layers)
    rows = [("all compressed calls", stats.bytes, None)]
    if len(layers) > 1:
        rows += [
            (words.layer(layer, several), layer.bytes, layer.bits)
            for layer in largest(layers, LAYERS)
        ]
    scale = SizeScale(max(max(row[1].plain, row[1].sent) for row in rows), EDGE, width - 2 * EDGE)
    bottom = ROW * len(rows)
    _size_axis(drawing, scale, 0, bottom, "bytes that this rank sent")
    for number, (label, of, bits) in enumerate(rows):
        top = ROW * number
        tip = f"{label}: sent {units.size(of.sent)}; {units.size(of.plain)} uncompressed"
        figures = f"{units.size(of.sent)} of {units.size(of.plain)}"
        _row(drawing, top, label, figures if bits is None else f"{units.bits(bits)} bits, {figures}")
        drawing.rect(EDGE, top + TEXT + 6, scale(of.plain) - EDGE, BAR, "plain", tip)
        drawing.rect(EDGE, top + TEXT + 6, max(1.5, scale(of.sent) - EDGE), BAR, "compressed", tip)
    if len(layers) > LAYERS:
        left = f"… and {len(layers) - LAYERS} layers of fewer bytes"
        drawing.text(EDGE, bottom + 38 + TEXT, left, "muted")
    return drawing


# ---- the timeline ----

RANKS = 16
SLICES = 16


def _time_axis(drawing, scale, top, bottom, name):
    """In one unit for all ticks."""
    factor, unit = next(
        (
            (factor, unit)
            for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs"))
            if scale.most * factor >= 1
        ),
        (1e9, "ns"),
    )
    ticks = [(tick, f"{tick * factor:.6g} {unit}") for tick in scale.ticks(44)]
    axis_below(drawing, scale, ticks, top, bottom, name)


def _stacked(width, label, rows, name):
    """ROWS: a label, and seconds by stage."""
    drawing = Drawing(width, label)
    scale = Scale(max(sum(stages.values()) for _, stages in rows), EDGE, width - 2 * EDGE)
    _time_axis(drawing, scale, 0, ROW * len(rows), name)
    for number, (label, stages) in enumerate(rows):
        top = ROW * number
        _row(drawing, top, label, units.seconds(sum(stages.values())))
        before = 0
        for stage, seconds in stages.items():
            drawing.rect(
                scale(before),
                top + TEXT + 6,
                scale(before + seconds) - scale(before),
                BAR,
                STAGES[stage][1],
                f"{STAGES[stage][0]}: {units.seconds(seconds)}",
            )
            before += seconds
    return drawing


def stages(trace, width):
    """Time by stage, a bar for each rank."""
    there = trace.stages()
    rows = [
        (
            f"rank {rank.rank}, {units.counted(rank.compressed.events, 'call')}",
            {stage: rank.stages[stage].seconds for stage in there if stage in rank.stages},
        )
        for rank in trace.ranks
        if rank.stages
    ][:RANKS]
    return (
        _stacked(width, "Time by stage, rank by rank", rows, "time of all calls") if rows else None
    )


def slices(trace, width):
    """Mean time by stage, a bar for each slice."""
    numbers = sorted({number for number, _ in trace.slices})[:SLICES]
    rows = []
    for number in numbers:
        found = {
            stage: trace.slices[number, stage]
            for stage in STAGES
            if (number, stage) in trace.slices
        }
        rows.append(
            (
                f"slice {number}",
                {stage: kind.seconds / kind.events for stage, kind in found.items()},
            )
        )
    return (
        _stacked(width, "Mean time by stage, slice by slice", rows, "mean time in a call")
        if rows
        else None
    )


def example(trace, width):
    """One call: what each rank did when, in a row for each slot."""
    call = trace.example.call
    ranks = [rank for rank in trace.ranks if rank.spans]
    if not call or not ranks:
        return None
    begin = min(span.begin for rank in ranks for span in rank.spans)
    end = max(span.end for rank in ranks for span in rank.spans)
    drawing = Drawing(width, "One call: stages over time, rank by rank")
    left = EDGE + 48
    scale = Scale(end - begin, left, width - left - EDGE)
    slots = [(rank, slot) for rank in ranks for slot in sorted({span.slot for span in rank.spans})]
    row = BAR + 8
    tops = {}
    top = 0
    for rank, slot in slots:
        if slot == min(span.slot for span in rank.spans):
            drawing.text(EDGE, top + TEXT, f"rank {rank.rank}")
            top += TEXT + 4
        tops[rank.rank, slot] = top
        drawing.text(EDGE, top + TEXT, f"slot {slot}", "muted")
        top += row
    _time_axis(drawing, scale, 0, top + 4, "time from the first work of the call")
    for rank in ranks:
        for span in rank.spans:
            x = scale(span.begin - begin)
            length = scale(span.end - begin) - x
            drawing.rect(
                x,
                tops[rank.rank, span.slot],
                length,
                BAR,
                STAGES[span.stage][1],
                f"slice {span.slice}, {STAGES[span.stage][0]}: "
                f"{units.seconds(span.end - span.begin)}",
            )
            if length > text_width(str(span.slice)) + 6 and STAGES[span.stage][1] != "wait":
                drawing.text(
                    x + length / 2,
                    tops[rank.rank, span.slot] + 11,
                    str(span.slice),
                    f"on-{STAGES[span.stage][1]}",
                    "middle",
                )
    return drawing
