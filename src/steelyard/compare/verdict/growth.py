"""The speed of the nodes of a cluster together, and that of the cores of one node, from the benchmark Flops."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from steelyard.compare.quantities import Reading, make_reading
from steelyard.compare.side import SideCase
from steelyard.measure.published.our_case import HOSTS
from steelyard.model import Value
from steelyard.model.words import plural
from steelyard.statistics.results.parameters import number

BENCHMARK, METRIC = "cluster.flops", "flops"
TASK = "task"  # its kernel that communicates, as the published programs do; it is preferred


@dataclass(frozen=True)
class Growth:
    """The case of each number of nodes, with its speed in flop/s; at least two numbers of nodes."""

    cases: Mapping[int, tuple[SideCase, Value]]

    @property
    def nodes(self) -> int:
        """Returns the greatest number of nodes."""
        return max(self.cases)

    @property
    def node_speed(self) -> float:
        """Returns the speed of one node (flop/s): alone, or its part of the fewest nodes that were measured."""
        fewest = min(self.cases)
        return self.cases[fewest][1].value / fewest

    @property
    def efficiency(self) -> float:
        """Returns the speed of all nodes divided by that of as many single nodes."""
        return self.cases[self.nodes][1].value / (self.nodes * self.node_speed)


def find_growth(cases: Iterable[SideCase]) -> Growth | None:
    """Returns the growth over the nodes, with the most ranks on each node; None without two numbers of nodes."""
    loads: dict[tuple[bool, float], dict[int, tuple[SideCase, Value]]] = {}
    for case in cases:
        if (speed := _speed(case)) and (nodes := _nodes(case)):
            load = (number(case.parameters.get("ranks")) or nodes) / nodes
            loads.setdefault((case.kernel == TASK, load), {})[nodes] = (case, speed)
    several = [load for load, of_nodes in loads.items() if len(of_nodes) > 1]
    return Growth(loads[max(several)]) if several else None


def read_growth(cases: Iterable[SideCase]) -> dict[str, Reading]:
    """Returns the speed of all nodes ("cluster") with its efficiency, of the most cores of one node ("cores"), and
    of the larger of both ("system")."""
    all_cases = tuple(cases)
    readings = {}
    if growth := find_growth(all_cases):
        case, speed = growth.cases[growth.nodes]
        reading = make_reading("cluster", "Speed of all nodes", case, speed)
        readings["cluster"] = replace(reading, condition=plural(growth.nodes, "node"))
        share = Value(growth.efficiency, "%", None, None, "higher")
        title = "Efficiency of all nodes"
        cluster = readings["cluster"]
        readings["efficiency"] = replace(cluster, quantity="efficiency", title=title, value=share, limit=None)
    alone = [(count, case, value) for case in all_cases if (value := _speed(case)) and (count := _cores(case))]
    if alone:
        count, case, speed = max(alone, key=lambda one: (one[0], one[1].kernel == TASK))
        reading = make_reading("cores", "Speed of all cores", case, speed)
        readings["cores"] = replace(reading, condition=plural(count, "core"))
    if whole := readings.get("cluster") or readings.get("cores"):
        readings["system"] = replace(whole, quantity="system", title="Speed of the whole system")
    return readings


def _speed(case: SideCase) -> Value | None:
    return case.metrics.get(METRIC) if case.benchmark == BENCHMARK else None


def _nodes(case: SideCase) -> int:
    return int(number(case.parameters.get(HOSTS)) or case.hosts)


def _cores(case: SideCase) -> int:
    return int(number(case.parameters.get("ranks")) or 0) if _nodes(case) == 1 else 0
