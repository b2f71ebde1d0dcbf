"""May this node go back? Main figures are measured in rounds until they are as usual or slower for sure, or the time is over."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median

from steelyard.compare.side import SideRun
from steelyard.errors import UsageError, nearest
from steelyard.fleet.nodes import group_by_case, list_times, name_node
from steelyard.measure import records
from steelyard.measure.records import RunFolder
from steelyard.measure.records.writing import write_whole
from steelyard.measure.run import Measurer, session
from steelyard.measure.run.again import again
from steelyard.measure.screen import Progress, Screen
from steelyard.model import Case, Launch, Machine, Plan, Run
from steelyard.model.units import parse_quantity
from steelyard.model.words import plural
from steelyard.show.command_line.sides import read_side_run
from steelyard.show.report.summary import Figure, Summary, find_standings
from steelyard.statistics.difference.acceptance import LEAST_LEVELS, Answer, Decision, count_looks, decide
from steelyard.statistics.results.identity import Identity, identity

FOLDER = "gate"  # below the folder of runs: one folder for each host, with a run for each attempt
GIVEN, PUBLISHED = "given values", "published values"  # kinds of a reference
ANSWER = "answer"  # file in such a run: the answer of the attempt
KEPT = "Interrupted. The same command goes on: the rounds so far count."
ROUND_SHARE = 0.2  # of the time, which a round may take: a decision needs three rounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """What a node is compared with: for each main figure the launches of each peer, or of each earlier run of this host.

    `kind` says which of the two, or that somebody gave the values by hand: then each has one time. `run` has the cases in its
    plan.
    """

    kind: str
    figures: Mapping[Identity, Figure]
    times: Mapping[Identity, Sequence[Sequence[float]]]
    run: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated:
    """The answer for a node, with the decision on each figure. `attempts` counts this one; `rounds` those of all attempts."""

    answer: Answer
    host: str
    kind: str
    decisions: Mapping[Identity, tuple[Figure, Decision]]
    attempts: int
    rounds: int
    seconds: float
    runs: tuple[Path, ...]


def find_given(sides: Sequence[SideRun], summaries: Sequence[Summary], texts: Sequence[str]) -> Reference:
    """Returns the values that were given, such as "Triad bandwidth=36.6 GB/s", as times of the newest run with these figures.

    UsageError for a figure that no run has, and for a value that is none.
    """
    for run, summary in zip(reversed(sides), reversed(summaries), strict=True):
        figures = {f.title: f for f in summary.figures if "mpi" not in f.parameters and f.value}
        names = [text.partition("=")[0].strip() for text in texts]
        if unknown := next((name for name in names if name not in figures), ""):
            continue
        values = {name: _parse(figures[name], text.partition("=")[2]) for name, text in zip(names, texts, strict=True)}
        return set_values(GIVEN, run, [(figures[name], value) for name, value in values.items()])
    known = sorted({figure.title for summary in summaries for figure in summary.figures})
    raise UsageError(f"No run has the figure '{unknown}' (given by --expect). {nearest(unknown, known)}")


def find_published(sides: Sequence[SideRun], summaries: Sequence[Summary]) -> Reference:
    """Returns the worst normal value of published systems of such hardware, for each figure of the newest run that has one.

    UsageError if the library of systems has none.
    """
    for run, summary in zip(reversed(sides), reversed(summaries), strict=True):
        values = []
        for figure, standing in zip(summary.figures, find_standings(summary.figures, summary.machine), strict=True):
            if figure.value and standing and standing.normal and "mpi" not in figure.parameters:
                worst = standing.normal[figure.value.better == "lower"]
                values.append((figure, figure.value.value * worst / standing.value.value))
        if values:
            return set_values(PUBLISHED, run, values)
    raise UsageError(
        "The library has no published values of such hardware. Give runs of other nodes, or a value with --expect."
    )


def _parse(figure: Figure, text: str) -> float:
    try:
        return parse_quantity(text, figure.value.unit if figure.value else "")
    except ValueError as error:
        raise UsageError(f"The value of '{figure.title}' (given by --expect): {error}.") from None


def set_values(kind: str, run: SideRun, values: Iterable[tuple[Figure, float]]) -> Reference:
    """Returns each value as the time that the run would need for it in the case of the figure."""
    figures, times = {}, {}
    for figure, expected in values:
        launches = [t.seconds for case in run.cases if identity(case) == identity(figure) for t in case.times]
        if figure.value and launches:
            ratio = expected / figure.value.value
            seconds = median(launches) * ratio if figure.value.better == "lower" else median(launches) / ratio
            figures[identity(figure)], times[identity(figure)] = figure, [[seconds]]
    return Reference(kind=kind, figures=figures, times=times, run=Path(run.path))


def find_reference(sides: Sequence[SideRun], summaries: Iterable[Summary], host: str) -> Reference:
    """Returns what to compare with: five other hosts or more, else five runs of this host. UsageError if there are fewer."""
    own = {run.path: [run] for run in sides if name_node(run) == host}
    others: dict[str, list[SideRun]] = {}
    for run in sides:
        if name_node(run) not in ("", host):
            others.setdefault(name_node(run), []).append(run)
    kind, groups = ("peers", others) if len(others) >= LEAST_LEVELS else ("earlier runs", own)
    if len(groups) < LEAST_LEVELS:
        raise UsageError(
            f"The reference has runs of {plural(len(others), 'other host')}, and {plural(len(own), 'run')} of '{host}'. "
            f"Gate needs runs of {LEAST_LEVELS} other hosts, or {LEAST_LEVELS} of this host. Measure more with: steelyard run"
        )
    cases = group_by_case({name: [case for run in group for case in run.cases] for name, group in groups.items()})
    times = {
        key: [list(list_times(members, next(iter(members[0].metrics), ""))) for members in of_groups.values()]
        for key, of_groups in cases.items()
    }
    figures = {identity(f): f for s in summaries for f in s.figures if "mpi" not in f.parameters and f.value}
    enough = {key: f for key, f in figures.items() if sum(map(bool, times.get(key, ()))) >= LEAST_LEVELS}
    for run in reversed([run for group in groups.values() for run in group]):
        has = {identity(case) for case in run.cases}
        if chosen := {key: figure for key, figure in enough.items() if key in has}:
            return Reference(kind=kind, figures=chosen, times=times, run=Path(run.path))
    raise UsageError(
        f"No main figure without MPI is in the runs of {LEAST_LEVELS} hosts or in {LEAST_LEVELS} runs of this host. Measure the "
        "same cases on each node, for example with: steelyard run --only memory --only core"
    )


Planned = tuple[Identity, Launch, Case]  # the case as it is known after its measurement, and as it is planned


def _list_cases(reference: Reference, plan: Plan, seconds: float) -> list[Planned]:
    """Returns the cases of the main figures, as many as a round has time for."""
    found, left = [], ROUND_SHARE * seconds
    for key, figure in reference.figures.items():
        planned = next(((x, c) for x in plan.launches for c in x.cases if _is_planned(figure, x, c)), None)
        if planned and (length := planned[1].setup_seconds + planned[1].sampling.seconds) <= left:
            left -= length
            found.append((key, *planned))
    return found


def _is_planned(figure: Figure, launch: Launch, case: Case) -> bool:
    """Returns whether the figure is of this case. A program reports more parameters than the plan gives it."""
    given = {**case.parameters, "toolchain": launch.toolchain}
    return (case.benchmark, case.kernel) == (
        figure.benchmark,
        figure.kernel,
    ) and given.items() <= figure.parameters.items()


def measure(
    reference: Reference,
    here: Machine,
    runs: Path,
    paths: Sequence[Path],
    *,
    seconds: float,
    slow: float,
    trusted: bool,
    screen: Screen,
) -> Gated:
    """Measures on the machine `here` until the answer is known or the time is over. UsageError if it is of another kind."""
    began = time.monotonic()
    run = records.head(reference.run)
    _expect_same_kind(here, run)
    cases = _list_cases(reference, run.plan, seconds)
    if not cases:
        raise UsageError(
            f"A round of the main figures takes more than a fifth of {seconds:g} s. Give more time: --budget 5m"
        )
    attempts = _list_attempts(runs / FOLDER / here.host)
    made = again(
        replace(run, plan=replace(run.plan, launches=tuple(launch for _, launch, _ in cases))), paths, here, trusted
    )
    programs = made.programs(screen)
    about = session.about_setup(made, [str(path.resolve()) for path in paths], seconds)
    plan = Plan(run.plan.preset, run.plan.seed, _list_launches(cases, 1), seconds)
    folder = RunFolder.create(runs / FOLDER / here.host, here, plan, about)
    earlier = [read_side_run(path, paths) for path in attempts]
    rounds = sum(_count_rounds(run.plan) for run in earlier if run.plan)
    with closing(folder), screen.keeping(KEPT), screen.measuring() as show:
        measurer = Measurer(
            machine=here, plan=replace(plan, seconds=0.0), programs=programs, folder=folder, site=made.site,
            show=partial(_show_round, show, len(cases), seconds),
        )  # fmt: skip
        measurer.begin()
        for number in count(1):
            launches = _list_launches(cases, number)
            if number > 1:
                plan = replace(plan, launches=(*plan.launches, *launches))
                folder.replan(plan)
            for launch in launches:
                measurer.carry_out(launch)
            rounds += 1
            passed = time.monotonic() - began
            is_over = passed + passed / number > seconds
            looks = count_looks(rounds)
            if not is_over and looks == count_looks(rounds - 1):
                continue
            # Each earlier attempt had a last look besides, when its time was over.
            look = looks + len(attempts) + is_over
            measured = [*earlier, read_side_run(folder.path, paths)]
            decisions = dict(_decide(reference, measured, cases, look, slow))
            answer = conclude([decision.answer for _, decision in decisions.values()])
            if answer != "undecided" or is_over:
                break
        folder.finish({"notes": measurer.notes(), "seconds": passed, "repeating_seconds": 0.0})
        write_whole(folder.path / ANSWER, answer)
    return Gated(
        answer=answer,
        host=here.host,
        kind=reference.kind,
        decisions=decisions,
        attempts=len(attempts) + 1,
        rounds=rounds,
        seconds=passed,
        runs=(*attempts, folder.path),
    )


def _show_round(show: Callable[[Progress], None], cases: int, seconds: float, progress: Progress) -> None:
    """Shows the round, and the most time that is left."""
    done, left = progress.launch.number % cases, max(0.0, seconds - progress.elapsed)
    show(replace(progress, phase=f"round {progress.launch.repetition}", done=done, total=cases, seconds_left=left))


def conclude(answers: Sequence[Answer]) -> Answer:
    """Returns "slower" if one figure is, "as usual" if all are, and "undecided" otherwise."""
    if "slower" in answers:
        return "slower"
    return "as usual" if answers and set(answers) == {"as usual"} else "undecided"


def _decide(
    reference: Reference, measured: Sequence[SideRun], cases: Sequence[Planned], look: int, slow: float
) -> Iterator[tuple[Identity, tuple[Figure, Decision]]]:
    for key, _, _ in cases:
        own = [c for run in measured for c in run.cases if identity(c) == key]
        launches = [t.seconds for c in own for t in c.times if not t.disturbed]
        usual = [row for row in reference.times[key] if row]
        given = reference.kind in (GIVEN, PUBLISHED)
        yield key, (reference.figures[key], decide(usual, launches, look, figures=len(cases), slow=slow, given=given))


def _list_launches(cases: Sequence[Planned], number: int) -> tuple[Launch, ...]:
    """Returns the launches of a round, each with one case."""
    first = (number - 1) * len(cases)
    return tuple(
        replace(launch, number=first + place, repetition=number, cases=(case,))
        for place, (_, launch, case) in enumerate(cases)
    )


def _list_attempts(folder: Path) -> list[Path]:
    """Returns the runs of the attempts since the node last passed: a node that works again begins anew."""
    attempts = records.all_runs(folder)
    passed = [
        n
        for n, path in enumerate(attempts, 1)
        if (path / ANSWER).is_file() and "as usual" in (path / ANSWER).read_text()
    ]
    return attempts[max(passed, default=0) :]


def _count_rounds(plan: Plan) -> int:
    return max((launch.repetition for launch in plan.launches), default=0)


def _expect_same_kind(here: Machine, run: Run) -> None:
    if (here.architecture, here.processor) != (run.machine.architecture, run.machine.processor):
        raise UsageError(
            f"The reference was measured on '{run.machine.processor}', but this node has '{here.processor}'. "
            "Name runs of nodes of the same kind."
        )


def forget(runs: Path, host: str) -> Path | None:
    """Renames the folder of the attempts of a host, so that they do not count any more; returns its new name."""
    folder = runs / FOLDER / host
    if not folder.is_dir():
        return None
    free = (folder.with_name(f"{host}.before-repair-{number}") for number in count(1))
    target = next(path for path in free if not path.exists())
    return folder.rename(target)
