"""What an answer means, in words."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from steelyard.units import percent, quantity
from steelyard.whatif import phases
from steelyard.whatif.answer import Answer, CriticalPath, Prediction, Shares
from steelyard.whatif.question import Point
from steelyard.whatif.sensitivity import ENOUGH, Sensitivity
from steelyard.words import plural

GOOD = 0.8  # POP: an efficiency from which on a program is not worth the work of improving it
BALANCED = 0.95  # load balance: from which on no rank is worth a word
TENTH_MORE = 1.1  # of the undisturbed time: a slowdown that people ask for
MATTERS = 0.01  # of the time: what a tenth of a parameter brings, where it is worth a word


def sentences(answer: Answer) -> tuple[str, ...]:
    """The most important first."""
    ranks = len(answer.account.computing) if answer.account else 0
    return (*undisturbed(answer), *disturbed(answer, ranks))


def undisturbed(answer: Answer) -> tuple[str, ...]:
    """Where the time goes, and what would help."""
    ranks = len(answer.account.computing) if answer.account else 0
    longer = phases.sentences(answer.phases, ranks, answer.measured)
    return (*_efficiency(answer.shares), *_busiest(answer), *longer, *_path(answer.path), *_gains(answer.sensitivities))


def disturbed(answer: Answer, ranks: int) -> tuple[str, ...]:
    """What loss and noise cost, and from how many ranks and from which probability on they cost a tenth."""
    return (*_losses(answer), *_from_ranks(answer, ranks), *_from_probability(answer))


def _efficiency(shares: Shares | None) -> Iterator[str]:
    if shares is None:
        return
    yield (
        f"The ranks compute {percent(shares.parallel)} of the time: load balance {percent(shares.load_balance)} × "
        f"serialisation {percent(shares.serialisation)} × transfer {percent(shares.transfer)}."
    )
    causes = {
        "some ranks have more to compute than others: no network makes up for that": shares.load_balance,
        "ranks wait for each other even where messages cost nothing: the order of their work does it": shares.serialisation,
        "messages cost it: see which of their costs below": shares.transfer,
    }
    cause = min(causes, key=lambda name: causes[name])
    if shares.parallel < GOOD:
        yield f"Most of the rest is lost because {cause}."


def _busiest(answer: Answer) -> Iterator[str]:
    """Which rank has the most to compute, where that costs something."""
    if answer.account is None or answer.shares is None or answer.shares.load_balance > BALANCED:
        return
    times = answer.account.computing
    most, mean = max(times), sum(times) / len(times)
    more = percent(most / mean - 1)
    yield f"Rank {times.index(most)} computes most: {quantity(most, 's')}, {more} more than the mean of the ranks."


def _path(path: CriticalPath | None) -> Iterator[str]:
    if path is None or not path.messages:
        return
    parts = [f"{percent(part / path.time)} {name}" for name, part in (
        ("computing", path.computing), ("the processors' part of messages", path.talking), ("the network", path.network)
    )]  # fmt: skip
    visited = sum(time > 0 for time in path.ranks)
    longest = max(range(len(path.ranks)), key=lambda rank: path.ranks[rank])
    yield (
        f"The critical path follows {plural(path.messages, 'message')} over {plural(visited, 'rank')}: {', '.join(parts)}. "
        f"It is longest on rank {longest}, {percent(path.ranks[longest] / path.time)} of the time."
    )


def _gains(found: tuple[Sensitivity, ...]) -> Iterator[str]:
    matter = sorted((s for s in found if s.tenth >= MATTERS), key=lambda s: -s.tenth)
    for s in matter:
        stops = (
            f"; below {percent(s.enough)} of it less than {percent(ENOUGH)} is left to gain" if 0 < s.enough < 1 else ""
        )
        best = "What would help most: a" if s == matter[0] else "A"
        yield (
            f"{best} tenth less {_cost(s)} brings {percent(s.tenth, 1)} of the time; "
            f"if it cost nothing, {percent(s.most)}{stops}."
        )
    if rest := [_cost(s) for s in found if s.tenth < MATTERS]:
        yield f"A tenth less {' or '.join(rest)} brings less than {percent(MATTERS)}."


def _cost(s: Sensitivity) -> str:
    return {"bandwidth": "time for each byte (bandwidth)", "cores": "time to compute (cores)"}.get(s.name, s.name)


def _losses(answer: Answer) -> Iterator[str]:
    """The worst of the disturbed points."""
    pairs = [
        (p, base)
        for p, base in zip(answer.predictions, answer.undisturbed, strict=True)
        if p.point.random and base.time
    ]
    if not pairs:
        return
    worst, base = max(pairs, key=lambda pair: pair[0].time / pair[1].time)
    least, most = (extreme(worst.times) / base.time for extreme in (min, max))
    yield (
        f"Disturbed, the time is up to {worst.time / base.time:.3g} times that of the undisturbed replay, as a mean over "
        f"{len(worst.times)} draws; the draws lie between {least:.3g} and {most:.3g}."
    )


Found = list[tuple[Prediction, float]]  # with the slowdown of each


def _lines(answer: Answer, same: Callable[[Point], Point], value: Callable[[Point], float]) -> Iterator[Found]:
    """The points of a sweep that differ in `value` alone, by it: those that are the same after `same`."""
    found: dict[Point, Found] = {}
    for p, base in zip(answer.predictions, answer.undisturbed, strict=True):
        if p.point.random and base.time:
            found.setdefault(same(p.point), []).append((p, p.time / base.time))
    for line in found.values():
        if len({value(p.point) for p, _ in line}) > 1:
            yield sorted(line, key=lambda pair: value(pair[0].point))


def _first(line: Found) -> tuple[Prediction, float] | None:
    """The first that costs more than a tenth, and surely so: by the lower end of its interval."""
    for p, slow in line:
        if slow * (1 if p.low is None else p.low / p.time) > TENTH_MORE:
            return p, slow
    return None


def _from_ranks(answer: Answer, ranks: int) -> Iterator[str]:
    """Of the conditions in which the number of ranks makes the difference, the harshest: the fewest that cost a tenth."""
    lines = list(_lines(answer, lambda p: replace(p, affected=1.0), lambda p: p.affected))
    for line in sorted(lines, key=lambda line: -line[-1][1])[:1]:
        of = f"{_conditions(line[0][0].point)} at some of the ranks"
        over = _first(line)
        if over is None:
            p, slow = line[-1]
            yield f"{of}: the time grows by less than a tenth even at {round(p.point.affected * ranks)} ranks ({slow:.3g} times)."
        else:
            p, slow = over
            yield (
                f"{of}: from {plural(round(p.point.affected * ranks), 'rank')} of {ranks} on the time grows by more than a tenth "
                f"({slow:.3g} times)."
            )


def _from_probability(answer: Answer) -> Iterator[str]:
    """For each delay: the least probability of the sweep that costs a tenth."""
    lines = _lines(answer, lambda p: replace(p, loss=replace(p.loss, probability=0.0)), lambda p: p.loss.probability)
    for line in lines:
        if line[0][0].point.affected < 1:
            continue
        over = _first(line)
        rto = f"With a least time-out of {quantity(line[0][0].point.loss.rto, 's')}"
        if over is None:
            p, slow = line[-1]
            yield f"{rto} no loss of this sweep costs a tenth of the time ({slow:.3g} times at {_loss(p.point)})."
        else:
            p, slow = over
            yield f"{rto} the time grows by more than a tenth from a loss of {_loss(p.point)} on ({slow:.3g} times)."


def _loss(point: Point) -> str:
    return f"{100 * point.loss.probability:g} %"


def _conditions(point: Point) -> str:
    if point.loss.probability:
        return f"A loss of {_loss(point)} with a least time-out of {quantity(point.loss.rto, 's')}"
    return f"Interruptions of {quantity(point.noise.duration, 's')}"
