"""Disturbances of a case: one rule per function, from the observations around its samples and from their shape.

A rule returns nothing if the platform does not give its numbers. A median does not change if few samples were hit, so a
rule requires a share of the samples, or of the time, that can change it.
"""

from collections.abc import Callable, Mapping

import numpy as np

from steelyard.model.account import Account
from steelyard.model.scalars import Number
from steelyard.statistics.samples.interval import correlations
from steelyard.statistics.samples.shape import find_drift, find_modes
from steelyard.statistics.validity.core_pace import core_clock, shared_core
from steelyard.statistics.validity.device_clock import device_clock
from steelyard.statistics.validity.observations import (
    HIT_SHARE,
    Measured,
    Observation,
    list_numbers,
    numbers,
    short_percent,
    state_share,
)
from steelyard.statistics.validity.quotas import HIT, MOSTLY, throttled

SOME = 0.02  # share of the samples: more than a single event
# Shares of the time of an average processor that the case had, and of the machine's: more can change the figure by some
# percent. If the waiting time of each thread is known, other processes add only their effect on the caches.
STEAL, INTERRUPTS, OTHER, OTHER_BESIDE_WAITS, MACHINE = 0.02, 0.05, 0.03, 0.10, 0.05
MOST = 0.10  # share of the time of one processor: the other threads wait for its thread
FAULT_SECONDS = 5e-7  # duration of a minor page fault of 4 KiB with clearing: 0.25 … 1 µs on current processors

Rule = Callable[[Measured], Observation | None]


def competing_load(case: Measured) -> Observation | None:
    """Returns an observation if threads waited for a processor, or, without such data, were interrupted."""
    waited = case.waited
    if waited is None or case.lengths is None:
        return _judge_switches(case)
    measured = np.isfinite(waited) & (case.lengths > 0)
    hit = measured & (waited > HIT * case.lengths)
    if not hit.any():
        return None
    share = float(hit.sum() / measured.sum())
    # The kernel adds a wait when it ends, with the part that lies before the sample.
    lost = float(np.minimum(waited, case.lengths)[measured].sum() / case.lengths[measured].sum())
    if _is_explained(case, lost):
        return None
    disturbed = share > HIT_SHARE and (lost > 0.01 or abs(case.moved(hit)) > 0.01)
    disturbed = disturbed or (share > SOME and lost > 0.05)
    effect = "" if disturbed else " These samples are too few to change the median."
    mostly, of_rank = _find_waiting_rank(case)
    text = (
        f"in {hit.sum()} of {measured.sum()} samples, a thread waited for its processor for more than "
        f"{short_percent(HIT)} of the sample. All waits together took {short_percent(lost)} of the time.{effect}{mostly}"
    )
    figures = {"samples": int(hit.sum()), "of": int(measured.sum()), "share": lost, **of_rank}
    return Observation.of("competing load", text, disturbed, **figures)


def _is_explained(case: Measured, lost: float) -> bool:
    """Returns whether the case's own threads, or a quota, explain at least half of its waits: the rules on these name them."""
    stopped = throttled(case)
    by_quota = stopped is not None and stopped.disturbed and stopped.evidence.numbers.get("share", 1.0) >= lost / 2
    return bool(case.surroundings.oversubscribed) or by_quota


def _find_waiting_rank(case: Measured) -> tuple[str, Mapping[str, float]]:
    """Returns a sentence on the rank with most of the waiting time, if one rank has most of it."""
    ranks = case.surroundings.ranks
    seconds, hosts, cpus = numbers(ranks.waited), ranks.hosts or (), ranks.cpus or ()
    if not len(seconds) == len(hosts) == len(cpus) or not np.nansum(seconds) > 0:
        return "", {}
    most = int(np.nanargmax(seconds))
    share = float(seconds[most] / np.nansum(seconds))
    if share < MOSTLY:
        return "", {}
    where = f"processor {cpus[most]}" if cpus[most] >= 0 else "not pinned"
    words = f" Rank {most} on {hosts[most]} ({where}) had {short_percent(share)} of the waiting time."
    return words, {"rank": most, "rank_share": share}


def _judge_switches(case: Measured) -> Observation | None:
    switches = case.column(case.surroundings.samples.switches)
    if switches is None:
        return None
    hit = switches > 0
    share, moved = float(hit.mean()), case.moved(hit)
    # A switch alone costs little and happens on every machine; only its effect is a disturbance.
    if share <= 0.25 or moved <= 0.02 or np.isinf(moved):
        return None
    text = (
        f"other processes interrupted {hit.sum()} of {len(hit)} samples. The median of all samples is "
        f"{short_percent(moved)} above the median of the samples without an interruption."
    )
    return Observation.of("competing load", text, samples=int(hit.sum()), of=len(hit), moved=moved)


def other_load(case: Measured) -> Observation | None:
    """Returns an observation if other processes used the measured processors."""
    what, seconds = "other processes ran on the measured processors", case.surroundings.processor_seconds
    if case.waited is not None:  # then the waits of each thread say more than the time of one processor
        return _judge_processor_time(case, seconds.other, OTHER_BESIDE_WAITS, "competing load", what)
    return _judge_processor_time(case, seconds.other, OTHER, "competing load", what, seconds.most_other)


