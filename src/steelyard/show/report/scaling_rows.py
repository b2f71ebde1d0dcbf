"""Scaling in words and rows, the same on the report's page and in the terminal."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from steelyard.model import Level
from steelyard.model.plain import to_plain
from steelyard.model.units import quantity, significant
from steelyard.model.words import in_words, joined
from steelyard.show.report import doubtful_values, lines, ratios, values
from steelyard.show.report.verdict_marks import SIGNS, signed
from steelyard.statistics.models.scaling import HALF, Point, Step
from steelyard.statistics.models.scaling_models import Estimate, Fit
from steelyard.statistics.results import cases
from steelyard.statistics.results.sweeps import Sweep
from steelyard.statistics.validity.trust import doubtful

# One, several, and what one adds to.
WORDS = {
    "threads": ("thread", "threads"),
    "ranks": ("rank", "ranks"),
    "nodes": ("node", "nodes"),
    "ranks_per_node": ("rank on each node", "ranks on each node"),
}
LAWS = {"Amdahl": "Amdahl's law", "Gustafson": "Gustafson's law", "USL": "the universal scalability law"}
PARAMETERS = {"s": "serial fraction s", "a": "contention a", "b": "coherency b"}
HEADINGS = ("time", "speed-up", "95 % interval", "efficiency", "serial", "95 % interval", "each additional one adds")
ABOVE = 1.05  # an efficiency without an interval, beyond which a speed-up asks for a reason
ROUNDING = 1e-9  # what the arithmetic leaves of a fraction of 0
MOST_SWEEPS = 4  # on one screen
WIDE, LESS = 116, (5, 6)  # columns of a terminal that shows all cells; a narrower one does without these


def level_at(sweep: Sweep, count: int) -> Level:
    """The verdict of the speed-up at that count, which rests on the result at the least count, too."""
    return values.weakest(sweep.results[count], sweep.results[sweep.scaling.base])


def counted(sweep: Sweep, count: int) -> str:
    """'1 thread', '4 ranks on each node'."""
    one, many = WORDS[sweep.over]
    return f"{count} {one if count == 1 else many}"


def named(sweep: Sweep, among: Sequence[Sweep]) -> str:
    """A sweep by what tells it from the others of its kernel: 'cg, class A, MPI', 'vector, over threads'."""
    siblings = [s for s in among if (s.benchmark, s.kernel, s.over) == (sweep.benchmark, sweep.kernel, sweep.over)]
    differing = {n for s in siblings for n in s.parameters if len({str(o.parameters.get(n)) for o in siblings}) > 1}
    names = [n for n in sweep.parameters if n in differing or n in ("class", "model")]
    words = [sweep.kernel, *(in_words(n, sweep.parameters[n]) for n in names)]
    # A programming model says itself what it has many of.
    over = (
        [] if "model" in sweep.parameters and sweep.over in ("threads", "ranks") else [f"over {WORDS[sweep.over][1]}"]
    )
    return ", ".join([*words, *over, *(["growing work"] if sweep.scaling.weak else [])])


def between(estimate: Estimate | None, digits: int = 3) -> str:
    """'0.948 – 0.961', an end that cannot be stated left open; '' where there is no interval."""
    return "" if estimate is None else ratios.write_interval(estimate.low, estimate.high, write=_round_to(digits))


def with_interval(estimate: Estimate, digits: int = 3) -> str:
    """'0.951 (0.948 – 0.961)'."""
    return ratios.with_interval(estimate.value, estimate.low, estimate.high, write=_round_to(digits))


def _round_to(digits: int) -> ratios.Writing:
    return partial(_write, digits=digits)


def _write(value: float, digits: int) -> str:
    return significant(value, digits) if abs(value) > ROUNDING else "0"


def is_above_ideal(point: Point) -> bool:
    """Returns whether the efficiency is above 1 by more than its interval."""
    low = point.efficiency.low
    return point.efficiency.value > ABOVE if low is None else low > 1


def is_slowdown(point: Point) -> bool:
    """Returns whether the serial fraction is above 1 by more than its interval."""
    return bool(point.serial and (point.serial.low or point.serial.value) > 1)


def row(point: Point) -> tuple[str, ...]:
    """Returns the cells of a count, in the order of `HEADINGS`.

    No part of the work is serial where the speed-up is ideal, and no fraction explains a slowdown.
    """
    serial = point.serial if point.serial and point.serial.value > ROUNDING and not is_slowdown(point) else None
    none = "none: above the ideal" if is_above_ideal(point) else "above 1: slower" if is_slowdown(point) else "none"
    none = none if point.serial else "–"
    return (
        quantity(point.time.value, "s"),
        significant(point.speedup.value),
        between(point.speedup) or "–",
        values.percent(point.efficiency.value),
        significant(serial.value, 2) if serial else none,
        between(serial, 2) or "–",
        with_interval(point.step.adds, 2) if point.step else "–",
    )


def stop_here(sweep: Sweep) -> str:
    """Where one more core is not worth it, in a sentence; with a caution where it rests on results that cannot be relied on."""
    stop = sweep.scaling.stop
    steps = [] if stop is None else [step for step in (stop.into, stop.beyond) if step]
    used = [sweep.results[count] for count in sorted({c for step in steps for c in (step.start, step.end)})]
    return f"{_stop(sweep)}{cases.caution(*used)}"


def _stop(sweep: Sweep) -> str:
    stop, one = sweep.scaling.stop, WORDS[sweep.over][0]
    if stop is None:
        return f"The best number is unknown. Measure at least two numbers with a processor of its own for each {one}."
    worth = (
        f"the speed of one {one} alone"
        if sweep.scaling.base == 1
        else f"the speed of one of the first {sweep.scaling.base}"
    )
    half = "half" if HALF == 0.5 else significant(HALF)
    if stop.beyond is None:
        assert stop.into is not None  # two counts at least, and none beyond
        doubt = "" if stop.certain else f" This is not clearly different from {half}."
        return (
            f"All measured numbers up to {counted(sweep, stop.count)} are worthwhile: from {stop.into.start} to "
            f"{stop.into.end}, each additional one adds {with_interval(stop.into.adds, 2)} of {worth}.{doubt}"
        )
    step = stop.beyond
    adds = f"from {step.start} to {step.end}, each additional one adds {with_interval(step.adds, 2)} of {worth}"
    gap = " The best number may lie between them: measure these numbers, too." if step.end > 2 * step.start else ""
    if stop.certain:
        return f"Stop at {counted(sweep, stop.count)}: {adds}, less than {half}.{gap}"
    return f"Stop probably at {counted(sweep, stop.count)}: {adds}. {_doubt(step, stop.into, half)}{gap}"


def _doubt(beyond: Step, into: Step | None, half: str) -> str:
    if beyond.call == "not distinguished" or into is None:
        return f"This is not clearly different from {half}."
    adds = with_interval(into.adds, 2)
    return f"But the step from {into.start} to {into.end} adds {adds}, which is not clearly different from {half}."


def base(sweep: Sweep) -> str:
    """Returns a sentence on the base of the speed-ups, and on whether the work grows."""
    first = next(p for p in sweep.scaling.points if p.count == sweep.scaling.base)
    text = f"Speed-ups are relative to {counted(sweep, first.count)}, which took {quantity(first.time.value, 's')}"
    if sweep.scaling.weak:
        return (
            f"{text}. The work grows with the number of {WORDS[sweep.over][1]}, so the speed-up is the ratio of the work "
            "per second."
        )
    return f"{text}. The work is the same for all numbers."


def laws(sweep: Sweep) -> tuple[str, ...]:
    """Returns a sentence on each fitted law: its parameters, its deviation, and the counts for which it is valid."""
    return tuple(_law(sweep, fit) for fit in sweep.scaling.fits)


def refused(sweeps: Sequence[Sweep]) -> tuple[str, ...]:
    """Which laws were not fitted, and why: said once for all sweeps, or with the names of those that are meant."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for sweep in sweeps:
        for reason in sweep.scaling.refused.items():
            by_reason.setdefault(reason, []).append(named(sweep, sweeps))
    return tuple(
        f"{_capital(LAWS[law])} could not be fitted{'' if len(whose) == len(sweeps) else f' to {joined(whose)}'}: {why}."
        for (law, why), whose in by_reason.items()
    )


