"""The applications: speed and check of every program of the run; of the NAS Parallel Benchmarks also where the time goes."""

from dataclasses import dataclass, replace

from steelyard import units
from steelyard.applications.benchmarks.application.npb import results as npb
from steelyard.applications.benchmarks.application.npb.results import Quantity
from steelyard.applications.pages.applications import phase_bars, program_rows
from steelyard.model import Evaluation, Result
from steelyard.report import drawing, values
from steelyard.report.names import slug
from steelyard.statistics.results import applications
from steelyard.statistics.results.applications import LEAST_SECONDS, phrase

PLACE, TITLE = 50, "Applications"

MEGA = 1e6  # NPB's own unit: millions of operations a second
TOO_SMALL = "too small to time"
UNVERIFIED = "not verified"
_RUN = ("mpi", "toolchain", "ranks_per_node", "placement", "transport", "mapping", "pinning", "plant")


@dataclass(frozen=True, kw_only=True)
class Speed:
    """Time and speeds of a run; `why` there are none: "" where there are."""

    run: phase_bars.Cell
    time: str
    total: str
    each: str
    interval: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Verified:
    """The quantity that is the farthest from what is published, of so many; cells: computed, published, error, allowed.

    `named`: the run in words; `why`: it is not verified, "" where it is.
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
    """All quantities of a benchmark: a row is class, model, workers, quantity, computed, published, error, allowed, passed."""

    benchmark: str
    rows: tuple[tuple[str, ...], ...]
    wrong: int


@dataclass(frozen=True, kw_only=True)
class Page:
    """What the page shows. `alarm`: what was not verified, and why; `programs`: all but the NAS Parallel Benchmarks, which
    have the rest; `links`: the benchmarks' own figures, title and anchor.
    """

    alarm: tuple[tuple[str, str], ...]
    programs: tuple[program_rows.Program, ...]
    speeds: tuple[Speed, ...]
    nominal: str  # of the programs that carry out far less than NPB counts
    short: str
    verified: tuple[Verified, ...]
    folded: tuple[Folded, ...]
    phases: tuple[drawing.Drawn, ...]
    phases_note: str
    narrow: bool  # whether the figures of the phases may stand side by side
    links: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


def data(evaluation: Evaluation) -> Page | None:
    """The page's data; None where the run has no results of applications."""
    results, others = npb.of(evaluation.results), program_rows.program_rows(evaluation)
    if not results and not others:
        return None
    varying = [n for n in _RUN if len({r.parameters.get(n) for r in results if n in r.parameters}) > 1]
    varying += ["ranks_per_node"] if "ranks_per_node" not in varying and _on_nodes(results) else []
    cells = _cells(results, varying, evaluation)
    checked = tuple(_verified(r, c) for r, c in zip(results, cells, strict=True))
    wrong = [(v.named, v.why) for v in checked if not v.passed] + [(p.named, p.checked) for p in others if not p.passed]
    drawn_phases, note, narrow = phase_bars.phases(results, cells)
    return Page(
        alarm=tuple(wrong),
        programs=others,
        speeds=tuple(_speed(r, c) for r, c in zip(results, cells, strict=True)),
        nominal=_nominal(results),
        short=_short(results),
        verified=tuple(v for v in checked if v.quantity),
        folded=_folded(results, cells),
        phases=drawn_phases,
        phases_note=note,
        narrow=narrow,
        links=_links(evaluation, results),
    )


def _on_nodes(results: tuple[Result, ...]) -> bool:
    return any("ranks_per_node" in r.parameters for r in results)


def _cells(results: tuple[Result, ...], varying: list[str], evaluation: Evaluation) -> list[phase_bars.Cell]:
    """The runs in words, no two of them in the same ones."""
    found = [_cell(r, varying, evaluation) for r in results]
    further = values.apart(results, [f"{c.benchmark} {c.letter} {c.model} {c.workers}" for c in found])
    return [replace(c, model=", ".join(filter(None, (c.model, more)))) for c, more in zip(found, further, strict=True)]


def _cell(result: Result, varying: list[str], evaluation: Evaluation) -> phase_bars.Cell:
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


def _nominal(results: tuple[Result, ...]) -> str:
    shares = {r.benchmark.removeprefix(applications.NPB).upper(): npb.carried_out(r) for r in results}
    reported = [
        f"{name} carries out {units.percent(share)} of the operations that NPB counts"
        for name, share in shares.items()
        if share
    ]
    if not reported:
        return ""
    return (
        f"{', '.join(reported)}, by a better algorithm: its Mop/s follow the nominal count, "
        "and do not measure the arithmetic done."
    )


