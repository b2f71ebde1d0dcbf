"""The results of an imported run: one for each case of another tool, with the statistic of that tool."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

import numpy as np

from steelyard.model import (
    Benchmark,
    Better,
    Evaluation,
    Evidence,
    ForeignValue,
    Imported,
    Machine,
    Metric,
    Result,
    Run,
    Scalar,
    Value,
    Verdict,
)
from steelyard.model.figure import Axis, Figure, Series
from steelyard.model.foreign import list_tools
from steelyard.model.roles import SIZES, Headline
from steelyard.model.run import FOREIGN
from steelyard.model.units import binary_size
from steelyard.model.words import joined
from steelyard.statistics.samples.interval import median_intervals
from steelyard.statistics.samples.launches import CONFIDENCE

FEWEST = 5  # samples for an interval of the median: of five from the least to the greatest (94 %), of six and more 95 %
MOST_LINES = 24  # most lines of a figure
BETTER: tuple[Better, ...] = ("higher", "lower", "none")  # rates stand before times
BYTES = "_bytes"  # the names of sizes end with it
AXES = ("message_bytes", "block_bytes", "transfer_bytes", *SIZES, "ranks", "nodes", "threads")
FURTHER = ("_least", "_greatest", "_deviation", "_of_the_ranks")  # statistics that stand in the table only
PASS = "pass_time"  # of a kernel that moves a stated number of bytes
Case = tuple[str, str, tuple[tuple[str, Scalar], ...]]


def evaluate_imported(run: Run, imported: Imported, benchmarks: Mapping[str, Benchmark]) -> Evaluation:
    """Returns the results of an imported run without findings. `benchmarks` are those of Steelyard."""
    results = tuple(map(_summarise_case, group_cases(imported.values)))
    described = describe(results, list_tools(imported.values), benchmarks)
    return Evaluation(run=run, benchmarks=described, results=results, findings=(), condition=FOREIGN)


def describe(
    results: Iterable[Result], tools: Mapping[str, Iterable[str]], benchmarks: Mapping[str, Benchmark]
) -> dict[str, Benchmark]:
    """Returns a description of each benchmark of imported results. `tools` are those that measured it (`list_tools`)."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.benchmark, []).append(result)
    return {
        name: _describe(name, members, joined([*tools.get(name, ())]), benchmarks.get(name))
        for name, members in groups.items()
    }


def name_metrics(values: Iterable[ForeignValue]) -> dict[tuple[str, str, str, str], str]:
    """Returns the name of a metric by benchmark, kernel, metric and statistic.

    The first statistic of a metric has its name; a further one adds its own: "latency_least". "best of 9" and "best of 199" are
    the same one.
    """
    names: dict[tuple[str, str, str, str], str] = {}
    first: dict[tuple[str, str, str], str] = {}
    for v in values:
        metric = (v.benchmark, v.kernel, v.metric)
        main = first.setdefault(metric, _classify_statistic(v.statistic))
        ending = "" if _classify_statistic(v.statistic) == main else "_" + re.sub(r"\W+", "_", v.statistic)
        names.setdefault((*metric, v.statistic), v.metric + ending)
    return names


def _classify_statistic(statistic: str) -> str:
    return re.sub(r"\bof \d+", "of n", statistic)


def group_cases(values: Sequence[ForeignValue]) -> Iterable[dict[str, list[ForeignValue]]]:
    """Returns for each case the repetitions by the name of their metric (`name_metrics`)."""
    names = name_metrics(values)
    cases: dict[Case, dict[str, list[ForeignValue]]] = {}
    for v in values:
        case = (v.benchmark, v.kernel, tuple(sorted(v.parameters.items())))
        metric = names[v.benchmark, v.kernel, v.metric, v.statistic]
        cases.setdefault(case, {}).setdefault(metric, []).append(v)
    return cases.values()


def _summarise_case(metrics: Mapping[str, list[ForeignValue]]) -> Result:
    first = next(iter(metrics.values()))[0]
    return Result(
        benchmark=first.benchmark,
        kernel=first.kernel,
        parameters=first.parameters,
        records=(),
        metrics={name: summarise(samples) for name, samples in metrics.items()},
        verdict=Verdict("FOREIGN", tuple(_list_evidence(metrics))),
    )


def _list_evidence(metrics: Mapping[str, list[ForeignValue]]) -> Iterable[Evidence]:
    tools = dict.fromkeys(v.tool for samples in metrics.values() for v in samples)
    yield Evidence("", f"{joined(tools)} measured it.")
    for note in dict.fromkeys(v.note for samples in metrics.values() for v in samples if v.note):
        yield Evidence("", note)


