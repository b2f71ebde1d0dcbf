"""Where a sweep over hosts leaves a blade, a chassis or a switch: by the hosts that its ranks had, and the system file."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard.model import Enclosure, Result
from steelyard.model.figure import Mark
from steelyard.show.report import scaling_rows
from steelyard.statistics.results import messages
from steelyard.statistics.results.result import rests_on
from steelyard.statistics.results.sweeps import Sweep


@dataclass(frozen=True)
class Border:
    """A sweep at `inside` was in one enclosure of its kind, and at `outside`, the next count, in several."""

    kind: str
    inside: int
    outside: int

    @property
    def at(self) -> float:
        """The middle between both on a logarithmic axis: where exactly the enclosure ends was not measured."""
        return math.sqrt(self.inside * self.outside)


def borders(sweep: Sweep, enclosures: Sequence[Enclosure]) -> tuple[Border, ...]:
    """Of each kind at most one, in the order of the kinds; none of a kind of which a host is not known."""
    crossings = []
    for kind in dict.fromkeys(enclosure.kind for enclosure in enclosures):
        whose = {h: n for n, e in enumerate(enclosures) if e.kind == kind for h in e.hosts}
        counts = [(p.count, _spans(sweep.results[p.count], whose)) for p in sweep.scaling.points if not p.crowded]
        outside = next((at for at, (_, spans) in enumerate(counts) if spans is not None and spans > 1), 0)
        if outside and counts[outside - 1][1] == 1:
            crossings.append(Border(kind, counts[outside - 1][0], counts[outside][0]))
    return tuple(crossings)


def marks(sweeps: Sequence[Sweep], enclosures: Sequence[Enclosure]) -> tuple[Mark, ...]:
    """A line at each border; what lies at one place has one label."""
    places: dict[float, dict[str, None]] = {}
    for sweep in sweeps:
        for border in borders(sweep, enclosures):
            places.setdefault(border.at, {})[border.kind] = None
    return tuple(Mark("x", at, f"beyond one {' and one '.join(kinds)}") for at, kinds in sorted(places.items()))


def sentence(sweeps: Sequence[Sweep], enclosures: Sequence[Enclosure], names: Sequence[str]) -> str:
    """The borders in words, of each line by its name where they differ; '' where there is none."""
    found = [(name, sweep, borders(sweep, enclosures)) for name, sweep in zip(names, sweeps, strict=True)]
    alike = len({mine for _, _, mine in found}) == 1
    reported = []
    for name, sweep, mine in found[:1] if alike else found:
        words = [
            f"up to {scaling_rows.counted(sweep, b.inside)}, all hosts are in one {b.kind}, and from {b.outside} on "
            "in several"
            for b in mine
        ]
        if words:
            reported.append(f"{'' if alike else f'{name}: '}{'; '.join(words)}.")
    return " ".join(each[:1].upper() + each[1:] for each in reported)


def _spans(result: Result, whose: Mapping[str, int]) -> int | None:
    """How many enclosures the ranks' hosts stand in, in the launch that had the most; None where one is not known."""
    most = 0
    for record in rests_on(result):
        # A host is found by the name that it calls itself, or by that without its domain.
        places = {whose.get(host, whose.get(host.partition(".")[0])) for host in messages.hosts(record)}
        if not places or None in places:
            return None
        most = max(most, len(places))
    return most or None
