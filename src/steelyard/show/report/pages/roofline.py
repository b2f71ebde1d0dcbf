"""The roofline: every kernel of the run below the roofs that were measured, as a figure and a table."""

import math
from dataclasses import dataclass

from steelyard.model import Evaluation, Level
from steelyard.model.caches import MEMORY
from steelyard.model.figure import Axis, Figure, Series
from steelyard.model.units import binary_size, quantity, significant
from steelyard.model.words import joined
from steelyard.show.report import doubtful_values, drawing, figures, side_traces, values
from steelyard.show.report.axes import Json, capital, text
from steelyard.show.report.names import slug
from steelyard.statistics.results import cases
from steelyard.statistics.results.roofline import OVER_CACHE, Place, Roofline, device_rooflines, rooflines
from steelyard.statistics.results.roofs import SCALAR, Roof, working_set
from steelyard.statistics.validity.trust import doubtful

PLACE, TITLE = 30, "Roofline"
UNCHANGED = True

HEIGHT = 460  # pixels
# Times the ridge of the slowest bandwidth: what needs still fewer bytes is bounded by arithmetic alone, and stands at the edge.
FAR = 12
CLOSE = 1.7  # times: names of roofs that are closer would touch, and stand one behind the other
_INK = 6  # the palettes' last colour, black on white: the roofs'
_SYMBOLS = len(side_traces.SYMBOLS)


@dataclass(frozen=True, kw_only=True)
class Row:
    """A kernel: its name, the page of its benchmark, and what the table says of it; `order` sorts by the share."""

    name: str
    anchor: str
    cells: tuple[str, ...]  # intensity, speed, its interval, where its data lie, the bound, and its value
    share: str
    share_level: Level  # of the kernel and of its roof
    level: Level
    evidence: str


