"""The verdict: what the system is good for, in a paragraph for each reader, with a link to the evidence of each sentence."""

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.compare.side import Side
from steelyard.compare.verdict import SideVerdict, Verdict, conclude
from steelyard.compare.verdict.subject import FINDING, PAGE, READERS, RESULTS, Reader, Sentence, in_sentence
from steelyard.measure.published.our_case import MACHINE
from steelyard.model import Evaluation
from steelyard.model.units import percent, quantity
from steelyard.model.words import joined
from steelyard.show.report.names import slug
from steelyard.show.report.sides_of_report import ReportSides

PLACE, TITLE = 5, "Verdict"
SIDES = 1

HEADINGS: dict[Reader, str] = {
    "buyer": "For a buyer",
    "administrator": "For an administrator",
    "programmer": "For a programmer",
    "teacher": "For a teacher",
}
FEW = 3  # sides whose own sentences are shown; of more, only the choices
SOURCE = "Published in: "
MOST = 2  # sentences of a paragraph on each of several sides


@dataclass(frozen=True)
class Link:
    """A link to the evidence of a sentence: an anchor of the report, and its words."""

    anchor: str
    text: str


@dataclass(frozen=True)
class Line:
    """A sentence with the links to its evidence, and the name of the side that it is about; "" if there is only one side."""

    side: str
    text: str
    links: tuple[Link, ...]


@dataclass(frozen=True)
class Paragraph:
    """The paragraph of a reader: the sentences on each side, then the choices."""

    heading: str
    lines: tuple[Line, ...]
    choices: tuple[Line, ...]


@dataclass(frozen=True)
class Cell:
    """A value with its level and its condition; "" for a side that does not have it. A count has no level."""

    text: str
    level: str
    condition: str


@dataclass(frozen=True)
class Summary:
    """The kinds of work for which a side is good and weak, as texts; "" for none. `cells`: its figures, as in `rows`."""

    name: str
    good: str
    weak: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Row:
    """A figure behind the sentences, and its values of the reference systems. `page` is the anchor of its benchmark."""

    anchor: str
    title: str
    page: str
    references: str


@dataclass(frozen=True, kw_only=True)
class Page:
    """The verdict on one or several sides, with the figures behind it. `few`: a column of the table is a side, not a figure."""

    few: bool
    sides: tuple[Summary, ...]
    paragraphs: tuple[Paragraph, ...]
    rows: tuple[Row, ...]
    sources: tuple[str, ...]


def data(evaluation: Evaluation | None, compared: ReportSides) -> Page | None:
    """Returns the verdict on the sides of a report; None if they have nothing that a rule judges."""
    return make_page(compared.sides, evaluation)


def make_page(sides: Sequence[Side], evaluation: Evaluation | None) -> Page | None:
    """Returns the verdict on these sides. `evaluation` is that of the run whose report this is; None: of no run."""
    verdict = conclude(sides, evaluation)
    paragraphs = tuple(p for reader in READERS if (p := _paragraph(reader, verdict)).lines or p.choices)
    if not paragraphs:
        return None
    names = _list_used(verdict)
    return Page(
        few=len(sides) <= FEW,
        sides=tuple(
            Summary(side.name, joined(side.good), joined(side.weak), tuple(_cell(name, side) for name in names))
            for side in verdict.sides
        ),
        paragraphs=paragraphs,
        rows=tuple(_row(name, verdict, evaluation) for name in names),
        sources=tuple(
            dict.fromkeys(source for side in verdict.sides for source in side.sources if source.startswith(SOURCE))
        ),
    )


def _paragraph(reader: Reader, verdict: Verdict) -> Paragraph:
    several = len(verdict.sides) > 1
    shown = verdict.sides if len(verdict.sides) <= FEW else ()
    lines = (
        _line(sentence, verdict, side.name if several else "")
        for side in shown
        for sentence in side.sentences[reader][: MOST if several else None]
    )
    notes = (_line(note, verdict) for note in (verdict.notes if reader == "administrator" else ()))
    choices = (_line(sentence, verdict) for sentence in verdict.choices.get(reader, ()))
    return Paragraph(HEADINGS[reader], (*lines, *notes), tuple(choices))


def _line(sentence: Sentence, verdict: Verdict, side: str = "") -> Line:
    return Line(side, sentence.text, tuple(_link(name, verdict) for name in sentence.evidence))


def _link(evidence: str, verdict: Verdict) -> Link:
    if evidence.startswith(FINDING):
        return Link(f"finding-{slug(evidence.removeprefix(FINDING))}", "finding")
    if evidence.startswith(PAGE):
        name = evidence.removeprefix(PAGE)
        return Link(name, name)
    title = next((s.readings[evidence].title for s in verdict.sides if evidence in s.readings), "results")
    return Link(f"verdict-{evidence}", in_sentence(title))


def _list_used(verdict: Verdict) -> list[str]:
    """Returns the quantities that a sentence uses, in their order, and the number of results if one uses it."""
    sentences = [s for side in verdict.sides for reader in READERS for s in side.sentences[reader]]
    sentences += [*verdict.notes, *(s for reader in READERS for s in verdict.choices.get(reader, ()))]
    used = {name for sentence in sentences for name in sentence.evidence}
    names = dict.fromkeys(name for side in verdict.sides for name in side.readings)
    return [name for name in (*names, RESULTS) if name in used]


def _row(name: str, verdict: Verdict, evaluation: Evaluation | None) -> Row:
    anchor = f"verdict-{name}"
    if name == RESULTS:
        return Row(anchor, "Results", "overview" if evaluation else "", "")
    first = next(side.readings[name] for side in verdict.sides if name in side.readings)
    page = "machine" if first.benchmark == MACHINE and evaluation else ""
    if evaluation and first.benchmark in evaluation.benchmarks:
        page = slug(first.benchmark)
    return Row(anchor, first.title, page, _references(name, verdict))


def _cell(name: str, side: SideVerdict) -> Cell:
    if name == RESULTS:
        return Cell(side.results, "", "")
    reading = side.readings.get(name)
    if reading is None:
        return Cell("", "", "")
    above = " (above its limit)" if reading.is_above_limit else ""
    share = f"{percent(reading.number / reading.limit.value)} of the limit{above}" if reading.limit else ""
    level = "CLEAN" if reading.level == "FOREIGN" else reading.level
    value = quantity(reading.number, reading.value.unit)
    return Cell(value, level, ", ".join(filter(None, (reading.condition, share))))


def _references(name: str, verdict: Verdict) -> str:
    """Returns the values of the reference systems, or of three of many: the least, the middle one and the greatest."""
    others = sorted((r[name].number, r[name].text, system) for system, r in verdict.references.items() if name in r)
    if len(others) > 3:
        others = [others[0], others[len(others) // 2], others[-1]]
    return "; ".join(f"{system} {text}" for _, text, system in others)
