"""A kernel by threads and an OpenCL device together, beside the same case by either of them alone."""

from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.model import Result
from steelyard.statistics.results.identity import Identity, identity


@dataclass(frozen=True)
class Sides:
    """`threads` are as many, and `device` the same one, as in `mixed`; None where that was not measured."""

    mixed: Result
    threads: Result | None
    device: Result | None


def sides(results: Iterable[Result]) -> list[Sides]:
    """One for each result in mixed mode, in their order. All `results` have the parameter `mode`."""
    all_results = list(results)
    by_mode: dict[str, dict[Identity, Result]] = {"threads": {}, "opencl": {}}
    for r in all_results:
        if (mode := str(r.parameters["mode"])) in by_mode:
            by_mode[mode][_key(r, "threads" if mode == "threads" else "device")] = r
    return [
        Sides(r, by_mode["threads"].get(_key(r, "threads")), by_mode["opencl"].get(_key(r, "device")))
        for r in all_results
        if r.parameters["mode"] == "mixed"
    ]


def _key(result: Result, side: str) -> Identity:
    """What must be the same: the case, and of the mode's own parameters `side` only."""
    return identity(result, *({"mode", "threads", "device"} - {side}))
