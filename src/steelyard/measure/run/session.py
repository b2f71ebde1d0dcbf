"""Starts or resumes a run: plans, builds, checks the machine, and carries out the plan into a folder."""

import os
import platform
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard import __version__, doors
from steelyard.errors import UsageError
from steelyard.measure import records
from steelyard.measure.build.flags import list_unsafe
from steelyard.measure.launch import scheduler
from steelyard.measure.launch.host_networks import describe_hosts
from steelyard.measure.launch.reachable import expect_reachable
from steelyard.measure.machine.mpi_settings import read_mpi_settings
from steelyard.measure.plan import by_value, catalogue, length, mpi_in_effect
from steelyard.measure.plan.second import Patience
from steelyard.measure.plan.variants import spell
from steelyard.measure.records import best_pace, remembered, start_times
from steelyard.measure.records.best_pace import Best
from steelyard.measure.run import Measurer, setup
from steelyard.measure.run import quiet as looks
from steelyard.measure.run.again import again
from steelyard.measure.run.asking import LOOKING
from steelyard.measure.run.sensing import Sensing, recorded
from steelyard.measure.run.setup import Programs, Request, Setup
from steelyard.measure.screen import Screen
from steelyard.model import Effort, Machine, Plan, Run, Shown, Site
from steelyard.model.mpi_settings import describe
from steelyard.model.plain import to_plain
from steelyard.model.units import duration, percent
from steelyard.model.words import plural
from steelyard.system import files

ALIKE = 0.9  # share of the longest time of a run from which its shortest time is not stated


def start(
    request: Request, runs: Path, screen: Screen, sensing: Sensing | None = None, name: str | None = None
) -> Path:
    """Carries out a new run with this name (None: the time) while sensors are read.

    Returns its folder; Ctrl-C leaves one that can be resumed.
    """
    begun = time.monotonic()
    if name is not None:
        records.expect_new(runs, name)
    with screen.working("Examining the machine, its compilers and MPIs"):
        plan, here, warnings = setup.plan(request)
    if sensing and sensing.wanted:
        width = request.effort.sampling.width
        plan = sensing.lengthen(plan, width, here.machine)
        warnings = [*warnings, _describe_length(plan, sensing.seconds(width), width)]
    for warning in warnings:
        screen.warn(warning)
    expect_reachable(here.machine.hosts, here.site.launcher, here.site.extra)
    files.expect_folder(runs, "The run folder")  # first: where nothing can be written, nothing need be built
    remembered.trust(request.paths, _list_start_words(here))
    here = replace(here, machine=add_host_facts(here.machine, here.site, screen))
    programs = here.programs(screen)
    effort = length.shorten(request.effort, (time.monotonic() - begun) / len(here.toolchains))
    sensed = bool(sensing and sensing.wanted)
    if effort.most != request.effort.most and not (request.budget or request.shape or sensed):
        plan, here, again = setup.plan(replace(request, effort=effort), here)
        for warning in (text for text in again if text not in warnings):
            screen.warn(warning)
    best, within = best_pace.load(here.machine), scheduler.find_allocation()
    about = {
        **about_setup(here, [str(p.resolve()) for p in request.paths], request.budget),
        "shown": to_plain(best),
        "job": f"{within[0].name} {within[1].job}" if within else None,
    }
    free = _look(plan, here, programs, best, screen, request.wait)
    chosen = bool(request.only or request.shape or request.settings or sensed)
    screen.inform(f"steelyard: {state_length(plan, free, request.budget, effort, chosen)}")
    folder = records.RunFolder.create(runs, here.machine, plan, about, name or "")
    measurer = Measurer(
        machine=here.machine,
        plan=plan,
        programs=programs,
        folder=folder,
        budget=request.budget,
        length=length.measuring(plan, free, request.budget, effort),
        filled=not chosen,
        site=here.site,
        best=Best(best_pace.trusted(best), here.machine),
        patience=Patience(),
        mains=None if request.shape or request.settings or sensed else by_value.main_places(here.benchmarks, plan),
    )
    return _carry_out(measurer, screen, recorded(sensing, folder.path, screen, afresh=True))


