"""The pace of the machine over the run: how much of it was within bounds, what was set aside for it, and what ran when."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from steelyard.measure.plan import second
from steelyard.model import Evaluation, Shown
from steelyard.model.observed import Kind
from steelyard.model.words import joined
from steelyard.show.report import drawing, values
from steelyard.show.report.names import grouped, slug
from steelyard.show.report.pages.pace import figures
from steelyard.show.report.pages.pace.run_course import Step, causes, course
from steelyard.statistics.validity.pace import seconds_waited
from steelyard.statistics.validity.verdict import name_disturbance

PLACE, TITLE = 110, "Pace"

MOST_CAUSES = 3  # in a sentence

_PARTS: Mapping[str, tuple[Kind, ...]] = {
    "the cores": ("core_clock", "issued"),
    "the memory": ("stream", "chase"),
    "messages": ("exchange",),
}


@dataclass(frozen=True)
class Row:
    """A benchmark: its page's anchor ("": it has none), and its numbers."""

    name: str
    anchor: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Page:
    """Returns the data of the page. `records`: JSON that its figures share."""

    paragraphs: tuple[str, ...]
    figures: tuple[drawing.Drawn, ...]
    records: Markup
    rows: tuple[Row, ...]


def data(evaluation: Evaluation) -> Page | None:
    """The page's data; None for a run whose records do not tell when they began."""
    run_course = course(evaluation.run)
    if run_course is None:
        return None
    measured = {step.record.launch for step in run_course.steps}
    steps: dict[str, list[Step]] = {}
    for step in run_course.steps:
        steps.setdefault(step.record.benchmark, []).append(step)
    further = (
        () if evaluation.run.in_turn else second.added(evaluation.run.plan)
    )  # rounds in turn are no further launches
    added = [launch for launch in further if launch.number in measured]
    return Page(
        (
            f"{_describe_bounds(run_course.steps)} {_compared(evaluation.run.shown)}",
            f"{_describe_set_aside(run_course.steps)} {_describe_disturbed(run_course.steps)}".strip(),
            f"{_describe_waiting(run_course.steps)} {_describe_further(len(added))}".strip(),
        ),
        figures.figures(run_course, added),
        drawing.embedded(figures.records(run_course, evaluation)),
        tuple(_row(evaluation, steps[n], n) for names in grouped(sorted(steps)).values() for n in names),
    )


# --------------------------------------------------------------------------- in words


def _describe_bounds(steps: Sequence[Step]) -> str:
    held = {name: _count_within_bounds(steps, kinds) for name, kinds in _PARTS.items()}
    shares = [(name, share) for name, share in held.items() if share]
    if not shares:
        return "There are too few readings to compare."
    (first, share), *others = shares
    listed = joined([f"{share} records", *(f"{name} in {part}" for name, part in others)])
    return f"{first.capitalize()} were within their bounds in {listed}."


def _count_within_bounds(steps: Sequence[Step], kinds: Sequence[Kind]) -> str:
    """'93 % of 1 200'; "" where none of these kinds was read."""
    flags = [held for step in steps if (held := step.within(kinds)) is not None]
    return f"{values.percent(sum(flags) / len(flags))} of {_count(len(flags))}" if flags else ""


def _describe_waiting(steps: Sequence[Step]) -> str:
    waiting = sum(seconds_waited(step.record) for step in steps)
    return (
        f"Steelyard waited {values.duration(waiting)} in total for a quiet machine."
        if waiting
        else "Steelyard did not have to wait for a quiet machine."
    )


def _describe_set_aside(steps: Sequence[Step]) -> str:
    taken, aside = sum(len(s.record.samples) for s in steps), sum(len(s.record.aside) for s in steps)
    if not aside:
        return f"None of the {_count(taken)} samples was set aside."
    by = causes(steps)
    named = ", ".join(f"{cause} {_count(number)}" for cause, number in by.most_common())
    doubled = ", some for several reasons" if sum(by.values()) > aside else ""
    why = f" ({named}{doubled})" if named else ""
    return f"{_count(aside)} of {_count(taken)} samples were set aside{why}. All values use only the other samples."


def _describe_disturbed(steps: Sequence[Step]) -> str:
    disturbed = [step.record for step in steps if step.state == "disturbed"]
    if not disturbed:
        return ""
    by = Counter(name for record in disturbed if (name := name_disturbance(record.verdict))).most_common(MOST_CAUSES)
    mostly = f", most often because of {joined([f'{name} ({_count(number)})' for name, number in by])}" if by else ""
    return (
        f"{_count(len(disturbed))} of {_count(len(steps))} records {'is' if len(disturbed) == 1 else 'are'} "
        f"DISTURBED{mostly}."
    )


def _describe_further(added: int) -> str:
    if not added:
        return ""
    many = "1 further launch was" if added == 1 else f"{added} further launches were"
    return f"In the time that was left, {many} added, first for cases whose values were not yet certain."


def _compared(shown: Shown) -> str:
    if not shown.runs:
        return (
            "This is the first run on this machine, so the readings are compared with the best level of this run only."
        )
    many = "1 earlier run" if shown.runs == 1 else f"{shown.runs} earlier runs"
    return f"The readings are compared with the best level of this run and of {many} since {shown.since[:10]}."


def _count(number: int) -> str:
    return f"{number:,}".replace(",", "\u202f")


# --------------------------------------------------------------------------- by benchmark


def _row(evaluation: Evaluation, steps: Sequence[Step], name: str) -> Row:
    levels = [values.level(result) for result in evaluation.results if result.benchmark == name]
    still = sum(level not in ("DISTURBED", "INVALID") for level in levels)
    taken, aside = sum(len(s.record.samples) for s in steps), sum(len(s.record.aside) for s in steps)
    waiting = sum(seconds_waited(step.record) for step in steps)
    return Row(
        name,
        slug(name) if name in evaluation.benchmarks else "",
        (
            f"{still} of {len(levels)}",
            _count_within_bounds(steps, _PARTS["the cores"]) or "–",
            _count_within_bounds(steps, _PARTS["the memory"]) or "–",
            f"{_count(aside)} of {_count(taken)}",
            values.duration(waiting) if waiting else "–",
        ),
    )


def has_figures(page: Page) -> bool:
    """Returns whether it has figures."""
    return bool(page.figures)
