"""Measures the plans of two runs again, launch by launch in turn, so that what the machine does falls on both alike."""

import itertools
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from steelyard import records
from steelyard.compare.schedule import Schedule, make_schedule
from steelyard.compare.surroundings import find_differences
from steelyard.errors import UsageError
from steelyard.model import Machine, Plan, Run
from steelyard.plan import cpus_of
from steelyard.records import RunFolder, remembered
from steelyard.run import Evaluator, Progress, session, setup
from steelyard.run.again import again
from steelyard.run.screen import Screen

LEAST_ROUNDS = 10  # with fewer, even pairs that all agree might be chance once p is corrected for the number of cases
NOT_BROUGHT_BACK = ("machine", "setting", "version")  # groups of differences between runs that no plan holds


def measure(
    first: Path,
    second: Path,
    runs: Path,
    paths: Sequence[Path],
    rounds: int,
    seed: int,
    screen: Screen,
    trusted: bool = False,
) -> tuple[Path, Path]:
    """Measures the plans of both runs in turn; returns the two new run folders, of a and of b.

    UsageError where that cannot be: too few rounds, no case in common, another machine, a toolchain or benchmark gone.
    """
    if rounds < LEAST_ROUNDS:
        raise UsageError(
            f"'{rounds}' (given by --rounds) is too few: expected are at least {LEAST_ROUNDS}, since fewer pairs of "
            "launches cannot tell a difference from chance."
        )
    here = setup.machine()
    a, b = records.read(first), records.read(second)
    made = make_schedule(a.plan, b.plan, rounds, seed)
    machines = _as_then(here, a, made.a), _as_then(here, b, made.b)
    setups = [again(run, paths, here, trusted) for run in (a, b)]
    programs = [side.programs(screen) for side in setups]
    kept = [[str(p.resolve()) for p in remembered.folders(run, paths)] for run in (a, b)]
    turn = {"series": uuid.uuid4().hex, "rounds": rounds, "notes": _left_behind(a, b, made.alone)}
    with ExitStack() as closing:
        evaluators = []
        for i, (side, machine, plan) in enumerate(zip("ab", machines, (made.a, made.b), strict=True)):
            about = session.about_setup(setups[i], kept[i], None)
            folder = RunFolder.create(runs, machine, plan, {**about, "in_turn": {**turn, "side": side}})
            closing.callback(folder.close)
            # Without time for repeating what was disturbed: the partner would wait, and the pairs bear it.
            evaluators.append(
                Evaluator(
                    machine=machine,
                    plan=replace(plan, seconds=0.0),
                    programs=programs[i],
                    folder=folder,
                    site=setups[i].site,
                )
            )
        begun = evaluators[0].folder.path, evaluators[1].folder.path
        with _interruptible(*begun, screen), screen.measuring() as show:
            carry_out(made, evaluators[0], evaluators[1], show)
    return begun


@contextmanager
def _interruptible(first: Path, second: Path, screen: Screen) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        screen.interrupted(
            f"Interrupted; what was measured is kept. To compare it in pairs:\n  steelyard compare {first} {second}"
        )
        raise


def carry_out(made: Schedule, a: Evaluator, b: Evaluator, show: Callable[[Progress], None]) -> None:
    """The launches of both, in turn; each record is on the disk before the next case, so that it may end at any moment."""
    now = a.around.now
    a.show = b.show = _counted(made, now, show)
    a.begin()
    b.begin()
    took = {"a": 0.0, "b": 0.0}
    for one, other, first in zip(made.a.launches, made.b.launches, made.first, strict=True):
        turn = [("a", a, one), ("b", b, other)]
        for side, evaluator, launch in turn if first == "a" else reversed(turn):
            began = now()
            evaluator.carry_out(launch)
            took[side] += now() - began
    for side, evaluator in (("a", a), ("b", b)):
        evaluator.folder.finish({"notes": evaluator.notes(), "seconds": took[side], "repeating_seconds": 0.0})


def _counted(made: Schedule, now: Callable[[], float], show: Callable[[Progress], None]) -> Callable[[Progress], None]:
    """Tells how far both are together: the round, the cases done, and the time left by the pace so far."""
    total = sum(len(launch.cases) for plan in (made.a, made.b) for launch in plan.launches)
    counted = itertools.count()  # each case is told of once, before it
    began, expected = now(), made.a.seconds + made.b.seconds

    def report(progress: Progress) -> None:
        done = next(counted)
        # The estimate counts for a tenth of the work before it, so that the first rounds do not swing.
        pace = (now() - began + 0.1 * expected) / (done + 0.1 * total)
        where = f"round {progress.launch.repetition} of {made.rounds}, {progress.case.benchmark}"
        case = replace(progress.case, benchmark=where)
        show(replace(progress, case=case, done=done, total=total, seconds_left=(total - done) * pace))

    return report


def _as_then(here: Machine, run: Run, plan: Plan) -> Machine:
    """This machine as it is now, under the name and with the limits and hosts that the run had."""
    if (here.architecture, here.processor) != (run.machine.architecture, run.machine.processor):
        raise UsageError(
            f"The run {run.path} was measured on '{run.machine.processor}', and this machine is '{here.processor}': in "
            f"turn means that both are measured here, now. Compare them as they are, without --in-turn."
        )
    machine = replace(here, system=run.machine.system, limits=run.machine.limits, hosts=run.machine.hosts)
    for case in (c for launch in plan.launches if launch.repetition == 1 for c in launch.cases):
        cpus_of(machine, case.parameters)  # an impossible placement is refused before anything has started
    return machine


def _left_behind(a: Run, b: Run, alone: tuple[int, int]) -> list[str]:
    """Returns a sentence for each part of the two runs that the new ones lack."""
    notes = [f"{n} cases that only {run.id} has were not measured." for n, run in zip(alone, (a, b), strict=True) if n]
    lost = [f"{d.group} {d.name.replace('_', ' ')}" for d in find_differences(a, b) if d.group in NOT_BROUGHT_BACK]
    if lost:
        notes.append(
            f"Some conditions of {a.id} and {b.id} differed and could not be restored: {', '.join(lost)}. "
            "Both runs were measured under the present conditions."
        )
    return notes
