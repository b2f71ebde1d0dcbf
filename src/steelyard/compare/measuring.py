"""Measures the plans of two runs again, with launches in turn, so that changes of the machine affect both equally."""

import itertools
import uuid
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from steelyard.compare.restriction import restrict_plan
from steelyard.compare.schedule import Schedule, make_schedule
from steelyard.compare.surroundings import find_differences
from steelyard.errors import UsageError
from steelyard.measure import records
from steelyard.measure.plan.possible import expect_possible
from steelyard.measure.records import RunFolder, remembered
from steelyard.measure.run import Measurer, session, setup
from steelyard.measure.run.again import again
from steelyard.measure.screen import Progress, Screen
from steelyard.model import Machine, Plan, Run
from steelyard.model.units import duration
from steelyard.model.words import plural

# With fewer pairs, p after correction for the number of cases cannot show a difference, even if all pairs agree.
LEAST_ROUNDS = 10
# Groups of differences between runs that a plan does not include.
NOT_BROUGHT_BACK = ("machine", "setting", "network", "MPI", "version")


def measure(
    first: Path,
    second: Path,
    runs: Path,
    paths: Sequence[Path],
    rounds: int,
    seed: int,
    screen: Screen,
    trusted: bool = False,
    only: Sequence[str] = (),
) -> tuple[Path, Path]:
    """Measures the plans of both runs in turn (the benchmarks of `only`), and returns the new run folders, of a and of b.

    UsageError for too few rounds, no common case, another machine, or a missing toolchain or benchmark.
    """
    if rounds < LEAST_ROUNDS:
        raise UsageError(
            f"'{rounds}' (given by --rounds) is too few. Measure at least {LEAST_ROUNDS} rounds: fewer pairs of launches "
            "cannot distinguish a difference from chance."
        )
    with screen.working("Reading both runs, and examining the machine"):
        here = setup.machine()
        a, b = (restrict_plan(records.read(folder), only) for folder in (first, second))
        made = make_schedule(a.plan, b.plan, rounds, seed)
        machines = [_recall_machine(here, a, made.a), _recall_machine(here, b, made.b)]
        setups = [again(run, paths, here, trusted) for run in (a, b)]
    machines = [session.add_host_facts(m, side.site, screen) for m, side in zip(machines, setups, strict=True)]
    programs = [side.programs(screen) for side in setups]
    kept = [[str(p.resolve()) for p in remembered.folders(run, paths)] for run in (a, b)]
    turn = {"series": uuid.uuid4().hex, "rounds": rounds, "notes": _describe_unrepeated_parts(a, b, made.alone)}
    with ExitStack() as closing:
        measurers = []
        for i, (side, machine, plan) in enumerate(zip("ab", machines, (made.a, made.b), strict=True)):
            about = session.about_setup(setups[i], kept[i], None)
            folder = RunFolder.create(runs, machine, plan, {**about, "in_turn": {**turn, "side": side}})
            closing.callback(folder.close)
            # No time for repetitions of disturbed cases: the partner would wait, and the pairs need none.
            measurers.append(
                Measurer(
                    machine=machine,
                    plan=replace(plan, seconds=0.0),
                    programs=programs[i],
                    folder=folder,
                    site=setups[i].site,
                )
            )
        begun = measurers[0].folder.path, measurers[1].folder.path
        cases = sum(len(launch.cases) for launch in made.a.launches) // rounds
        screen.inform(
            f"steelyard: The measurement takes about {duration(made.a.seconds + made.b.seconds)}: {plural(cases, 'case')}, "
            f"{rounds} rounds of both runs."
        )
        words = (
            "Interrupted. All finished measurements are kept. To compare them in pairs:\n"
            f"  steelyard compare {begun[0]} {begun[1]}"
        )
        with screen.keeping(words), screen.measuring() as show:
            carry_out(made, measurers[0], measurers[1], show)
    return begun


def carry_out(made: Schedule, a: Measurer, b: Measurer, show: Callable[[Progress], None]) -> None:
    """Carries out the launches of both in turn. Each record is on the disk before the next case, so Ctrl-C loses none."""
    now = a.around.now
    a.show = b.show = _count(made, now, show)
    a.begin()
    b.begin()
    took = {"a": 0.0, "b": 0.0}
    for one, other, first in zip(made.a.launches, made.b.launches, made.first, strict=True):
        turn = [("a", a, one), ("b", b, other)]
        for side, measurer, launch in turn if first == "a" else reversed(turn):
            began = now()
            measurer.carry_out(launch)
            took[side] += now() - began
    for side, measurer in (("a", a), ("b", b)):
        measurer.folder.finish({"notes": measurer.notes(), "seconds": took[side], "repeating_seconds": 0.0})


def _count(made: Schedule, now: Callable[[], float], show: Callable[[Progress], None]) -> Callable[[Progress], None]:
    """Tells how far both are together: the round, its cases that both have, and the time left by the pace so far."""
    total = sum(len(launch.cases) for plan in (made.a, made.b) for launch in plan.launches)
    of_round = total // (2 * made.rounds)
    counted = itertools.count()  # each case is reported once, before it starts
    began, expected = now(), made.a.seconds + made.b.seconds

    def report(progress: Progress) -> None:
        done = next(counted)
        # The plan's estimate counts as a tenth of the work, so that the first rounds do not vary much.
        pace = (now() - began + 0.1 * expected) / (done + 0.1 * total)
        phase = f"round {progress.launch.repetition} of {made.rounds}"
        of_both = done // 2 % of_round
        left = (total - done) * pace
        show(replace(progress, phase=phase, done=of_both, total=of_round, seconds_left=left, elapsed=now() - began))

    return report


def _recall_machine(here: Machine, run: Run, plan: Plan) -> Machine:
    """Returns this machine with the name, the limits, the hosts and the cluster of the run."""
    if (here.architecture, here.processor) != (run.machine.architecture, run.machine.processor):
        raise UsageError(
            f"The run {run.path} was measured on '{run.machine.processor}', but this machine is '{here.processor}'. --in-turn "
            "measures both runs again on this machine. Omit --in-turn to compare the stored results."
        )
    then = run.machine
    machine = replace(
        here,
        system=then.system,
        limits=then.limits,
        hosts=then.hosts,
        enclosures=then.enclosures,
        equipment=then.equipment,
        cluster=then.cluster,
    )
    expect_possible(machine, (case for launch in plan.launches if launch.repetition == 1 for case in launch.cases))
    return machine


def _describe_unrepeated_parts(a: Run, b: Run, alone: tuple[int, int]) -> list[str]:
    """Returns a sentence for each part of the two runs that the new ones lack."""
    notes = [f"{n} cases that only {run.id} has were not measured." for n, run in zip(alone, (a, b), strict=True) if n]
    lost = [f"{d.group} {d.name.replace('_', ' ')}" for d in find_differences(a, b) if d.group in NOT_BROUGHT_BACK]
    if lost:
        notes.append(
            f"Some conditions of {a.id} and {b.id} differed and could not be restored: {', '.join(lost)}. "
            "Both runs were measured under the conditions of now."
        )
    return notes
