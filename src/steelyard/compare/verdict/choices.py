"""The choice among several sides, for each kind of work of each reader."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from steelyard.compare.case_calls import CaseCalls
from steelyard.compare.machine_figures import are_alike, count_calls, judge_pair
from steelyard.compare.quantities import GROWING, Reading, find_span
from steelyard.compare.side import Side
from steelyard.compare.side_view import SideView, make_view
from steelyard.compare.sides import judge_cases_of
from steelyard.compare.verdict.subject import (
    COMPUTE,
    COURSES,
    FINE,
    LONG_MESSAGES,
    MEMORY,
    RANDOM,
    Reader,
    Sentence,
    Subject,
    count_in_words,
)
from steelyard.model.units import grouped, significant
from steelyard.model.words import joined

# Values without samples: compilers, stores and repetitions move a published value by this share, as the sources show.
MARGIN = 1.10
NAMED = 2  # sides in a list
GREAT = 1e4  # a factor from here on is written in words: "7.39 million"
UNLIKE = 2.0  # ratio from which a measured value and one of a data sheet certainly differ


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A kind of work, and the quantities that decide it: the first that at least two sides have.

    `bound` is a quantity that no value of the first one can exceed, and `proof` one that is never greater than it: they stand for
    sides without a value. `only` is the sentence
    if a single side has a value and is good for the work; "": this is no choice.
    """

    reader: Reader
    work: str
    quantities: tuple[str, ...]
    bound: str = ""
    proof: str = ""
    only: str = ""


Judged = tuple[Sequence[str], Sequence[str]]  # kinds of work for which a side is good and weak
CHOICES = (
    Choice(reader="buyer", work=MEMORY, quantities=("triad", "sheet_bandwidth"), bound="sheet_bandwidth"),
    Choice(reader="buyer", work=COMPUTE, quantities=("linpack", "peak", "sheet_peak", "system"), proof="linpack"),
    Choice(reader="buyer", work="whole programs", quantities=("program_time",)),
    Choice(reader="administrator", work="much work per watt", quantities=("linpack_per_watt",)),
    Choice(reader="administrator", work="little energy for whole programs", quantities=("program_energy",)),
    Choice(reader="administrator", work="an even network", quantities=("spread",)),
    Choice(reader="programmer", work=RANDOM, quantities=("latency", "random")),
    Choice(reader="programmer", work=FINE, quantities=("message", "inner_message")),
    Choice(reader="programmer", work=LONG_MESSAGES, quantities=("link", "pair")),
    Choice(
        reader="teacher",
        work=COURSES,
        quantities=("efficiency",),
        only=f"For {COURSES} choose {{side}}: only its nodes were measured together (efficiency {{value}}).",
    ),
)


@dataclass(frozen=True)
class Candidate:
    """A side with its reading, and with the names of all its quantities that are compared.

    `most` and `least`: the reading is only an upper or lower bound of its value.
    """

    side: Side
    reading: Reading
    compared: Collection[str]
    most: bool = False
    least: bool = False

    @property
    def name(self) -> str:
        return self.side.name

    @property
    def text(self) -> str:
        several = self.reading.quantity in GROWING and self.reading.nodes > 1
        nodes = f" ({grouped(self.reading.nodes)} nodes)" if several else ""
        return f"{'at most ' if self.most else 'at least ' if self.least else ''}{self.reading.text}{nodes}"


class PresentCalls:
    """The certain calls of these runs, where two sides measured the same case. Each pair of sides is judged once."""

    def __init__(self) -> None:
        self._views: dict[str, SideView] = {}
        self._calls: dict[tuple[str, str], CaseCalls] = {}

    def find(self, best: Candidate, other: Candidate) -> str | None:
        """Returns the call of the other side; None without a certain one."""
        if best.side.is_foreign or other.side.is_foreign or not _is_same_case(best.reading, other.reading):
            return None
        for side in (best.side, other.side):
            if side.name not in self._views:
                self._views[side.name] = make_view(side)
        key = (best.name, other.name)
        if key not in self._calls:
            self._calls[key] = judge_cases_of(*(self._views[name] for name in key))
        return self._calls[key].find(best.reading, other.reading)


def _is_same_case(a: Reading, b: Reading) -> bool:
    names = ("threads", "ranks")
    return (a.benchmark, a.kernel, *map(a.parameters.get, names)) == (
        b.benchmark, b.kernel, *map(b.parameters.get, names),
    )  # fmt: skip


