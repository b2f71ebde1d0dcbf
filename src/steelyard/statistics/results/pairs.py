"""Times of all pairs of ranks, from the rounds of the tournament that measures them."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from steelyard.model import Record, Scalar
from steelyard.statistics.difference.matrix import Pair, rounds
from steelyard.statistics.results.messages import rank_seconds

KERNEL = "pairs"
OWN = {"round", "message_bytes"}  # parameters in which the records of one matrix differ
MESSAGES = 2  # messages of a pair in an operation: there and back


def variants(records: Iterable[Record]) -> dict[tuple[tuple[str, Scalar], ...], tuple[Record, ...]]:
    """Groups the records of kernel `pairs` by all parameters but round and size: each group has one matrix per size."""
    groups: dict[tuple[tuple[str, Scalar], ...], list[Record]] = {}
    for record in records:
        if record.kernel == KERNEL:
            groups.setdefault(_name_variant(record), []).append(record)
    return {key: tuple(members) for key, members in groups.items()}


def pair_seconds(records: Iterable[Record], message_bytes: int) -> dict[Pair, list[float]]:
    """Returns the one-way seconds of each pair (the lesser rank first) for this message size: the median of each launch.

    `records` are one group of `variants`; others among them than kernel `pairs` are passed over, and so is what is
    INVALID; of a repeated case the last attempt counts. The lists are in the order of the launches. A launch that lacks
    pairs is left out where another has them all, so that a place in the lists is the same launch for each pair. Empty
    where nothing was measured. Raises ValueError for records of several variants.
    """
    chosen = [r for r in records if r.kernel == KERNEL and r.parameters.get("message_bytes") == message_bytes]
    if len({_name_variant(r) for r in chosen}) > 1:
        raise ValueError(f"records of {len(variants(chosen))} variants of '{KERNEL}' were given; expected one group")
    launches: dict[int, dict[Pair, float]] = {}
    for record in sorted(chosen, key=lambda r: (r.launch, r.attempt)):
        if record.verdict.level != "INVALID":
            launches.setdefault(record.launch, {}).update(_find_pair_medians(record))
    most = max(map(len, launches.values()), default=0)
    seconds_of: dict[Pair, list[float]] = {}
    for times in (t for t in launches.values() if len(t) == most):
        for pair, seconds in times.items():
            seconds_of.setdefault(pair, []).append(seconds)
    return dict(sorted(seconds_of.items()))


def _name_variant(record: Record) -> tuple[tuple[str, Scalar], ...]:
    return tuple(sorted((name, value) for name, value in record.parameters.items() if name not in OWN))


def _find_pair_medians(record: Record) -> dict[Pair, float]:
    """Returns the median of each pair of this round; the time of a pair is that of its slower rank."""
    seconds = rank_seconds(record)
    met = rounds(int(record.parameters["ranks"]))[int(record.parameters["round"])]
    times = {(a, b): [max(both) for both in zip(seconds[a], seconds[b], strict=True)] for a, b in met}
    if record.parameters.get("together") == "no":
        times = _select_turns(times)
    scale = MESSAGES * record.operations
    return {pair: median(taken) / scale for pair, taken in times.items() if taken}


def _select_turns(times: Mapping[Pair, Sequence[float]]) -> dict[Pair, list[float]]:
    """Returns the samples of each pair in which it had its turn, because the others then took almost no time."""
    longest = [max(sample) for sample in zip(*times.values(), strict=True)]
    return {pair: [t for t, most in zip(taken, longest, strict=True) if t == most] for pair, taken in times.items()}
