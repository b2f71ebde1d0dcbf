"""The exit code of a command that shows a run: 3 for a wrong result, 4 for a failed case, 1 for a serious finding, else 0."""

from dataclasses import replace

import pytest

from builders import evaluation, result
from steelyard.command_line.conclusion import exit_code
from steelyard.model import Check, Evaluation, Finding

RIGHT, WRONG, FAILED = ({}, {"check": Check(False, "wrong")}, {"error": "not enough memory"})


def judged(*cases: dict, level: str = "") -> Evaluation:
    """An evaluation with these results, and one finding of this level, if any."""
    results = [
        result("memory.stream", "triad", {"threads": n + 1}, 1e-3, {"bytes": 1.0}, **case)
        for n, case in enumerate(cases)
    ]
    findings = (Finding("rule", level, "observed", (), "cause", "remedy", ""),) if level else ()  # type: ignore[arg-type]
    return replace(evaluation(results), findings=findings)


@pytest.mark.parametrize(
    ("cases", "level", "code"),
    [
        ((RIGHT,), "", 0),
        ((RIGHT,), "notice", 0),
        ((RIGHT,), "serious", 1),
        ((RIGHT, FAILED), "", 4),
        ((RIGHT, FAILED), "serious", 4),
        ((RIGHT, WRONG), "", 3),
        ((WRONG, FAILED), "serious", 3),
    ],
)
def test_the_gravest_outcome_decides(cases: tuple[dict, ...], level: str, code: int) -> None:
    assert exit_code(judged(*cases, level=level)) == code