def _law(sweep: Sweep, fit: Fit) -> str:
    parameters = ", ".join(f"{PARAMETERS[name]} = {with_interval(e, 2)}" for name, e in fit.parameters.items())
    deviation = values.percent(round(fit.deviation, 9))
    if not fit.follows:
        return f"{_capital(LAWS[fit.law])} does not describe the times: the best fit ({parameters}) deviates by {deviation}."
    peak = ""
    if fit.law == "USL":
        peak = (
            f". The program is fastest with {with_interval(fit.peak, 2)} {WORDS[sweep.over][1]}"
            if fit.peak
            else ". The speed has no peak in that range"
        )
    return (
        f"{_capital(LAWS[fit.law])}, {fit.formula}: {parameters}. It deviates from the times by {deviation}. It is valid "
        f"from {fit.counts[0]} to {counted(sweep, fit.counts[-1])}, and with caution up to {fit.furthest}{peak}."
    )


def notes(sweep: Sweep) -> tuple[str, ...]:
    """Returns notes on crowded counts, doubtful counts, a speed-up above the ideal, and a base above one."""
    sentences = []
    crowded = [p.count for p in sweep.scaling.points if p.crowded]
    if crowded:
        sentences.append(
            f"With {joined(crowded)} {WORDS[sweep.over][1]}, several of them shared a processor. The fits and the "
            "advice do not use these values."
        )
    for level in doubtful_values.among(values.level(r) for r in sweep.results.values()):
        counts = f"{joined(sweep.counts(level))} {WORDS[sweep.over][1]}"
        sentences.append(f"{level}: {counts}. Do not rely on values that depend on these results.")
    sentences += excess(sweep)
    if sweep.scaling.base != 1:
        sentences.append(
            f"One {WORDS[sweep.over][0]} was not measured, so the loss from 1 to {sweep.scaling.base} is unknown."
        )
    return tuple(sentences)


