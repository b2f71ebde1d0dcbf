"""Sides of a comparison: what is kept of a run, and which names a user may give."""

from pathlib import Path
from statistics import median

import pytest

import report_fixture
from steelyard.compare.reduced_run import reduce_run
from steelyard.errors import UsageError
from steelyard.show.command_line.sides import read_sides
from steelyard.statistics.results.cost import launches_by_number


def test_a_reduced_run_keeps_values_and_launch_times_of_each_case() -> None:
    evaluation = report_fixture.evaluation()
    side = reduce_run(evaluation)
    kept = {(c.benchmark, c.kernel, *map(str, c.parameters.values())): c for c in side.cases}
    for result in evaluation.results:
        if result.verdict.level != "CLEAN" or not result.metrics:
            continue
        case = kept[(result.benchmark, result.kernel, *map(str, result.parameters.values()))]
        assert dict(case.metrics) == dict(result.metrics)
        medians = {n: median(samples.tolist()) for n, samples in launches_by_number(result).items()}
        if medians:
            assert {t.launch: t.seconds for t in case.times} == pytest.approx(medians)
    assert side.cases


def test_a_published_system_is_a_side_without_samples() -> None:
    (side,) = read_sides(["Mont-Blanc node"], [], Path("runs"), [])
    assert (side.kind, len(side.runs)) == ("published", 1)
    assert {case.level for case in side.runs[0].cases} == {"FOREIGN"}
    assert not any(case.times for case in side.runs[0].cases)


@pytest.mark.parametrize(
    ("names", "groups", "part"),
    [
        (["nowhere"], [], "There is no published system of that name, either."),
        ([], ["old"], "'old' is not NAME=RUNS"),
        ([], ["old=nothing-2020*"], "The group 'old' is empty"),
        (["Mont-Blanc node", "Mont-Blanc node"], [], "is given twice"),
    ],
)
def test_a_wrong_side_is_named_in_a_sentence(names: list[str], groups: list[str], part: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=part):
        read_sides(names, groups, tmp_path, [])
