"""Runs in the guest: describes it, plans benchmarks as a run does, and measures every case for a moment.

    measure.py TOOLCHAIN RUNS BENCHMARK [NAME=VALUES ...] [, BENCHMARK [NAME=VALUES ...]] ...

A run of the command line would sample each case for seconds, which tells nothing in an emulated machine;
everything but the length of the samples is the tool's own: description, plan, programs, records. The folders
of the runs are named after the benchmarks.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from steelyard.measure import build
from steelyard.measure import plan as planning
from steelyard.measure.machine import describe
from steelyard.measure.plan import catalogue
from steelyard.measure.records import RunFolder
from steelyard.measure.run import Measurer
from steelyard.model import Case, Effort, Launch, Machine, Plan, Sampling
from steelyard.show.command_line.request import read_settings

# Two samples show that a case can be sampled; they say nothing about speed, and need not.
MOMENT = Sampling(width=0.5, seconds=0.02, least=2, most=2)
ABSENT = "bind:7"  # a policy that the plan refuses: the programs must refuse it as well


def main(toolchain: str, runs: str, words: Sequence[str]) -> None:
    """One launch of each benchmark, into run folders under `runs`."""
    here = describe()
    for comma, job in groupby(words, lambda word: word == ","):
        if not comma:
            name, *given = job
            _measure(here, name, given, build.resolve(toolchain, here), Path(runs) / name)


def _measure(here: Machine, name: str, given: Sequence[str], toolchain: build.Toolchain, runs: Path) -> None:
    chosen = catalogue.choose(catalogue.find(()), [name])
    plan = planning.make(chosen, here, Effort("quick", 1, MOMENT), read_settings(given), [toolchain.name])
    programs = {(n, toolchain.name): p for n, p in build.build(chosen.values(), toolchain).items()}
    folder = RunFolder.create(runs, here, plan, {"versions": {}})
    notes = Measurer(machine=here, plan=_for_a_moment(plan), programs=programs, folder=folder).run()
    folder.finish({"notes": notes})
    folder.close()


def _for_a_moment(plan: Plan) -> Plan:
    """No case is sampled longer, and none is repeated because it was disturbed: here all are."""
    launches = (
        replace(launch, cases=tuple(replace(case, sampling=MOMENT) for case in (*launch.cases, *_absent(launch))))
        for launch in plan.launches
    )
    return replace(plan, launches=tuple(launches), seconds=0.0)


def _absent(launch: Launch) -> list[Case]:
    """The cases that bind memory to the second node, bound to one that is not there."""
    bound = (case for case in launch.cases if case.parameters.get("memory_policy") == "bind:1")
    return [replace(case, parameters={**case.parameters, "memory_policy": ABSENT}) for case in bound]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
