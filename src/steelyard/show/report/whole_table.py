"""Differences between two runs in plain words, and the table of classes and benchmarks, for a screen of 80 columns."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rich.text import Text

from steelyard.compare.compared_sides import Total
from steelyard.compare.measuring_again import write_command, write_run
from steelyard.compare.runs import Row, RunComparison
from steelyard.compare.wholes import Whole
from steelyard.model import Parameters, Run
from steelyard.model.units import duration, percent
from steelyard.model.words import find_words, plural
from steelyard.show.report.call_styles import STYLE
from steelyard.show.report.changes import (
    DOUBLE,
    MOST_FACTOR,
    state_smallest,
    write_change,
    write_factor,
    write_smallest,
    write_span,
)
from steelyard.show.report.lines import cut, fit, heading, pad
from steelyard.show.report.machine_table import head_differences
from steelyard.statistics.results import cases

MOST_DIFFERENCES = 5
TIME, SPAN, CALL, SMALLEST, AGAIN = 7, 16, 11, 6, 9  # columns
LONG = 600.0  # seconds from which a duration in the table has whole minutes

NOTE = (
    "time: of b, relative to a, in these runs. finds: the smallest difference that this comparison finds. in turn: the "
    "duration of a measurement in turn that finds less."
)

AnyTotal = TypeVar("AnyTotal", Whole, Total)


@dataclass(frozen=True, kw_only=True)
class _Difference:
    name: str
    subject: str
    call: str
    ratio: float
    low: float
    high: float
    ending: str = ""


def list_differences(comparison: RunComparison, width: int) -> list[Text]:
    """Returns at most `MOST_DIFFERENCES` differences that are certain, the largest first: classes, benchmarks, single cases."""
    wholes = select_certain((*comparison.classes, *comparison.wholes))
    said: set[tuple[str, str]] = {(name, w.call) for w in wholes for name in (w.name, *w.members[:1])}
    differences = [
        _Difference(name=w.name, subject=name_total(w), call=w.call, ratio=w.ratio, low=w.low, high=w.high)
        for w in wholes
    ]
    differences += _cases(comparison.rows, said)
    if not differences:
        words = cut(_could_find(comparison), width, 2)
        return [*heading(head_differences(comparison.machines, False)), *map(Text, words)]
    ordered = sorted(differences, key=lambda d: -abs(math.log(d.ratio)))
    said_of = [
        (
            d.call,
            [f"{of}: b is {write_difference(d.call, d.ratio, d.low, d.high)}.{d.ending}" for of in (d.subject, d.name)],
        )
        for d in ordered[:MOST_DIFFERENCES]
    ]
    head = heading(head_differences(comparison.machines, True))
    return [*head, *number_differences(said_of, len(ordered) - len(said_of), width)]


def number_differences(differences: Iterable[tuple[str, Sequence[str]]], more: int, width: int) -> list[Text]:
    """Returns the lines of differences (call, sentences of which the first fitting one is shown), and how many are left out."""
    lines = []
    for number, (call, sentences) in enumerate(differences, 1):
        first, *rest = fit(sentences, width - 2, 2)
        lines += [Text.assemble(f"{number} ", (first, STYLE[call])), *(Text(f"  {line}") for line in rest)]
    return [*lines, Text(f"  and {plural(more, 'further difference')}", style="dim")] if more > 0 else lines


def _could_find(comparison: RunComparison) -> str:
    """Returns a sentence on the smallest differences that would have been found; "" if even large ones would not."""
    tables = (("class", comparison.classes), ("benchmark", comparison.wholes))
    noun, wholes = next(((noun, table) for noun, table in tables if table), ("", ()))
    ends = [w.smallest for w in wholes if w.smallest < MOST_FACTOR - 1]
    return state_smallest(ends, noun) if ends else ""


def select_certain(totals: Iterable[AnyTotal]) -> list[AnyTotal]:
    """Returns the certain differences of classes and benchmarks, without a benchmark that is the only one of its class."""
    certain = [t for t in totals if t.call in ("SLOWER", "FASTER")]
    told = {(t.members[0], t.call) for t in certain if len(t.members) == 1}
    return [t for t in certain if (t.name, t.call) not in told]


def name_total(t: Whole | Total) -> str:
    """Returns the name of a class with its benchmark or their number, or of a benchmark with the number of its cases."""
    of = plural(t.cases, "case") if not t.members else t.members[0]
    of = plural(len(t.members), "benchmark") if len(t.members) > 1 else of
    return f"{t.name} ({of}{', disturbed' if t.disturbed else ''})"


def _cases(rows: Iterable[Row], said: set[tuple[str, str]]) -> Iterable[_Difference]:
    """Yields the greatest difference of each benchmark and direction that does not differ as a whole."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.call in ("SLOWER", "FASTER") and row.time_ratio and (row.benchmark, row.call) not in said:
            groups.setdefault((row.benchmark, row.call), []).append(row)
    for members in groups.values():
        row = min(members, key=lambda r: (bool(r.disturbed), bool(r.unsettled), -abs(math.log(r.time_ratio or 1))))
        conditions = write_parameters(row.parameters)
        mark = " DISTURBED" if row.disturbed else " UNSETTLED" if row.unsettled else ""
        name = f"{row.benchmark} {row.kernel}{mark}"
        subject = f"{name} ({conditions})" if conditions else name
        ending = f" [and {plural(len(members) - 1, 'more case')}]" if len(members) > 1 else ""
        low, high = time_span(row)
        ratio = row.time_ratio or 1.0
        yield _Difference(name=name, subject=subject, call=row.call, ratio=ratio, low=low, high=high, ending=ending)


