"""The result of a figure of several sides in words for its title. The comparison decides it; nothing is judged here."""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from steelyard.compare.compared_sides import NOT_JUDGED, SidesComparison
from steelyard.compare.machine_figures import SMALLEST
from steelyard.compare.quantities import list_names
from steelyard.compare.verdict.subject import in_sentence
from steelyard.model import Benchmark
from steelyard.model.figure import Figure
from steelyard.model.units import significant
from steelyard.model.words import plural
from steelyard.show.report.changes import write_factor, write_smallest
from steelyard.show.report.forms_of_figures import COUNTED
from steelyard.statistics.validity.trust import is_marked


@dataclass(frozen=True)
class _Result:
    """The call of the comparison for a side. `log` is the logarithm of its speed, if the baseline has the speed 1."""

    side: str
    call: str
    log: float
    what: str
    smallest: float


def state_result(compared: SidesComparison, benchmark: Benchmark, figure: Figure, drawn: Collection[int]) -> str:
    """Returns the result for the sides of these numbers; "" if the comparison says nothing of what the figure shows."""
    units = {metric.unit for metric in benchmark.metrics if metric.better != "none"} - {"%", "1", ""}
    if 0 not in drawn or (figure.value or figure.y).unit not in units:
        return ""  # the figure does not show what is compared
    results = [one for n in sorted(drawn) if n for one in _list_results(compared, benchmark.name, figure, n)]
    certain = sorted((one for one in results if one.call in ("FASTER", "SLOWER")), key=lambda one: -abs(one.log))
    if certain:
        return _state_differences(certain, compared.baseline.name)
    calls = {one.call for one in results}
    if not calls:
        return ""
    if calls == {"SAME"}:
        return f"no difference ({write_smallest(max(one.smallest for one in results))} would be found)"
    if calls == {NOT_JUDGED}:
        ends = sorted(results, key=lambda one: one.log)
        named = dict.fromkeys(f"{one.side} × {write_factor(math.exp(one.log))}" for one in (ends[-1], ends[0]))
        return f"{' and '.join(named)} of {compared.baseline.name}, not judged without intervals"
    return "no certain difference"


def _state_differences(certain: Sequence[_Result], baseline: str) -> str:
    """Returns the greatest difference in each direction, and how many other sides differ."""
    named = {one.call: one for one in reversed(certain)}
    texts = [
        f"{one.side} is {one.call.lower()} than {baseline} {one.what}" for one in certain if named[one.call] is one
    ]
    rest = len({one.side for one in certain} - {one.side for one in named.values()})
    return "; ".join([*texts, *([f"{plural(rest, 'other side')} differ{'s' * (rest == 1)}, too"] if rest else [])])


def _list_results(compared: SidesComparison, benchmark: str, figure: Figure, number: int) -> Iterator[_Result]:
    """Yields what is said of whole machines, if the figure shows their quantity, and of the benchmark over matching cases."""
    name = compared.sides[number].name
    metrics = {series.metric for series in figure.series} if figure.x.title in COUNTED else set()
    shown = {quantity for metric in metrics for quantity in list_names(benchmark, metric)}
    for machine in compared.machines:
        cell = machine.cells[number]
        if machine.name in shown and cell.speed and cell.call:
            disturbed = ", disturbed" if is_marked(cell.level) else ""
            when = " in these runs" if cell.now else ""
            what = f"at {in_sentence(machine.title)} (× {write_factor(cell.speed)}{disturbed}){when}"
            yield _Result(name, cell.now or cell.call, math.log(cell.speed), what, SMALLEST)
    for total in compared.others[number - 1].benchmarks:
        if total.name == benchmark:
            what = f"over matching cases (time × {significant(total.ratio)}{', disturbed' if total.disturbed else ''})"
            yield _Result(name, total.call, -math.log(total.ratio), what, total.smallest or 0.0)
