"""A description as a benchmark: its axes on a machine, its metrics, its figures; and a case of it made ready to be started."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from steelyard.applications.foreign import formula
from steelyard.applications.foreign.description import Description
from steelyard.applications.foreign.description import Figure as Merit
from steelyard.applications.foreign.measures import si
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
from steelyard.units import binary_size, quantity

# Runs of a whole program in one launch: the fewest that show whether they agree. The first warms the files' cache.
LEAST, MOST = 2, 5
QUICK_MOST = 3
MEMORY_SHARE = 0.9  # of the memory that input may fill: the system and the MPI need some, too


class Unfit(Exception):
    """The case cannot be carried out: `kind` names why, the text is the sentence."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Prepared:
    """A case with every formula worked out."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    files: Mapping[str, str]
    amounts: Mapping[str, float]  # of work, in SI


def benchmark(described: Description, path: Path) -> Benchmark:
    """The program as a benchmark like all others."""
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
        axes=lambda machine, effort: (_axes(described, machine, effort),),
        metrics=_metrics(described),
        limit=lambda metric, result, machine: None,
        figures=lambda results, machine: _figures(described, results),
    )


def prepared(described: Description, parameters: Parameters, machine: Machine) -> Prepared:
    """What is started for a case. Unfit where a size cannot be divided, where memory is too small, or a formula has no value."""
    known: dict[str, Scalar] = {
        "memory": machine.memory,
        "cores": len(machine.cpus),
        "nodes": max(1, len(machine.hosts)),
        "threads": 1,
        **parameters,
    }
    try:
        for name, text in described.values.items():
            known[name] = formula.value(text, known)
        for each in described.divisible:
            _expect_divisible(each.size, each.by, known)
        if described.memory:
            _expect_room(described, known, machine)
        return Prepared(
            tuple(formula.filled(word, known) for word in described.command),
            {name: formula.filled(text, known) for name, text in described.environment.items()},
            {name: formula.filled(text, known) for name, text in described.files.items()},
            {f.name: formula.value(f.amount, known) * _factor(f.unit) for f in described.figures if f.amount},
        )
    except ValueError as error:
        raise Unfit("formula", f"The input of {described.name} cannot be made: {error}.") from None


def _factor(unit: str) -> float:
    known = si(unit)
    return known[1] if known else 1.0


def _expect_divisible(size: str, by: str, known: Mapping[str, Scalar]) -> None:
    whole, part = formula.value(size, known), formula.value(by, known)
    if part <= 0 or whole % part:
        raise Unfit(
            "indivisible",
            f"{size} = {whole:g} cannot be divided by {by} = {part:g} without a rest: choose another size or number with --set.",
        )


def _expect_room(described: Description, known: Mapping[str, Scalar], machine: Machine) -> None:
    needed = formula.value(described.memory, known)
    room = MEMORY_SHARE * machine.memory
    if machine.memory and needed > room:
        raise Unfit(
            "does not fit",
            f"The input of {described.name} needs {binary_size(int(needed))} on a node, and "
            f"{binary_size(int(room))} may be used. "
            "Choose a smaller size with --set, or more hosts.",
        )


def _axes(described: Description, machine: Machine, effort: Effort) -> Axes:
    values: dict[str, tuple[Scalar, ...]] = {"kernel": (described.name,)}
    for name, axis in described.axes.items():
        values[name] = tuple(axis if isinstance(axis, list) else axis.get(effort.name) or next(iter(axis.values())))
    if described.parallel:
        values.setdefault("ranks", (sum(h.slots for h in machine.hosts) or len(machine.cpus),))
    values.setdefault("threads", (1,))
    most = QUICK_MOST if effort.name == "quick" else MOST
    sampling = Sampling(effort.sampling.width, LEAST * described.seconds, LEAST, most)
    return Axes(values, sampling=sampling, setup_seconds=0.5)


def _metrics(described: Description) -> tuple[Metric, ...]:
    title = "time that the program states" if described.time else "time from start to end"
    time = Metric("time", "s", "lower", title, lambda seconds, record: seconds)
    return (*(_metric(f) for f in described.figures), time)


def _metric(figure: Merit) -> Metric:
    known = si(figure.unit)
    assert known  # the description was checked

    def of(seconds: float, record: Record) -> float | None:
        amount = record.work.get(figure.name)
        follows = figure.rate or figure.amount
        return None if amount is None else amount / seconds if follows else amount

    return Metric(figure.name, known[0], figure.better, figure.title, of)


def _figures(described: Description, results: tuple[Result, ...]) -> tuple[Figure, ...]:
    """A table: a case a row, a figure of merit a column."""
    metrics = _metrics(described)
    names = [n for n in ("ranks", "threads", *described.axes) if any(n in r.parameters for r in results)]
    names = list(dict.fromkeys(names))
    rows = tuple(
        (
            *(str(r.parameters.get(name, "")) for name in names),
            *(quantity(r.metrics[m.name].value, m.unit) if m.name in r.metrics else "none" for m in metrics),
            _why(r),
        )
        for r in results
    )
    if not rows:
        return ()
    headings = (*names, *(m.title for m in metrics), "result")
    return (Figure(described.name, described.title, "table", Axis(""), Axis(""), headings=headings, cells=rows),)


def _why(result: Result) -> str:
    """Whether the result is right, or why there is none: as its last record says."""
    last = result.records[-1]
    if last.error is not None:
        failure = (last.surroundings.details or {}).get("failure", "failed")
        return str(failure)
    return "right" if last.check.passed else f"wrong: {last.check.detail}"
