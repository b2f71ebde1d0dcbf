"""What disturbed a case: one rule a function, from what was seen around its samples and from their shape.

Missing evidence is no evidence: a rule whose numbers the platform does not give says nothing. A median stands
where few samples were hit: a rule asks for a share of the samples, or of the time, that could move it.
"""

from collections.abc import Callable, Mapping

import numpy as np

from steelyard.evidence import noted
from steelyard.statistics.interval import Array, correlations
from steelyard.statistics.seen import Observation, Seen, number, numbers
from steelyard.statistics.shape import drift, modes
from steelyard.units import percent

# Of the samples: with one in ten hit, the median moves by an eighth of a standard deviation at most.
HIT_SHARE = 0.10
HIT = 0.01  # of a sample, lost: half of the width that is usually asked of the interval
SOME = 0.02  # of the samples: more than a lone event
MOSTLY = 0.75  # of all ranks' waiting: then one rank is named for it
TICK = 0.01  # s: what the kernel's processor accounts count in
FAULT_SECONDS = 5e-7  # of one minor page fault of 4 KiB, cleared: 0.25 … 1 µs on current processors
# Relative: a sample's below the fastest; from before to after, the median thread's and any one thread's.
CLOCK_DIP, CLOCK_CHANGE, CLOCK_CHANGE_OF_ONE = 0.02, 0.015, 0.05
# Turbo clocks step by 100 MHz (some 3 %) as neighbours come and go, and what waits for memory does not care: a step
# counts where it moved the figure by more than half of the width that is usually asked.
CLOCK_EFFECT = 0.01
ISSUE_DIP = 0.15  # relative: a second thread on the core takes up to half, and readings scatter by some percent
CLOCK_READINGS = 4  # fewer are judged by what was read before and after all samples

Rule = Callable[[Seen], Observation | None]


def competing_load(seen: Seen) -> Observation | None:
    """Threads that wanted to run and were not let, or, where that is not told, were interrupted by others."""
    waited = seen.column("waited")
    if waited is None or seen.lengths is None:
        return _switched(seen)
    known = np.isfinite(waited) & (seen.lengths > 0)
    hit = known & (waited > HIT * seen.lengths)
    if not hit.any():
        return None
    share = float(hit.sum() / known.sum())
    lost = float(waited[known].sum() / seen.lengths[known].sum())
    disturbed = share > HIT_SHARE and (lost > 0.01 or abs(seen.moved(hit)) > 0.01)
    disturbed = disturbed or (share > SOME and lost > 0.05)
    effect = "" if disturbed else "; too few to move the median"
    mostly, of_rank = _waiting_rank(seen)
    return Observation(
        disturbed,
        noted(
            "competing load",
            f"in {hit.sum()} of {known.sum()} samples a thread waited for its processor for more "
            f"than {_percent(HIT)} of the sample, in all {_percent(lost)} of the time{effect}.{mostly}",
            samples=int(hit.sum()),
            of=int(known.sum()),
            share=lost,
            **of_rank,
        ),
    )


def _waiting_rank(seen: Seen) -> tuple[str, Mapping[str, float]]:
    """Which of many ranks it was, where it was mostly one."""
    ranks = seen.part("ranks")
    waited, hosts, cpus = (ranks.get(name) for name in ("waited", "hosts", "cpus"))
    if not (isinstance(waited, list) and isinstance(hosts, list) and isinstance(cpus, list)):
        return "", {}
    seconds = numbers(waited)
    if not len(seconds) == len(hosts) == len(cpus) or not np.nansum(seconds) > 0:
        return "", {}
    most = int(np.nanargmax(seconds))
    share = float(seconds[most] / np.nansum(seconds))
    if share < MOSTLY:
        return "", {}
    where = f"processor {cpus[most]}" if cpus[most] is not None and cpus[most] >= 0 else "not pinned"
    words = f" Mostly it was rank {most} on {hosts[most]} ({where}): {_percent(share)} of the waiting."
    return words, {"rank": most, "rank_share": share}


def _switched(seen: Seen) -> Observation | None:
    switches = seen.column("switches")
    if switches is None:
        return None
    hit = switches > 0
    share, moved = float(hit.mean()), seen.moved(hit)
    # A switch alone costs little and comes on every machine: only with its effect it is a disturbance.
    if share <= 0.25 or moved <= 0.02 or np.isinf(moved):
        return None
    return Observation(
        True,
        noted(
            "competing load",
            f"{hit.sum()} of {len(hit)} samples were interrupted by other processes, and the "
            f"median is {_percent(moved)} above that of the others.",
            samples=int(hit.sum()),
            of=len(hit),
            moved=moved,
        ),
    )


def other_load(seen: Seen) -> Observation | None:
    """Processor time of other processes on the processors used."""
    # Where each thread tells how long it waited, this adds only what pollutes caches between the waits.
    share = 0.03 if seen.column("waited") is None else 0.10
    # What is usual on an idle machine (0.3 % a processor), and what a tick on each processor can feign.
    return _processor_time(
        seen,
        "other",
        share + 0.003 * seen.cpus,
        0.01 + TICK * seen.cpus,
        "competing load",
        "other processes ran on the processors used",
    )