def summarise(samples: list[ForeignValue]) -> Value:
    """Returns the median of the repetitions, with an interval if there are at least `FEWEST`."""
    first = samples[0]
    middle, low, high = _find_median([s.value for s in samples])
    return Value(middle, first.unit, low, high, first.better, statistic=_name_statistic(samples))


def pool_values(values: Sequence[Value]) -> Value:
    """Returns the median of values of equal cases on several hosts or of several runs, with an interval as in `summarise`."""
    if len(values) == 1:
        return values[0]
    first, (middle, low, high) = values[0], _find_median([v.value for v in values])
    return Value(middle, first.unit, low, high, first.better, statistic=f"median of {len(values)} cases")


def _find_median(values: Sequence[float]) -> tuple[float, float | None, float | None]:
    numbers = np.array([values])
    low = high = None
    if len(values) >= FEWEST:
        ends = [float(end[0]) for end in median_intervals(numbers, CONFIDENCE)]
        # Five values, or values that drift over their dates, have no closer interval than that of all values.
        low, high = (min(values), max(values)) if len(values) == FEWEST or any(map(math.isnan, ends)) else ends
    return float(np.median(numbers)), low, high


def _name_statistic(samples: Sequence[ForeignValue]) -> str:
    one, count = samples[0].statistic, len(samples)
    if count == 1:
        return one
    if len({sample.statistic for sample in samples}) > 1:
        one = _classify_statistic(one)
    return f"median of {count} runs" if one == "one run" else f"{one} (median of {count})"


# --------------------------------------------------------------------------- descriptions


def _describe(name: str, results: list[Result], tools: str, known: Benchmark | None) -> Benchmark:
    """Returns a description of the imported values of a benchmark, with the words of Steelyard's benchmark if it has one."""
    metrics: dict[str, Metric] = {}
    for result in results:
        for metric, value in result.metrics.items():
            metrics.setdefault(metric, Metric(metric, value.unit, value.better, metric.replace("_", " "), _skip))
    ours = [metric.name for metric in known.metrics] if known else []
    return Benchmark(
        name=name,
        title=known.title if known else _title(name, tools),
        summary=f"{known.summary} These values come from {tools}." if known else f"Values of {tools}.",
        reading=known.reading if known else "The values have the meaning that this tool gives them.",
        caution="Another tool measured these values, so Steelyard cannot judge them.",
        source=known.source if known else tools,
        sources=known.sources if known else (),
        axes=lambda machine, effort: (),
        metrics=tuple(sorted(metrics.values(), key=lambda metric: _rank_metric(metric, ours))),
        limit=known.limit if known else None,
        figures=lambda results, machine: (
            _draw_known_figures(known, results, machine, tools) or draw(name, results, tools)
        ),
        heading="" if known else tools,
        roles=tuple(role for role in known.roles if isinstance(role, Headline)) if known else (),
    )


def _title(name: str, tools: str) -> str:
    kind = name.partition(".")[2].replace("_", " ")
    return tools if kind.casefold() in (tools.casefold(), "run") else f"{kind} ({tools})"


def _rank_metric(metric: Metric, ours: Sequence[str]) -> tuple[int, int, bool]:
    """Returns the place of a metric among those of its benchmark: ours first, then rates, then times, each before its spread."""
    known = ours.index(metric.name) if metric.name in ours else len(ours)
    return known, BETTER.index(metric.better), metric.name.endswith(FURTHER)


def _skip(seconds: float, record: object) -> None:
    return None


def _draw_known_figures(
    known: Benchmark | None, results: tuple[Result, ...], machine: Machine, tools: str
) -> tuple[Figure, ...]:
    """Returns the figures of Steelyard's benchmark that the values fill, so that they share their axes with those of runs."""
    with suppress(Exception):  # a benchmark may need a parameter that the tool does not print
        figures = known.figures(results, machine) if known else ()
        filled = [figure for figure in figures if _is_filled(figure)]
        return tuple(replace(figure, caption=f"{tools} measured these values.") for figure in filled)
    return ()


def _is_filled(figure: Figure) -> bool:
    """Returns whether values lie at two places, or at a named one: a single point shows nothing over an axis of numbers."""
    places = {x for series in figure.series if series.y and not series.published for x in series.x}
    return len(places) > 1 or any(isinstance(x, str) for x in places)


