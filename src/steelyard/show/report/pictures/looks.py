"""How the parts of a figure look. Everything grows with the letters."""

from typing import Any

Json = dict[str, Any]

INK, SOFT, NOTE, GRID, AXIS = "#1b2024", "#59626b", "#7a4a00", "#e6e6e1", "#8a8f8c"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")  # as in figures.js
DASHES = {
    "dash": (0, (5, 2.5)), "dot": (0, (1.2, 1.8)), "dashdot": (0, (5, 2, 1.2, 2)), "longdash": (0, (9, 3)),
    "longdashdot": (0, (9, 2.5, 1.2, 2.5)),
}  # fmt: skip
MARKS = {"circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "x": "X", "cross": "P"}
HATCHES = {"/": "//////", ".": "....."}  # of unreliable bars
POINTS = 0.065  # of a pixel of the page, for each point of the letters


def settings(letters: float, serif: bool = False) -> Json:
    """Returns the settings of matplotlib for letters of that size in points."""
    return {
        "font.family": ["STIXGeneral", "DejaVu Sans"] if serif else "sans-serif",
        # The first comes with matplotlib, so that a figure is the same on every machine. Others are for readers of SVG files.
        "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
        "font.size": letters,
        "text.hinting": "none",  # letters have the same room in every format
        "text.parse_math": False,  # names may contain $
        "svg.fonttype": "none",  # text stays text
        "svg.hashsalt": "steelyard",
        "pdf.fonttype": 42,  # publishers refuse type 3
        "axes.edgecolor": AXIS, "axes.linewidth": 0.1 * letters, "axes.spines.top": False, "axes.spines.right": False,
        "axes.grid": True, "axes.grid.axis": "y", "axes.axisbelow": True, "grid.color": GRID, "grid.linewidth": 0.08 * letters,
        "axes.titlesize": 0.85 * letters, "axes.titleweight": "bold", "axes.titlelocation": "left",
        "xtick.color": AXIS, "xtick.labelcolor": INK, "ytick.color": AXIS, "ytick.labelcolor": INK,
        "errorbar.capsize": 0.2 * letters, "hatch.linewidth": 0.07 * letters,
        "legend.frameon": False, "legend.handlelength": 2.6, "legend.columnspacing": 1.4,
    }  # fmt: skip


def colour_of(trace: Json) -> str:
    """Returns the trace's colour on white paper."""
    meta = trace.get("meta", {})
    return INK if meta.get("ink") or meta.get("points") else COLOURS[meta.get("colour", 0) % len(COLOURS)]


def line_of(trace: Json, letters: float) -> Json:
    """Returns the look of a trace's line, which may be none."""
    line = trace.get("line", {})
    dashes = DASHES.get(line.get("dash"), "-")
    if "lines" not in trace.get("mode", "lines") or "band" in trace.get("meta", {}):
        dashes = "none"
    return {"color": colour_of(trace), "linestyle": dashes, "linewidth": line.get("width", 2) * POINTS * letters}


def mark_of(trace: Json, symbol: str, size: float, letters: float) -> Json:
    """Returns the look of a mark of Plotly's name: it is hollow if the name ends in '-open'."""
    hollow, colour = symbol.endswith("-open"), colour_of(trace)
    return {
        "marker": MARKS.get(symbol.removesuffix("-open"), "o"), "markersize": size * POINTS * letters,
        "markerfacecolor": "white" if hollow else colour, "markeredgewidth": 0.12 * letters if hollow else 0,
        "markeredgecolor": colour, "alpha": trace["marker"].get("opacity"),
    }  # fmt: skip
