"""The findings: what was observed, on what evidence, why it may be so, and what to try."""

from dataclasses import dataclass

from steelyard.judge import findings
from steelyard.model import Evaluation, Finding
from steelyard.show.report.lines import leading
from steelyard.show.report.names import slug

PLACE, TITLE = 10, "Findings"
IMPORTED = True

LEVELS = {
    "serious": ("Serious", "these problems slow the machine down or make its results unreliable"),
    "notice": ("Notice", "you should know this before you use the results"),
    "good": ("Good", "no action is needed"),
}
MOST_LINES, WIDTH = 5, 100  # of the evidence that is shown at once: lines, and their characters on a usual screen


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A finding. `more` is the evidence that is shown on demand. `anchor` and `title` of its benchmark, or "".

    `place` is the anchor of the finding: that of its rule for the first one of a rule, "" for the others.
    """

    finding: Finding
    evidence: tuple[str, ...]
    more: tuple[str, ...]
    anchor: str
    title: str
    place: str


@dataclass(frozen=True)
class Group:
    """The findings of one level."""

    level: str
    word: str
    meaning: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Findings:
    """The findings by level, the serious ones first, and the questions that could not be answered, with their sentence."""

    groups: tuple[Group, ...]
    unanswered: str
    undecided: tuple[Entry, ...]


def data(evaluation: Evaluation) -> Findings:
    """Returns the findings by level, in their order."""
    first = {finding.rule: finding for finding in reversed(evaluation.findings)}

    def entries(level: str) -> tuple[Entry, ...]:
        return tuple(
            _entry(evaluation, finding, f"finding-{slug(finding.rule)}" if first[finding.rule] is finding else "")
            for finding in evaluation.findings
            if finding.level == level
        )

    groups = (Group(level, word, meaning, entries(level)) for level, (word, meaning) in LEVELS.items())
    return Findings(
        tuple(group for group in groups if group.entries),
        findings.describe_undecided(evaluation.findings),
        entries("undecided"),
    )


def _entry(evaluation: Evaluation, finding: Finding, place: str) -> Entry:
    benchmark = evaluation.benchmarks.get(finding.benchmark)
    count = leading(finding.evidence, WIDTH, MOST_LINES)
    anchor, title = (slug(finding.benchmark), benchmark.title) if benchmark else ("", "")
    shown, more = finding.evidence[:count], finding.evidence[count:]
    return Entry(finding=finding, evidence=shown, more=more, anchor=anchor, title=title, place=place)


def count(page: Findings) -> int:
    """Returns the number of findings."""
    return sum(len(group.entries) for group in page.groups)
