"""The rules for a buyer, who compares the system with the reference systems."""

from collections.abc import Iterator

from steelyard.compare.machine_figures import SHEET
from steelyard.compare.quantities import PER_CORE, Reading, find_span
from steelyard.compare.standing import LEAST_SHARES, SIMILAR, Standing, describe, find_standing
from steelyard.compare.verdict.subject import COMPUTE, LONG_MESSAGES, MEMORY, Sentence, Subject, in_sentence
from steelyard.model.units import quantity, significant

# The quantities that are ranked, and the work that each decides; the first of those that decide the same work.
RANKED = {"triad": MEMORY, "linpack": COMPUTE, "peak": COMPUTE, "sheet_peak": COMPUTE, "link": LONG_MESSAGES}
ENOUGH = 4  # reference systems from which on a rank is a judgement
SAME = 1.01  # ratio up to which two printed values are equal
ALIKE = 1.5  # ratio of the widest and the narrowest range, below which they do not differ for a reader
HIGH, LOW = 0.5, 0.25  # share of the reference systems that have less: good from here on; weak below


def compare_with_a_desktop(subject: Subject) -> Iterator[Sentence]:
    """Compares the speed of the whole cluster with the cores of one machine, if that machine is as fast."""
    cluster = subject.get("cluster")
    for system, other in subject.others("cores") if cluster else ():
        if cluster and cluster.number <= other.number:
            speeds = f"{quantity(cluster.number, 'flop/s', 4)} against {quantity(other.number, 'flop/s', 4)}"
            share = significant(cluster.number / other.number, 2)
            yield Sentence(
                text=f"Do not buy it for speed: {cluster.condition} reach {share} of the {other.condition} of a {system} "
                f"({speeds}).",
                evidence=("cluster",),
            )


def rank_among_references(subject: Subject) -> Iterator[Sentence]:
    """Ranks the main figures among the reference systems."""
    ranked: set[str] = set()
    for name, work in RANKED.items():
        ours = subject.get(name)
        others = [pair for pair in subject.others(name) if ours and (pair[1].nodes <= 1) == (ours.nodes <= 1)]
        if name.startswith(SHEET):  # systems of the same nodes have the same data sheet
            others = [(s, r) for n, (s, r) in enumerate(others) if not n or r.number > SAME * others[n - 1][1].number]
        measured = subject.get(name.removeprefix(SHEET)) or ours
        poor = _find_poor(subject, measured) if measured else None
        if ours and ours.cores and subject.is_part:
            per_core = [(s, one) for s, r in others if _has_similar_cores(ours, r) and (one := r.per_core)]
            ours, others = ours.per_core, sorted(per_core, key=lambda pair: pair[1].number)
        if ours and (others or poor) and work not in ranked and not ours.is_above_limit:
            ranked.add(work)
            if others:
                yield _rank(ours, others, work, subject.is_part, poor is None)
            if poor and measured:  # the first screen says so, too
                verb = "is" if poor.certain else "may be"
                text = f"Find out first why its {in_sentence(measured.title)} {verb} poor: {poor.reason}."
                yield Sentence(text=text, evidence=(measured.quantity,))


def _find_poor(subject: Subject, reading: Reading) -> Standing | None:
    """Returns what the value is worth if it is poor for its hardware, of which a published system says nothing."""
    machine = subject.side.runs[-1].machine
    standing = (
        find_standing(reading, describe(machine, reading)) if machine and reading.quantity in LEAST_SHARES else None
    )
    return standing if standing and standing.call == "poor" else None


def _has_similar_cores(ours: Reading, theirs: Reading) -> bool:
    """Returns whether the bandwidths of single cores are comparable: a few cores of a large machine have more each."""
    cores = sorted((ours.cores or 0, theirs.cores or 0))
    return ours.quantity != "triad" or cores[1] <= SIMILAR * cores[0]


def _rank(ours: Reading, others: list[tuple[str, Reading]], work: str, is_part: bool, sound: bool) -> Sentence:
    above = [(system, theirs) for system, theirs in others if theirs.number > SAME * ours.number]
    count = len(others) - len(above)
    system, theirs = above[0] if above else others[-1]
    if len(others) == 1:
        text = f"Its {in_sentence(ours.title)} of {ours.text} is {significant(ours.number / theirs.number, 2)} times that of "
        return Sentence(text=f"{text}{system} ({theirs.text}).", evidence=(ours.quantity,))
    # The size of a cluster is no merit: it is ranked, but not judged.
    judged, share = len(others) >= ENOUGH and ours.nodes <= 1, count / len(others)
    good, weak = judged and sound and share >= HIGH, judged and share < LOW
    rest = f"the {'next' if above else 'best'}, {system}, has {theirs.text}"
    start = f"Buy it for {work}: its" if good else f"Do not buy it for {work}: its" if weak else "Its"
    title = in_sentence(ours.title)
    if ours.quantity.startswith(SHEET) and (good or weak):  # nobody measured it, so it is no reason to buy
        start = f"{'Good' if good else 'Weak'} for {work}: its"
    if is_part and (good or weak):
        start, title = f"{'Good' if good else 'Weak'} per core for {work}: its", title.removesuffix(PER_CORE)
    than = f"all {len(others)}" if count == len(others) else f"{count or 'none'} of {len(others)}"
    return Sentence(
        text=f"{start} {title} of {ours.text} exceeds {than} reference systems; {rest}.",
        evidence=(ours.quantity,),
        good=(work,) if good else (),
        weak=(work,) if weak else (),
    )


def name_trusted_figures(subject: Subject) -> Iterator[Sentence]:
    """Names the figure that another run would repeat best, and the one that it would repeat worst."""
    measured = [(width, r) for r in subject.readings.values() if (width := _half_width(r)) is not None]
    widths = sorted(measured, key=lambda one: one[0])
    if not widths:
        return
    (least, best), (most, worst) = widths[0], widths[-1]
    if most < ALIKE * least:
        text = f"Trust the main figures equally: another run differs from them by up to {_percent(most)}."
        yield Sentence(text=text, evidence=(worst.quantity,))
        return
    yield Sentence(
        text=f"Trust “{best.title}” most (another run differs by up to {_percent(least)}) and “{worst.title}” least "
        f"({_percent(most)}).",
        evidence=(best.quantity, worst.quantity),
    )


def _half_width(reading: Reading) -> float | None:
    """Returns the distance of the further end of another run's range, relative to the value; None without a range."""
    value, span = reading.number, find_span(reading.value)
    return max(span[1] - value, value - span[0]) / value if span else None


def _percent(share: float) -> str:
    return f"{significant(100 * share, 2)} %"


RULES = (compare_with_a_desktop, rank_among_references, name_trusted_figures)