def machine_load(case: Measured) -> Observation | None:
    """Returns an observation if other processes used the machine and shared its caches, memory and power."""
    account = case.others
    if account is None or not account.exceeds(MACHINE):
        return None
    text = (
        f"other processes kept {account.cores:.2g} of the {account.processors:.0f} processors of the machine busy during "
        f"the case ({short_percent(account.share)})."
    )
    return Observation.of("competing load", text, cores=account.cores, **list_numbers(account))


def steal(case: Measured) -> Observation | None:
    """Returns an observation if the hypervisor gave time to other guests."""
    what, seconds = "the hypervisor gave the measured processors to other guests", case.surroundings.processor_seconds
    return _judge_processor_time(case, seconds.steal, STEAL, "steal", what, seconds.most_steal)


def interrupts(case: Measured) -> Observation | None:
    """Returns an observation if interrupts took time on the measured processors."""
    what, seconds = "the measured processors served interrupts", case.surroundings.processor_seconds
    return _judge_processor_time(case, seconds.interrupts, INTERRUPTS, "interrupts", what, seconds.most_interrupts)


def page_faults(case: Measured) -> Observation | None:
    """Returns an observation on page faults inside samples, when memory is used for the first time or moved."""
    faults = case.column(case.surroundings.samples.faults)
    if faults is None or case.lengths is None:
        return None
    # The threads have their faults at the same time, so a sample takes longer by the faults of an average thread.
    at_once = min(case.threads, case.processors)
    hit = faults / at_once * FAULT_SECONDS > HIT * case.lengths
    if not hit.any():
        return None
    each = f" on each of {at_once:.0f} processors" if at_once > 1 else ""
    text = (
        f"{hit.sum()} of {len(hit)} samples had so many page faults (about {np.median(faults[hit]):.0f}) that the "
        f"faults alone take more than {short_percent(HIT)} of the sample{each}."
    )
    figures = {
        "samples": int(hit.sum()),
        "of": len(hit),
        "faults": float(np.median(faults[hit])),
        "processors": at_once,
    }
    return Observation.of("page faults", text, float(hit.mean()) > HIT_SHARE, **figures)


def oversubscribed(case: Measured) -> Observation | None:
    """Returns an observation if there were more threads or ranks than processors."""
    if not case.surroundings.oversubscribed:
        return None
    text = f"there were more threads or ranks than processors ({case.processors:.0f}), so they shared the processors."
    return Observation.of("oversubscribed", text, processors=case.processors)


def bimodal(case: Measured) -> Observation | None:
    """Returns an observation on two modes, where the median is one of two values by chance."""
    two_modes = find_modes(case.row)
    if two_modes is None:
        return None
    apart = two_modes.upper / two_modes.lower - 1
    text = (
        f"the samples form two groups: {short_percent(two_modes.upper_share)} of them lie around a value that is "
        f"{short_percent(apart)} above the value of the others."
    )
    return Observation.of("bimodal", text, share=two_modes.upper_share, apart=apart)


def drifting(case: Measured) -> Observation | None:
    """Returns an observation on a trend, where the median depends on the length of the measurement."""
    total = find_drift(case.row)
    if total is None:
        return None
    word = "rose" if total > 0 else "fell"
    text = f"the time of a sample {word} by {short_percent(abs(total))} from the first to the last sample."
    return Observation.of("drift", text, change=total)


def autocorrelation(case: Measured) -> Observation | None:
    """Returns an observation on dependent samples, which widen the interval but are no disturbance."""
    n = len(case.row)
    effective = float(correlations(case.row[np.newaxis, :])[1][0])
    if effective >= n / 2:
        return None
    text = (
        f"the {n} samples depend on each other. They say as much as {effective:.0f} independent samples, so the "
        "interval is wider."
    )
    return Observation.of("autocorrelation", text, False, samples=n, independent=effective)


# The first disturbing rule names the disturbance, so causes come before symptoms.
RULES: tuple[Rule, ...] = (
    competing_load, other_load, steal, throttled, page_faults, device_clock, core_clock, shared_core, oversubscribed, interrupts,
    machine_load, bimodal, drifting, autocorrelation,
)  # fmt: skip


def _judge_processor_time(
    case: Measured, seconds: Number, limit: float, kind: str, what: str, of_one: Number = None
) -> Observation | None:
    """Returns an observation if the processors lost more than the limit, or the one that lost most shows it (`of_one`)."""
    account, most = case.account(seconds), Account.of(of_one, 1, case.elapsed)
    jumped = most is None and of_one is not None  # the counter of one processor: then the sum is wrong, too
    one = most is not None and most.exceeds(MOST, case.processors)
    if account is None or jumped or not (one or account.exceeds(limit)):
        return None
    text = f"{what} for {state_share(account)}."
    if most and one and account.processors > 1:
        text += f" One of them lost {short_percent(most.share)} of its time, and all threads wait for the slowest."
    return Observation.of(kind, text, **list_numbers(account))
