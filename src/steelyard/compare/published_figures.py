"""A run beside a published system: the published numbers, and those of the run that are measured in the same way."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from steelyard.compare.compared_sides import MachineFigure
from steelyard.compare.like import find_like
from steelyard.compare.machine_figures import compare_machines
from steelyard.compare.published_side import find_known, make_case, make_side
from steelyard.compare.reduced_run import reduce_run
from steelyard.compare.side import Side, SideRun
from steelyard.measure.published.our_case import BETWEEN, HOSTS, MACHINE
from steelyard.measure.published.system import Figure, System, name_figure
from steelyard.model import Evaluation, Level, Value
from steelyard.model.words import joined

PROGRAMS = "application."  # benchmarks of this group need --app, unless they are Steelyard's own
# Descriptions of programs that an installation does not contain.
EXAMPLES = {name: f"examples/applications/{name}.toml" for name in ("comd", "minife")}
POWER = ("power", "energy")  # metrics that need --power


@dataclass(frozen=True, kw_only=True)
class Line:
    """A published number, as it was `printed`, and ours with its verdict. `ratio` is ours / published, or None without ours.

    `published` is the value in the SI `unit` that ours is compared with. `remark` is a condition in which both differ.
    `reason` says why Steelyard has no such figure, "" if it has one. `of_sheet`: ours is of the machine's data sheet, too.
    """

    benchmark: str
    metric: str
    conditions: str
    printed: str
    published: float
    unit: str
    ours: Value | None
    ratio: float | None
    level: Level
    remark: str = ""
    reason: str = ""
    of_sheet: bool = False


@dataclass(frozen=True)
class Beside:
    """The numbers of a published system with those of a run. `machines`: the system, then the run, each at its best use."""

    run: str
    system: str
    lines: tuple[Line, ...]
    notes: tuple[str, ...]
    machines: tuple[MachineFigure, ...] = ()


def compare(evaluation: Evaluation, name: str) -> Beside:
    """Returns all published numbers of the system of that name or file in their order, with those of the run."""
    system = find_known(name)
    if system is None:
        raise KeyError(name)
    run = reduce_run(evaluation)
    lines = tuple(_line(run, figure) for figure in system.figures)
    own = Side(name=run.run, kind="imported" if run.imported else "run", runs=(run,))
    machines = compare_machines((make_side(system), own), ("a", "b"))
    return Beside(
        evaluation.run.id, system.name, lines, tuple(dict.fromkeys(_notes(system, lines, run.imported))), machines
    )


def _notes(system: System, lines: Sequence[Line], imported: bool) -> Iterable[str]:
    yield f"Published in: {system.source}."
    yield (
        "Published numbers have no samples, so the certainty of a difference is unknown. They were measured "
        "with other programs and compilers."
    )
    for figure, line in zip(system.figures, lines, strict=True):
        if figure.note and not figure.reason and line.ours:
            placement = figure.cases[0].parameters.get("placement")
            yield f"{name_figure(figure)}{f', {placement}' if placement else ''}: {figure.note}."
    for line in lines:
        if line.remark:
            yield f"{line.benchmark}: {line.remark}."
    if any(line.of_sheet for line in lines):
        yield "A figure of a data sheet was not measured on either system."
    if without := [line.reason for line in lines if line.reason]:
        yield f"{len(without)} of {len(lines)} published figures have no counterpart. Why: steelyard systems '{system.name}'"
    if not imported:
        yield from _list_missing_commands(system.figures, lines)


def _list_missing_commands(figures: Sequence[Figure], lines: Sequence[Line]) -> Iterable[str]:
    """Yields the command that measures the missing results."""
    cases = [f.cases[0] for f, line in zip(figures, lines, strict=True) if f.cases and line.ours is None]
    own = dict.fromkeys(c.benchmark for c in cases if c.benchmark != MACHINE and not c.benchmark.startswith(PROGRAMS))
    options = [f"--only {name}" for name in own]
    options += ["--power"] if any(c.metric in POWER and c.benchmark in own for c in cases) else []
    programs = dict.fromkeys(c.kernel for c in cases if c.benchmark.startswith(PROGRAMS))
    options += [f"--app {EXAMPLES.get(name, name)}" for name in programs]
    if any(BETWEEN in c.parameters or c.parameters.get(HOSTS, 1) != 1 for c in cases):
        options.append("--hosts node1,node2")
    if options:
        names = joined([*own, *programs])
        yield f"The results of {names} are missing in this run. To measure them: steelyard run {' '.join(options)}"


def _line(run: SideRun, figure: Figure) -> Line:
    printed = (make_case(figure, case) for case in figure.cases)
    theirs, like = next(((one, found) for one in printed if (found := find_like(one, run))), (None, None))
    value = next(iter(theirs.metrics.values())).value if theirs else figure.value
    return Line(
        benchmark=figure.topic or next((case.benchmark for case in figure.cases), ""),
        metric=figure.title,
        conditions=figure.conditions,
        printed=figure.printed,
        published=value,
        unit=figure.unit,
        ours=like.value if like else None,
        ratio=like.value.value / value if like and value else None,
        level="CLEAN" if like is None or like.case.level == "FOREIGN" else like.case.level,
        remark=like.remark if like else "",
        reason=figure.reason,
        of_sheet=like is not None and like.case.benchmark == MACHINE,
    )
