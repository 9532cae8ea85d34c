# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""Plots of statistics. Each is a function of the statistics and a width, and gives a drawing or,
where there is nothing to draw, None. Labels stand above what they name, so that they have the whole
width.
"""

from . import units, words
from .reasons import reason
from .stats import largest
from .svg import Drawing, SizeScale, TEXT, axis_below, text_width

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
    _left_out(drawing, layers, bottom + 38)
    return drawing