def _speed(result: Result, run: phase_bars.Cell) -> Speed:
    seconds = applications.seconds(result)
    time = "–" if seconds is None else units.quantity(seconds, "s")
    if why := _speechless(result):
        return Speed(run=run, time=time, total="", each="", interval="", why=why)
    total, each = (result.metrics.get(name) for name in ("rate", "rate_each"))
    low, high = (total.low, total.high) if total else (None, None)
    between = "" if low is None or high is None else f"{_mega(low)} – {_mega(high)}"
    return Speed(
        run=run,
        time=time,
        total=_mega(total.value if total else None),
        each=_mega(each.value if each else None),
        interval=between,
        why="",
    )


def _speechless(result: Result) -> str:
    """Why a run has no speed; "" where it has one."""
    if applications.failed(result):
        return "could not be run"
    if not applications.verified(result):
        return UNVERIFIED
    return "" if applications.large_enough(result) else TOO_SMALL


def _mega(value: float | None) -> str:
    return "–" if value is None else units.significant(value / MEGA, 4)


def _short(results: tuple[Result, ...]) -> str:
    """A sentence on runs of larger classes that are too short all the same."""
    speeds = [(applications.seconds(r), r) for r in results if not _speechless(r)]
    count = sum(s is not None and s < LEAST_SECONDS for s, _ in speeds)
    if not count:
        return ""
    least = units.quantity(LEAST_SECONDS, "s", 2)
    runs = "One run lasts" if count == 1 else f"{count} runs last"
    return f"{runs} less than {least}: take such a speed with care; no finding rests on it."


# --------------------------------------------------------------------------- verification


def _verified(result: Result, run: phase_bars.Cell) -> Verified:
    found = npb.quantities(result)
    passed = applications.verified(result)
    # Of a run that failed the quantity that tells it, which need not have a greater error where nothing was computed.
    worst = npb.farthest([q for q in found if not q.passed] or found)
    why = "" if passed else applications.checked(result)
    named = f"{run.benchmark}, {applications.named(result)}"
    return Verified(
        run=run,
        named=named,
        quantity=worst.name if worst else "",
        cells=_numbers(worst) if worst else (),
        count=len(found),
        passed=passed,
        why=why,
    )


def _numbers(quantity: Quantity) -> tuple[str, ...]:
    """Computed, published, relative error, allowed."""
    error = "no number" if quantity.error is None else "0" if quantity.error == 0 else f"{quantity.error:.1e}"
    allowed = f"{quantity.tolerance:.0e}" if quantity.tolerance else "exact"
    return _written(quantity.value), _written(quantity.reference), error, allowed


def _written(value: float | None) -> str:
    """With as many digits as NPB publishes."""
    return "no number" if value is None else str(value) if isinstance(value, int) else f"{value:.13g}"


def _folded(results: tuple[Result, ...], cells: list[phase_bars.Cell]) -> tuple[Folded, ...]:
    found = []
    for name in dict.fromkeys(c.benchmark for c in cells):
        rows, wrong = [], 0
        for result, run in zip(results, cells, strict=True):
            for quantity in npb.quantities(result) if run.benchmark == name else ():
                verdict = "agrees" if quantity.passed else "DIFFERS"
                wrong += not quantity.passed
                rows.append((run.letter, run.model, str(run.workers), quantity.name, *_numbers(quantity), verdict))
        if rows:
            found.append(Folded(name, tuple(rows), wrong))
    return tuple(found)


def _links(evaluation: Evaluation, results: tuple[Result, ...]) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """The benchmarks' own figures: speed of each and of all against their number."""
    found = []
    for name in dict.fromkeys(r.benchmark for r in results):
        if name in evaluation.benchmarks:
            mine = values.of_benchmark(evaluation, name)
            made = drawing.figures(evaluation.benchmarks[name], mine, evaluation.run.machine)
            own = f"NPB {name.removeprefix(applications.NPB).upper()}"
            reported = tuple((f.title.removeprefix(own).lstrip(":, "), f.anchor) for f in made)
            found.append((evaluation.benchmarks[name].title, reported))
    return tuple((title, figures) for title, figures in found if figures)


def has_figures(page: Page) -> bool:
    """Whether the phases are."""
    return bool(page.phases)
