"""The page of applications: speed and check of every program, and for the NAS Parallel Benchmarks the time of each phase."""

from dataclasses import dataclass, replace

from steelyard.applications.benchmarks.application.npb import results as npb
from steelyard.applications.benchmarks.application.npb.results import Quantity
from steelyard.applications.pages.applications import phase_bars, program_rows
from steelyard.model import Evaluation, Result, units
from steelyard.show.report import drawing, values
from steelyard.show.report.names import slug
from steelyard.statistics.results import applications
from steelyard.statistics.results.applications import LEAST_SECONDS, phrase

PLACE, TITLE = 50, "Applications"
UNCHANGED = True

MEGA = 1e6  # NPB's unit: millions of operations per second
TOO_SMALL = "too small to time"
UNVERIFIED = "not verified"
_RUN = ("mpi", "toolchain", "ranks_per_node", "placement", "transport", "mapping", "pinning", "plant")


@dataclass(frozen=True, kw_only=True)
class Speed:
    """Time and speeds of a run. `why`: the reason if a run has no speed, else ""."""

    run: phase_bars.Cell
    time: str
    total: str
    each: str
    interval: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Verified:
    """The quantity with the greatest error, of `count`. Cells: computed, published, error, allowed.

    `named`: the run in words; `why`: the reason if the run is not verified, else "".
    """

    run: phase_bars.Cell
    named: str
    quantity: str
    cells: tuple[str, ...]
    count: int
    passed: bool
    why: str


@dataclass(frozen=True)
class Folded:
    """All quantities of a benchmark. Row: class, model, workers, quantity, computed, published, error, allowed, passed."""

    benchmark: str
    rows: tuple[tuple[str, ...], ...]
    wrong: int


@dataclass(frozen=True, kw_only=True)
class Page:
    """The data of the page. `alarm`: runs that were not verified, with the reason; `programs`: all programs except the NAS
    Parallel Benchmarks, which fill the other fields; `links`: titles and anchors of the benchmarks' own figures.
    """

    alarm: tuple[tuple[str, str], ...]
    programs: tuple[program_rows.Program, ...]
    speeds: tuple[Speed, ...]
    nominal: str  # a note on programs that carry out far fewer operations than NPB counts
    short: str
    verified: tuple[Verified, ...]
    folded: tuple[Folded, ...]
    phases: tuple[drawing.Drawn, ...]
    phases_note: str
    narrow: bool  # whether the figures of the phases may stand side by side
    links: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


def data(evaluation: Evaluation) -> Page | None:
    """Returns the page's data; None if the run has no results of applications."""
    results, others = npb.select_results(evaluation.results), program_rows.list_programs(evaluation)
    if not results and not others:
        return None
    varying = [n for n in _RUN if len({r.parameters.get(n) for r in results if n in r.parameters}) > 1]
    varying += (
        ["ranks_per_node"]
        if "ranks_per_node" not in varying and any("ranks_per_node" in r.parameters for r in results)
        else []
    )
    cells = _make_cells(results, varying, evaluation)
    checked = tuple(_make_verified_row(r, c) for r, c in zip(results, cells, strict=True))
    wrong = [(v.named, v.why) for v in checked if not v.passed] + [(p.named, p.checked) for p in others if not p.passed]
    drawn_phases, note, narrow = phase_bars.draw_phases(results, cells)
    return Page(
        alarm=tuple(wrong),
        programs=others,
        speeds=tuple(_make_speed(r, c) for r, c in zip(results, cells, strict=True)),
        nominal=_format_classes(results),
        short=_note_short_runs(results),
        verified=tuple(v for v in checked if v.quantity),
        folded=_fold_results(results, cells),
        phases=drawn_phases,
        phases_note=note,
        narrow=narrow,
        links=_links(evaluation, results),
    )


def _make_cells(results: tuple[Result, ...], varying: list[str], evaluation: Evaluation) -> list[phase_bars.Cell]:
    """Returns the runs in words. No two runs have the same words."""
    cells = [_make_cell(r, varying, evaluation) for r in results]
    further = values.apart(results, [f"{c.benchmark} {c.letter} {c.model} {c.workers}" for c in cells])
    return [replace(c, model=", ".join(filter(None, (c.model, more)))) for c, more in zip(cells, further, strict=True)]


def _make_cell(result: Result, varying: list[str], evaluation: Evaluation) -> phase_bars.Cell:
    rest = [phrase(n, result.parameters[n]) for n in varying if n in result.parameters]
    return phase_bars.Cell(
        benchmark=result.benchmark.removeprefix(applications.NPB).upper(),
        anchor=slug(result.benchmark) if result.benchmark in evaluation.benchmarks else "",
        letter=applications.size(result) or "–",
        model=", ".join([phrase("model", applications.model(result)), *rest]),
        workers=applications.workers(result),
        level=values.level(result),
        evidence=values.why(result),
    )


# --------------------------------------------------------------------------- speeds


