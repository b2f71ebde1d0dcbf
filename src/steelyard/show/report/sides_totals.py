"""The calls of classes and benchmarks for any number of sides, in a table that fits 80 columns."""

import math
from collections.abc import Iterable, Sequence

from rich.text import Text

from steelyard.compare.compared_sides import NOT_JUDGED, CaseDifference, SidesComparison, Total
from steelyard.model.words import plural
from steelyard.show.report.call_styles import STYLE, name_call
from steelyard.show.report.changes import write_change, write_smallest, write_smallest_range
from steelyard.show.report.lines import column, cut, pad

MOST_SIDES = 20  # that a screen names
GRID = 3  # sides whose calls stand in columns; those of more sides are listed for each call
COLUMN = 20
CALLS = ("SLOWER", "FASTER", "SAME", "UNCLEAR", NOT_JUDGED)


def list_totals(comparison: SidesComparison, width: int, room: int | None) -> list[Text]:
    """Returns the tables of classes and benchmarks in at most `room` lines, benchmarks with certain differences first."""
    classes: dict[str, dict[str, Total]] = {}
    benchmarks: dict[str, dict[str, Total]] = {}
    for other in comparison.others:
        for t in other.classes:
            classes.setdefault(t.name, {})[other.letter] = t
        for t in other.benchmarks:
            benchmarks.setdefault(t.name, {})[other.letter] = t
    if not benchmarks:
        return []
    ordered = [*classes.items(), *sorted(benchmarks.items(), key=lambda item: _rank(item[1].values()))]
    letters = [o.letter for o in comparison.others]
    grid = len(letters) <= GRID
    note = (
        "Change of the time against a, in these runs. After unclear and same: the smallest difference that this comparison "
        "finds."
    )
    note += " *: with disturbed launches." if any(t.disturbed for _, of in ordered for t in of.values()) else ""
    below = [Text(line, style="dim") for line in cut(note, width, 2)]
    head = Text("Class, benchmark" if classes else "Benchmark", style="bold")
    if grid:
        head.pad_right(width - COLUMN * len(letters) - len(head))
        head.append("".join(pad(letter, COLUMN, True) for letter in letters), "dim")
    lines = [Text(), head]
    left = len(ordered)
    for name, of in ordered:
        block = _grid_line(name, of, letters, width) if grid else _list_lines(name, of, width)
        last = 0 if left == 1 else 1
        if room is not None and len(lines) + len(block) + last + len(below) > room:
            break
        lines += block
        left -= 1
    if left == len(ordered):
        return []
    if left:
        lines.append(
            Text(f"and {plural(left, 'more line')} with --all" if grid else f"and {left} more with --all", style="dim")
        )
    return [*lines, *below]


def _rank(totals: Iterable[Total]) -> tuple[int, float]:
    of = list(totals)
    certain = [t for t in of if t.call in ("SLOWER", "FASTER")]
    order = 0 if certain else 1 if any(t.call == "UNCLEAR" for t in of) else 2
    return order, -max(measure_effect(t) for t in certain or of)


def _name(name: str, of: dict[str, Total]) -> str:
    members = max(len(t.members) for t in of.values())
    return f"{name} ({members})" if members else name


def _grid_line(name: str, of: dict[str, Total], letters: Sequence[str], width: int) -> list[Text]:
    left = width - COLUMN * len(letters)
    text = Text(pad(cut(_name(name, of), left - 1, 1)[0], left))
    for letter in letters:
        if letter in of:
            t = of[letter]
            words = f"{write_change(t.ratio)} {_word(t)}"
            text.append(column(words, COLUMN), STYLE.get(t.call, "dim"))
        else:
            text.append(pad("–", COLUMN, True), "dim")
    return [text]


def _word(t: Total) -> str:
    mark = "*" if t.disturbed else ""
    if t.call == NOT_JUDGED:
        return "(no call)"
    needs = t.call in ("SAME", "UNCLEAR") and t.smallest is not None
    return t.call.lower() + mark + (f" {write_smallest(t.smallest or 0.0)}" if needs else "")


def _list_lines(name: str, of: dict[str, Total], width: int) -> list[Text]:
    """Returns a line for each call: the sides that have it, with the change of their time or the smallest difference."""
    lines = [Text(cut(_name(name, of), width, 1)[0], style="bold")]
    label = 1 + max(len(name_call(t.call)) for t in of.values())
    for call in CALLS:
        having = {letter: t for letter, t in of.items() if t.call == call}
        if not having:
            continue
        if call in ("SAME", "UNCLEAR"):
            ends = [t.smallest or 0.0 for t in having.values()]
            words = f"{write_letters(list(having))} ({write_smallest_range(ends)})"
        else:
            ordered = sorted(having.items(), key=lambda item: -measure_effect(item[1]))
            words = ", ".join(
                f"{letter} {write_change(t.ratio)}{'*' if t.disturbed else ''}"
                for letter, t in ordered[: MOST_SIDES + 1]
            )
        first, *rest = cut(words.replace(" %", "\u00a0%"), width - label - 2, 2)
        lines.append(Text.assemble("  ", (pad(name_call(call), label), STYLE.get(call, "dim")), first))
        lines += (Text(f"{'':{label + 2}}{line}") for line in rest)
    return lines


def measure_effect(d: Total | CaseDifference) -> float:
    """Returns the absolute logarithm of the ratio of times."""
    return abs(math.log(d.ratio))


def write_letters(letters: Sequence[str]) -> str:
    """Returns 'b, d–g': three and more consecutive letters as a range."""
    runs: list[list[str]] = []
    for letter in letters:
        if runs and _number(letter) == _number(runs[-1][-1]) + 1:
            runs[-1].append(letter)
        else:
            runs.append([letter])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


def _number(letter: str) -> int:
    """Returns the place of a letter in a, b … z, aa, ab …"""
    place = 0
    for one in letter:
        place = 26 * place + ord(one) - ord("a") + 1
    return place
