"""Turns a description into a benchmark with axes, metrics and figures, and prepares a case for its start."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.applications.foreign import formula
from steelyard.applications.foreign.description import Description
from steelyard.applications.foreign.description import Figure as Merit
from steelyard.applications.foreign.measures import convert_to_si
from steelyard.measure.benchmarks.figures import against
from steelyard.measure.published.printed_lines import draw_printed
from steelyard.model import (
    Axes,
    Benchmark,
    Effort,
    Machine,
    Metric,
    Parameters,
    Record,
    Result,
    Sampling,
    Scalar,
    Source,
)
from steelyard.model.figure import Axis, Figure
from steelyard.model.units import binary_size, quantity

# Runs of a program in one launch. Two is the fewest that shows whether they agree; the first run warms the file cache.
LEAST, MOST = 2, 5
QUICK_MOST = 3
MEMORY_SHARE = 0.9  # share of the memory that the input may fill; the system and the MPI library need the rest


class Unfit(Exception):
    """The case cannot be run. `kind` names the reason, the text explains it."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Prepared:
    """A case with the value of every formula."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    files: Mapping[str, str]
    amounts: Mapping[str, float]  # amounts of work, in SI units


def make_benchmark(described: Description, path: Path) -> Benchmark:
    """Returns the described program as a benchmark."""
    untried = (
        ""
        if described.tried != "untried"
        else " This description was written from the program's manual and was not tried."
    )
    return Benchmark(
        name=f"application.{described.name}",
        title=described.title,
        summary=described.summary,
        reading=described.reading,
        caution=described.caution + untried,
        source=described.source,
        sources=(Source(str(path), described.parallel, foreign=True),),
        axes=lambda machine, effort: (_make_axes(described, machine, effort),),
        metrics=_make_metrics(described),
        figures=lambda results, machine: _make_table(described, results),
    )


def prepare_case(described: Description, parameters: Parameters, machine: Machine) -> Prepared:
    """Prepares a case. Unfit if a size is not divisible, the memory is too small, or a formula has no value."""
    values: dict[str, Scalar] = {
        "memory": machine.memory,
        "cores": len(machine.cpus),
        "nodes": max(1, len(machine.hosts)),
        "threads": 1,
        **parameters,
    }
    try:
        for name, text in described.values.items():
            values[name] = formula.evaluate(text, values)
        for rule in described.divisible:
            _expect_divisible(rule.size, rule.by, values)
        if described.memory:
            _expect_room(described, values, machine)
        return Prepared(
            tuple(formula.fill_in(word, values) for word in described.command),
            {name: formula.fill_in(text, values) for name, text in described.environment.items()},
            {name: formula.fill_in(text, values) for name, text in described.files.items()},
            {f.name: formula.evaluate(f.amount, values) * _convert_unit(f.unit) for f in described.figures if f.amount},
        )
    except ValueError as error:
        raise Unfit("formula", f"Steelyard cannot write the input of {described.name}: {error}.") from None


def _convert_unit(unit: str) -> float:
    measure = convert_to_si(unit)
    return measure[1] if measure else 1.0


def _expect_divisible(size: str, by: str, values: Mapping[str, Scalar]) -> None:
    whole, part = formula.evaluate(size, values), formula.evaluate(by, values)
    if part <= 0 or whole % part:
        raise Unfit(
            "indivisible",
            f"{size} = {whole:g} is not a multiple of {by} = {part:g}. Choose another size or number with --set.",
        )


def _expect_room(described: Description, values: Mapping[str, Scalar], machine: Machine) -> None:
    needed = formula.evaluate(described.memory, values)
    room = MEMORY_SHARE * machine.memory
    if machine.memory and needed > room:
        raise Unfit(
            "does not fit",
            f"The input of {described.name} needs {binary_size(int(needed))} of memory on each node, but only this much is "
            "available: "
            f"{binary_size(int(room))}. Choose a smaller size with --set, or use more hosts.",
        )


def _make_axes(described: Description, machine: Machine, effort: Effort) -> Axes:
    values: dict[str, tuple[Scalar, ...]] = {"kernel": (described.name,)}
    for name, axis in described.axes.items():
        values[name] = tuple(axis if isinstance(axis, list) else axis.get(effort.name) or next(iter(axis.values())))
    if described.parallel:
        values.setdefault("ranks", (sum(h.slots for h in machine.hosts) or len(machine.cpus),))
    values.setdefault("threads", (1,))
    most = QUICK_MOST if effort.name == "quick" else MOST
    sampling = Sampling(effort.sampling.width, LEAST * described.seconds, LEAST, most)
    return Axes(values, sampling=sampling, setup_seconds=0.5)


def _make_metrics(described: Description) -> tuple[Metric, ...]:
    title = "time that the program states" if described.time else "time from start to end"
    time = Metric("time", "s", "lower", title, lambda seconds, record: seconds)
    return (*(_make_metric(f) for f in described.figures), time)


def _make_metric(figure: Merit) -> Metric:
    measure = convert_to_si(figure.unit)
    assert measure  # the description was checked

    def of(seconds: float, record: Record) -> float | None:
        amount = record.work.get(figure.name)
        follows = figure.rate or figure.amount
        return None if amount is None else amount / seconds if follows else amount

    return Metric(figure.name, measure[0], figure.better, figure.title, of)


def _make_table(described: Description, results: tuple[Result, ...]) -> tuple[Figure, ...]:
    """A table with one row for each case and one column for each figure of merit."""
    metrics = _make_metrics(described)
    names = [n for n in ("ranks", "threads", *described.axes) if any(n in r.parameters for r in results)]
    names = list(dict.fromkeys(names))
    rows = tuple(
        (
            *(str(r.parameters.get(name, "")) for name in names),
            *(quantity(r.metrics[m.name].value, m.unit) if m.name in r.metrics else "none" for m in metrics),
            _explain_check(r),
        )
        for r in results
    )
    if not rows:
        return ()
    headings = (*names, *(m.title for m in metrics), "result")
    table = Figure(described.name, described.title, "table", Axis(""), Axis(""), headings=headings, cells=rows)
    return table, *_draw_beside_published(described, results, names)


def _draw_beside_published(described: Description, results: Sequence[Result], names: Sequence[str]) -> list[Figure]:
    """Draws time, power and energy against the ranks if a published system has this program."""
    name, drawn = described.name, []
    others = [other for other in (*names, "mpi", "toolchain") if other != "ranks"]
    for metric, title, unit in (("time", "Time", "s"), ("power", "Mean power", "W"), ("energy", "Energy", "J")):
        lines = against("ranks", metric, results, names=others, label="this machine")
        if printed := draw_printed(f"application.{name}", name, metric, "ranks", lines):
            caption = "The publication ran problems of its own. Compare only runs with the same input."
            drawn.append(
                Figure(f"{name}-{metric}", f"{title} against ranks", "lines", Axis("ranks"),
                       Axis(title.lower(), unit), (*lines, *printed), caption=caption)
            )  # fmt: skip
    return drawn


def _explain_check(result: Result) -> str:
    """Says whether the last record's result is right, or why the record has no result."""
    last = result.attempts[-1]
    if last.error is not None:
        failure = (last.surroundings.details or {}).get("failure", "failed")
        return str(failure)
    return "right" if last.check.passed else f"wrong: {last.check.detail}"
