# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""Numbers as people read them. None stands for one that is not known."""

UNKNOWN = "–"


def count(number):
    return f"{number:,}"


def counted(number, noun):
    """ "1 call", "2 calls"."""
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


def short_count(number):
    """Three digits and a power of ten: 1.23 M."""
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= limit:
            return f"{number / limit:.3g}{unit}"
    return f"{number:.3g}"


def size(number):
    """Bytes."""
    sign, number = ("−", -number) if number < 0 else ("", number)
    if number < 1024:
        return f"{sign}{number:.0f} B"
    for unit in ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB"):
        number /= 1024
        if number < 1000:
            return f"{sign}{number:.{0 if number >= 100 else 1}f} {unit}"
    return f"{sign}{number:.1e} EiB"


def percent(part, whole):
    if not whole:
        return UNKNOWN
    share = 100 * part / whole
    if 0 < share < 0.1:
        return "< 0.1 %"
    if 99.9 < share < 100:
        return "> 99.9 %"
    return f"{share:.{1 if share < 10 or share > 99 else 0}f} %".replace(".0 %", " %")


def ratio(number):
    """A part of something: three digits."""
    if number is None:
        return UNKNOWN
    if number and not 1e-3 <= abs(number) < 1e5:
        return f"{number:.1e}"
    return f"{number:.3g}"


def bits(number):
    return UNKNOWN if number is None else f"{number:.2f}".rstrip("0").rstrip(".")


def seconds(number):
    for limit, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if number >= limit:
            return f"{number / limit:.3g} {unit}" if number < 1000 else f"{number:,.0f} s"
    return "0 s" if number == 0 else f"{number / 1e-9:.3g} ns"
