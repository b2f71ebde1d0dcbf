"""Evidence for verdicts: its kinds, the names of its numbers, and its sentences."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from steelyard.model import Evidence, Level


@dataclass(frozen=True)
class Kind:
    """The meaning of a kind of evidence, and the verdict that it can cause; CLEAN: it only informs."""

    level: Level
    says: str


KINDS: Mapping[str, Kind] = {
    "error": Kind("INVALID", "The case did not run; the sentence gives the reason."),
    "check": Kind("INVALID", "The check of the kernel found a wrong result."),
    "samples": Kind(
        "INVALID", "No sample was taken, or the time of a sample is impossible (not between 1e-18 s and 1e9 s)."
    ),
    "clock resolution": Kind(
        "INVALID", "The smallest step of the clock is more than 1 % of a sample. Up to 1 %, it is only reported."
    ),
    "damaged": Kind("INVALID", "A metric cannot be computed from the record."),
    "competing load": Kind("DISTURBED", "Other processes used the measured processors, or kept the machine busy."),
    "steal": Kind("DISTURBED", "The hypervisor did not run ready threads on the measured processors."),
    "throttled": Kind("DISTURBED", "The processor quota of the control group stopped the case."),
    "page faults": Kind("DISTURBED", "Memory was used for the first time, or moved, during the samples."),
    "core clock": Kind("DISTURBED", "The true clock of the cores changed, or was lower than the best of the machine."),
    "device clock": Kind("DISTURBED", "The power limit or the temperature of a device lowered its clock."),
    "shared core": Kind("DISTURBED", "The core issued fewer additions per cycle than the best of the machine."),
    "shared memory": Kind(
        "DISTURBED", "Reads of the memory, or accesses to it, were slower than the best of the machine."
    ),
    "slow messages": Kind("DISTURBED", "Messages between the ranks took longer than the best of the machine."),
    "oversubscribed": Kind("DISTURBED", "There were more threads or ranks than processors."),
    "interrupts": Kind("DISTURBED", "The measured processors served interrupts."),
    "bimodal": Kind("DISTURBED", "The samples lie around two values."),
    "drift": Kind("DISTURBED", "The time of a sample rose or fell over the case."),
    "few samples": Kind("UNSETTLED", "There are too few independent samples for an interval."),
    "wide interval": Kind("UNSETTLED", "The interval of the figure is too wide."),
    "launches differ": Kind("UNSETTLED", "A disturbed launch was faster than the undisturbed launches."),
    "set aside": Kind("CLEAN", "Some samples were disturbed and left out; the figures use the others."),
    "range": Kind("CLEAN", "The range of the samples of a disturbed case."),
    "autocorrelation": Kind("CLEAN", "The samples depend on each other, so the interval is wider."),
}

# A name has the same meaning in evidence of all kinds. The name of a kind is a name, too: the samples that it disturbed.
NUMBERS: Mapping[str, str] = {
    "samples": "number of samples concerned",
    "launches": "number of launches concerned",
    "of": "total number of samples or launches",
    "launch": "number of the launch",
    "share": "part of the time of the processors, of the samples, or of a sample (1: all of it)",
    "seconds": "lost time of all processors together, s",
    "elapsed": "duration of the case, s",
    "moved": "relative change of the figure that it caused",
    "change": "relative change of the clock or the time from the first to the last sample",
    "before": "true clock before the samples, Hz",
    "after": "true clock after the samples, Hz",
    "core_clock": "worst reading of the true clock, Hz",
    "device_clock": "worst reading of the clock of the device, Hz",
    "issued": "worst reading of the additions per cycle",
    "stream": "worst reading of the memory bandwidth, B/s",
    "chase": "worst reading of the time of a memory access, s",
    "exchange": "worst reading of a message round trip, s",
    "best": "best value, with which the reading is compared, in its unit",
    "bound": "limit beyond which a reading counts as a disturbance, in its unit",
    "rank": "rank that was affected most",
    "rank_share": "share of that rank in the waiting time of all ranks",
    "behind": "relative loss of that rank compared with the others",
    "cores": "number of cores that other processes kept busy",
    "processors": "number of processors of which the time was lost, or which the threads shared",
    "faults": "page faults in an affected sample",
    "resolution": "clock step, s",
    "length": "length of a sample, s",
    "apart": "relative difference between the two values",
    "independent": "number of independent samples that would contain the same information",
    "width": "relative half-width of the interval",
    "faster": "how much faster than the interval the disturbed launch was (relative)",
    "low": "5 % quantile of the samples over their median",
    "high": "95 % quantile of the samples over their median",
}


def noted(kind: str, text: str, /, **numbers: float | None) -> Evidence:
    """Returns evidence of a kind of the table, with its numbers that are known and finite."""
    assert kind in KINDS or not kind, kind
    assert numbers.keys() <= NUMBERS.keys() | KINDS.keys(), numbers
    finite = {name: x for name, x in numbers.items() if x is not None and math.isfinite(x)}
    # JSON cannot hold NumPy's numbers.
    return Evidence(kind, text, {name: x if isinstance(x, int) else float(x) for name, x in finite.items()})


def sentence(evidence: Evidence) -> str:
    """Returns for example 'core clock: the true clock …', or of one launch 'launch 3: check: …'."""
    words = f"{evidence.kind}: {evidence.text}" if evidence.kind else evidence.text
    launch = evidence.numbers.get("launch")
    return words if launch is None else f"launch {launch:.0f}: {words}"


def sentences(evidence: Iterable[Evidence]) -> str:
    """Returns all evidence as running text."""
    return " ".join(map(sentence, evidence))


def distinct(evidence: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """Removes evidence with the same sentence as an earlier one."""
    first: dict[str, Evidence] = {}
    for one in evidence:
        first.setdefault(sentence(one), one)
    return tuple(first.values())