def machine_load(seen: Seen) -> Observation | None:
    """Other processes on the whole machine: they share caches, memory channels and the power budget."""
    cores = number(seen.surroundings.get("machine_other"))
    if cores is None or cores <= 0.5 or (seen.elapsed is not None and cores * seen.elapsed < 10 * TICK):
        return None
    text = f"other processes kept {cores:.1f} cores of the machine busy meanwhile."
    return Observation(True, noted("competing load", text, cores=cores))


def steal(seen: Seen) -> Observation | None:
    """Time that the hypervisor gave to other guests."""
    what = "the hypervisor gave processors used to other guests"
    return _processor_time(seen, "steal", 0.02, 2 * TICK, "steal", what)


def interrupts(seen: Seen) -> Observation | None:
    """Time spent in interrupts on the processors used."""
    what = "the processors used served interrupts"
    return _processor_time(seen, "interrupts", 0.05, 2 * TICK, "interrupts", what)


def throttled(seen: Seen) -> Observation | None:
    """Time in which the control group's processor quota was used up."""
    seconds = number(seen.surroundings.get("throttled"))
    if seconds is None or seconds <= 0:
        return None
    disturbed = seen.elapsed is None or seconds > HIT * seen.elapsed
    return Observation(
        disturbed,
        noted(
            "throttled",
            f"the control group's processor quota stopped it for {seconds:.3g} s{_of(seconds, seen)}.",
            seconds=seconds,
            elapsed=seen.elapsed,
            share=seconds / seen.elapsed if seen.elapsed else None,
        ),
    )


def page_faults(seen: Seen) -> Observation | None:
    """Page faults inside samples: memory was touched for the first time, or moved, while time was taken."""
    faults = seen.column("faults")
    if faults is None or seen.lengths is None:
        return None
    hit = faults * FAULT_SECONDS > HIT * seen.lengths
    if not hit.any():
        return None
    return Observation(
        float(hit.mean()) > HIT_SHARE,
        noted(
            "page faults",
            f"{hit.sum()} of {len(hit)} samples held so many page faults (about "
            f"{np.median(faults[hit]):.0f}) that these alone take over {_percent(HIT)} of the sample.",
            samples=int(hit.sum()),
            of=len(hit),
            faults=float(np.median(faults[hit])),
        ),
    )


def core_clock(seen: Seen) -> Observation | None:
    """A true core clock that was not the same all the time, where the figure followed it."""
    around = seen.part("core_clock")
    before, after = (numbers(around.get(when)) for when in ("before", "after"))
    clocks = seen.column("core_clock")
    if clocks is None or np.isfinite(clocks).sum() < CLOCK_READINGS:
        return _changed(seen, before, after)
    return _followed(
        seen,
        "core clock",
        "core_clock",
        clocks,
        CLOCK_DIP,
        lambda border, least, most: (
            f"in {{}} samples the true clock was more than {_percent(CLOCK_DIP)} "
            f"below {most / 1e9:.3g} GHz, down to {least / 1e9:.3g} GHz"
        ),
    )


def shared_core(seen: Seen) -> Observation | None:
    """Another hardware thread on the same core, which no account tells of, where the figure followed it."""
    issued = seen.column("issued")
    if issued is None or np.isfinite(issued).sum() < CLOCK_READINGS:
        return None
    return _followed(
        seen,
        "shared core",
        "issued",
        issued,
        ISSUE_DIP,
        lambda border, least, most: (
            f"in {{}} samples the core issued fewer than {border:.2g} additions per "
            f"cycle, down to {least:.2g} from {most:.2g}: another hardware thread works on it"
        ),
    )


def _followed(
    seen: Seen, kind: str, name: str, readings: Array, dip: float, say: Callable[[float, float, float], str]
) -> Observation | None:
    """Whether the figure followed a pace of the core that was sometimes lower than its usual best by the share `dip`.

    `kind` is that of the evidence, `name` that of the readings. `say` tells it from the border, the least and the most, with {}
    for how many of the samples.
    """
    steady = _steady(readings)
    most = float(np.quantile(steady, 0.9))
    slow = steady < (1 - dip) * most
    if not slow.any():
        return None
    moved = seen.moved(slow)
    # A slower core makes samples longer; where those are not, the core is not what the figure follows.
    disturbed = float(slow.mean()) > HIT_SHARE and moved > CLOCK_EFFECT
    effect = (
        f"that moved the median by {percent(moved, 1, signed=True)}" if disturbed else "the figure did not follow it"
    )
    border, least = (1 - dip) * most, float(steady.min())
    told = say(border, least, most).format(f"{slow.sum()} of {len(slow)}")
    numbers = {"samples": int(slow.sum()), "of": len(slow), name: least, "best": most, "bound": border}
    return Observation(disturbed, noted(kind, f"{told}; {effect}.", **numbers, moved=moved if disturbed else None))


