"""Judges a store against the logs of the sensors: every reading that was given is there once, or its gap is recorded."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.power.message import Gap
from steelyard.power.stores import Store

SENSOR = "command/serial"
# ns. The agent stamps a reading in the middle of its answer, the sensor within it: less than half of a period lies between them.
DOUBT = 100_000_000


@dataclass
class Verdict:
    """`missing`, `foreign`: (node, serial); `in_gaps`: lost readings by the recorded reason; `twice`: how many too many."""

    given: int = 0
    stored: int = 0
    twice: int = 0
    in_gaps: Counter[str] = field(default_factory=Counter)
    missing: list[tuple[str, int]] = field(default_factory=list)
    foreign: list[tuple[str, int]] = field(default_factory=list)

    @property
    def right(self) -> bool:
        return self.given > 0 and not (self.missing or self.foreign or self.twice)


def given(log: Path) -> dict[int, int]:
    """What a sensor gave, by its own log: of each serial number its moment (ns since 1970)."""
    lines = log.read_text().splitlines() if log.exists() else []
    found = {int(serial): int(at) for serial, at in (line.split() for line in lines)}
    assert len(found) == len(lines), f"the sensor of {log} gave a serial number twice"
    return found


def judge(store: Store, logs: Mapping[str, Path]) -> Verdict:
    """`logs`: of each node that of its sensor."""
    verdict = Verdict()
    described = store.sensors()
    kept = 0
    for node, sensors in described.items():
        kept += sum(len(store.trace(node, sensor.name).at) for sensor in sensors)
        if node not in logs:
            verdict.foreign.append((node, -1))
    for node, log in logs.items():
        there = any(sensor.name == SENSOR for sensor in described.get(node, ()))
        values = [int(value) for value in store.trace(node, SENSOR).value.tolist()] if there else []
        _compare(verdict, node, given(log), Counter(values), store.gaps(node))
    # A trace leaves out what is the same in moment and value; the count does not.
    verdict.twice += store.count() - kept
    return verdict


def _compare(verdict: Verdict, node: str, log: dict[int, int], stored: Counter[int], gaps: list[Gap]) -> None:
    verdict.given += len(log)
    verdict.stored += len(stored)
    verdict.twice += stored.total() - len(stored)
    verdict.foreign += [(node, serial) for serial in stored.keys() - log.keys()]
    mine = [gap for gap in gaps if not gap.sensors or SENSOR in gap.sensors]
    for serial in sorted(log.keys() - stored.keys()):
        around = [gap for gap in mine if gap.start - DOUBT <= log[serial] <= gap.end + DOUBT]
        if around:
            verdict.in_gaps[around[0].why] += 1
        else:
            verdict.missing.append((node, serial))