def _format_classes(results: tuple[Result, ...]) -> str:
    shares = {r.benchmark.removeprefix(applications.NPB).upper(): npb.find_executed_share(r) for r in results}
    clauses = [
        f"{name} carries out {units.percent(share)} of the operations that NPB counts"
        for name, share in shares.items()
        if share
    ]
    if not clauses:
        return ""
    return (
        f"{', '.join(clauses)}, because its algorithm is better. Its Mop/s use NPB's nominal count, "
        "so they do not show how much arithmetic the cores carry out."
    )


def _make_speed(result: Result, run: phase_bars.Cell) -> Speed:
    seconds = applications.seconds(result)
    time = "–" if seconds is None else units.quantity(seconds, "s")
    if why := _explain_no_speed(result):
        return Speed(run=run, time=time, total="", each="", interval="", why=why)
    total, each = (result.metrics.get(name) for name in ("rate", "rate_each"))
    low, high = (total.low, total.high) if total else (None, None)
    between = "" if low is None or high is None else f"{_format_mega(low)} – {_format_mega(high)}"
    return Speed(
        run=run,
        time=time,
        total=_format_mega(total.value if total else None),
        each=_format_mega(each.value if each else None),
        interval=between,
        why="",
    )


def _explain_no_speed(result: Result) -> str:
    """Returns why a run has no speed; "" if it has one."""
    if applications.explain_failure(result):
        return "could not be run"
    if not applications.verified(result):
        return UNVERIFIED
    return "" if applications.is_large(result) else TOO_SMALL


def _format_mega(value: float | None) -> str:
    return "–" if value is None else units.significant(value / MEGA, 4)


def _note_short_runs(results: tuple[Result, ...]) -> str:
    """Returns a sentence on runs of larger classes that are too short for a finding."""
    speeds = [(applications.seconds(r), r) for r in results if not _explain_no_speed(r)]
    count = sum(s is not None and s < LEAST_SECONDS for s, _ in speeds)
    if not count:
        return ""
    least = units.quantity(LEAST_SECONDS, "s", 2)
    runs = "One run lasts" if count == 1 else f"{count} runs last"
    return f"{runs} less than {least}. Such a speed is uncertain, and no finding uses it."


# --------------------------------------------------------------------------- verification


def _make_verified_row(result: Result, run: phase_bars.Cell) -> Verified:
    quantities = npb.list_quantities(result)
    passed = applications.verified(result)
    # A failed run shows a failed quantity. Where nothing was computed, another one may have a greater error.
    worst = npb.find_worst([q for q in quantities if not q.passed] or quantities)
    why = "" if passed else applications.describe_check(result)
    named = f"{run.benchmark}, {applications.describe_parameters(result)}"
    return Verified(
        run=run,
        named=named,
        quantity=worst.name if worst else "",
        cells=_format(worst) if worst else (),
        count=len(quantities),
        passed=passed,
        why=why,
    )


def _format(quantity: Quantity) -> tuple[str, ...]:
    """Computed, published, relative error, allowed."""
    error = "no number" if quantity.error is None else "0" if quantity.error == 0 else f"{quantity.error:.1e}"
    allowed = f"{quantity.tolerance:.0e}" if quantity.tolerance else "exact"
    return _format_published(quantity.value), _format_published(quantity.reference), error, allowed


def _format_published(value: float | None) -> str:
    """A value with as many digits as NPB publishes."""
    return "no number" if value is None else str(value) if isinstance(value, int) else f"{value:.13g}"


def _fold_results(results: tuple[Result, ...], cells: list[phase_bars.Cell]) -> tuple[Folded, ...]:
    folded = []
    for name in dict.fromkeys(c.benchmark for c in cells):
        rows, wrong = [], 0
        for result, run in zip(results, cells, strict=True):
            for quantity in npb.list_quantities(result) if run.benchmark == name else ():
                verdict = "agrees" if quantity.passed else "DIFFERS"
                wrong += not quantity.passed
                rows.append((run.letter, run.model, str(run.workers), quantity.name, *_format(quantity), verdict))
        if rows:
            folded.append(Folded(name, tuple(rows), wrong))
    return tuple(folded)


def _links(evaluation: Evaluation, results: tuple[Result, ...]) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """Returns the benchmarks' own figures: speed of each worker and of all against the number of workers."""
    links = []
    for name in dict.fromkeys(r.benchmark for r in results):
        if name in evaluation.benchmarks:
            of_name = values.of_benchmark(evaluation, name)
            drawn = drawing.figures(evaluation.benchmarks[name], of_name, evaluation.run.machine)
            prefix = f"NPB {name.removeprefix(applications.NPB).upper()}"
            titles = tuple((f.title.removeprefix(prefix).lstrip(":, "), f.anchor) for f in drawn)
            links.append((evaluation.benchmarks[name].title, titles))
    return tuple((title, figures) for title, figures in links if figures)


def has_figures(page: Page) -> bool:
    """Returns whether the page draws figures: the phases."""
    return bool(page.phases)