def _steady(clocks: Array) -> Array:
    """The clock at each sample, from readings that only some of them have (NaN: none).

    A reading is low, too, where an interrupt hit it. A clock that drops stays down, so that of a reading and its
    neighbours the highest counts. A sample without a reading has the one before it, the first ones the first.
    """
    at = np.flatnonzero(np.isfinite(clocks))
    known = clocks[at]
    highest = np.maximum.reduce([known, np.append(known[1:], known[-1]), np.append(known[0], known[:-1])])
    return np.asarray(highest[np.maximum(0, np.searchsorted(at, np.arange(len(clocks)), side="right") - 1)])


def _changed(seen: Seen, before: Array, after: Array) -> Observation | None:
    if len(before) != len(after):
        return None
    known = (before > 0) & (after > 0)
    if not known.any():
        return None
    ratios = after[known] / before[known]
    typical, furthest = float(np.median(ratios)), float(ratios[np.argmax(np.abs(ratios - 1))])
    if abs(typical - 1) <= CLOCK_CHANGE and abs(furthest - 1) <= CLOCK_CHANGE_OF_ONE:
        return None
    change = typical if abs(typical - 1) > CLOCK_CHANGE else furthest
    word = "rose" if change > 1 else "dropped"
    quarter = max(1, len(seen.row) // 4)
    moved = float(np.median(seen.row[-quarter:]) / np.median(seen.row[:quarter])) - 1
    disturbed = abs(moved) > CLOCK_EFFECT
    effect = (
        f"the time changed by {percent(moved, 1, signed=True)} meanwhile"
        if disturbed
        else "the figure did not follow it"
    )
    return Observation(
        disturbed,
        noted(
            "core clock",
            f"the true clock {word} by {_percent(abs(change - 1))} during the case (the threads' "
            f"median from {np.median(before[known]) / 1e9:.3g} to {np.median(after[known]) / 1e9:.3g} GHz); {effect}.",
            change=change - 1,
            before=float(np.median(before[known])),
            after=float(np.median(after[known])),
            moved=moved if disturbed else None,
        ),
    )


def oversubscribed(seen: Seen) -> Observation | None:
    """More threads or ranks than processors."""
    if seen.surroundings.get("oversubscribed") is not True:
        return None
    text = f"more threads than processors ({seen.cpus}) shared them by turns."
    return Observation(True, noted("oversubscribed", text, processors=seen.cpus))


def bimodal(seen: Seen) -> Observation | None:
    """Two modes: the median is one of two answers by chance."""
    found = modes(seen.row)
    if found is None:
        return None
    return Observation(
        True,
        noted(
            "bimodal",
            f"{_percent(found.upper_share)} of the samples lie around a value "
            f"{_percent(found.upper / found.lower - 1)} above the others.",
            share=found.upper_share,
            apart=found.upper / found.lower - 1,
        ),
    )


def drifting(seen: Seen) -> Observation | None:
    """A trend over time: the median depends on how long was measured."""
    total = drift(seen.row)
    if total is None:
        return None
    word = "rose" if total > 0 else "fell"
    text = f"from the first to the last sample the time {word} by {_percent(abs(total))}."
    return Observation(True, noted("drift", text, change=total))


def autocorrelation(seen: Seen) -> Observation | None:
    """Samples that depend on each other: no disturbance, but a wider interval."""
    n = len(seen.row)
    effective = float(correlations(seen.row[np.newaxis, :])[1][0])
    if effective >= n / 2:
        return None
    return Observation(
        False,
        noted(
            "autocorrelation",
            f"the {n} samples tell as much as {effective:.0f} independent ones; the interval is widened accordingly.",
            samples=n,
            independent=effective,
        ),
    )


# The first that disturbs names the disturbance: causes before what they look like.
RULES: tuple[Rule, ...] = (
    competing_load, other_load, steal, throttled, page_faults, core_clock, shared_core, oversubscribed, interrupts,
    machine_load, bimodal, drifting, autocorrelation,
)  # fmt: skip


def _processor_time(seen: Seen, name: str, share: float, least: float, kind: str, what: str) -> Observation | None:
    seconds = number(seen.part("processor_seconds").get(name))
    if seconds is None or seen.elapsed is None or seconds <= least + share * seen.elapsed:
        return None
    text = f"{what} for {seconds:.3g} s{_of(seconds, seen)}."
    lost = {"seconds": seconds, "elapsed": seen.elapsed, "share": seconds / seen.elapsed}
    return Observation(True, noted(kind, text, **lost))


def _of(seconds: float, seen: Seen) -> str:
    if seen.elapsed is None:
        return ""
    return f", {_percent(seconds / seen.elapsed)} of the case's {seen.elapsed:.3g} s"


def _percent(share: float) -> str:
    return f"{share * 100:.2g} %" if share < 0.995 else f"{share * 100:.0f} %"
