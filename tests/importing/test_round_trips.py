"""What Steelyard exports in the forms of other tools comes back by the import, with the same values and units."""

from dataclasses import replace

import pytest

import builders
import exported_run
from steelyard.importing import reading
from steelyard.model import Evaluation, ForeignValue
from steelyard.show.report import export


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    return exported_run.evaluation()


def read_back(evaluation: Evaluation, form: str) -> tuple[ForeignValue, ...]:
    text = "".join(export.parts(evaluation, form))
    read = reading.read(text.encode(), reading.find_formats())
    assert not read.problems
    return read.values


def measured(evaluation: Evaluation) -> list[tuple[str, float]]:
    """The unit and the value of each metric of each valid result, in the order of the export."""
    valid = (r for r in evaluation.results if r.verdict.level != "INVALID")
    return [(value.unit, value.value) for result in valid for value in result.metrics.values()]


@pytest.mark.parametrize("form", ["reframe-log", "reframe-report"])
def test_a_log_and_a_report_of_reframe_come_back(evaluation: Evaluation, form: str) -> None:
    values = read_back(evaluation, form)
    came, wanted = sorted((v.unit, v.value) for v in values), sorted(measured(evaluation))
    assert [unit for unit, _ in came] == [unit for unit, _ in wanted]
    assert [value for _, value in came] == pytest.approx([value for _, value in wanted], rel=1e-15, abs=0)


def test_a_log_of_reframe_without_a_date_comes_back(evaluation: Evaluation) -> None:
    surroundings = builders.seen({})
    (triad,) = (r for r in evaluation.results if r.benchmark == "memory.stream")
    records = tuple(replace(record, surroundings=surroundings) for record in triad.records)
    undated = replace(evaluation, run=replace(evaluation.run, started=""), results=(replace(triad, records=records),))
    (value,) = read_back(undated, "reframe-log")
    assert (value.value, value.started) == (triad.metrics["bandwidth"].value, "")