@dataclass(frozen=True)
class Part:
    """All of one number of threads."""

    title: str
    figure: drawing.Drawn
    roofs: tuple[tuple[str, str, str, Level], ...]  # name, value, measured by, its verdict
    rows: tuple[Row, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Page:
    """Returns the data of the page."""

    parts: tuple[Part, ...]
    causes: tuple[str, ...]  # what the finding on roofs says, if it says anything


def data(evaluation: Evaluation) -> Page | None:
    """The page's data; None where no peak or no bandwidth was measured."""
    lines = (*rooflines(evaluation), *device_rooflines(evaluation))
    if not lines:
        return None
    causes = tuple(finding.seen for finding in evaluation.findings if finding.rule == "roof")
    # The same mark and colour in both figures.
    names = tuple(dict.fromkeys(place.result.benchmark for line in lines for place in line.places))
    return Page(tuple(_part(line, names, evaluation) for line in lines), causes)


def _part(line: Roofline, names: tuple[str, ...], evaluation: Evaluation) -> Part:
    all_of_them = f"all processors together ({line.threads} threads)"
    many = (
        f"{line.device} and {all_of_them}"
        if line.device
        else "One thread"
        if line.threads == 1
        else capital(all_of_them)
    )
    title = f"Roofline: {many if line.device else f'{many[0].lower()}{many[1:]}'}"
    several = len({place.result.parameters.get("toolchain") for place in line.places}) > 1
    ordered = sorted(line.places, key=lambda place: (place.share is None, place.share or 0.0))
    return Part(
        many,
        _draw_roofline(line, names, title, several),
        tuple(_roof(roof) for roof in line.roofs),
        tuple(_row(place, evaluation, several) for place in ordered),
        _notes(line),
    )


def _roof(roof: Roof) -> tuple[str, str, str, Level]:
    unit = "flop/s" if roof.kind == "peak" else "B/s"
    named = (
        f"peak, {roof.title}"
        if roof.kind == "peak"
        else f"bandwidth of {_name_place(roof.name)}{f' of {roof.of}' if roof.of else ''}"
    )
    size = working_set(roof.result)
    size_text = f", {binary_size(int(size))}" if size else ""
    by = f"{roof.result.benchmark} {cases.describe(roof.result, but=('threads', 'precision', 'elements'))}{size_text}"
    if roof.kind == "peak" and roof.value < roof.result.metrics["flops"].value:
        by = f"the limit of {by}, because the figure is above it"
    return named, quantity(roof.value, unit), by, values.level(roof.result)


def _row(place: Place, evaluation: Evaluation, several: bool) -> Row:
    result, roof = place.result, place.roof
    bound = ("not measured", "") if roof is None else (roof.title, quantity(place.bound, "flop/s"))
    return Row(
        name=called(place, several),
        anchor=slug(result.benchmark) if result.benchmark in evaluation.benchmarks else "",
        cells=(
            significant(place.intensity),
            quantity(place.speed.value, "flop/s"),
            values.interval(place.speed),
            _name_place(place.level) if place.level else "not known",
            *bound,
        ),
        share=f"{values.percent(place.share)}{' (above its limit)' if place.is_above else ''}",
        share_level=values.weakest(result, *((roof.result,) if roof else ())),
        level=values.level(result),
        evidence=values.why(result),
    )


def called(place: Place, several: bool) -> str:
    """The kernel's name, with the toolchain where `several` of them are compared."""
    return f"{place.name}, {place.result.parameters.get('toolchain')}" if several else place.name


def _name_place(level: str) -> str:
    return "the memory" if level == MEMORY else level


def _notes(line: Roofline) -> tuple[str, ...]:
    notes = []
    if line.device:
        notes.append(
            f"The roofs of {line.device} are the bandwidth of its memory and the double-precision peak of its vector units. A "
            "point can lie above a roof: its data fit into the last cache of the device, or the kernel uses matrix units."
        )
    elif line.threads > 1:
        notes.append(
            "Steelyard measures the bandwidth of the caches with one thread only, and does not guess it for several "
            "threads. A kernel with its data in a cache therefore has no roof here. The exception is a kernel "
            "with so many flops for each byte that the arithmetic limits it even with data from the memory."
        )
    if not any(roof.name == MEMORY for roof in line.roofs):
        notes.append("This run did not measure the bandwidth of the memory.")
    if any(place.share is not None and place.share > 1.05 for place in line.places):
        notes.append(
            "The bandwidth roofs are measured with the Triad loop, which reads two words and writes one. A loop that "
            "reads a larger share can exceed 100 % of such a roof. A loop can also exceed it if its data lie in "
            "a faster cache than their size suggests."
        )
    if wrong := [place.name for place in line.places if place.disproves_roof]:
        notes.append(
            f"{joined(wrong)} reached more than {values.percent(1 + OVER_CACHE)} of the bandwidth of a cache. This roof was "
            "measured wrongly, or the data lie in a nearer cache. The table therefore has no share."
        )
    return tuple(notes)


# --------------------------------------------------------------------------- the figure


def _draw_roofline(line: Roofline, names: tuple[str, ...], title: str, several: bool) -> drawing.Drawn:
    figure = _figure(line, title)
    levels = [values.level(place.result) for place in line.places]
    rows = tuple((roof.title, *(quantity(roof.at(x), "flop/s") for x in _find_extent(line))) for roof in line.roofs)
    left, right = (f"{significant(x)} flop/B" for x in _find_extent(line))
    plot = _plot(figure, line, names, several)
    headings, notes = ("Roof", f"at {left}", f"at {right}"), doubtful_values.notes(levels, "kernels", "lines")
    anchor = f"roofline-figure-{slug(line.device) if line.device else line.threads}"
    return drawing.with_plot(anchor, figure, plot, headings, rows, notes)


def _figure(line: Roofline, title: str) -> Figure:
    """The roofs as lines, and the kernels as points, a series a benchmark."""
    low, high = _find_extent(line)
    edge = high / 1.25
    beyond = any(place.intensity > edge for place in line.places)
    roofs = []
    for roof in line.roofs:
        end = high if roof.kind == "peak" else min(high, _find_highest_peak(line, roof.of) / roof.value)
        start = low if roof.kind == "bandwidth" else max(low, _ridge(line, roof))
        roofs.append(Series(roof.title, (start, end), (roof.at(start), roof.at(end))))
    kernels = []
    for benchmark in dict.fromkeys(place.result.benchmark for place in line.places):
        places = [place for place in line.places if place.result.benchmark == benchmark]
        kernels.append(
            Series(
                benchmark,
                tuple(min(p.intensity, edge) for p in places),
                tuple(doubtful_values.graded(p.speed.value, values.level(p.result)) for p in places),
                connected=False,
            )
        )
    return Figure(
        name="roofline",
        title=title,
        kind="lines",
        x=Axis("operational intensity (flop/B)", log=True),
        y=Axis("speed", "flop/s", log=True),
        series=(*roofs, *kernels),
        caption="Sloping lines are measured bandwidths. Horizontal lines are the measured highest speeds of "
        "arithmetic. Each mark is a kernel with its largest data in the caches or in the memory. Move the "
        "pointer to a mark to see its name. For kernels with data in the memory, the bytes are those that the "
        "memory really moves."
        + (" Kernels with more flops for each byte than the axis shows are drawn at the right edge." if beyond else ""),
    )


def _plot(figure: Figure, line: Roofline, names: tuple[str, ...], several: bool) -> Json:
    plot = figures.plotly(figure)
    layout, count = plot["layout"], len(line.roofs)
    low, high = _find_extent(line)
    bottom = min([p.speed.value for p in line.places] + [r.at(low) for r in line.roofs if r.kind == "bandwidth"])
    layout |= {"height": HEIGHT, "showlegend": bool(line.places)}
    layout["xaxis"]["range"] = [math.log10(low), math.log10(high)]
    layout["yaxis"]["range"] = [math.log10(bottom / 1.8), math.log10(_find_highest_peak(line) * 2.2)]
    for trace in plot["data"][:count]:
        trace |= {"mode": "lines", "showlegend": False, "hoverinfo": "skip", "meta": {"colour": _INK}}
        trace.pop("hovertemplate")
        dashes = (
            "dash"
            if trace["name"].startswith(SCALAR) or (line.device and line.device not in trace["name"])
            else "solid"
        )
        trace["line"] = {"width": 1.6, "dash": dashes}
    for trace, series in zip(plot["data"][count:], figure.series[count:], strict=True):
        number = names.index(series.name)
        trace["name"] = text(_shorten_name(series.name, names))
        places = [place for place in line.places if place.result.benchmark == series.name]
        symbol = side_traces.SYMBOLS[(number + number // _INK) % _SYMBOLS]
        trace["meta"] = {"colour": number % _INK}
        trace["marker"]["symbol"] = [symbol + doubtful_values.HOLLOW.get(values.level(p.result), "") for p in places]
        trace["customdata"] = [text(_hover(place, several)) for place in places]
    layout["annotations"] += _labels(line)
    return plot


def _shorten_name(benchmark: str, names: tuple[str, ...]) -> str:
    """Returns the name of a benchmark without its group, unless another group has the same name."""
    short = benchmark.rpartition(".")[2]
    return short if sum(name.rpartition(".")[2] == short for name in names) == 1 else benchmark


def _hover(place: Place, several: bool) -> str:
    share = f", {values.percent(place.share)} of {place.roof.name}" if place.roof and place.share is not None else ""
    level = values.level(place.result)
    mark = f" ({level})" if doubtful(level) else ""
    speed, where = quantity(place.speed.value, "flop/s"), f"{significant(place.intensity)} flop/B"
    return f"{place.result.benchmark} {called(place, several)}: {speed} at {where}{share}{mark}"


def _find_extent(line: Roofline) -> tuple[float, float]:
    """The horizontal extent (flop/B): the kernels, with room for the names of the roofs on their left, and the ridges."""
    slowest = min(roof.value for roof in line.roofs if roof.kind == "bandwidth")
    intensities = [place.intensity for place in line.places]
    ridge = _find_highest_peak(line) / slowest
    return min([*intensities, 0.08]) / 4, min(max([*intensities, ridge]) * 2.5, ridge * FAR)


def _find_highest_peak(line: Roofline, of: str | None = None) -> float:
    """The highest peak of all, or of one device ("": of the processors)."""
    return max(roof.value for roof in line.roofs if roof.kind == "peak" and of in (None, roof.of))


def _ridge(line: Roofline, peak: Roof) -> float:
    """Where the fastest bandwidth reaches the peak: left of it the peak bounds nothing."""
    return peak.value / max(roof.value for roof in line.roofs if roof.kind == "bandwidth" and roof.of == peak.of)


def _labels(line: Roofline) -> list[Json]:
    """Names along the roofs: bandwidths at the lower end of their slope, peaks at the right end."""
    notes: list[Json] = []
    low, high = _find_extent(line)
    sloping = sorted((roof for roof in line.roofs if roof.kind == "bandwidth"), key=lambda roof: -roof.value)
    span, at = math.log10(high / low), 0.0
    for number, roof in enumerate(sloping):
        close = number > 0 and sloping[number - 1].value < CLOSE * roof.value
        at = at + 0.17 * span if close else math.log10(low) + 0.02 * span
        words = f"{roof.title} {quantity(roof.value, 'B/s')}"
        notes.append(_label(words, at, math.log10(roof.value) + at) | {"name": "slope", "xanchor": "left"})
    for roof in line.roofs:
        if roof.kind == "peak":
            words = f"{roof.title} {quantity(roof.value, 'flop/s')}"
            notes.append(_label(words, math.log10(high), math.log10(roof.value)) | {"name": "roof", "xanchor": "right"})
    return notes


def _label(words: str, x: float, y: float) -> Json:
    return {"text": words, "x": x, "y": y, "yanchor": "bottom", "showarrow": False, "font": {"size": 12}}


def has_figures(page: Page) -> bool:
    """Wherever there is the page it has figures."""
    return True