def draw(name: str, results: Iterable[Result], tools: str = "") -> tuple[Figure, ...]:
    """Returns figures for each metric: lines over a size that varies, and bars of the cases that have no such size.

    The time of a pass has none if its rate is known: of vectors of another length, it says nothing about the speed.
    """
    groups: dict[tuple[str, str, Better], list[Result]] = {}
    for result in results:
        for metric, value in result.metrics.items():
            rated = metric == PASS and any(of.better == "higher" for of in result.metrics.values())
            if value.better != "none" and not metric.endswith(FURTHER) and not rated:
                groups.setdefault((metric, value.unit, value.better), []).append(result)
    ordered = sorted(groups, key=lambda group: (BETTER.index(group[2]), -len(groups[group])))
    return tuple(figure for group in ordered for figure in _draw_metric(name, tools, *group[:2], groups[group]))


def _draw_metric(name: str, tools: str, metric: str, unit: str, results: list[Result]) -> Iterator[Figure]:
    size = next((axis for axis in AXES if len({x for r in results if (x := _number(r, axis)) is not None}) > 2), "")
    sized = [result for result in results if _number(result, size) is not None]
    others = [result for result in results if _number(result, size) is None]
    label, what = metric.replace("_", " "), name.partition(".")[2].replace("_", " ")
    title = f"{tools if what == 'run' and tools else what}: {label}"
    figure = Figure(
        name=f"{name.replace('.', '-')}-{metric}",
        title=title,
        kind="lines",
        x=Axis("case"),
        y=Axis(label, unit, log=True),
    )
    if sized:
        following = _find_following(sized, size)
        varying = _find_varying(sized) - {size, *following}
        lines: dict[str, list[Result]] = {}
        for result in sorted(sized, key=lambda result: _number(result, size) or 0.0):
            lines.setdefault(_label(result, varying), []).append(result)
        yield replace(
            figure,
            x=Axis(_name_axis(size, following, sized), "B" if size.endswith("bytes") else "", log=True),
            series=tuple(
                Series(line, tuple(_number(r, size) or 0.0 for r in of), tuple(r.metrics[metric].value for r in of))
                for line, of in list(lines.items())[:MOST_LINES]
            ),
        )
    if others:
        varying = _find_varying(others)
        cases = tuple(_label(result, varying) for result in others)
        bars = Series(label, cases, tuple(result.metrics[metric].value for result in others))
        without = f"{title} (cases without a {_format_name(size)})" if sized else title
        yield replace(figure, name=f"{figure.name}-cases", title=without, kind="bars", series=(bars,))


def _number(result: Result, name: str) -> float | None:
    number = result.parameters.get(name)
    return None if isinstance(number, bool | str) else number


def _find_varying(results: list[Result]) -> set[str]:
    """Returns the parameters that differ among the results, or that some of them lack."""
    names = {name for result in results for name in result.parameters}
    return {name for name in names if len({result.parameters.get(name) for result in results}) > 1}


def _find_following(results: Sequence[Result], size: str) -> list[str]:
    """Returns the numbers that grow with the size of the axis, such as the nodes with the ranks. They need no own lines."""
    following = []
    for name in _find_varying([*results]) - {size}:
        pairs = sorted({(_number(r, size) or 0.0, number) for r in results if (number := _number(r, name)) is not None})
        sizes, numbers = {x for x, _ in pairs}, [number for _, number in pairs]
        grows = all(a < b for a, b in pairwise(numbers)) or all(a > b for a, b in pairwise(numbers))
        if len(pairs) == len(sizes) == len({_number(r, size) for r in results}) > 1 and grows:
            following.append(name)
    return sorted(following)


def _name_axis(size: str, following: Sequence[str], results: Sequence[Result]) -> str:
    """Returns the name of the axis, with the numbers that grow with it: "ranks (nodes 32 to 2048)"."""
    spans = [
        f"{_format_name(name)} {min(numbers):g} to {max(numbers):g}"
        for name in following
        if (numbers := [number for r in results if (number := _number(r, name)) is not None])
    ]
    return f"{_format_name(size)} ({', '.join(spans)})" if spans else _format_name(size)


def _label(result: Result, varying: set[str]) -> str:
    """Returns the kernel with those of its parameters that vary; a text speaks for itself, a number needs its name."""
    given = result.parameters.items()
    return ", ".join([_format_name(result.kernel), *(_part(name, value) for name, value in given if name in varying)])


def _part(name: str, value: Scalar) -> str:
    if isinstance(value, str):
        return value
    if name.endswith(BYTES) and not isinstance(value, bool) and value == int(value):
        return binary_size(int(value))
    return f"{_format_name(name)} {value:,}".replace(",", "\u202f")


def _format_name(name: str) -> str:
    """Returns the name of a kernel or a parameter in words: 'message_bytes' is 'message size'."""
    return (f"{name.removesuffix(BYTES)}_size" if name.endswith(BYTES) else name).replace("_", " ")
