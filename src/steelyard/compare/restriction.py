"""Restricts what is compared to some benchmarks or groups."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from steelyard.errors import UsageError, nearest
from steelyard.model import Evaluation, Run


def restrict(evaluation: Evaluation, only: Sequence[str]) -> Evaluation:
    """Returns the evaluation with the results of these benchmarks or groups; all if there are none.

    UsageError for a name that the run does not have.
    """
    names = _choose({r.benchmark for r in evaluation.results}, only, evaluation.run.id)
    return replace(evaluation, results=tuple(r for r in evaluation.results if r.benchmark in names))


def restrict_plan(run: Run, only: Sequence[str]) -> Run:
    """Returns the run with the launches of these benchmarks or groups in its plan; all if there are none.

    UsageError for a name that the plan does not have.
    """
    names = _choose({launch.benchmark for launch in run.plan.launches}, only, run.id)
    launches = tuple(launch for launch in run.plan.launches if launch.benchmark in names)
    return replace(run, plan=replace(run.plan, launches=launches))


def _choose(benchmarks: Collection[str], only: Sequence[str], run: str) -> set[str]:
    names: set[str] = set()
    for wanted in only:
        matching = {name for name in benchmarks if name == wanted or name.startswith(wanted + ".")}
        if not matching:
            raise UsageError(
                f"The run {run} has no benchmark '{wanted}' (given by --only). {nearest(wanted, sorted(benchmarks))}"
            )
        names |= matching
    return names or set(benchmarks)
