"""Results of message benchmarks: their curves over the size, their surroundings, and their labels."""

import math
from collections.abc import Iterable, Sequence
from statistics import median

import numpy as np

from steelyard.model import Attempted, Machine, Record, Result
from steelyard.model.units import binary_size
from steelyard.model.words import in_words
from steelyard.statistics.models.artefact import Caches, Point
from steelyard.statistics.results import cases
from steelyard.statistics.results.cost import launch_costs
from steelyard.statistics.results.result import rests_on, used_attempts
from steelyard.statistics.results.usable_samples import undisturbed
from steelyard.statistics.samples.interval import Array

SIZE = "message_bytes"
# Transports that differ from the default have a name.
SAID = {"no shared memory": "without shared memory", "tcp": "over TCP"}


def size(result: Result) -> int:
    """Returns the bytes of a message; 0 also if the result has no size."""
    return int(max(0.0, cases.number(result, SIZE) or 0.0))


def curves(results: Iterable[Result]) -> list[list[Result]]:
    """Groups results that differ only in the message size, each curve ordered by size."""
    sized = (r for r in cases.keep_usable(results) if (cases.number(r, SIZE) or 0.0) >= 0)
    return cases.group(sized, SIZE)


def points(curve: Iterable[Result], metric: str) -> list[Point]:
    """Returns the metric over the size, with its interval, of the results that have it."""
    values = {size(r): r.metrics[metric] for r in curve if metric in r.metrics}
    return [Point(bytes_, value.value, value.low, value.high) for bytes_, value in values.items()]


def times(curve: Iterable[Result]) -> list[tuple[float, float]]:
    """Returns the bytes and the seconds of a message: the median of each launch."""
    return [(float(size(result)), middle) for result in curve for middle in launch_costs(result).values()]


def seconds(result: Result) -> list[Array]:
    """Returns the samples (s per operation) of each launch that the result uses, without impossible times."""
    rows = (np.array(undisturbed(r)) for r in rests_on(result))
    return [sound for row in rows if (sound := row[(row > 0) & (row < math.inf)]).size]


def launch_seconds(result: Result) -> list[float]:
    """Returns the median time of each launch that the result uses."""
    return [attempt.seconds for attempt in used_attempts(result) if attempt.seconds]


def operation(result: Result) -> float:
    """Returns the seconds of an operation: the median of the launches' medians; 0 without any."""
    return median(launch_seconds(result) or (0.0,))


def transport(result: Result) -> str:
    """Returns the requested transport; "default" without a request."""
    return str(result.parameters.get("transport") or "default")


def rank_seconds(record: Record) -> tuple[tuple[float, ...], ...]:
    """Returns the whole length of each sample of each rank (NaN: unknown); empty if the record has none."""
    rows = record.surroundings.ranks.seconds or ()
    return tuple(tuple(math.nan if s is None else float(s) for s in row) for row in rows)


def rank_rates(record: Record, work: str) -> tuple[float | None, ...]:
    """Returns each rank's rate of a work ("bytes": B/s, "flops": flop/s) from its median time, if all share it equally.

    None for a rank without times; empty if the record has no rank's times.
    """
    times = rank_seconds(record)
    share = record.work[work] * record.operations / max(1, len(times))
    return tuple(share / median(samples) if samples else None for samples in times)


def hosts(record: Attempted) -> tuple[str, ...]:
    """Returns the host of each rank; empty if the record has none."""
    return tuple(record.surroundings.ranks.hosts or ())


def hosts_of(records: Iterable[Attempted]) -> tuple[str, ...]:
    """Returns the host of each rank from the first record that has it."""
    return next(filter(None, map(hosts, records)), ())


def is_apart(result: Result) -> bool:
    """Returns whether the ranks were on several hosts."""
    return any(len(set(hosts(record))) > 1 for record in result.attempts)


def over_a_network(result: Result) -> bool:
    """Returns whether the ranks were on several hosts that are different machines."""
    return is_apart(result) and not shared_a_machine(result)


def shared_a_machine(result: Result) -> bool:
    """Returns whether the ranks were on several hosts that are the same machine, so that no network was used."""
    return any(record.surroundings.ranks.colocated for record in result.attempts)


def processors(record: Attempted) -> tuple[int, ...]:
    """Returns the processor of each rank, −1 if it was not pinned; empty if the record has none."""
    return tuple(record.surroundings.ranks.cpus or ())


def oversubscribed(result: Result) -> bool:
    """Returns whether a record that the result uses had more ranks than processors."""
    return any(r.surroundings.oversubscribed for r in used_attempts(result))


def caches(machine: Machine, result: Result) -> Caches:
    """Returns the caches of the buffers of the ranks: the private one of each rank, and the shared last level.

    Where ranks share a core, each has its part of the core's cache.
    """
    record = next(iter(result.attempts), None)
    names, cpus = (hosts(record), processors(record)) if record else ((), ())
    placed = [(host, cpu) for host, cpu in zip(names, cpus, strict=False) if cpu in machine.cpus]
    levels = sorted({c.level for c in machine.caches if c.kind != "instruction"})
    if not levels or not machine.cpus:
        return Caches(None, None)
    last = levels[-1]
    below = [level for level in levels if level < last]
    private = next((level for level in below if level == 2), below[-1] if below else None)
    of_core, of_all = (_find_instance(machine, level, placed) for level in (private, last))
    core = of_core[0] // of_core[1] if of_core else None
    return Caches(core, of_all[0] if of_all else None, of_all[1] if of_all else 1)


def _find_instance(machine: Machine, level: int | None, placed: Sequence[tuple[str, int]]) -> tuple[int, int] | None:
    """Returns the bytes of the first rank's cache of this level, and the most ranks that share one."""
    first = placed[0][1] if placed else machine.cpus[0]
    instances = [c for c in machine.caches if c.level == level and c.kind != "instruction"]
    size_ = next((c.size for c in instances if first in c.cpus), None)
    if size_ is None:
        return None
    together = [sum(host == name and cpu in c.cpus for name, cpu in placed) for c in instances for host, _ in placed]
    return size_, max(together, default=1)


def describe_ranks(result: Result, but: Sequence[str] = ()) -> str:
    """Returns placement, transport and MPI in words: 'same cache, without shared memory, openmpi-4.1.4'."""
    words = []
    if cases.number(result, "ranks") not in (None, 2.0):
        words.append(in_words("ranks", result.parameters["ranks"]))
    for name in ("placement", "transport", "mpi", "variant"):
        value = result.parameters.get(name)
        if isinstance(value, str) and name not in but and value not in ("", "compact", "default"):
            words.append(SAID.get(value, value))
    return ", ".join(words) or result.kernel


def sizes(first: float, last: float) -> str:
    """Returns for example '8 KiB to 1 MiB', or '8 KiB' for a single size."""
    if first == last:
        return binary_size(int(first))
    return f"{binary_size(int(first))} to {binary_size(int(last))}"
