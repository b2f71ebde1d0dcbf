"""Rule: names the hosts whose imported values are unlike those of the others."""

import shlex
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from statistics import median

from steelyard.judge.findings.remedies import advise
from steelyard.model import Evaluation, Finding, ForeignValue
from steelyard.model.foreign import uses_several_nodes
from steelyard.model.units import percent, quantity
from steelyard.model.words import joined

IMPORTED = True
FEWEST = 5  # hosts, so that the others have a median and a spread
WORSE = 0.1  # share by which an outlier is worse than the median of the hosts
SPREADS = 5  # and as many times the median deviation of the hosts
STEPS = 1.5  # units of the last digit that tools print, at least
MOST = 5  # hosts that a finding names


def find(evaluation: Evaluation) -> list[Finding]:
    """States for each benchmark the hosts that are more than a tenth worse than the median of all hosts in some case."""
    imported = evaluation.run.imported
    return find_outliers(imported.values) if imported else []


def find_outliers(values: Iterable[ForeignValue]) -> list[Finding]:
    """Returns the findings on the hosts of the values; values without a host have no part in it."""
    by_case: dict[tuple[object, ...], dict[str, list[ForeignValue]]] = defaultdict(lambda: defaultdict(list))
    for v in values:
        of_one_host = v.host and not uses_several_nodes(v.parameters)
        if of_one_host and v.better != "none" and v.value > 0 and not _is_worst(v):
            alike = replace(v, parameters={name: x for name, x in v.parameters.items() if name != "host"})
            by_case[alike.case][v.host].append(v)
    # benchmark → host → how much worse, and the case
    worst: dict[str, dict[str, tuple[float, str]]] = defaultdict(dict)
    hosts: dict[str, int] = {}
    for of_hosts in by_case.values():
        if len(of_hosts) < FEWEST:
            continue
        first = next(iter(of_hosts.values()))[0]
        benchmark, case = first.benchmark, f"{first.kernel.replace('_', ' ')}, {first.metric.replace('_', ' ')}"
        hosts[benchmark] = max(len(of_hosts), hosts.get(benchmark, 0))
        for host, share, text in _outliers(of_hosts):
            if share > worst[benchmark].get(host, (0.0, ""))[0]:
                worst[benchmark][host] = (share, f"{host}: {case}: {text}")
    return [_finding(benchmark, outliers, hosts[benchmark]) for benchmark, outliers in worst.items() if outliers]


def _is_worst(value: ForeignValue) -> bool:
    """Returns whether the tool printed the worst of its passes or events: one event is no property of a host."""
    return value.statistic.startswith("greatest" if value.better == "lower" else "least")


def _outliers(of_hosts: dict[str, list[ForeignValue]]) -> list[tuple[str, float, str]]:
    """Returns the hosts that are worse than the others, by which share, and both values in words."""
    first = next(iter(of_hosts.values()))[0]
    middles = {host: median(v.value for v in values) for host, values in of_hosts.items()}
    center = median(middles.values())
    spread = median(abs(value - center) for value in middles.values())
    step = min(map(find_step, middles.values()))
    outliers = []
    for host, value in middles.items():
        worse = value / center - 1 if first.better == "lower" else center / value - 1
        if worse > WORSE and abs(value - center) > max(SPREADS * spread, STEPS * step):
            text = f"{quantity(value, first.unit)}, median of all hosts {quantity(center, first.unit)}."
            outliers.append((host, worse, text))
    return outliers


def find_step(value: float) -> float:
    """Returns the unit of the last digit that a tool printed: 0.01 for 0.03."""
    exponent = Decimal(f"{value:.9g}").normalize().as_tuple().exponent
    return 10.0**exponent if isinstance(exponent, int) else 0.0


def _finding(benchmark: str, outliers: dict[str, tuple[float, str]], hosts: int) -> Finding:
    ordered = sorted(outliers, key=lambda host: -outliers[host][0])
    named = ordered[:MOST]
    more = f" and {len(ordered) - MOST} more" if len(ordered) > MOST else ""
    greatest = outliers[ordered[0]][0]
    verb = "is" if len(ordered) == 1 else "are"
    return Finding(
        rule="imported_outliers",
        level="serious",
        seen=f"In {benchmark}, {joined(named)}{more} {verb} slower than the median of {hosts} hosts, "
        f"by up to {percent(greatest)}.",
        evidence=tuple(outliers[host][1] for host in named),
        cause="The host has another configuration or a fault, or other work ran on it.",
        remedy=advise("Measure these hosts again: ", f"run --hosts {shlex.quote(','.join(named))}"),
        benchmark=benchmark,
        effect=1 + greatest,
    )
