"""The verdict on a system: one paragraph for each reader, from rules with evidence.

The rules of a reader are the functions in the module of its name. A rule gets a `Subject` (a side of a comparison, the reference
systems, and the findings if the side is a run that was read) and yields sentences with their evidence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard.compare.quantities import Readings
from steelyard.compare.side import Side
from steelyard.compare.verdict import administrator, buyer, programmer, teacher
from steelyard.compare.verdict.administrator import admit_unknown_causes
from steelyard.compare.verdict.choices import PresentCalls, choose
from steelyard.compare.verdict.programs import read_programs
from steelyard.compare.verdict.subject import READERS, Reader, Sentence, Subject, count_results, read, read_references
from steelyard.model import Evaluation

RULES = {
    "buyer": buyer.RULES,
    "administrator": administrator.RULES,
    "programmer": programmer.RULES,
    "teacher": teacher.RULES,
}
MOST = 6  # sentences of a paragraph


@dataclass(frozen=True, kw_only=True)
class SideVerdict:
    """The verdict on one side: the work for which it is good and weak, and the sentences for each reader."""

    name: str
    good: tuple[str, ...]
    weak: tuple[str, ...]
    sentences: Mapping[Reader, tuple[Sentence, ...]]
    readings: Readings
    results: str
    sources: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The verdict on one or several sides; with several, `choices` end the paragraph of each reader.

    `notes` are for the administrator, on all sides. `references` are the readings of the reference systems by system.
    """

    sides: tuple[SideVerdict, ...]
    notes: tuple[Sentence, ...]
    choices: Mapping[Reader, tuple[Sentence, ...]]
    references: Mapping[str, Readings]


def conclude(sides: Sequence[Side], evaluation: Evaluation | None = None) -> Verdict:
    """Returns the verdict on the sides. `evaluation` is that of a side that is a run; its findings are used, too."""
    references = read_references({side.name for side in sides})
    subjects = [
        Subject(
            side=side,
            readings=read(side) | programs,
            references=references,
            evaluation=evaluation if _is_of(side, evaluation) else None,
        )
        for side, programs in zip(sides, read_programs(sides), strict=True)
    ]
    judged = tuple(map(_judge, subjects))
    works = {side.name: (side.good, side.weak) for side in judged}
    several, present = READERS if len(sides) > 1 else (), PresentCalls()
    return Verdict(
        sides=judged,
        notes=tuple(admit_unknown_causes(subjects)),
        choices={reader: tuple(choose(subjects, reader, works, present)) for reader in several},
        references=references,
    )


def _is_of(side: Side, evaluation: Evaluation | None) -> bool:
    return side.kind == "run" and evaluation is not None and side.runs[0].run == evaluation.run.id


def _judge(subject: Subject) -> SideVerdict:
    sentences = {reader: tuple(s for rule in RULES[reader] for s in rule(subject))[:MOST] for reader in READERS}
    judged = [s for reader in READERS for s in sentences[reader]]
    return SideVerdict(
        name=subject.side.name,
        good=tuple(dict.fromkeys(work for s in judged for work in s.good)),
        weak=tuple(dict.fromkeys(work for s in judged for work in s.weak)),
        sentences=sentences,
        readings=subject.readings,
        results=count_results(subject.side),
        sources=subject.side.runs[0].notes if subject.side.kind == "published" else (),
    )
