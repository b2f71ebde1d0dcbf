"""What to trust and what to change: rules for an administrator."""

from collections.abc import Iterator, Sequence

from steelyard.compare.verdict.changes import is_change, suggest
from steelyard.compare.verdict.subject import PAGE, RESULTS, Sentence, Subject, spread_in_words
from steelyard.model.units import percent, quantity
from steelyard.model.words import plural

EVEN = 0.10  # spread of the latency over equal nodes; a slow node or link exceeds it
NEAR = 0.75  # of the limit: well-tuned memories reach it (see the finding "efficiency")


def judge_trust(subject: Subject) -> Iterator[Sentence]:
    """States how many results of a run are CLEAN."""
    if subject.side.is_foreign:
        return
    levels = [case.level for case in subject.cases]
    clean = sum(level == "CLEAN" for level in levels)
    if not levels:
        return
    text = f"{clean} of {plural(len(levels), 'result')} {'is' if clean == 1 else 'are'} CLEAN"
    rest = "." if clean == len(levels) else ": use the others only with their ranges, or measure on a quiet machine."
    yield Sentence(text=text + rest, evidence=(RESULTS,))


def judge_network(subject: Subject) -> Iterator[Sentence]:
    """Judges the spread of the latency over the nodes."""
    spread = subject.get("spread")
    if spread is None:
        return
    share = spread_in_words(spread)
    even = spread.number <= EVEN
    advice = "no node and no link needs a repair" if even else "look for a slow node or link"
    yield Sentence(text=f"The latency differs by {share} between the nodes: {advice}.", evidence=("spread",))


def judge_limits(subject: Subject) -> Iterator[Sentence]:
    """Compares Triad with the limit of the memory."""
    triad = subject.get("triad")
    if triad is None or triad.limit is None or triad.is_above_limit:
        return
    if any(f.rule == "efficiency" and is_change(f) for f in subject.findings):
        return
    share = triad.number / triad.limit.value
    limit = f"{percent(share)} of the limit of {quantity(triad.limit.value, triad.limit.unit)}"
    advice = "its memory is set up well" if share >= NEAR else "check the memory modules and the placement of threads"
    yield Sentence(text=f"Triad reaches {triad.text}, {limit}: {advice}.", evidence=("triad",))


def suggest_changes(subject: Subject) -> Iterator[Sentence]:
    """Suggests the first changes of the machine, or states that there is none."""
    if subject.evaluation is None:
        return
    changes = list(suggest(subject.findings, "machine"))
    yield from changes
    total = len(subject.findings)
    if not changes and total:
        yield Sentence(
            text=f"{plural(total, 'finding')} ask{'s' * (total == 1)} for no change of the machine.",
            evidence=(PAGE + "findings",),
        )


def admit_unknown_causes(subjects: Sequence[Subject]) -> Iterator[Sentence]:
    """States that the published systems have no findings, and so no causes and no changes."""
    figures = sum(len(subject.cases) for subject in subjects if subject.side.kind == "published")
    if figures:
        text = f"Only a run on the system can say what to change: {plural(figures, 'printed figure')} cannot."
        yield Sentence(text=text, evidence=(RESULTS,))


RULES = (suggest_changes, judge_trust, judge_limits, judge_network)