def add_host_facts(machine: Machine, site: Site, screen: Screen) -> Machine:
    """Returns the machine with the network and the processor of every host of the run."""
    if not machine.hosts:
        return machine
    with screen.working("Examining the processors and the network of the hosts"):
        return describe_hosts(site, machine)


def _list_start_words(here: Setup) -> Mapping[remembered.Word, Sequence[str]]:
    """Returns the words of this command that can start any program; a resumed run may use them again."""
    return {
        "compiler": [t.compiler for t in here.toolchains.values()],
        "flags": [t.flags for t in here.toolchains.values() if list_unsafe(t.flags)],
        "mpi": [mpi.path for mpi in here.site.mpis.values()],
        "launcher": [shlex.join(here.site.extra)] if here.site.extra else [],
        "variant": [spell(variant) for variant in here.site.variants],
    }


def _describe_length(plan: Plan, seconds: float, width: float) -> str:
    return (
        f"Each case with an energy lasts {duration(seconds)}, because the sensors need this time for ± {percent(width)}. "
        "The run takes about "
        f"{duration(plan.seconds)}. Choose fewer cases with --only and --set, or read the sensors more often with --every."
    )


def about_setup(here: Setup, paths: Sequence[str], budget: float | None) -> dict[str, Any]:
    """Returns the facts on tools and versions for the folder of a run."""
    return {
        "versions": {"steelyard": __version__, "python": platform.python_version(), "kernel": platform.release()},
        "toolchains": to_plain(here.toolchains),
        "site": to_plain(here.site),
        "command": ["steelyard", *sys.argv[1:]],
        "budget": budget,
        "paths": paths,
    }


def state_length(
    plan: Plan, free: float, budget: float | None, effort: Effort | None = None, chosen: bool = False
) -> str:
    """Returns the sentence on the length of a run, if nobody else uses the machine in the share `free` of the time.

    `chosen`: the user chose the cases. Then the run ends as soon as they are settled.
    """
    launches = max((launch.repetition for launch in plan.launches), default=1)
    cases = plural(length.cases(plan), "case") + (f", each in {launches} launches" if launches > 1 else "")
    seconds = length.whole(plan, free, budget, effort)
    least = length.shortest(plan, free)
    if chosen and budget is None and least < ALIKE * seconds:
        return f"The run takes about {duration(least)}, and up to {duration(seconds)} if launches of a case differ: {cases}."
    return f"The run takes about {duration(seconds)}: {cases}."


def _look(plan: Plan, here: Setup, programs: Programs, best: Shown, screen: Screen, wait: float) -> float:
    """Measures in which share of the time the machine is quiet, and waits as long as the user allows."""
    toolchain = plan.launches[0].toolchain
    of_threads = [p for (_, built), p in programs.items() if built == toolchain and not doors.program_runner(p)]
    if not of_threads:
        only = {LOOKING: catalogue.find()[LOOKING]}
        alone = replace(here, site=Site(), benchmarks=only, toolchains={toolchain: here.toolchains[toolchain]})
        of_threads = list(alone.programs(screen).values())
    look = looks.looking(of_threads[0], here.machine, toolchain, best)

    def say(words: str) -> None:
        screen.inform(f"steelyard: {words}")

    with screen.working("Measuring whether the machine is quiet"):
        return looks.prepare(look, wait, length.measuring(plan), say).share


