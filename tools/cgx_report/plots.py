# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""Plots of statistics. Each is a function of the statistics and a width, and gives a drawing or,
where there is nothing to draw, None. Labels stand above what they name, so that they have the whole
width.
"""

from . import units, words
from .reasons import reason
from .stats import largest
from .svg import Drawing, LogScale, Scale, SizeScale, TEXT, axis_below, axis_left, text_width

BAR = 14
ROW = BAR + TEXT + 14
LAYERS = 24
EDGE = 8

# Up to this width words are left out.
NARROW = 600


def _left_out(drawing, layers, top):
    if len(layers) > LAYERS:
        drawing.text(
            EDGE, top + TEXT, f"… and {len(layers) - LAYERS} layers of fewer bytes", "muted"
        )
        top += TEXT + 10
    return top


def _size_axis(drawing, scale, top, bottom, name):
    ticks = [(tick, units.size(tick).replace(".0 ", " ")) for tick in scale.ticks(70)]
    axis_below(drawing, scale, ticks, top, bottom, name)


def _count_width(most):
    return text_width(units.count(round(most)))


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
    """Of all compressed calls and of the largest layers: sent, at base width, and uncompressed."""
    layers = stats.layers
    if not stats.bytes.plain:
        return None
    drawing = Drawing(width, "Bytes sent in compressed calls, beside those of uncompressed calls")
    several = words.has_several(layers)
    rows = [("all compressed calls", stats.bytes)]
    if len(layers) > 1:
        rows += [(words.layer(layer, several), layer.bytes) for layer in largest(layers, LAYERS)]
    scale = SizeScale(max(max(row[1].plain, row[1].sent) for row in rows), EDGE, width - 2 * EDGE)
    bottom = ROW * len(rows)
    _size_axis(drawing, scale, 0, bottom, "bytes that this rank sent")
    for number, (label, of) in enumerate(rows):
        top = ROW * number
        tip = (
            f"{label}: sent {units.size(of.sent)}; {units.size(of.base)} at {stats.base_bits} bits; "
            f"{units.size(of.plain)} uncompressed"
        )
        _row(drawing, top, label, f"{units.size(of.sent)} of {units.size(of.plain)}")
        drawing.rect(EDGE, top + TEXT + 6, scale(of.plain) - EDGE, BAR, "plain", tip)
        drawing.rect(EDGE, top + TEXT + 6, max(1.5, scale(of.sent) - EDGE), BAR, "compressed", tip)
        drawing.line(scale(of.base), top + TEXT + 4, scale(of.base), top + TEXT + BAR + 8, "base")
    _left_out(drawing, layers, bottom + 38)
    return drawing


def _cell(bits):
    """The class of a width."""
    return "w32" if bits > 8.5 else f"w{max(1, min(8, round(bits)))}"


def _strip(drawing, scale, top, layer):
    """The widths of LAYER over steps."""
    for number, change in enumerate(layer.changes):
        following = layer.changes[number + 1] if number + 1 < len(layer.changes) else None
        begin, end = scale(change.step), scale(following.step if following else layer.end)
        # Between the first and the last changes there may be some that were not kept.
        lost = layer.all_changes > len(layer.changes) and number == len(layer.changes) // 2 - 1
        if change.bits is None or lost:
            drawing.rect(begin, top, end - begin, BAR + 4, "unknown", "widths that were not kept")
            continue
        bits = units.bits(change.bits)
        tip = f"{bits} bits from step {change.step} on: {change.widths}"
        drawing.rect(begin, top, end - begin, BAR + 4, _cell(change.bits), tip)
        if end - begin > text_width(bits) + 6:
            drawing.text(
                (begin + end) / 2, top + BAR - 1, bits, f"on-{_cell(change.bits)}", "middle"
            )


def widths(stats, width):
    """Strips of colour: the mean width of each layer over steps."""
    layers = [layer for layer in stats.layers if layer.changes]
    if not layers:
        return None
    drawing = Drawing(width, "Bits to an element of each layer, over steps")
    several = words.has_several(layers)
    shown = largest(layers, LAYERS)
    scale = Scale(max(layer.end for layer in shown), EDGE, width - 2 * EDGE)
    row = ROW + 4
    bottom = row * len(shown)
    ticks = [
        (tick, units.count(round(tick)))
        for tick in scale.ticks(_count_width(scale.most), whole=True)
    ]
    placed = any(layer.position is not None for layer in shown)
    name = "steps" if placed else "compressed calls of the layer"
    axis_below(drawing, scale, ticks, 0, bottom, name)
    for number, layer in enumerate(shown):
        figures = f"now {units.bits(layer.bits)} bits"
        _row(drawing, row * number, words.layer(layer, several), figures)
        _strip(drawing, scale, row * number + TEXT + 6, layer)
    _left_out(drawing, layers, bottom + 38)
    return drawing


# ---- errors ----

_PLOT = 180


def _log_range(values):
    found = [value for value in values if value]
    return (min(found + [1]), max(found + [1])) if found else None


def has_errors(communicator):
    return any(choice.over_budget for choice in communicator.choices)


def errors(communicator, width):
    """The error over the budget, the mean of the steps after each choice of widths."""
    choices = communicator.choices
    limits = _log_range([choice.over_budget for choice in choices])
    if not limits or not has_errors(communicator):
        return None
    drawing = Drawing(width, "Squared error at each choice of widths, over its budget")
    left = 52
    across = Scale(max(choice.step for choice in choices), left, width - left - EDGE)
    up = LogScale(limits[0] / 1.5, limits[1] * 1.5, TEXT + EDGE + _PLOT, -_PLOT)
    ticks = [
        (tick, units.count(round(tick)))
        for tick in across.ticks(_count_width(across.most), whole=True)
    ]
    axis_below(drawing, across, ticks, TEXT + EDGE, TEXT + EDGE + _PLOT, "steps")
    axis_left(drawing, up, up.ticks(8), left, width - EDGE)
    drawing.line(left, up(1), width - EDGE, up(1), "limit")
    drawing.text(left, TEXT, "squared error, relative; logarithmic", "muted")
    known = [choice for choice in choices if choice.over_budget]
    points = [(across(choice.step), up(choice.over_budget)) for choice in known]
    drawing.path(points, "line-budget")
    for choice, (x, y) in zip(known, points):
        cause = ", chosen since the error had grown" if choice.guard else ""
        figure = f"{units.ratio(choice.over_budget)} over the budget"
        drawing.dot(x, y, "budget", f"step {choice.step}: {figure}{cause}")
    return drawing


def layer_errors(stats, width):
    """The same of each layer, at the last choice."""
    layers = [layer for layer in stats.layers if layer.over_budget]
    limits = _log_range([layer.over_budget for layer in layers])
    if not limits:
        return None
    drawing = Drawing(width, "Squared error of each layer, over its budget")
    several = words.has_several(layers)
    shown = largest(layers, LAYERS)
    scale = LogScale(limits[0] / 1.5, limits[1] * 1.5, 2 * EDGE, width - 4 * EDGE)
    bottom = ROW * len(shown)
    axis_below(drawing, scale, scale.ticks(width // 70), 0, bottom, "squared error, over its budget")
    drawing.line(scale(1), 0, scale(1), bottom, "limit")
    for number, layer in enumerate(shown):
        top = ROW * number
        figure = f"{units.ratio(layer.over_budget)} of budget"
        _row(drawing, top, words.layer(layer, several), figure)
        drawing.dot(scale(layer.over_budget), top + TEXT + 14, "budget", figure)
    _left_out(drawing, layers, bottom + 38)
    return drawing
