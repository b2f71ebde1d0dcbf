"""Compares whole machines, each at its best use: one value of each side for each quantity, whatever threads and sizes it took.

The comparison of equal cases leaves out what only one side has: of a machine with more cores, all that uses them. Each pair of
sides is judged on its own, so that a further side changes no call between two others.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from steelyard.compare.best_programs import find_best_programs
from steelyard.compare.case_calls import CaseCalls
from steelyard.compare.compared_sides import NOT_JUDGED, MachineCell, MachineFigure, SideCall
from steelyard.compare.full_nodes import count_workers
from steelyard.compare.like import has_variant
from steelyard.compare.quantities import GROWING, QUANTITIES, Reading, find_span, is_between_nodes, make_reading, read
from steelyard.compare.side import Side
from steelyard.model import UNCHANGED, Scalar
from steelyard.model.words import in_words
from steelyard.statistics.results.cases import USUAL
from steelyard.statistics.samples.launches import CONFIDENCE

# Quantities of a data sheet, and what measures the same.
SHEET = "sheet_"
MEASURED = {f"{SHEET}peak": "peak", f"{SHEET}bandwidth": "triad"}
NO_CALLS: Mapping[str, CaseCalls] = {}
SMALLEST = 0.015  # relative difference of the speed up to which two machines are equal for a user


def compare_machines(
    sides: Sequence[Side], letters: Sequence[str], calls: Mapping[str, CaseCalls] = NO_CALLS
) -> tuple[MachineFigure, ...]:
    """Returns the quantities and programs that the baseline, the first side, and at least one other side have.

    No figure if all sides ran on one machine: equal cases show then what differs. The calls of a pair of sides are corrected for
    the number of its quantities and programs (Bonferroni). `calls`: those of the cases by the letter of the side.
    """
    if are_alike(sides):
        return ()
    readings = _read_with_published_variants(sides)
    every = dict.fromkeys(name for of in readings for name in of)
    if not any(side.is_foreign for side in sides):  # data sheets stand beside published ones only
        every = {name: None for name in every if not name.startswith(SHEET)}
    names = [name for name in every if _is_compared(name, readings)]
    counts = [count_calls(readings[0], of) for of in readings]
    figures = []
    for name in names:
        first = readings[0][name]
        is_program = name not in _TITLES
        cells = [_make_cell(letters[0], first)]
        for letter, of, count in zip(letters[1:], readings[1:], counts[1:], strict=True):
            cell = judge_pair(letter, first, of[name], count) if name in of else MachineCell(letter=letter)
            is_open = letter in calls and cell.call in ("UNCLEAR", NOT_JUDGED)
            cells.append(replace(cell, now=calls[letter].find(first, of[name])) if is_open else cell)
        figures.append(MachineFigure(name=name, title=first.title, cells=tuple(cells), is_program=is_program))
    return tuple(figures)


def _read_with_published_variants(sides: Sequence[Side]) -> list[dict[str, Reading]]:
    """Returns the quantities of each side. The only side that is not published has the variants that publications name.

    Of several such sides each keeps its own, so that a published side changes no call between them.
    """
    readings = [read_machine(side) for side in sides]
    own = [place for place, side in enumerate(sides) if side.kind != "published"]
    for name in readings[own[0]] if len(own) == 1 else ():
        beside = [
            (side, of[name])
            for side, of in zip(sides, readings, strict=True)
            if side.kind == "published" and name in of
        ]
        published = [_find_variant(side, reading) for side, reading in beside]
        if len(set(published)) == 1 and UNCHANGED not in published:
            runs = sides[own[0]].runs
            named = [replace(r, cases=tuple(c for c in r.cases if has_variant(c, published[0]))) for r in runs]
            readings[own[0]] = readings[own[0]] | read(replace(sides[own[0]], runs=tuple(named)), name)
    return readings


def _find_variant(side: Side, reading: Reading) -> Scalar:
    """Returns the variant of a published value: a figure with one also stands for runs without variants, as a further case."""
    of = (case for run in side.runs for case in run.cases if reading.value in case.metrics.values())
    named = ({**case.parameters} for case in of if case.benchmark == reading.benchmark)
    found = (given["variant"] for given in named if given == {**reading.parameters, "variant": given.get("variant")})
    return next(found, UNCHANGED)


def read_machine(side: Side) -> dict[str, Reading]:
    """Returns the quantities and programs of a side, each at its best use. A power that was calculated is left out."""
    readings = read(side) | _read_programs(side)
    speed, power = readings.get("linpack"), readings.get("linpack_power")
    if speed and power and speed.parameters == power.parameters:  # publications state them as two values
        readings["linpack"] = replace(speed, power=power.power)
    if any(run.modelled_power for run in side.runs):
        return {name: replace(reading, power=None) for name, reading in readings.items()}
    return readings


def count_calls(first: Collection[str], other: Collection[str]) -> int:
    """Returns the number of calls of a pair of sides with these quantities and programs; at least 1."""
    return max(1, sum(1 for name in first if name in other and not name.startswith(SHEET)))


_TITLES = {one.name: one.title for one in QUANTITIES}


def are_alike(sides: Sequence[Side]) -> bool:
    """Returns whether Steelyard measured all sides on machines that are alike."""
    facts = [run.facts.get("machine") for side in sides for run in side.runs]
    return not any(side.is_foreign for side in sides) and all(of == facts[0] for of in facts)


def _is_compared(name: str, readings: Sequence[dict[str, Reading]]) -> bool:
    """Returns whether the baseline and another side have it. A data sheet counts only where a side did not measure the same."""
    first, *others = readings
    if name not in first:
        return False
    if measured := MEASURED.get(name):
        others = [of for of in others if measured not in of or measured not in first]
    return any(name in of for of in others) and first[name].value.better != "none"


def _read_programs(side: Side) -> dict[str, Reading]:
    """Returns the least time of each program and problem."""
    readings = {}
    for (benchmark, kernel, solved), case in find_best_programs(side, "time").items():
        words = (in_words(name, value) for name, value in solved if str(USUAL.get(name)) != value)
        title = f"{benchmark.partition('.')[2]} {', '.join(words)}".strip()
        name = f"{benchmark} {kernel} {', '.join(f'{name}={value}' for name, value in solved)}"
        cores = None if is_between_nodes(case) else side.runs[-1].cores
        if side.is_foreign and cores and (count_workers(case.parameters) or 0) > cores:
            cores = None  # its source does not say on how many nodes
        readings[name] = replace(make_reading(name, title, case, case.metrics["time"]), cores=cores)
    return readings


def _make_cell(letter: str, reading: Reading) -> MachineCell:
    nodes = max(1, reading.nodes) if reading.quantity in GROWING else 1
    return MachineCell(
        letter=letter,
        value=reading.value,
        condition=reading.condition,
        level=reading.level,
        cores=reading.cores,
        nodes=nodes,
        power=reading.power,
    )


def judge_pair(letter: str, first: Reading, other: Reading, count: int) -> MachineCell:
    """Returns the cell of a side beside the reading of the baseline. `count`: the number of calls of the pair of sides.

    A value above its limit has no call: the value or the limit is wrong.
    """
    cell = _make_cell(letter, other)
    if first.value.unit != other.value.unit or first.number <= 0 or other.number <= 0:
        return cell
    sign = -1.0 if other.value.better == "lower" else 1.0
    log = sign * math.log(other.number / first.number)
    per_core = math.exp(log) * first.cores / other.cores if first.cores and other.cores else None
    cell = replace(cell, speed=math.exp(log), per_core=per_core, call=NOT_JUDGED)
    below, above = _half_widths(first, other, sign)
    if below is None or above is None or first.is_above_limit or other.is_above_limit:
        return cell
    return replace(cell, low=math.exp(log - below), high=math.exp(log + above), call=_call(log, below, above, count))


def _half_widths(first: Reading, other: Reading, sign: float) -> tuple[float | None, float | None]:
    """Returns how far the logarithm of the speed ratio reaches below and above it; None without ranges of both."""
    spans = []
    for reading, direction in ((first, -sign), (other, sign)):
        low, high = find_span(reading.value) or (0.0, 0.0)
        if low <= 0 or high <= 0:
            return None, None
        ends = (math.log(reading.number / low), math.log(high / reading.number))
        spans.append(tuple(max(0.0, end) for end in (ends if direction > 0 else ends[::-1])))
    (a_below, a_above), (b_below, b_above) = spans
    return math.hypot(a_below, b_below), math.hypot(a_above, b_above)


def _call(log: float, below: float, above: float, count: int) -> SideCall:
    from steelyard.statistics.samples.distribution_functions import ndtri

    alpha = 1 - CONFIDENCE
    wider = float(ndtri(1 - alpha / 2 / count) / ndtri(1 - alpha / 2))
    least = math.log1p(SMALLEST)
    if log - wider * below > least:
        return "FASTER"
    if log + wider * above < -least:
        return "SLOWER"
    return "SAME" if max(abs(log - wider * below), abs(log + wider * above)) <= least else "UNCLEAR"
