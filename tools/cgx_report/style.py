# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""The style sheet of the page. Colours are told apart with any colour vision (after Okabe and Ito),
and are never all that tells things apart."""

_LIGHT = {
    "ground": "#ffffff",
    "card": "#f5f7f9",
    "text": "#1b1f24",
    "muted": "#57606a",
    "grid": "#d8dee4",
    "compressed": "#0b62a8",
    "plain": "#c3d3e2",
    "exact": "#8a5a00",
    "limit": "#b3261e",
    "encode": "#0072b2",
    "scatter": "#c44d00",
    "scatter-inside": "#e69f00",
    "sum": "#00805e",
    "gather": "#8b3a8b",
    "gather-inside": "#cc79a7",
    "decode": "#56b4e9",
    "wait": "#9aa4ae",
    "ink": "#ffffff",
    "warning": "#fff4e0",
}
_DARK = {
    "ground": "#0f1419",
    "card": "#1a2129",
    "text": "#e6edf3",
    "muted": "#9aa7b4",
    "grid": "#303a45",
    "compressed": "#4aa3df",
    "plain": "#33475a",
    "exact": "#d9a440",
    "limit": "#ff7b72",
    "encode": "#4aa3df",
    "scatter": "#ff7f3f",
    "scatter-inside": "#f0b93a",
    "sum": "#2bc796",
    "gather": "#c77dd6",
    "gather-inside": "#eaa9cc",
    "decode": "#9bd7ff",
    "wait": "#6e7b88",
    "ink": "#0f1419",
    "warning": "#3a2d12",
}

_RULES = """
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); line-height: 1.5;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif; }
main { max-width: 960px; margin: 0 auto; padding: 16px; }
h1 { font-size: 1.5rem; margin: 8px 0; }
h2 { font-size: 1.15rem; margin: 32px 0 4px; padding-top: 16px; border-top: 1px solid var(--grid); }
h3 { font-size: 1rem; margin: 20px 0 4px; }
h1, h2, h3 { overflow-wrap: anywhere; }
p { margin: 6px 0; max-width: 72ch; overflow-wrap: anywhere; }
.verdict { font-size: 1.1rem; }
.note, .source { color: var(--muted); font-size: 0.9rem; }
.warning { background: var(--warning); border-left: 4px solid var(--limit); padding: 6px 12px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(160px, 1fr)); gap: 12px;
  margin: 16px 0; padding: 0; }
.tiles div { background: var(--card); border-radius: 8px; padding: 10px 14px; }
.tiles dt { color: var(--muted); font-size: 0.85rem; }
.tiles dd { margin: 0; font-size: 1.5rem; font-weight: 600; overflow-wrap: anywhere; }
figure { margin: 12px 0; }
svg { display: block; width: 100%; height: auto; }
svg.narrow { max-width: 560px; margin: 0 auto; }
svg.wide { display: none; }
@media (min-width: 820px) { svg.wide { display: block; } svg.narrow { display: none; } }
text { font-size: 12px; fill: var(--text); paint-order: stroke; stroke: var(--ground);
  stroke-width: 4px; stroke-linejoin: round; }
text.muted { fill: var(--muted); }
text.figure { fill: var(--muted); font-variant-numeric: tabular-nums; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 16px; list-style: none; padding: 0; margin: 8px 0;
  font-size: 0.85rem; }
.legend li { display: flex; align-items: center; gap: 6px; }
.key { flex: none; width: 14px; height: 14px; border-radius: 2px; display: inline-block; }
dl.reasons { margin: 8px 0; }
dl.reasons dt { font-weight: 600; margin-top: 12px; overflow-wrap: anywhere; }
dl.reasons dt span { font-weight: 400; color: var(--muted); }
dl.reasons dd { margin: 0 0 0 16px; max-width: 72ch; }
dl.reasons dd span { white-space: nowrap; }
code { font-family: ui-monospace, "Liberation Mono", monospace; font-size: 0.95em;
  overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85rem; }
th, td { text-align: left; padding: 4px 12px 4px 0; border-bottom: 1px solid var(--grid);
  white-space: nowrap; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
summary { cursor: pointer; color: var(--muted); font-size: 0.9rem; }
.grid { stroke: var(--grid); stroke-width: 1; }
"""

_FILLED = (
    "compressed",
    "plain",
    "exact",
    "encode",
    "scatter",
    "scatter-inside",
    "sum",
    "gather",
    "gather-inside",
    "decode",
    "wait",
)


def _variables(colours):
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


def style():
    light, dark = _variables(_LIGHT), _variables(_DARK)
    filled = [f".{name} {{ fill: var(--{name}); background: var(--{name}); }}" for name in _FILLED]
    filled += [
        "text.on-encode, text.on-scatter, text.on-sum, text.on-gather"
        " { fill: var(--ink); stroke: none; }",
        "text.on-scatter-inside, text.on-gather-inside, text.on-decode"
        " { fill: #0f1419; stroke: none; }",
    ]
    return (
        f":root {{ color-scheme: light dark; {light} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n{_RULES}"
        + "\n".join(filled)
        + "\n"
    )
