"""The findings: what was observed, on what evidence, why it may be so, and what to try."""

from dataclasses import dataclass

from steelyard.model import Evaluation, Finding
from steelyard.report.names import slug

PLACE, TITLE = 10, "Findings"

LEVELS = {
    "serious": ("Serious", "these problems slow the machine down or make its results unreliable"),
    "notice": ("Notice", "you should know this before you use the results"),
    "good": ("Good", "no action is needed"),
}


@dataclass(frozen=True)
class Group:
    """The findings of one level."""

    level: str
    word: str
    meaning: str
    findings: tuple[tuple[Finding, str, str], ...]  # with the anchor and the title of its benchmark, or ""


@dataclass(frozen=True)
class Findings:
    """Returns the findings for the page, the serious ones first."""

    groups: tuple[Group, ...]


def data(evaluation: Evaluation) -> Findings:
    """The findings by level, in their order."""

    def linked(finding: Finding) -> tuple[Finding, str, str]:
        benchmark = evaluation.benchmarks.get(finding.benchmark)
        return finding, slug(finding.benchmark) if benchmark else "", benchmark.title if benchmark else ""

    groups = (
        Group(level, word, meaning, tuple(linked(f) for f in evaluation.findings if f.level == level))
        for level, (word, meaning) in LEVELS.items()
    )
    return Findings(tuple(group for group in groups if group.findings))


def count(page: Findings) -> int:
    """Returns the number of findings."""
    return sum(len(group.findings) for group in page.groups)
