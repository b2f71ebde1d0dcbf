"""What an answer means, in words."""

from collections.abc import Iterator

from steelyard.units import percent
from steelyard.whatif import phases
from steelyard.whatif.answer import Answer, CriticalPath, Shares
from steelyard.whatif.sensitivity import ENOUGH, Sensitivity
from steelyard.words import plural

GOOD = 0.8  # POP: an efficiency from which on a program is not worth the work of improving it
MATTERS = 0.01  # of the time: what a tenth of a parameter brings, where it is worth a word


def sentences(answer: Answer) -> tuple[str, ...]:
    """The most important first."""
    return (*undisturbed(answer), *disturbed(answer))


def undisturbed(answer: Answer) -> tuple[str, ...]:
    """Where the time goes, and what would help."""
    ranks = len(answer.account.computing) if answer.account else 0
    longer = phases.sentences(answer.phases, ranks, answer.measured)
    return (*_efficiency(answer.shares), *longer, *_path(answer.path), *_gains(answer.sensitivities))


def disturbed(answer: Answer) -> tuple[str, ...]:
    """What loss and noise cost."""
    return tuple(_losses(answer))


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
    for s in sorted((s for s in found if s.tenth >= MATTERS), key=lambda s: -s.tenth):
        stops = (
            f"; below {percent(s.enough)} of it less than {percent(ENOUGH)} is left to gain" if 0 < s.enough < 1 else ""
        )
        yield (
            f"A tenth less {_cost(s)} brings {percent(s.tenth, 1)} of the time; if it cost nothing, {percent(s.most)}{stops}."
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
