"""Findings: one rule per file with `find(evaluation) -> list[Finding]`, in this folder's groups and each wing's `findings`.

A rule gets the results of the start without changes (see `plan.variants`), or those of all variants if it has `EVERY_VARIANT`.
Rules that have `IMPORTED` judge imported runs, whose results have no records, and all others judge measured runs.
"""

import pkgutil
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

from steelyard import doors
from steelyard.doors import Part
from steelyard.model import Evaluation, Finding
from steelyard.model.plain import from_plain, to_plain
from steelyard.model.words import plural
from steelyard.statistics.results.variants import keep_unchanged

ORDER = {"serious": 0, "notice": 1, "good": 2, "undecided": 3}
MOST = 5  # findings that matter most
DOCTOR = "doctor"
WRONG = "wrong_result"  # findings of this rule come first: if results are wrong, other findings on them mean nothing
# Doubtful figures concern every reader of the run; the machine concerns all its programs; a loop concerns one program.
WEIGHTS = {"figures": 4, "machine": 2, "program": 1}


@dataclass(frozen=True)
class Kind:
    """The finding of a rule with the greatest weight, and the number of its other findings."""

    finding: Finding
    others: int


def list_rules() -> dict[str, Part]:
    """Returns all rules by name, sorted, from the wings and this folder (without the doctor)."""
    here = Path(__path__[0])
    groups = {
        f"{__name__}.{m.name}": here / m.name for m in pkgutil.iter_modules(__path__) if m.ispkg and m.name != DOCTOR
    }
    wings = {package: folder for package, folder in doors.packages("findings").items() if package != __name__}
    return {part.name: part for part in doors.parts("rule", groups | wings)}


def load_rule(name: str) -> ModuleType:
    """Returns the module of a rule."""
    return doors.load(list_rules()[name])


def judge(evaluation: Evaluation) -> Evaluation:
    """Returns the evaluation with the findings of all rules, ordered by weight. A rule that fails is a finding of its own."""
    findings: list[Finding] = []
    unchanged = keep_unchanged(evaluation)
    for part in list_rules().values():
        try:
            module = doors.load(part)
            if (unchanged.run.imported is not None) == getattr(module, "IMPORTED", False):
                seen = evaluation if getattr(module, "EVERY_VARIANT", False) else unchanged
                findings += _find(part, module, seen)
        except doors.PartFailed as failure:
            findings.append(_report_failed_rule(part, failure))
    ordered = sort_findings(findings)
    # How long a remedy takes is unknown on a machine that Steelyard did not describe.
    from steelyard.judge.findings import durations  # with the plans, which a list of findings does not need

    stated = ordered if evaluation.run.imported else durations.state(ordered, evaluation)
    return replace(evaluation, findings=stated)


def _find(part: Part, module: ModuleType, evaluation: Evaluation) -> tuple[Finding, ...]:
    """Returns the findings of a rule. PartFailed if a table of results cannot hold them."""
    found = doors.call(part, lambda: to_plain(list(module.find(evaluation))))
    try:
        return from_plain(tuple[Finding, ...], found)
    except (TypeError, ValueError) as error:
        raise doors.PartFailed(part, f"a finding has a field of a wrong type or value ({error})") from error


def _report_failed_rule(part: Part, failure: doors.PartFailed) -> Finding:
    return Finding(
        rule=part.name,
        level="notice",
        seen=str(failure),
        evidence=(),
        cause="The rule has a mistake, or meets data that it does not expect. The other rules are not affected.",
        remedy="Repair or remove this file. If it is a file of Steelyard, report this message.",
        reach="figures",
        about="measurement",
    )


def weigh(finding: Finding) -> float:
    """Returns the weight of a finding, 0 to 4: the share of the time or figure at stake, times the weight of its reach."""
    effect = finding.effect
    if effect is None or not effect > 0:
        return 0.0
    return WEIGHTS[finding.reach] * (1 - min(effect, 1 / effect))


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sorts findings: wrong results, serious, notices, good, undecided; within each by weight, then by reach."""
    return tuple(sorted(findings, key=lambda f: (f.rule != WRONG, ORDER[f.level], -weigh(f), -WEIGHTS[f.reach])))


def group_by_rule(findings: Iterable[Finding]) -> tuple[Kind, ...]:
    """Groups the ordered findings by rule, without undecided ones; a group has the place of its first finding."""
    groups: dict[str, list[Finding]] = {}
    for finding in select_decided(sort_findings(findings)):
        groups.setdefault(finding.rule, []).append(finding)
    return tuple(Kind(members[0], len(members) - 1) for members in groups.values())


def select_foremost(findings: Iterable[Finding]) -> tuple[Kind, ...]:
    """Returns the kinds that matter most: at most `MOST`, and only the first of those that are about the measurement."""
    # Findings with neither effect nor remedy are left out: nobody can act on them. Good ones fill the free places.
    ordered = [k for k in group_by_rule(findings) if k.finding.effect or k.finding.remedy or k.finding.level == "good"]
    measurement = next((kind for kind in ordered if kind.finding.about == "measurement"), None)
    return tuple(kind for kind in ordered if kind.finding.about == "machine" or kind is measurement)[:MOST]


def select_wrong(findings: Iterable[Finding]) -> tuple[Kind, ...]:
    """Returns the kinds of what is wrong, the most important first. Those of single programs come last, if they are brief."""
    kinds = [kind for kind in group_by_rule(findings) if kind.finding.level in ("serious", "notice")]
    usual = [k for k in kinds if k.finding.reach != "program" or k.finding.level == "serious"]
    return tuple(usual + [kind for kind in kinds if kind not in usual and kind.finding.brief])


def select_decided(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Returns the findings that answer their question."""
    return tuple(finding for finding in findings if finding.level != "undecided")


def describe_undecided(findings: Iterable[Finding]) -> str:
    """Returns a sentence on the number of undecided findings and their causes; "" if there are none."""
    causes = Counter(finding.cause.rstrip(".") for finding in findings if finding.level == "undecided")
    if not causes:
        return ""
    total = sum(causes.values())
    reasons = [f"{cause[:1].lower()}{cause[1:]}" for cause in causes]
    if len(causes) > 1:
        reasons = [f"{reason} ({count})" for reason, count in zip(reasons, causes.values(), strict=True)]
    return f"{plural(total, 'question')} could not be answered: {'; '.join(reasons)}."
