"""The subject of the rules of the verdict, and the sentences that they yield."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from steelyard.compare import quantities
from steelyard.compare.machine_figures import read_machine
from steelyard.compare.published_side import make_side
from steelyard.compare.quantities import Reading, Readings
from steelyard.compare.side import Side, SideCase, list_plain
from steelyard.compare.verdict.derived import derive
from steelyard.compare.verdict.growth import Growth, find_growth, read_growth
from steelyard.measure.published.system_library import list_readable
from steelyard.model import Evaluation, Finding
from steelyard.model.units import significant

Reader = Literal["buyer", "administrator", "programmer", "teacher"]
READERS: tuple[Reader, ...] = get_args(Reader)
# Evidence that is no quantity: "finding huge_pages", "page findings", and the number of results.
FINDING, PAGE, RESULTS = "finding ", "page ", "results"

# Kinds of work for which a system is good or weak.
MEMORY, COMPUTE = "memory-bound programs", "compute-bound programs"
RANDOM, FINE, COARSE = (
    "programs with random accesses",
    "fine-grained programs",
    "weak-scaling programs with few messages",
)
LONG_MESSAGES = "long messages"
COURSES, THREAD_COURSES = "courses on message passing", "courses on threads"


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """A sentence for one reader, with its evidence: names of quantities, findings or pages.

    `good` and `weak` are the kinds of work that it judges.
    """

    text: str
    evidence: tuple[str, ...]
    good: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One side with its readings; its evaluation if it is a run that was read; and the readings of the reference systems.

    The sides of the comparison are no reference systems.
    """

    side: Side
    readings: Readings
    references: Mapping[str, Readings]
    evaluation: Evaluation | None = None

    @property
    def cases(self) -> tuple[SideCase, ...]:
        """Returns the cases of all runs of the side, without those of variants."""
        return list_plain(self.side)

    @cached_property
    def compared(self) -> frozenset[str]:
        """Returns the names of the quantities and programs that are compared with those of another whole machine."""
        return frozenset(read_machine(self.side))

    @property
    def is_part(self) -> bool:
        """Returns whether it is a virtual machine: a part of a machine, which compares with others per core only."""
        machine = self.side.runs[-1].machine
        return machine is not None and machine.is_virtual

    @cached_property
    def growth(self) -> Growth | None:
        """Returns the speed of its nodes together."""
        return find_growth(self.cases)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Returns the findings, the most important first; empty if the side is not a run that was read."""
        return self.evaluation.findings if self.evaluation else ()

    def get(self, name: str) -> Reading | None:
        """Returns the reading of a quantity; None if the side does not have it."""
        return self.readings.get(name)

    def get_peak(self) -> Reading | None:
        """Returns the arithmetic peak that was measured, or that of the data sheet; None without both."""
        return self.get("peak") or self.get("sheet_peak")

    def others(self, name: str) -> list[tuple[str, Reading]]:
        """Returns the readings of the reference systems, the least first."""
        found = [(system, r[name]) for system, r in self.references.items() if name in r]
        return sorted(found, key=lambda pair: pair[1].number)


def read(side: Side) -> dict[str, Reading]:
    """Returns all readings of a side by the names of their quantities."""
    cases = list_plain(side)
    readings = quantities.read(side) | read_growth(cases)
    return {**readings, **derive(cases, readings)}


def read_references(without: Collection[str]) -> Mapping[str, Readings]:
    """Returns the readings of each system of the library by its name with its year, without the systems of these names."""
    return {s.dated: read(make_side(s)) for s in list_readable() if s.name not in without}


def count_results(side: Side) -> str:
    """Returns the number of results and of reliable ones: '312 of 753 CLEAN', '12 printed'."""
    levels = [case.level for run in side.runs for case in run.cases]
    if side.is_foreign:
        return f"{len(levels)} {'printed' if side.kind == 'published' else 'imported'}"
    return f"{sum(level == 'CLEAN' for level in levels)} of {len(levels)} CLEAN"


def in_sentence(title: str) -> str:
    """Returns a title as it stands within a sentence: 'arithmetic peak', but 'Triad bandwidth'."""
    return title if title.startswith(("Triad", "HPL")) else f"{title[:1].lower()}{title[1:]}"


def spread_in_words(spread: Reading) -> str:
    """Returns the spread: '5.8 %', or 'less than 7 %' of a source that prints an upper bound."""
    bound = "less than " if spread.level == "FOREIGN" else ""
    return f"{bound}{100 * spread.number:.2g} %"


def count_in_words(number: float) -> str:
    """Returns a large count in words: 619000 → '619 thousand'."""
    for factor, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"), (1e3, "thousand")):
        if number >= factor * 0.9995:
            return f"{significant(number / factor)} {word}"
    return significant(number)


def gain_in_words(factor: float) -> str:
    """Returns how much faster something can become: 1.23 → 'up to 23 % faster', 3.1 → 'up to 3.1 times as fast'."""
    return f"up to {100 * (factor - 1):.0f} % faster" if factor < 2 else f"up to {significant(factor, 2)} times as fast"
