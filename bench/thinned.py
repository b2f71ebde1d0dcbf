"""What a recorded run loses if it keeps only the cases that a preset would measure on this machine today.

    python bench/thinned.py RUN                     the run's preset
    python bench/thinned.py RUN --preset standard
    python bench/thinned.py RUN --seconds 60        as if the greatest length of the preset were 60 s

Prints the main figures, the findings and the limits that are lost, and those that change. Findings change if their level does,
or their claim says another thing: numbers within 10 % count as equal. It asserts nothing.
"""

import argparse
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from steelyard.judge.evaluation import judging
from steelyard.measure import records
from steelyard.measure.plan import EFFORTS, catalogue, make
from steelyard.measure.records.power import read as read_power
from steelyard.model import Case, Evaluation, Launch, Run
from steelyard.model.sensor import Power
from steelyard.show.report.headline import headlines

NEAR = 0.1
_NUMBER = re.compile(r"\d[\d,]*\.?\d*(?:e-?\d+)?")


def is_planned(case: Case, planned: Sequence[Case]) -> bool:
    """Returns whether a planned case has the same parameters; records also have those that a program sets itself."""
    return any(
        (p.benchmark, p.kernel) == (case.benchmark, case.kernel) and p.parameters.items() <= case.parameters.items()
        for p in planned
    )


def thin(run: Run, preset: str, seconds: float | None) -> Run:
    """Returns the run with the cases that the plan of the preset has, and of at most this length."""
    effort = EFFORTS[preset] if seconds is None else replace(EFFORTS[preset], most=seconds, promised=seconds)
    cases = [case for launch in run.plan.launches for case in launch.cases]
    mpis = list(dict.fromkeys(str(case.parameters["mpi"]) for case in cases if "mpi" in case.parameters))
    plan = make(catalogue.find(), run.machine, effort, {}, [run.plan.launches[0].toolchain], mpis=mpis)
    planned = defaultdict[str, list[Case]](list)
    for case in (case for launch in plan.launches if launch.repetition == 1 for case in launch.cases):
        planned[case.benchmark].append(case)
    places, launches = dict[tuple[int, int], int](), list[Launch]()
    for launch in run.plan.launches:
        kept = [i for i, case in enumerate(launch.cases) if is_planned(case, planned[case.benchmark])]
        places |= {(launch.number, i): place for place, i in enumerate(kept)}
        launches.append(replace(launch, cases=tuple(launch.cases[i] for i in kept)))
    chosen = [replace(r, case=places[r.launch, r.case]) for r in run.records if (r.launch, r.case) in places]
    print(
        f"{len(cases)} records, of which the plan of today has {len(places)}; it leaves out {sum(plan.left_out.values())} cases."
    )
    return replace(run, plan=replace(run.plan, launches=tuple(x for x in launches if x.cases)), records=tuple(chosen))


def judge(run: Run, power: Power) -> Evaluation:
    found = catalogue.find()
    return judging.judge_run(run, {name: found[name] for name in run.plan.benchmarks() if name in found}, power)


def list_main_figures(evaluation: Evaluation) -> Mapping[str, str]:
    return {h.title: f"{h.value.value:.4g}" for h in headlines(evaluation, 99) if h.value}


def list_findings(evaluation: Evaluation) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for f in evaluation.findings:
        found[
            f"{f.rule} {f.benchmark}".strip()
            + "+" * sum(n.rstrip("+") == f"{f.rule} {f.benchmark}".strip() for n in found)
        ] = f"[{f.level}] {f.seen}"
    return found


def list_limits(evaluation: Evaluation) -> Mapping[str, str]:
    """Returns the greatest share of its limit that each metric of each benchmark reaches."""
    found: dict[str, float] = {}
    for result in evaluation.results:
        for name, limit in result.limits.items():
            if name in result.metrics and limit.value:
                share = result.metrics[name].value / limit.value
                place = f"{result.benchmark} {name}"
                found[place] = max(found.get(place, 0.0), share)
    return {name: f"{share:.3g}" for name, share in found.items()}


def are_alike(before: str, after: str) -> bool:
    """Returns whether both texts have the same words, and numbers that differ by a tenth at most."""
    if _NUMBER.sub("#", before) != _NUMBER.sub("#", after):
        return False
    numbers = ([float(n.replace(",", "").rstrip(".")) for n in _NUMBER.findall(text)] for text in (before, after))
    return all(abs(a - b) <= NEAR * max(abs(a), abs(b)) for a, b in zip(*numbers, strict=True))


def compare(title: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    lost = [name for name in before if name not in after]
    changed = [name for name in before if name in after and not are_alike(before[name], after[name])]
    yield f"\n{title}: {len(before)}; lost {len(lost)}, changed {len(changed)}, new {len(after.keys() - before.keys())}"
    yield from (f"  lost     {name}: {before[name]}" for name in lost)
    yield from (f"  changed  {name}: {before[name]}\n        →  {after[name]}" for name in changed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--preset")
    parser.add_argument("--seconds", type=float)
    asked = parser.parse_args()
    run = records.read(asked.run)
    power = read_power(asked.run)
    part = thin(run, asked.preset or run.plan.preset, asked.seconds)
    judged = [judge(one, power) for one in (run, part)]
    for title, listed in (("Main figures", list_main_figures), ("Findings", list_findings), ("Limits", list_limits)):
        print("\n".join(compare(title, *map(listed, judged))))


if __name__ == "__main__":
    main()
