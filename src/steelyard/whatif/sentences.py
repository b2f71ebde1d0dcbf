"""Sentences about an answer."""

from collections.abc import Iterator

from steelyard.model.units import percent, quantity
from steelyard.model.words import plural
from steelyard.whatif import phases, slowdowns, traced_run
from steelyard.whatif.answer import Answer, CriticalPath
from steelyard.whatif.engine import Traced
from steelyard.whatif.factors import Efficiency
from steelyard.whatif.sensitivity import ENOUGH, MATTERS, Sensitivity

GOOD = 0.8  # efficiency from which POP calls a program good enough
NOTED = 0.02  # share of the time from which waits for a processor, and the longest rank of a path, are mentioned
BALANCED = 0.95  # load balance from which no rank is named


def describe(answer: Answer) -> tuple[str, ...]:
    """Returns all sentences, the most important first."""
    ranks = len(answer.account.computing) if answer.account else 0
    return (*describe_undisturbed(answer), *slowdowns.describe(answer, ranks))


def describe_undisturbed(answer: Answer, *others: Answer) -> tuple[str, ...]:
    """Returns sentences about the undisturbed replay: where the time goes, and which changes would help.

    `others` are the answers to further sections. The gains are of the slowest prediction of all.
    """
    slowest = max((answer, *others), key=lambda one: one.worst.time if one.worst else 0.0)
    ranks = len(answer.account.computing) if answer.account else 0
    longer = phases.describe_phases(answer.phases, ranks, answer.traced)
    traced = traced_run.describe_sends(answer.traced_run)
    compared = (
        traced_run.compare_times(answer.traced, answer.unchanged[0].time) if answer.traced and answer.comparable else ()
    )
    return (
        *_describe_base(answer),
        *_describe_efficiency(answer.shares),
        *compared,
        *traced,
        *_describe_busiest(answer),
        *longer,
        *_describe_path(answer.path, answer.base.time if answer.base else 0.0),
        *_describe_gains(slowest),
    )


def _describe_base(answer: Answer) -> Iterator[str]:
    """Names the replay that the sentences describe, if other ones are predicted."""
    base = answer.base
    if base and any(p.point != base.point for p in answer.predictions):
        changed = base.point == base.point.unchanged and any(p.point != base.point for p in answer.undisturbed)
        cores = " and with the cores of the trace" if changed else ""
        yield (
            f"The replay without loss and noise{cores} takes {quantity(base.time, 's', 4)}. Its efficiency and its critical "
            "path follow, with the computing phases of the trace."
        )


def describe_waits(traced: Traced) -> str:
    """Returns a sentence on the waits for a processor in the computing of a trace, with the advice to leave them out; ""."""
    if traced.without_waits:
        return (
            f"The replay leaves out the waits for a processor between calls of MPI: up to {quantity(traced.waiting, 's')} of the "
            "computing time of a rank."
        )
    if traced.waiting < NOTED * traced.time:
        return ""
    return (
        f"Ranks waited for a processor between their calls of MPI, one of them for {quantity(traced.waiting, 's')}. The replay "
        "counts these waits as computing. To leave them out: --set waits=removed"
    )


def _describe_efficiency(shares: Efficiency | None) -> Iterator[str]:
    if shares is None:
        return
    yield (
        f"The ranks compute during {_format_share(shares.parallel)} of the time. This is the product of load balance "
        f"{_format_share(shares.load_balance)}, serialisation {_format_share(shares.serialisation)} and transfer "
        f"{_format_share(shares.transfer)} (100 % = no loss)."
    )
    causes = {
        "the load balance: some ranks compute longer than others. A faster network does not reduce it": shares.load_balance,
        "serialisation: ranks wait for each other even if messages cost nothing": shares.serialisation,
        "the transfer of messages: the sentences below say which of its costs matters": shares.transfer,
    }
    cause = min(causes, key=lambda name: causes[name])
    if shares.parallel < GOOD:
        yield f"The main loss is {cause}."