def time_span(row: Row) -> tuple[float, float]:
    """Returns the interval of the ratio of times of a compared case, for any metric."""
    low, high = row.low or 1.0, row.high or 1.0
    inverse = row.a is not None and row.a.better == "higher"
    return (1 / high, 1 / low) if inverse else (low, high)


def write_parameters(parameters: Parameters) -> str:
    """Returns the parameters of a case in words, without usual values."""
    kept = {k: v for k, v in parameters.items() if cases.USUAL.get(k) != v and k != "toolchain"}
    return ", ".join(find_words(name, value) or f"{name.replace('_', ' ')} {value}" for name, value in kept.items())


def title_case(kernel: str, metric: str, parameters: Parameters) -> str:
    """Returns the kernel, the metric and the parameters of a case in words."""
    name, conditions = ", ".join(filter(None, (kernel, metric.replace("_", " ")))), write_parameters(parameters)
    return f"{name} ({conditions})" if conditions else name


def write_difference(call: str, ratio: float, low: float, high: float) -> str:
    """Returns for example 'slower, with 11 % more time (6 to 17 %)', or 'faster, with 0.31 (0.28 to 0.35) times the time'."""
    word = call.lower()
    if abs(math.log(ratio)) >= DOUBLE:
        low_text, text, high_text = map(write_factor, (low, ratio, high))
        return f"{word}, with {text} ({low_text} to {high_text}) times the time"
    sign = 1 if ratio > 1 else -1
    ends = sorted(sign * (end - 1) for end in (low, high))
    more = "more" if ratio > 1 else "less"
    return f"{word}, with {percent(abs(ratio - 1))} {more} time ({100 * ends[0]:.0f} to {percent(ends[1])})"


# --------------------------------------------------------------------------- the table


def list_wholes(comparison: RunComparison, width: int, room: int) -> list[Text]:
    """Returns the table of classes and benchmarks in at most `room` lines: certain calls first, then the largest effects."""
    if not comparison.wholes or room < 4:
        return []
    order = {"SLOWER": 0, "FASTER": 0, "UNCLEAR": 1, "SAME": 2}
    benchmarks = sorted(comparison.wholes, key=lambda w: (order[w.call], -abs(math.log(w.ratio))))
    every = [*comparison.classes, *benchmarks]
    left = width - TIME - SPAN - CALL - SMALLEST - AGAIN
    title = "Classes (benchmarks in them)" if comparison.classes else "Benchmark as a whole"
    names = (("time", TIME), ("95 % interval", SPAN))
    head = "".join(pad(name, columns, True) for name, columns in names)
    head += f"  {pad('b is', CALL - 2)}{pad('finds', SMALLEST, True)}{pad('in turn', AGAIN, True)}"
    lines = [Text(), Text.assemble((pad(title, left), "bold"), (head, "dim"))]
    note = NOTE + (" *: with disturbed launches." if any(w.disturbed for w in every) else "")
    below = [Text(line, style="dim") for line in cut(note, width, 3)]
    shown = every[: room - len(lines) - len(below) - (len(every) > room - len(lines) - len(below))]
    lines += [_line(w, left) for w in shown]
    if len(every) > len(shown):
        lines.append(Text(f"and {plural(len(every) - len(shown), 'more benchmark')} with --all", style="dim"))
    return [*lines, *below]


def _line(w: Whole, left: int) -> Text:
    name = f"{w.name} ({len(w.members)})" if w.members else w.name
    text = Text(pad(cut(name, left - 1, 1)[0], left), style="bold" if w.members else "")
    text.append(pad(write_change(w.ratio), TIME, True))
    text.append(f" {pad(write_span(w), SPAN - 1, True)}")
    text.append(f"  {pad(w.call.lower() + ('*' if w.disturbed else ''), CALL - 2)}", STYLE[w.call])
    text.append(pad("" if w.call in ("FASTER", "SLOWER") else write_smallest(w.smallest), SMALLEST, True))
    return text.append(pad(_brief_duration(w.seconds) if w.seconds else "", AGAIN, True))


def _brief_duration(seconds: float) -> str:
    if seconds >= LONG:
        return duration(60 * round(seconds / 60)).replace(" min", "m").replace(" h", "h")
    return duration(round(seconds)).replace(" min", "m").replace(" s", "s")


# --------------------------------------------------------------------------- what would decide


def list_commands(comparison: RunComparison, runs: tuple[Run, Run], width: int) -> list[Text]:
    """Returns the command that decides the UNCLEAR benchmark with the largest effect, with its duration and that of all."""
    unclear = [w for w in comparison.wholes if w.call == "UNCLEAR" and w.seconds]
    if not unclear:
        return []
    first = max(unclear, key=lambda w: abs(math.log(w.ratio)))
    words = (
        f"To decide {first.name}, measure both in turn ({duration(round(first.seconds or 0.0))} on a quiet machine). "
    )
    if len(unclear) > 1:
        total = duration(60 * math.ceil(sum(w.seconds or 0.0 for w in unclear) / 60))
        words += f"All {len(unclear)} benchmarks that are UNCLEAR take {total}."
    a, b = (write_run(run.id, run.path) for run in runs)
    command = write_command(a, b, first.members or (first.name,), first.rounds)
    return [Text(), *(Text(line) for line in cut(words, width, 3)), *write_lines(command, width)]


def write_lines(command: str, width: int) -> list[Text]:
    """Returns a command with options --only on one line, or on two lines if it is too long."""
    parts = command.partition(" --only ") if len(command) > width - 2 else (command, "", "")
    lines = [parts[0]] if not parts[1] else [f"{parts[0]} \\", f"  --only {parts[2]}"]
    return [Text(f"  {line}", style="bold") for line in lines]
