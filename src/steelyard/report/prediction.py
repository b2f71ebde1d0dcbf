"""The page of a replay: what it predicts, what that means, where the time goes, and what would help."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from steelyard.model.figure import Axis, Figure, Mark, Series
from steelyard.report import drawing
from steelyard.report.phase_map import phase_map
from steelyard.report.values import quantity
from steelyard.whatif import Account, Answer, Prediction, Protocol, Question
from steelyard.whatif.engine import Trace, Traced
from steelyard.whatif.sensitivity import FACTORS
from steelyard.whatif.sentences import disturbed, undisturbed

MOST_RANKS = 512  # on a figure: of more, neighbours are put together as their mean
DECADES = 20  # the greatest by the least, from which on an axis is logarithmic
MOST_LINES = 7  # of a sweep: the palette has no more colours

Value = Callable[[Prediction], float]
Words = Callable[[Prediction], str]


@dataclass(frozen=True)
class Swept:
    """A condition that can be an axis: its title, unit, value and words."""

    title: str
    unit: str
    value: Value
    words: Words


def _link(found: Prediction) -> Protocol:
    """That of the smallest messages."""
    return found.point.network.across[0]


def _loss(found: Prediction) -> float:
    return 100 * found.point.loss.probability


def _affected(found: Prediction) -> float:
    return 100 * found.point.affected


# The more a condition is what people draw over, the earlier it stands.
SWEPT = (
    Swept("probability of loss", "%", _loss, lambda p: f"loss {_loss(p):g} %"),
    Swept("share of the ranks concerned", "%", _affected, lambda p: f"{_affected(p):g} % of ranks"),
    Swept("interruption", "s", lambda p: p.point.noise.duration, lambda p: quantity(p.point.noise.duration, "s")),
    Swept("period", "s", lambda p: p.point.noise.period, lambda p: f"each {quantity(p.point.noise.period, 's')}"),
    Swept("RTO", "s", lambda p: p.point.loss.rto, lambda p: f"RTO {quantity(p.point.loss.rto, 's')}"),
    Swept("latency L", "s", lambda p: _link(p).L, lambda p: f"L {quantity(_link(p).L, 's')}"),
    Swept("time for each byte G", "s/B", lambda p: _link(p).G, lambda p: f"G {quantity(_link(p).G, 's/B')}"),
    Swept("overhead o", "s", lambda p: _link(p).o, lambda p: f"o {quantity(_link(p).o, 's')}"),
    Swept("speed of the cores", "", lambda p: p.point.core, lambda p: f"cores × {p.point.core:g}"),
)  # fmt: skip


@dataclass(frozen=True)
class Part:
    """A question and its answer, called `title` where there are several; `table` are the predictions in words."""

    title: str
    asked: Question
    answer: Answer
    table: tuple[Sequence[str], Sequence[Sequence[str]]]


@dataclass(frozen=True)
class Section:
    """A part as the template shows it."""

    title: str
    anchor: str
    sentences: tuple[str, ...]
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    figures: tuple[drawing.Drawn, ...]


@dataclass(frozen=True)
class Page:
    """What the template shows: the sections, and around them what all parts have in common."""

    title: str
    facts: tuple[tuple[str, str], ...]
    sentences: tuple[str, ...]
    sections: tuple[Section, ...]
    figures: tuple[drawing.Drawn, ...]

    @property
    def drawn(self) -> bool:
        return bool(self.figures) or any(section.figures for section in self.sections)


def page(parts: Sequence[Part], trace: Trace, name: str) -> Page:
    """The data of the page. The parts are of one trace on one network: what is said of it undisturbed is the first one's."""
    answer, asked = parts[0].answer, parts[0].asked
    facts = (
        ("Trace", name),
        ("Ranks", f"{trace.ranks}"),
        ("Messages", f"{trace.messages}, {quantity(trace.bytes, 'B')}"),
        ("Mode", asked.mode),
        ("Seed", f"{asked.seed}"),
        ("Network", _network(answer.undisturbed[0])),
        *([("Traced", _traced(trace.traced))] if trace.traced else []),
        ("Engine", _engine([part.answer for part in parts])),
    )
    sections = tuple(_section(part, number) for number, part in enumerate(parts, 1))
    figures = tuple(drawing.plain(figure) for figure in _undisturbed(answer))
    return Page(f"What if: {name}", facts, undisturbed(answer), sections, figures)


def _traced(traced: Traced) -> str:
    waited = f", {quantity(traced.preempted, 's')} of it waiting for a processor" if traced.preempted else ""
    return f"{quantity(traced.time, 's')}{waited} (the rank that waited most)" if waited else quantity(traced.time, "s")


