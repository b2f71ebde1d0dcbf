"""The exit code of a run: 3 or 2 for a wrong result, 4 for a failed case, 1 for a serious finding about the machine, else 0."""

from dataclasses import replace

import pytest

from builders import evaluation, measured, result, triad
from steelyard.model import Check, Evaluation, Finding, Toolchain
from steelyard.show.command_line.conclusion import exit_code

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


@pytest.mark.parametrize(
    ("about", "strict", "code"), [("machine", False, 1), ("measurement", False, 0), ("measurement", True, 1)]
)
def test_disturbances_count_only_if_strict(about: str, strict: bool, code: int) -> None:
    made = judged(RIGHT, level="serious")
    made = replace(made, findings=tuple(replace(f, about=about) for f in made.findings))  # type: ignore[arg-type]
    assert exit_code(made, strict) == code


@pytest.mark.parametrize(
    ("flags", "second", "code"),
    [
        ("-O3 -march=native -ffast-math", False, 2),
        ("-O3 -march=native", False, 3),
        ("-O3 -march=native -ffast-math", True, 3),
    ],
)
def test_flags_of_the_user_that_always_fail_are_wrong_usage(flags: str, second: bool, code: int) -> None:
    """`second`: the check passed in another launch with the same flags, so they do not explain the wrong result."""
    made = evaluation([triad(1e9, toolchain="gcc-12.2.0", check=Check(False, "wrong"))])
    (one,) = made.results
    first, *rest = one.records
    one = measured(one, records=(first, *(replace(r, check=Check(second)) for r in rest)))
    run = replace(made.run, toolchains={"gcc-12.2.0": Toolchain("gcc-12.2.0", "/usr/bin/g++", "12.2.0", flags)})
    assert len(one.records) > 1
    assert exit_code(replace(made, run=run, results=(one,))) == code