def _describe_busiest(answer: Answer) -> Iterator[str]:
    """Names the rank that computes most, if the load is not balanced."""
    if answer.account is None or answer.shares is None or answer.shares.load_balance > BALANCED:
        return
    times = answer.account.computing
    most, mean = max(times), sum(times) / len(times)
    more = percent(most / mean - 1)
    yield f"Rank {times.index(most)} computes longest: {quantity(most, 's')}, {more} longer than the mean of all ranks."


def _describe_path(path: CriticalPath | None, time: float) -> Iterator[str]:
    if path is None or not path.messages:
        return
    parts = [f"{_format_share(part / path.time)} {name}" for name, part in (
        ("computing", path.computing), ("message overhead", path.talking), ("the network", path.network)
    )]  # fmt: skip
    longest = max(range(len(path.ranks)), key=lambda rank: path.ranks[rank])
    queues = (
        f" Without the queues of mode 'event', it is {quantity(path.time, 's')} long, the replay {quantity(time, 's')}."
        if path.time < (1 - NOTED) * time
        else ""
    )
    share = path.ranks[longest] / path.time
    spends = f" It spends most time on rank {longest}, {percent(share)} of its length." * (share >= NOTED)
    yield (
        "The critical path is the chain of computing and messages that determines the run time. It has "
        f"{plural(path.messages, 'message')} and visits {plural(path.visited, 'rank')}: {', '.join(parts)}.{spends}{queues}"
    )


def _describe_gains(answer: Answer) -> Iterator[str]:
    """Ranks all single changes on one base: the slowest disturbed replay, the traced run if it took longer, or the replay."""
    scale, removed = 1.0, {}
    if worst := answer.worst:
        yield f"The gains below are shares of {quantity(worst.time, 's', 4)}, the time of the slowest prediction."
        lossless, quiet = answer.without[worst.point]
        removed = {"the losses": 1 - lossless / worst.time, "the noise": 1 - quiet / worst.time}
    elif answer.traced and answer.comparable and answer.base == answer.unchanged[0] and answer.traced.time:
        more = 1 - answer.unchanged[0].time / answer.traced.time
        if more > traced_run.ALIKE:
            yield f"The gains below are shares of the traced time ({quantity(answer.traced.time, 's', 4)})."
            scale, removed = 1 - more, {"what the replay leaves out (losses, noise, waits, the tracer)": more}
    elif answer.base and answer.traced and answer.comparable and answer.base != answer.unchanged[0]:
        yield f"The gains below are shares of the predicted time ({quantity(answer.base.time, 's', 4)})."
    gains = [
        (share, f"Without {name}, the program takes {percent(share, 1)} less time.") for name, share in removed.items()
    ]
    gains += [(s.tenth * scale, _describe_gain(s, scale)) for s in answer.gains if s.tenth >= MATTERS]
    for number, (_, text) in enumerate(sorted((g for g in gains if g[0] >= MATTERS), key=lambda gain: -gain[0])):
        yield f"The largest gain is here: {text[0].lower()}{text[1:]}" if number == 0 else text
    if rest := [_name_cost(s) for s in answer.gains if s.tenth * scale < MATTERS]:
        yield f"10 % less {' or '.join(rest)} saves less than {percent(MATTERS)} of the time."


def _describe_gain(s: Sensitivity, scale: float) -> str:
    stops = (
        f" If you reduce it to {percent(s.enough)}, a further reduction saves less than {percent(ENOUGH)} of the time."
        if 0 < s.enough < 1
        else ""
    )
    # Ready operations can run in another order if a cost is less, and this order can be slower.
    most = f" Without this cost, the program takes {percent(s.most * scale)} less time.{stops}" * (s.most >= s.tenth)
    return f"10 % less {_name_cost(s)} saves {percent(s.tenth * scale, 1)} of the time.{most}"


def _format_share(part: float) -> str:
    """Returns a percentage, but not 0 % for what is more than nothing."""
    return "less than 1 %" if 0 < part < 0.005 else percent(part)


def _name_cost(s: Sensitivity) -> str:
    return {"bandwidth": "time for each byte (bandwidth)", "cores": "time to compute (cores)"}.get(s.name, s.name)
