"""Evidence for verdicts: its kinds, the names of its numbers, and how it is written as a sentence."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from steelyard.model import Evidence, Level


@dataclass(frozen=True)
class Kind:
    """What evidence of a kind says, and the verdict that it can make; CLEAN: it only tells."""

    level: Level
    says: str


KINDS: Mapping[str, Kind] = {
    "error": Kind("INVALID", "The case could not be run; the sentence is the reason."),
    "check": Kind("INVALID", "The kernel's own test found its result wrong."),
    "samples": Kind("INVALID", "No sample was taken, or some are no times (1e-18 s to 1e9 s)."),
    "clock resolution": Kind(
        "INVALID", "The clock's step is too large a share of a sample; up to 1 % it is only reported."
    ),
    "damaged": Kind("INVALID", "A metric does not follow from what was recorded."),
    "competing load": Kind("DISTURBED", "Other processes took the processors used, or kept the machine busy."),
    "steal": Kind("DISTURBED", "The hypervisor gave the processors used to other guests."),
    "throttled": Kind("DISTURBED", "The control group's processor quota stopped the case."),
    "page faults": Kind("DISTURBED", "Memory was touched for the first time, or moved, inside the samples."),
    "core clock": Kind("DISTURBED", "The true clock of the cores changed, or was lower than the best shown."),
    "shared core": Kind("DISTURBED", "Another hardware thread worked on the same core."),
    "shared memory": Kind("DISTURBED", "Reads of the memory were slower than the best shown: others used it."),
    "slow messages": Kind("DISTURBED", "Messages between the ranks took longer than the best shown."),
    "oversubscribed": Kind("DISTURBED", "There were more threads or ranks than processors."),
    "interrupts": Kind("DISTURBED", "The processors used served interrupts."),
    "bimodal": Kind("DISTURBED", "The samples lie around two values."),
    "drift": Kind("DISTURBED", "The time of a sample rose or fell over the case."),
    "few samples": Kind("UNSETTLED", "Too few independent samples state no interval."),
    "wide interval": Kind("UNSETTLED", "The interval of the figure is too wide to rely on it."),
    "launches differ": Kind("UNSETTLED", "A launch that was disturbed was faster than the undisturbed ones."),
    "set aside": Kind("CLEAN", "Some samples had disturbed surroundings; figures rest on the others."),
    "range": Kind("CLEAN", "How far apart the samples of a disturbed case lie."),
    "autocorrelation": Kind("CLEAN", "The samples depend on each other; the interval is widened for it."),
}

# One name, one meaning, in all kinds. The names of kinds are numbers, too: of how many samples each disturbed.
NUMBERS: Mapping[str, str] = {
    "samples": "samples that it is about",
    "launches": "launches that it is about",
    "of": "of so many samples or launches in all",
    "launch": "the launch that it is of",
    "share": "part of the time, of the samples, or of a sample (1: all of it)",
    "seconds": "s lost",
    "elapsed": "s that the case took",
    "moved": "relative change of the figure by it",
    "change": "relative change from the first to the last sample: of the clock, or of the time",
    "before": "the true clock before the samples, Hz",
    "after": "and after them, Hz",
    "core_clock": "the worst reading of the true clock, Hz",
    "issued": "the worst reading of additions per cycle",
    "stream": "the worst reading of the memory's bandwidth, B/s",
    "chase": "the worst reading of an access to the memory, s",
    "exchange": "the worst reading of a message there and back, s",
    "best": "what the reading is compared with, in its unit",
    "bound": "the reading from which it counted, in its unit",
    "rank": "the rank that it mostly was",
    "rank_share": "that rank's part of all ranks' waiting",
    "behind": "that rank's loss against the others, relative",
    "cores": "cores that others kept busy",
    "processors": "processors that the threads shared",
    "faults": "page faults in a sample that was hit",
    "resolution": "the clock's step, s",
    "length": "of a sample, s",
    "apart": "relative distance of the two values",
    "independent": "independent samples that tell as much",
    "width": "half of the interval, relative",
    "faster": "by which the disturbed launch lies below the interval, relative",
    "low": "the 5 % quantile of the samples over their median",
    "high": "the 95 % quantile of the samples over their median",
}


def noted(kind: str, text: str, /, **numbers: float | None) -> Evidence:
    """Evidence of a kind of the table, with those of its numbers that are known and finite."""
    assert kind in KINDS or not kind, kind
    assert numbers.keys() <= NUMBERS.keys() | KINDS.keys(), numbers
    known = {name: x for name, x in numbers.items() if x is not None and math.isfinite(x)}
    # NumPy's numbers are none that JSON has.
    return Evidence(kind, text, {name: x if isinstance(x, int) else float(x) for name, x in known.items()})


def sentence(evidence: Evidence) -> str:
    """'core clock: the true clock …', with the launch before it where it is of one: 'launch 3: check: …'."""
    words = f"{evidence.kind}: {evidence.text}" if evidence.kind else evidence.text
    launch = evidence.numbers.get("launch")
    return words if launch is None else f"launch {launch:.0f}: {words}"


def sentences(evidence: Iterable[Evidence]) -> str:
    """All of it as running text."""
    return " ".join(map(sentence, evidence))


def distinct(evidence: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """The first of those that read the same."""
    found: dict[str, Evidence] = {}
    for each in evidence:
        found.setdefault(sentence(each), each)
    return tuple(found.values())