def choose(
    subjects: Sequence[Subject], reader: Reader, judged: Mapping[str, Judged], present: PresentCalls
) -> Iterator[Sentence]:
    """Yields the choice for each kind of work of the reader that at least two sides have data for.

    The last sentence names the works that only one side has data for. `judged` has by side the kinds of work for which its own
    sentences judge it good and weak.
    """
    if are_alike([subject.side for subject in subjects]):
        if reader == "buyer":
            whole = "both" if len(subjects) == 2 else f"all {len(subjects)}"
            text = f"No choice: {whole} systems have the same hardware. See the page Comparison for what differs."
            yield Sentence(text=text, evidence=tuple(subjects[0].readings)[:1])
        return
    undecided: list[tuple[str, str]] = []
    for choice in (choice for choice in CHOICES if choice.reader == reader):
        orders = {quantity: _order(subjects, quantity, choice) for quantity in choice.quantities}
        name, ordered = max(orders.items(), key=lambda item: min(2, len(item[1])))
        if len(ordered) > 1:
            yield _choose(choice, name, ordered, subjects, judged, present)
        elif ordered and choice.only and choice.work in judged[ordered[0].name][0]:
            yield Sentence(text=choice.only.format(side=ordered[0].name, value=ordered[0].text), evidence=(name,))
        elif ordered:
            undecided.append((choice.work, name))
    if undecided:
        works = joined(work for work, _ in undecided)
        text = f"No choice for {works}: only 1 of {len(subjects)} systems has a value."
        yield Sentence(text=text, evidence=tuple(name for _, name in undecided))


def _order(subjects: Sequence[Subject], name: str, choice: Choice) -> list[Candidate]:
    """Returns the sides that have the quantity, the best first, between those whose bounds are certainly above and below."""
    having = _list_candidates(subjects, name)
    if not having:
        return []
    lower = having[0].reading.value.better == "lower"
    ordered = sorted(having, key=lambda one: one.reading.number, reverse=not lower)
    without = [s for s in subjects if name not in s.readings]
    best = ordered[0].reading.number
    above = [p for p in _list_candidates(without, choice.proof) if p.reading.number > best * MARGIN]
    below = [b for b in _list_candidates(without, choice.bound) if b.reading.number * MARGIN < best]
    above.sort(key=lambda one: -one.reading.number)
    return [*(replace(p, least=True) for p in above), *ordered, *(replace(b, most=True) for b in below)]


def _choose(
    choice: Choice, name: str, ordered: Sequence[Candidate], subjects: Sequence[Subject], judged: Mapping[str, Judged],
    present: PresentCalls,
) -> Sentence:  # fmt: skip
    best, second = ordered[:2]
    missing = [s.side.name for s in subjects if s.side.name not in {one.name for one in ordered}]
    bounds = ((choice.bound, any(one.most for one in ordered)), (choice.proof, best.least))
    evidence = (name, *(bound for bound, used in bounds if used))
    above = bool(missing) and all(name in s.readings for s in subjects if s.side.name in missing)
    lacking = joined(missing) if len(missing) <= NAMED else f"{len(missing)} others"
    without = f" ({lacking}: {'above its limit' if above else 'not measured'})" if missing else ""
    unsure = [other for other in ordered[1:] if not _is_certain(best, other)]
    equal = [other for other in unsure if present.find(best, other) != "SLOWER"]
    if equal:
        return Sentence(text=_state_equal(choice.work, [best, *equal], ordered, without), evidence=evidence)
    ratio = best.reading.number / second.reading.number
    ratio = max(ratio, 1 / ratio)
    factor = significant(ratio, 2) if ratio < GREAT else count_in_words(ratio)
    factor = f"{'at least ' if second.most or best.least else ''}{factor}"
    of = f" of {second.name}" if len(ordered) > 2 else ""
    is_weak = choice.work in judged[best.name][1]
    start = f"If you must run {choice.work}, choose" if is_weak else f"For {choice.work} choose"
    when = " in these runs" if unsure else ""
    text = f"{start} {best.name}: {best.text} against {second.text}{of}, a factor of {factor}{when}{without}."
    return Sentence(text=text, evidence=evidence, good=(choice.work,))


def _state_equal(work: str, equal: Sequence[Candidate], ordered: Sequence[Candidate], without: str) -> str:
    """Returns the sentence on sides that perhaps do not differ, with the best of the others."""
    values = joined(one.text for one in equal[:NAMED])
    others = [one for one in ordered if one not in equal]
    if not others:
        return f"No choice for {work}: {_name([one.name for one in equal])} may be equal ({values}){without}."
    names = " or ".join(one.name for one in equal) if len(equal) <= NAMED else _name([one.name for one in equal])
    return f"For {work} choose {names}: {values} may be equal, {others[0].name} has {others[0].text}{without}."


def _name(sides: Sequence[str]) -> str:
    """Returns the names of the sides; of many, the first and the number of the others."""
    return joined(sides if len(sides) <= NAMED else (sides[0], f"{len(sides) - 1} others"))


def _list_candidates(subjects: Sequence[Subject], name: str) -> list[Candidate]:
    """Returns the sides that have the quantity; a value above its limit is wrong, or the limit is."""
    return [
        Candidate(s.side, s.readings[name], s.compared)
        for s in subjects
        if name in s.readings and not s.readings[name].is_above_limit
    ]


def _is_certain(best: Candidate, other: Candidate) -> bool:
    """Returns whether the values certainly differ: as the machines are compared, or by a margin if one value has no range."""
    a, b = best.reading, other.reading
    if other.least:
        return False
    if best.least or other.most or find_span(a.value) is None or find_span(b.value) is None:
        ratio = max(a.number / b.number, b.number / a.number) if a.number > 0 and b.number > 0 else 1.0
        return ratio >= (MARGIN if best.least or other.most or a.benchmark == b.benchmark else UNLIKE)
    return judge_pair("b", a, b, count_calls(best.compared, other.compared)).call in ("FASTER", "SLOWER")
