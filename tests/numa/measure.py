"""Runs in the guest: describes it, plans one benchmark as a run does, and measures every case of the plan for a moment.

    measure.py BENCHMARK TOOLCHAIN RUNS [NAME=VALUES ...]

A run of the command line would sample each case for seconds, which tells nothing in an emulated machine; everything but
the length of the samples is the tool's own: description, plan, programs, records.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from steelyard import build, catalogue
from steelyard import plan as planning
from steelyard.machine import describe
from steelyard.model import Effort, Plan, Sampling
from steelyard.records import RunFolder
from steelyard.run import Evaluator
from steelyard.session import settings

# Two samples show that a case can be sampled; they say nothing about speed, and need not.
MOMENT = Sampling(width=0.5, seconds=0.02, least=2, most=2)


def main(name: str, toolchain: str, runs: str, words: Sequence[str]) -> None:
    """One launch of the benchmark into a run folder under `runs`."""
    here = describe()
    chosen = catalogue.choose(catalogue.find(()), [name])
    compiler = build.resolve(toolchain, here)
    plan = planning.make(chosen, here, Effort("quick", 1, MOMENT), settings(words), [compiler.name])
    plan = _for_a_moment(plan)
    programs = {(n, compiler.name): p for n, p in build.build(chosen.values(), compiler).items()}
    folder = RunFolder.create(Path(runs), here, plan, {"versions": {}})
    notes = Evaluator(here, plan, programs, folder).run()
    folder.finish({"notes": notes})
    folder.close()


def _for_a_moment(plan: Plan) -> Plan:
    """No case is sampled longer, and none is repeated because it was disturbed: here all are."""
    launches = (
        replace(launch, cases=tuple(replace(case, sampling=MOMENT) for case in launch.cases))
        for launch in plan.launches
    )
    return replace(plan, launches=tuple(launches), seconds=0.0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
