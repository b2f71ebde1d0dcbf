"""Restricts what is compared to some benchmarks or groups."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from steelyard.errors import UsageError, nearest
from steelyard.model import Evaluation, Run


def restrict(evaluation: Evaluation, only: Sequence[str]) -> Evaluation:
    """Returns the evaluation with the results of these benchmarks or groups; all if there are none.

    UsageError for a name that the run does not have.
    """
    names = choose({r.benchmark for r in evaluation.results}, only, f"The run {evaluation.run.id} has no")
    return replace(evaluation, results=tuple(r for r in evaluation.results if r.benchmark in names))


def restrict_plan(run: Run, only: Sequence[str]) -> Run:
    """Returns the run with the launches of these benchmarks or groups in its plan; all if there are none.

    UsageError for a name that the plan does not have.
    """
    names = choose({launch.benchmark for launch in run.plan.launches}, only, f"The run {run.id} has no")
    launches = tuple(launch for launch in run.plan.launches if launch.benchmark in names)
    return replace(run, plan=replace(run.plan, launches=launches))


def choose(benchmarks: Collection[str], only: Sequence[str], lacking: str) -> set[str]:
    """Returns the benchmarks that are meant; all if `only` is empty. UsageError, which begins with `lacking`, otherwise."""
    names: set[str] = set()
    for wanted in only:
        matching = {name for name in benchmarks if name == wanted or name.startswith(wanted + ".")}
        if not matching:
            raise UsageError(f"{lacking} benchmark '{wanted}' (given by --only). {nearest(wanted, sorted(benchmarks))}")
        names |= matching
    return names or set(benchmarks)
