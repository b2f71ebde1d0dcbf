"""Times of the launches of a pair of results, for the same work, so that they can be compared."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np

from steelyard.compare.matching import Match
from steelyard.model import Attempt, Record, Result, Verdict
from steelyard.model.evidence import sentence
from steelyard.statistics.results.cost import launches_by_number
from steelyard.statistics.results.result import rests_on
from steelyard.statistics.results.usable_samples import undisturbed
from steelyard.statistics.samples.interval import Array

A = TypeVar("A", Record, Attempt)

Launches = Mapping[int, Array]  # number of the launch → seconds


def find_sides(pair: Match[Result]) -> tuple[Launches, Launches] | str:
    """Returns the launches of both, in seconds for the same work, or a sentence that says why they cannot be compared."""
    for result, run in ((pair.a, "first"), (pair.b, "second")):
        if result.verdict.level == "INVALID":
            why = "".join(map(sentence, result.verdict.evidence[:1])) or "no reason is recorded"
            return f"The case is INVALID in the {run} run: {why}"
    a, b = launches_by_number(pair.a), launches_by_number(pair.b)
    if not (a and b):  # a kernel that counts no work compares by its seconds if both did the same
        if pair.differing_size:
            return "The sizes differ, and the kernel does not count its work."
        a, b = seconds_by_launch(pair.a), seconds_by_launch(pair.b)
    if not (a and b):
        return f"The case has no samples in the {'second' if a else 'first'} run."
    return a, b


def pair_with_disturbed_launches(pair: Match[Result]) -> Match[Result]:
    """Returns the pair with its disturbed launches as CLEAN, for comparisons that must not choose among the launches."""
    return replace(pair, a=with_disturbed_launches(pair.a), b=with_disturbed_launches(pair.b))


def with_disturbed_launches(result: Result) -> Result:
    """Returns the result with its disturbed launches as CLEAN."""
    return replace(result, records=_trust(result.records), attempts=_trust(result.attempts))


def _trust(measured: Iterable[A]) -> tuple[A, ...]:
    clean = Verdict("CLEAN")
    return tuple(replace(one, verdict=clean) if one.verdict.level == "DISTURBED" else one for one in measured)


def seconds_by_launch(result: Result) -> Launches:
    """Returns the undisturbed samples of each launch in seconds, without launches that have an impossible time."""
    timed = (r for r in rests_on(result) if r.samples and all(0 < s < math.inf for s in r.samples))
    return {r.launch: np.array(undisturbed(r)) for r in timed}