def go_on(
    path: Path, paths: Sequence[Path], screen: Screen, sensing: Sensing | None = None, trusted: bool = False
) -> Path:
    """Resumes a run that was interrupted, while sensors are read."""
    if records.head(path).in_turn:
        raise UsageError(
            f"The run {path} was measured in turn with another run. If the missing cases were measured now, they would not "
            "alternate with those of the other run. Compare the cases that both runs have, or measure both again with: "
            "steelyard compare --in-turn"
        )
    records.finished_cases(path)  # refuses records that cannot be read
    folder = records.RunFolder(path)  # before they are read: another process may be about to finish the run
    try:
        run = records.read(path)
        done = finished_cases(run)
        with screen.working("Examining the machine, its compilers and MPIs"):
            here = again(run, paths, setup.machine(), trusted)
        _expect_same_configuration(run, here.site)
        expect_reachable(run.machine.hosts, here.site.launcher, here.site.extra)
        programs = here.programs(screen)
    except BaseException:
        folder.close()
        raise
    free = _look(run.plan, here, programs, run.shown, screen, 0.0)
    seconds = _open(run.plan, done) * length.measuring(run.plan, free, run.budget)
    left = sum(run.plan.left_out.values())
    planned = plural(length.cases(run.plan) + left, "case")
    budget = f", and {left} are left out" if left else ""
    screen.inform(
        f"Continuing {path}: {_measured(run.plan, done)} of {planned} are measured{budget}. "
        f"The rest takes about {duration(seconds + length.evaluating(run.plan))}."
    )
    measurer = Measurer(
        machine=run.machine,
        plan=run.plan,
        programs=programs,
        folder=folder,
        done=done,
        length=seconds,
        site=here.site,
        best=Best(best_pace.trusted(run.shown), run.machine),
        patience=Patience(),
        earlier=run.records,
    )
    return _carry_out(measurer, screen, recorded(sensing, path, screen, afresh=False))


def _expect_same_configuration(run: Run, site: Site) -> None:
    """UsageError if the MPI is steered by other settings than at the start: the further cases would not fit the first ones."""
    settings = read_mpi_settings(site.mpis.values(), os.environ)
    then = mpi_in_effect.list_of_run(run)
    now = mpi_in_effect.list_of_run(replace(run, machine=replace(run.machine, mpi_settings=settings)))
    if then is not None and then != now:
        raise UsageError(
            f"The MPI of the run {run.path} was started with these settings: {describe(then)}. "
            f"Now they are: {describe(now or ())}. Restore the settings, or start a new run."
        )


def _measured(plan: Plan, done: set[tuple[int, int]]) -> int:
    """Returns how many cases have a record of their first launch."""
    return sum((x.number, i) in done for x in plan.launches if x.repetition == 1 for i, _ in enumerate(x.cases))


def _open(plan: Plan, done: set[tuple[int, int]]) -> float:
    """Returns the share of the planned time that the cases without a record take."""
    every = {(x.number, i): c for x in plan.launches for i, c in enumerate(x.cases)}
    seconds = {place: c.setup_seconds + c.sampling.seconds for place, c in every.items()}
    return sum(s for place, s in seconds.items() if place not in done) / max(1e-9, sum(seconds.values()))


def finished_cases(run: Run) -> set[tuple[int, int]]:
    """Returns (launch, case) of every record; `resume` does not measure these again."""
    return {(r.launch, r.case) for r in run.records}


def _carry_out(measurer: Measurer, screen: Screen, recording: AbstractContextManager[None]) -> Path:
    folder = measurer.folder
    kept = (
        f"Interrupted. All finished cases are kept in {folder.path}\n"
        f"Continue with:  steelyard resume {shlex.quote(str(folder.path))}\n"
        f"Show it with:   steelyard show {shlex.quote(str(folder.path))}"
    )
    with closing(folder), screen.keeping(kept):
        with recording, screen.measuring() as measurer.show:
            notes = measurer.run()
        best_pace.save(measurer.machine, measurer.best)
        start_times.save(measurer.machine, measurer.starts.factors())
        folder.finish({"notes": notes, "seconds": measurer.seconds, "repeating_seconds": measurer.waiting})
        for note in notes:
            screen.warn(note)
    return folder.path
