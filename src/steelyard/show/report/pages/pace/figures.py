"""The course of a run as figures: for each kind of pace a mark for every record, and which benchmark ran when."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from steelyard.model import Evaluation, Launch, Record
from steelyard.model.observed import Kind
from steelyard.model.units import duration, percent
from steelyard.model.words import plural
from steelyard.show.report import drawing, values
from steelyard.show.report.axes import Json, capital, text
from steelyard.show.report.names import grouped
from steelyard.show.report.pages.pace.run_course import STATES, Course, Step
from steelyard.statistics.validity.measures import MEASURES

RECORDS = "pace-records"  # the element of the page that holds what the figures share: when, and of which case
TOP = 110  # per cent; what lies above is drawn there
PANEL, GAP, ROW = 160, 34, 17  # heights in pixels: of a panel, of its title, and of a group of benchmarks
MARGINS = 88  # of every figure, see figures.js
NARROWEST = 400  # part of the width that the bar of a short launch has, so that it is observed
MOST_SLICES = 20  # rows of a table
SLICES = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 240, 480)  # minutes

# Colour (of the palettes in figures.js), mark and mark size of each state; later states are drawn over earlier ones.
_MARKS = {
    "kept": (0, "circle", 4),
    "aside": (4, "diamond", 5),
    "disturbed": (1, "triangle-up-open", 7),
    "invalid": (6, "x", 6),
}
_TIMES = (
    " For latencies and times of messages, the share is the best time divided by the reading. A lower share always means "
    "slower."
)


@dataclass(frozen=True)
class Topic:
    """Kinds of pace that are drawn together."""

    name: str
    title: str
    kinds: tuple[Kind, ...]


TOPICS = (
    Topic("cores", "Pace of the cores", ("issued", "core_clock")),
    Topic("memory", "Pace of the memory", ("stream", "chase")),
    Topic("messages", "Pace of messages", ("exchange",)),
)
_WORDS: Mapping[Kind, str] = {  # above a panel, and in the heading of a table
    "issued": "additions issued per cycle",
    "core_clock": "core clock",
    "stream": "memory bandwidth",
    "chase": "memory latency",
    "exchange": "time of a message",
}


def figures(run_course: Course, added: Sequence[Launch]) -> tuple[drawing.Drawn, ...]:
    """A figure for each topic of which something was read."""
    further = {launch.number for launch in added}
    parts = ((t, tuple(kind for kind in t.kinds if kind in run_course.kinds)) for t in TOPICS)
    return tuple(_draw_topic(topic, kinds, run_course, further) for topic, kinds in parts if kinds)


def records(run_course: Course, evaluation: Evaluation) -> Json:
    """What the figures share, in the order of the steps: minutes, launches, and the cases by their place among `cases`."""
    benchmarks = {step.record.benchmark for step in run_course.steps}
    telling = {name: values.varying([r for r in evaluation.results if r.benchmark == name]) for name in benchmarks}
    names: dict[int, str] = {}  # by record: those of one result are the same case
    for result in evaluation.results:
        name = called(result.records[0], telling.get(result.benchmark, ()))
        names.update(dict.fromkeys(map(id, result.records), name))
    cases: dict[str, int] = {}
    fields = [
        cases.setdefault(names.get(id(s.record)) or called(s.record, telling[s.record.benchmark]), len(cases))
        for s in run_course.steps
    ]
    return {
        "at": [_convert_to_minutes(step.at, run_course) for step in run_course.steps],
        "launch": [step.record.launch for step in run_course.steps],
        "of": fields,
        "cases": list(cases),
    }


def called(record: Record, telling: Sequence[str]) -> str:
    """A case as the pointer names it: by what tells it from the benchmark's others."""
    words = [values.phrase(name, record.parameters[name]) for name in telling if name in record.parameters]
    return text(f"{record.benchmark} {record.kernel}" + (f": {', '.join(words)}" if words else ""))


def _convert_to_minutes(seconds: float, run_course: Course) -> float:
    return round(seconds / 60, 2 if run_course.seconds > 600 else 3)


