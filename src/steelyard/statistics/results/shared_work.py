"""Kernels in mixed mode (threads and an OpenCL device), with the same case on either side alone."""

from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.model import Result
from steelyard.model.devices import on_device
from steelyard.statistics.results.identity import Identity, identity


@dataclass(frozen=True)
class Sides:
    """A result in mixed mode, and the results with the same threads or the same device alone; None: not measured."""

    mixed: Result
    threads: Result | None
    device: Result | None


def sides(results: Iterable[Result]) -> list[Sides]:
    """Returns the sides of each result in mixed mode, in order. All `results` have the parameter `mode`."""
    all_results = list(results)
    by_mode: dict[str, dict[Identity, Result]] = {"threads": {}, "device": {}}
    for r in all_results:
        if side := side_of(r):
            by_mode[side][_make_key(r, side)] = r
    return [
        Sides(r, by_mode["threads"].get(_make_key(r, "threads")), by_mode["device"].get(_make_key(r, "device")))
        for r in all_results
        if r.parameters["mode"] == "mixed"
    ]


def side_of(result: Result) -> str:
    """Returns "threads" or "device", whichever computes alone; "" for both together."""
    return "device" if on_device(result.parameters) else "threads" if result.parameters["mode"] == "threads" else ""


def _make_key(result: Result, side: str) -> Identity:
    """Returns the parts of a case that must be equal: all parameters but the mode and the other side."""
    return identity(result, *({"mode", "door", "threads", "device"} - {side}))
