"""Turns results into the data of figures: selects them, groups them into lines, and marks the cache sizes."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from steelyard.model import Machine, Result, Scalar, Value
from steelyard.model.figure import Mark, Series
from steelyard.model.units import binary_size, quantity
from steelyard.model.words import find_words
from steelyard.statistics.validity import trust

# Parameters of the measurement, not of what is measured: the best of them stands for a machine beside others. Reused buffers
# look best, but no application has them.
CONDITIONS = ("mapping", "memory_policy", "mpi", "page_size", "pinning", "stores", "toolchain", "transport", "variant")
DEFAULTS: dict[str, Scalar] = {"page_size": "default", "memory_policy": "local", "stores": "ordinary"}


def select(results: Iterable[Result], **wanted: Scalar | None) -> tuple[Result, ...]:
    """Returns the results with these parameters (also `kernel`). None stands for the default of the parameter."""
    return tuple(
        r
        for r in results
        if all(_value(r, name) == (DEFAULTS.get(name) if value is None else value) for name, value in wanted.items())
    )


def _value(result: Result, name: str) -> Scalar | None:
    return result.kernel if name == "kernel" else result.parameters.get(name, DEFAULTS.get(name))


def against(
    parameter: str, metric: str, results: Sequence[Result], names: Sequence[str] = (), scale: float = 1, label: str = ""
) -> tuple[Series, ...]:
    """Returns lines of `metric` over `parameter` (times `scale`), one for each combination of the parameters `names`.

    Only parameters that differ name a line. `label` names a line that has no other name.
    """
    lines: dict[tuple[Scalar | None, ...], list[Result]] = {}
    for result in results:
        if metric in result.metrics and parameter in result.parameters:
            lines.setdefault(tuple(_value(result, name) for name in names), []).append(result)
    varying = [i for i in range(len(names)) if len({key[i] for key in lines}) > 1]
    series = []
    for key, members in sorted(lines.items(), key=lambda item: [_rank(value) for value in item[0]]):
        members.sort(key=lambda r: float(r.parameters[parameter]))
        values = [r.metrics[metric] for r in members]
        words = {
            names[i]: find_words(names[i], key[i]) or f"{key[i]} {names[i]}" for i in varying if key[i] is not None
        }
        x = [float(r.parameters[parameter]) * scale for r in members]
        line = draw_values(", ".join(words.values()) or label or metric, x, values)
        subject = ", ".join(word for name, word in words.items() if name not in CONDITIONS)
        series.append(replace(line, metric=metric, better=values[0].better, subject=subject))
    return tuple(series)


def draw_values(name: str, x: Sequence[float | str], values: Sequence[Value | None]) -> Series:
    """Returns a line, or a set of bars, of values with their intervals. None leaves a gap."""
    ends = zip(*((v.value, v.low, v.high) if v else (None, None, None) for v in values), strict=True)
    y, low, high = ends if values else ((), (), ())
    return Series(name, tuple(x), y, low, high)


def _rank(value: Scalar | None) -> tuple[bool, float, str]:
    """Returns a sort key: numbers first, then words."""
    return (False, value, "") if isinstance(value, int | float) else (True, 0.0, str(value))


def cache_marks(machine: Machine) -> tuple[Mark, ...]:
    """Returns a mark at the size of each cache level of the first usable processor."""
    first = machine.cpus[0] if machine.cpus else 0
    levels = {c.level: c for c in machine.caches if c.kind != "instruction" and first in c.cpus}
    return tuple(
        Mark("x", cache.size, f"L{level} {binary_size(cache.size)}") for level, cache in sorted(levels.items())
    )


def cell(result: Result | None, metric: str) -> str:
    """Returns the metric with its unit as a table cell; "–" if it was not measured."""
    value = result.metrics.get(metric) if result else None
    if result is None or value is None:
        return "–"
    return quantity(value.value, value.unit) + trust.write_if_doubtful(result.verdict.level)


def table(
    results: Sequence[Result], column: str, row: str, metric: str
) -> tuple[tuple[float, ...], tuple[float, ...], tuple[tuple[float | None, ...], ...]]:
    """Returns columns, rows and z[row][column] of `metric` over two numeric parameters; None if not measured."""
    cells = {
        (float(r.parameters[row]), float(r.parameters[column])): r.metrics[metric].value
        for r in results
        if metric in r.metrics and row in r.parameters and column in r.parameters
    }
    columns = tuple(sorted({c for _, c in cells}))
    rows = tuple(sorted({r for r, _ in cells}))
    return columns, rows, tuple(tuple(cells.get((r, c)) for c in columns) for r in rows)