def _draw_topic(topic: Topic, kinds: tuple[Kind, ...], run_course: Course, further: set[int]) -> drawing.Drawn:
    plot = _plot(kinds, run_course, further)
    headings, rows = _table(kinds, run_course)
    times = "" if all(MEASURES[kind].higher for kind in kinds) else _TIMES
    beyond = sum(share * 100 > TOP for step in run_course.steps for kind, share in step.shares.items() if kind in kinds)
    return drawing.Drawn(
        anchor=f"pace-{topic.name}",
        title=topic.title,
        caption="100 % is the undisturbed level of this machine for a case of the same kind: "
        f"{_describe_bests(kinds, run_course)}.{times}",
        plot=drawing.embedded(plot),
        height=plot["layout"]["height"],
        headings=headings,
        rows=rows,
        notes=(f"{plural(beyond, 'mark')} above {TOP} % {'is' if beyond == 1 else 'are'} drawn at the upper edge.",)
        if beyond
        else (),
    )


def _set_second_ticks(whole: float) -> Json:
    """Of a time axis in minutes: ticks in seconds, where the run is shorter than two minutes; {} otherwise."""
    if whole >= 120:
        return {}
    step = next(step for step in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30) if whole / step <= 7)
    ticks = [n * step for n in range(int(whole / step) + 1)]
    return {
        "title": {"text": "Seconds since the first sample"},
        "tickvals": [tick / 60 for tick in ticks],
        "ticktext": [f"{tick:g}" for tick in ticks],
    }


def _describe_bests(kinds: tuple[Kind, ...], run_course: Course) -> str:
    """The best of each kind, from the least to the greatest where it depends on the case."""
    texts = []
    for kind in kinds:
        bests = [step.bounds.best[kind] for step in run_course.steps if kind in step.shares]
        low, high = (MEASURES[kind].written(value) for value in (min(bests), max(bests)))
        texts.append(high if low == high else f"{low.partition(' ')[0]} to {high}")
    return ", ".join(texts)


# --------------------------------------------------------------------------- the picture


def _plot(kinds: tuple[Kind, ...], run_course: Course, further: set[int]) -> Json:
    groups = list(grouped({step.record.benchmark for step in run_course.steps}))
    strip = ROW * len(groups)
    inner = strip + len(kinds) * (PANEL + GAP)
    layout: Json = {"height": MARGINS + inner, "shapes": [], "annotations": [], "showlegend": True}
    layout["legend"] = {"itemsizing": "constant"}
    end = run_course.seconds / 60 or 1.0
    layout["xaxis"] = {
        "type": "linear",
        "title": {"text": "Minutes since the first sample"},
        "range": [-0.015 * end, 1.015 * end],
        "automargin": True,
        **_set_second_ticks(run_course.seconds),
    }
    layout["yaxis"] = {
        "type": "category",
        "title": {"text": ""},
        "domain": [0, strip / inner],
        "categoryorder": "array",
        "categoryarray": groups[::-1],
        "dtick": 1,
        "tickfont": {"size": 11},
        "automargin": True,
        "fixedrange": True,
    }
    data: list[Json] = []
    for number, kind in enumerate(reversed(kinds)):
        bottom = strip + number * (PANEL + GAP) + GAP / 2
        layout[f"yaxis{number + 2}"] = _share_axis([bottom / inner, (bottom + PANEL) / inner])
        _draw_bound(layout, kind, f"y{number + 2}")
    for number, kind in reversed(list(enumerate(reversed(kinds)))):
        first = number == len(kinds) - 1
        data += _draw_marks(kind, run_course, f"y{number + 2}", first)
    data += _draw_launch_bars(run_course, further)
    for pause in run_course.pauses:
        _draw_pause(layout, pause.at / 60, f"{duration(pause.seconds)} without a sample")
    return {"data": data, "layout": layout, "wide": False, "records": RECORDS}


def _share_axis(domain: list[float]) -> Json:
    ticks = [0, 25, 50, 75, 100]
    named: Json = {"tickmode": "array", "tickvals": ticks, "ticktext": [f"{tick} %" for tick in ticks]}
    return {"type": "linear", "domain": domain, "range": [0, TOP], "anchor": "x", "fixedrange": True} | named


def _draw_bound(layout: Json, kind: Kind, axis: str) -> None:
    """The title of a panel, and the bound as a line across it."""
    bound = 1 - MEASURES[kind].loss
    line: Json = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "yref": axis, "y0": 100 * bound, "y1": 100 * bound}
    layout["shapes"].append(line | {"line": {"dash": "dash", "width": 1.4}})
    layout["annotations"].append(
        {
            "name": "panel", "xref": "paper", "x": 0, "xanchor": "left", "yref": f"{axis} domain", "y": 1, "yanchor": "bottom",
            "text": f"<b>{capital(_WORDS[kind])}</b>, bound at {percent(bound)}", "align": "left", "showarrow": False,
            "font": {"size": 12},
        }
    )  # fmt: skip