def _engine(answers: Sequence[Answer]) -> str:
    replays = sum(len(p.times) for answer in answers for p in answer.predictions)
    return f"{quantity(sum(answer.seconds for answer in answers), 's')} for {replays} replays"


def _network(found: Prediction) -> str:
    link, name = _link(found), found.point.network.name
    words = f"latency L {quantity(link.L, 's')}, overhead o {quantity(link.o, 's')}, gap g {quantity(link.g, 's')}, "
    return f"{name + ': ' if name else ''}{words}{quantity(1 / link.G, 'B/s') if link.G else 'any number of bytes a second'}"


def _section(part: Part, number: int) -> Section:
    headings, rows = part.table
    return Section(
        part.title,
        f"part-{number}",
        disturbed(part.answer),
        tuple(headings),
        tuple(map(tuple, rows)),
        tuple(drawing.plain(figure) for figure in _sweep(part.answer, f"sweep-{number}")),
    )


def _sweep(answer: Answer, name: str) -> list[Figure]:
    """The time beside the undisturbed one, or where nothing disturbs the time itself, over the first condition that varies."""
    found = answer.predictions
    varying = [s for s in SWEPT if len({s.value(p) for p in found}) > 1]
    if not varying:
        return []
    over, *others = varying
    beside = any(p.point != base.point for p, base in zip(found, answer.undisturbed, strict=True))
    scaled = [(p, base.time if beside else 1.0) for p, base in zip(found, answer.undisturbed, strict=True) if base.time]

    def line(pair: tuple[Prediction, float]) -> tuple[float, ...]:
        return tuple(s.value(pair[0]) for s in others)

    lines = []
    for _, members in groupby(sorted(scaled, key=line), key=line):
        pairs = sorted(members, key=lambda pair: over.value(pair[0]))
        x = tuple(over.value(p) for p, _ in pairs)
        y = tuple(p.time / by for p, by in pairs)
        low = tuple((p.time if p.low is None else p.low) / by for p, by in pairs)
        high = tuple((p.time if p.high is None else p.high) / by for p, by in pairs)
        lines.append(Series(", ".join(s.words(pairs[0][0]) for s in others) or "predicted", x, y, low, high))
    wide = _wide([over.value(p) for p in found])
    tall = _wide([y for line in lines for y in line.y if y is not None])
    y_axis = Axis("time / undisturbed time", log=tall) if beside else Axis("time", "s", log=tall)
    return [
        Figure(
            name=name,
            title=f"Time against {over.title}",
            kind="lines",
            x=Axis(over.title, over.unit, log=wide),
            y=y_axis,
            series=tuple(lines[:MOST_LINES]),
            marks=(Mark("y", 1.0, "undisturbed"),) if beside else (),
            caption="Means of the draws with their 95 % intervals."
            + (f" The first {MOST_LINES} of {len(lines)} lines; the table has all." if len(lines) > MOST_LINES else ""),
        )
    ]


def _wide(values: Sequence[float]) -> bool:
    return min(values) > 0 and max(values) > DECADES * min(values)


def _undisturbed(answer: Answer) -> list[Figure]:
    return [*_ranks(answer.account), *phase_map(answer.phases), *_sensitivity(answer)]


def _ranks(account: Account | None) -> list[Figure]:
    if account is None or len(account.computing) < 2:
        return []
    count = len(account.computing)
    together = -(-count // MOST_RANKS)
    x = tuple(float(first) for first in range(0, count, together))
    parts = (
        ("computing", account.computing),
        ("processor's part of messages", account.talking),
        ("waiting", account.waiting),
    )
    lines = tuple(
        Series(name, x, tuple(sum(of[i : i + together]) / len(of[i : i + together]) for i in range(0, count, together)))
        for name, of in parts
    )
    caption = f" Each point is the mean of {together} neighbours." if together > 1 else ""
    return [
        Figure(
            name="ranks",
            title="Where the time of each rank goes, undisturbed",
            kind="lines",
            x=Axis("rank"),
            y=Axis("time", "s"),
            series=lines,
            caption=f"Waiting is for messages, and at the end for the last rank.{caption}",
        )
    ]


def _sensitivity(answer: Answer) -> list[Figure]:
    if not answer.sensitivities:
        return []
    lines = tuple(
        Series(s.name, tuple(100 * f for f in FACTORS), tuple(time / (s.times[0] or 1.0) for time in s.times))
        for s in answer.sensitivities
    )
    return [
        Figure(
            name="sensitivity",
            title="What less of each cost would bring",
            kind="lines",
            x=Axis("what is left of the cost, %"),
            y=Axis("time / time today"),
            series=lines,
            caption="One cost at a time, undisturbed. Bandwidth: the time for each byte; cores: the time to compute. "
            "Where a line is flat, more of it brings nothing.",
        )
    ]
