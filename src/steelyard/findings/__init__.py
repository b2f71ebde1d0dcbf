"""Findings: one rule a file, `find(evaluation) -> list[Finding]`, in the groups of this folder and in `findings` of each wing."""

import importlib
import pkgutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

from steelyard import doors
from steelyard.model import Evaluation, Finding

ORDER = {"serious": 0, "notice": 1, "good": 2}
DOCTOR = "doctor"
WRONG = "wrong_result"  # this rule's come before all others: nothing else about those figures matters
# A doubt of the run's figures concerns whoever reads any of them, the machine all programs on it, a loop its own program.
WEIGHTS = {"figures": 4, "machine": 2, "program": 1}


@dataclass(frozen=True)
class Kind:
    """The weightiest finding of a rule, and how many others of the same rule there are."""

    finding: Finding
    others: int


def rules() -> dict[str, str]:
    """Their names, sorted, each with its module: files of the wings, and of the folders of this one but the doctor's."""
    here = Path(__path__[0])
    groups = {f"{__name__}.{m.name}": here / m.name for m in pkgutil.iter_modules(__path__) if m.name != DOCTOR}
    wings = {package: folder for package, folder in doors.packages("findings").items() if package != __name__}
    files = [
        (module.name, package)
        for package, folder in (groups | wings).items()
        for module in pkgutil.iter_modules([str(folder)])
    ]
    return {name: f"{package}.{name}" for name, package in sorted(files)}


def rule(name: str) -> ModuleType:
    """The module of a rule."""
    return importlib.import_module(rules()[name])


def judge(evaluation: Evaluation) -> Evaluation:
    """The evaluation with the findings of all rules, in the order of their weight."""
    found: list[Finding] = []
    for name, module in rules().items():
        try:
            found += importlib.import_module(module).find(evaluation)
        except Exception as error:  # one rule that cannot judge must not hide what the others found
            found.append(_cannot(name, error))
    return replace(evaluation, findings=ranked(found))


def _cannot(rule: str, error: Exception) -> Finding:
    said = f"{type(error).__name__}: {error}"
    return Finding(
        rule=rule,
        level="notice",
        seen=f"The rule '{rule}' cannot judge this run ({said}).",
        evidence=(),
        cause="Records hold what no program of Steelyard writes: they are damaged, or of a benchmark from outside.",
        remedy="Measure again. If the records are as they were written, please report this sentence.",
        reach="figures",
    )


def weight(finding: Finding) -> float:
    """What a finding would change, 0 to 4: the share of a time or a figure that is at stake, by whom that concerns."""
    effect = finding.effect
    if effect is None or not effect > 0:
        return 0.0
    return WEIGHTS[finding.reach] * (1 - min(effect, 1 / effect))


def ranked(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Wrong results, then serious ones, notices, good ones; within each by weight, and by reach where that is equal."""
    return tuple(
        sorted(findings, key=lambda f: (f.rule != WRONG, ORDER[f.level], -weight(f), -WEIGHTS[f.reach])),
    )


def kinds(findings: Iterable[Finding]) -> tuple[Kind, ...]:
    """The findings in their order, those of one rule as one kind, at the place of its weightiest."""
    groups: dict[str, list[Finding]] = {}
    for finding in ranked(findings):
        groups.setdefault(finding.rule, []).append(finding)
    return tuple(Kind(members[0], len(members) - 1) for members in groups.values())
