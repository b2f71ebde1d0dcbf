"""Stops by processor quotas of control groups, on each host: one stopped host makes the ranks of all others wait."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from steelyard.model.account import Account
from steelyard.model.units import grouped
from steelyard.statistics.samples.interval import Array
from steelyard.statistics.validity.observations import Measured, Observation, list_numbers, numbers, state_share

HIT = 0.01  # share of the processor time: half of the usual width of an interval
MOSTLY = 0.75  # share of the waiting time of all ranks: if one rank or host has more, it is named


@dataclass(frozen=True)
class Stop:
    """Seconds, added over processors, for which quotas stopped the processors of a host; "": of the whole case.

    The kernel counts a processor only while threads of the group are ready on it, so `account` covers as many processors as
    the case has threads. It is None if it is unknown or impossible: the group of a quota may have further processes.
    """

    host: str
    seconds: float
    account: Account | None

    @property
    def share(self) -> float:
        """Returns the share of the time of the processors; 1 without a possible account."""
        return 1.0 if self.account is None else self.account.share


def throttled(case: Measured) -> Observation | None:
    """Returns an observation if the processor quota of a control group stopped the case."""
    stops = list_stops(case)
    if not stops:
        return None
    most, many = stops[0], sum(stop.share > HIT for stop in stops)
    where = f" on {most.host}" if most.host else ""
    text = f"the processor quota of the control group{where} stopped "
    if most.account is None:
        text += f"its processes for {grouped(most.seconds)} s in total"
        text += ", longer than all measured processors together ran." if case.elapsed else "."
    else:
        text += f"the measured processors for {state_share(most.account)}."
    if many > 1:
        text += f" Quotas stopped processors on {many} of {len({*(case.surroundings.ranks.hosts or ())})} hosts."
    figures = {"seconds": most.seconds} if most.account is None else list_numbers(most.account)
    return Observation.of("throttled", text, most.share > HIT, **figures)


def list_stops(case: Measured) -> list[Stop]:
    """Returns the stops by quotas on each host, the greatest share first; those of older records are on the host that waited."""
    hosts = list(dict.fromkeys(case.surroundings.ranks.hosts or ()))
    if len(hosts) < 2:
        return _list_whole(case)
    stopped = _sum_up(case, numbers(case.surroundings.ranks.throttled), max)
    if not stopped:
        return _list_stops_where_most_waited(case) or _list_whole(case)
    stops = [_count_stop(case, host, seconds) for host, seconds in stopped.items() if seconds > 0]
    return sorted(stops, key=lambda stop: -stop.share)


def _list_whole(case: Measured) -> list[Stop]:
    seconds = case.surroundings.throttled or 0.0
    return [_count_stop(case, "", seconds)] if seconds > 0 else []


def _list_stops_where_most_waited(case: Measured) -> list[Stop]:
    """Returns the stops of a record that has only their sum, if the ranks of one host waited for most of the time."""
    seconds, waited = case.surroundings.throttled or 0.0, _sum_up(case, numbers(case.surroundings.ranks.waited), sum)
    host = max(waited, key=waited.__getitem__, default="")
    if seconds <= 0 or not host or not waited[host] > MOSTLY * sum(waited.values()):
        return []
    stop = _count_stop(case, host, seconds)
    return [] if stop.account is None else [stop]


def _sum_up(case: Measured, of_ranks: Array, combine: Callable[[Iterable[float]], float]) -> dict[str, float]:
    """Returns the known values of the ranks of each host, combined; {} without them."""
    hosts, by_host = case.surroundings.ranks.hosts or (), dict[str, list[float]]()
    for host, value in zip(hosts, of_ranks.tolist(), strict=False):
        if value >= 0:
            by_host.setdefault(host, []).append(value)
    return {host: combine(values) for host, values in by_host.items()}


def _count_stop(case: Measured, host: str, seconds: float) -> Stop:
    ranks, own = case.surroundings.ranks, case.surroundings.processor_seconds.own
    hosts = ranks.hosts or (host,)
    mine = [of for of in hosts if host in ("", of)]
    pinned = {cpu for of, cpu in zip(hosts, ranks.cpus or (), strict=False) if of == host and cpu >= 0}
    named = case.surroundings.core_clock.before or case.surroundings.cpus or ranks.hosts
    ready = max(case.threads, len(hosts)) * len(mine) / len(hosts) if named else case.processors
    if own is not None and case.elapsed:  # a program with an unknown number of threads either ran or was stopped
        ready = (own + seconds) / case.elapsed
    of_hosts = case.processors * len({*mine}) / len({*hosts})
    processors = len(pinned) or max(1.0, min(of_hosts, ready))
    return Stop(host, seconds, Account.of(seconds, processors, case.elapsed))