def excess(sweep: Sweep) -> tuple[str, ...]:
    """Returns a sentence on the counts whose speed-up is above the ideal; () if there are none."""
    above = [p for p in sweep.scaling.points if is_above_ideal(p)]
    if not above:
        return ()
    most = values.percent(max(p.efficiency.value for p in above))
    base, level = counted(sweep, sweep.scaling.base), values.level(sweep.results[sweep.scaling.base])
    slow = f"{base} ran too slowly{f': this result is {level}' if doubtful(level) else ''}"
    return (
        f"The speed-up with {joined(p.count for p in above)} {WORDS[sweep.over][1]} is above the ideal (efficiency up to "
        f"{most}), so no serial fraction explains it. Either each part of the data fits into a faster cache, or {slow}. "
        "Measure again.",
    )


def as_json(sweeps: Sequence[Sweep]) -> list[dict[str, Any]]:
    """Returns every sweep as plain data: its name, points, fits, laws that could not be fitted, and where to stop."""
    return [
        {
            "name": named(sweep, sweeps),
            "benchmark": sweep.benchmark,
            "kernel": sweep.kernel,
            "over": sweep.over,
            "parameters": dict(sweep.parameters),
            "work_unit": sweep.unit,
            "disturbed": list(sweep.counts("DISTURBED")),
            "unsettled": list(sweep.counts("UNSETTLED")),
            **to_plain(sweep.scaling),
            "stop_here": stop_here(sweep),
        }
        for sweep in sweeps
    ]


def show(sweeps: Sequence[Sweep], console: Console) -> None:
    """A table of each sweep, the laws, and where to stop; at the end the laws that were not fitted."""
    for sweep in sweeps:
        console.print(Text.assemble("\n", (f"{sweep.benchmark} ", "dim"), (named(sweep, sweeps), "bold")))
        console.print(Text(base(sweep), style="dim"))
        console.print(_table(sweep, console.width >= WIDE))
        for sentence in (*laws(sweep), *notes(sweep)):
            console.print(Text(sentence, style="dim"))
        console.print(Text(stop_here(sweep), style="bold"))
    for number, sentence in enumerate(refused(sweeps)):
        console.print(Text(sentence if number else f"\n{sentence}", style="dim"))


def brief(sweeps: Sequence[Sweep], width: int) -> list[Text]:
    """For one screen: of each sweep the efficiency at every count, and where to stop; the first few of them."""
    texts: list[Text] = []
    for sweep in sweeps[:MOST_SWEEPS]:
        points = (p for p in sweep.scaling.points if not p.crowded)
        shares = ", ".join(
            f"{p.count}: {signed(values.percent(p.efficiency.value), level_at(sweep, p.count))}" for p in points
        )
        name = lines.cut(f"{sweep.benchmark} {named(sweep, sweeps)}", width, 1)
        texts += [Text(), *(Text(line, style="bold") for line in name)]
        texts += [
            Text(f"  {line}") for line in lines.cut(f"Efficiency by {WORDS[sweep.over][1]}: {shares}", width - 2, 1)
        ]
        for sentence in (*excess(sweep), stop_here(sweep)):
            texts += [Text(f"  {line}") for line in lines.cut(sentence, width - 2, 3)]
    if len(sweeps) > MOST_SWEEPS:
        texts.append(Text(f"{len(sweeps) - MOST_SWEEPS} more sweeps are in the report.", style="dim"))
    return texts


def _table(sweep: Sweep, wide: bool) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    kept = [i for i in range(len(HEADINGS)) if wide or i not in LESS]
    for heading in (WORDS[sweep.over][1], *(HEADINGS[i] for i in kept)):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for point in sweep.scaling.points:
        level = level_at(sweep, point.count)
        mark = SIGNS[level] if doubtful(level) else "shared" if point.crowded else ""
        cells = row(point)
        table.add_row(str(point.count), *(cells[i] for i in kept), mark)
    return table


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