def _draw_marks(kind: Kind, run_course: Course, axis: str, named: bool) -> list[Json]:
    """The records of each state. Where and what they are stands once in the page, from the record `from` on."""
    traces: list[Json] = []
    start = 0
    for state, words in STATES.items():
        steps = [step for step in run_course.steps if step.state == state]
        colour, symbol, size = _MARKS[state]
        if steps:
            traces.append(
                {
                    "type": "scatter", "mode": "markers", "yaxis": axis, "name": words, "legendgroup": state, "showlegend": named,
                    "y": [_find_height(step, kind) for step in steps], "meta": {"colour": colour, "from": start},
                    "marker": {"symbol": symbol, "size": size, "opacity": 0.75, "line": {"width": 1 if "open" in symbol else 0}},
                    "hovertemplate": f"%{{customdata}}<br>%{{y:.1f}} % of the best, {words}<extra></extra>",
                }
            )  # fmt: skip
        start += len(steps)
    return traces


def _find_height(step: Step, kind: Kind) -> float | None:
    share = step.shares.get(kind)
    return None if share is None else min(round(100 * share, 1), TOP)


def _draw_launch_bars(run_course: Course, further: set[int]) -> list[Json]:
    """Which benchmark ran when: a bar for each launch, in the row of its group."""
    launches: dict[int, list[Step]] = {}
    for step in run_course.steps:
        launches.setdefault(step.record.launch, []).append(step)
    traces = []
    for name, colour, numbers in (
        ("launches", 0, [n for n in launches if n not in further]),
        ("further launches", 3, [n for n in launches if n in further]),
    ):
        ends = [(min(s.at for s in launches[n]), max(s.at + s.seconds for s in launches[n])) for n in numbers]
        names = [launches[n][0].record.benchmark for n in numbers]
        if numbers:
            traces.append(
                {
                    "type": "bar", "orientation": "h", "name": name, "showlegend": bool(further), "meta": {"colour": colour},
                    "base": [_convert_to_minutes(low, run_course) for low, _ in ends],
                    "x": [_convert_to_minutes(max(high - low, run_course.seconds / NARROWEST), run_course) for low, high in ends],
                    "y": [next(iter(grouped([n]))) for n in names], "width": 0.7, "marker": {"line": {"width": 0}},
                    "customdata": [text(f"{n}, launch {number}") for n, number in zip(names, numbers, strict=True)],
                    "hovertemplate": "%{customdata}<extra></extra>",
                }
            )  # fmt: skip
    return traces


def _draw_pause(layout: Json, at: float, words: str) -> None:
    line: Json = {"type": "line", "x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1}
    layout["shapes"].append(line | {"line": {"dash": "dot", "width": 1.4}})
    note: Json = {"name": "above", "x": at, "xanchor": "center", "yref": "paper", "y": 1, "yanchor": "bottom"}
    layout["annotations"].append(note | {"text": words, "showarrow": False, "font": {"size": 12}})


# --------------------------------------------------------------------------- the numbers


def _table(kinds: tuple[Kind, ...], run_course: Course) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """A row for each stretch of time: of each kind the median and the least of the records' shares, and how many were beyond."""
    minutes = run_course.seconds / 60
    step = next((s for s in SLICES if minutes <= s * MOST_SLICES), math.ceil(minutes / MOST_SLICES))
    slices: dict[int, list[Step]] = {}
    for one in sorted(run_course.steps, key=lambda s: s.at):
        slices.setdefault(int(one.at / 60 / step), []).append(one)
    headings = ["minutes", "records"]
    for kind in kinds:
        headings += [f"{_WORDS[kind]}: median", "least", "beyond the bound"]
    rows = (
        (
            f"{number * step:g} – {(number + 1) * step:g}",
            str(len(steps)),
            *(cell for k in kinds for cell in _cells(steps, k)),
        )
        for number, steps in slices.items()
    )
    return tuple(headings), tuple(rows)


def _cells(steps: Sequence[Step], kind: Kind) -> tuple[str, str, str]:
    shares = [step.shares[kind] for step in steps if kind in step.shares]
    if not shares:
        return "–", "–", "–"
    beyond = sum(share < 1 - MEASURES[kind].loss for share in shares)
    return values.percent(median(shares)), values.percent(min(shares)), str(beyond)
