"""The kernels of the node side by side: the time of each mode against that of all threads."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from steelyard.model import Axis, Evaluation, Figure, Level, Machine, Mark, Result, Series
from steelyard.report import drawn, figures, values
from steelyard.report.names import slug
from steelyard.statistics import cases, messages
from steelyard.statistics.compare import compare
from steelyard.units import quantity, significant

LEAST = 2  # kernels: one alone is on its own benchmark's page
NOTE = "Shorter is better; 1 is the time of {reference}. Each ratio has the 95 % interval that the comparison of both gives."

Key = tuple[object, ...]
Mode = tuple[int, int, int]  # kind, threads, device: the order of the columns, too


@dataclass(frozen=True)
class Cell:
    """A kernel in a mode: its time, that over the reference's with its interval; "" where there is none."""

    time: str
    ratio: str
    interval: str
    level: Level
    evidence: str


@dataclass(frozen=True)
class Row:
    """A kernel, the anchor of its benchmark's page, and a cell for each mode; None where it was not measured."""

    name: str
    anchor: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True)
class Part:
    """The kernels of one toolchain. `sums`: of the times, a sentence for each mode; `means`: of the ratios."""

    title: str
    figure: drawn.Drawn
    modes: tuple[str, ...]
    rows: tuple[Row, ...]
    sums: tuple[str, ...]
    means: tuple[str, ...]


@dataclass(frozen=True)
class Page:
    """What the page shows; `left_out` tells what could not be compared."""

    reference: str
    parts: tuple[Part, ...]
    left_out: str


@dataclass(frozen=True)
class _Kernel:
    name: str
    benchmark: str
    modes: dict[Mode, Result]


@dataclass(frozen=True)
class _Ratio:
    """The time of a kernel in a mode over the reference's."""

    value: float
    low: float
    high: float


def data(evaluation: Evaluation) -> Page | None:
    """The page's data; None unless two kernels of the node were measured by all threads, and in some other mode."""
    mine = [r for r in evaluation.results if r.benchmark.startswith("node.") and "mode" in r.parameters]
    usable = [r for r in mine if values.level(r) != "INVALID" and messages.seconds(r)]
    most = max((_mode(r)[1] for r in usable if r.parameters["mode"] == "threads"), default=0)
    reference: Mode = (0, most, 0)
    toolchains = dict.fromkeys(r.parameters.get("toolchain") for r in usable)
    parts = []
    for toolchain in toolchains:
        kernels = _kernels([r for r in usable if r.parameters.get("toolchain") == toolchain], evaluation)
        kernels = [k for k in kernels if reference in k.modes]
        if len(kernels) >= LEAST and any(len(k.modes) > 1 for k in kernels):
            parts.append(_part(str(toolchain) if len(toolchains) > 1 else "", kernels, reference, evaluation))
    if not parts:
        return None
    left = len(mine) - len(usable)
    said = f"{left} INVALID result{'s are' if left > 1 else ' is'} left out." if left else ""
    return Page(_called(reference, evaluation.run.machine), tuple(parts), said)


def _mode(result: Result) -> Mode:
    mode = str(result.parameters["mode"])
    threads, device = (int(cases.number(result, name) or 0) for name in ("threads", "device"))
    if mode == "threads":
        return (0, threads, 0)
    return (1, 0, device) if mode == "opencl" else (2, threads, device)


def _called(mode: Mode, machine: Machine) -> str:
    kind, threads, number = mode
    words = cases.words("threads", threads)
    device = next((d.kind for d in machine.devices if d.number == number), "device")
    named = f"{device} {number} (OpenCL)"
    return (words, named, f"{words} and {named}")[kind]


def _kernels(results: list[Result], evaluation: Evaluation) -> list[_Kernel]:
    """The modes of each case; a kernel with several sizes has them in its name."""
    own = ("mode", "threads", "device", "toolchain", "pinning")
    groups: dict[Key, dict[Mode, Result]] = {}
    for r in results:
        rest = sorted((k, str(v)) for k, v in r.parameters.items() if k not in own)
        groups.setdefault((r.benchmark, r.kernel, *rest), {})[_mode(r)] = r
    plain = [key[:2] for key in groups]
    found = []
    for key, modes in sorted(groups.items(), key=lambda item: str(item[0])):
        some = next(iter(modes.values()))
        name = some.kernel if plain.count(key[:2]) == 1 else cases.describe(some, but=own)
        found.append(_Kernel(name, some.benchmark, modes))
    return found


def _part(toolchain: str, kernels: list[_Kernel], reference: Mode, evaluation: Evaluation) -> Part:
    machine = evaluation.run.machine
    modes = sorted({mode for k in kernels for mode in k.modes})
    ratios = {(k.name, mode): _ratio(k, mode, reference) for k in kernels for mode in modes if mode in k.modes}
    rows = tuple(
        Row(
            k.name,
            slug(k.benchmark) if k.benchmark in evaluation.benchmarks else "",
            tuple(_cell(k.modes.get(mode), ratios.get((k.name, mode)), mode == reference) for mode in modes),
        )
        for k in kernels
    )
    others = [mode for mode in modes if mode != reference]
    return Part(
        toolchain,
        _drawn(toolchain, kernels, others, ratios, reference, machine),
        tuple(_called(mode, machine) for mode in modes),
        rows,
        tuple(_sum(kernels, mode, reference) for mode in modes),
        tuple(_mean([r for k in kernels if (r := ratios.get((k.name, mode)))], len(kernels)) for mode in modes),
    )


def _ratio(kernel: _Kernel, mode: Mode, reference: Mode) -> _Ratio:
    if mode == reference:
        return _Ratio(1.0, 1.0, 1.0)
    seen = compare(messages.seconds(kernel.modes[reference]), messages.seconds(kernel.modes[mode]))
    return _Ratio(seen.ratio, seen.low, seen.high)


def _cell(result: Result | None, ratio: _Ratio | None, reference: bool) -> Cell | None:
    if result is None or ratio is None:
        return None
    told = f"{significant(ratio.low)} – {significant(ratio.high)}"
    return Cell(
        quantity(_time(result), "s"),
        "1" if reference else significant(ratio.value),
        "" if reference else told,
        values.level(result),
        " ".join(values.evidence(result)),
    )


def _time(result: Result) -> float:
    value = result.metrics.get("time")
    return value.value if value else math.nan


def _sum(kernels: Sequence[_Kernel], mode: Mode, reference: Mode) -> str:
    """The sum of the times over the kernels that have the mode, and what it is of the reference's over the same ones."""
    both = [(k.modes[mode], k.modes[reference]) for k in kernels if mode in k.modes]
    total, of = (sum(_time(pair[side]) for pair in both) for side in (0, 1))
    if not both or not math.isfinite(total + of) or of <= 0:
        return ""
    of_them = "" if len(both) == len(kernels) else f", {len(both)} of {len(kernels)} kernels"
    return quantity(total, "s") + ("" if mode == reference else f" ({significant(total / of)} times{of_them})")


def _mean(ratios: list[_Ratio], of: int) -> str:
    mean = significant(geometric_mean(r.value for r in ratios))
    return mean if len(ratios) == of else f"{mean} ({len(ratios)} of {of} kernels)"


def _drawn(
    toolchain: str,
    kernels: list[_Kernel],
    modes: list[Mode],
    ratios: dict[tuple[str, Mode], _Ratio],
    reference: Mode,
    machine: Machine,
) -> drawn.Drawn:
    series, disturbed = [], set()
    for mode in modes:
        mine = [k for k in kernels if mode in k.modes]
        of = [ratios[k.name, mode] for k in mine]
        disturbed |= {
            r.value
            for r, k in zip(of, mine, strict=True)
            if "DISTURBED" in (values.level(k.modes[mode]), values.level(k.modes[reference]))
        }
        series.append(
            Series(
                _called(mode, machine),
                tuple(k.name for k in mine),
                tuple(r.value for r in of),
                tuple(r.low for r in of),
                tuple(r.high for r in of),
            )
        )
    told = _called(reference, machine)
    figure = Figure(
        name="node-kernels",
        title=f"Time of an iteration against {told}{f', {toolchain}' if toolchain else ''}",
        kind="bars",
        x=Axis("kernel"),
        y=Axis(f"time over that of {told}"),
        series=tuple(series),
        marks=(Mark("y", 1.0, told),),
        caption=NOTE.format(reference=told),
    )
    plot = figures.plotly(figure, disturbed)
    many = f"DISTURBED: {len(disturbed)} of {len(ratios) - len(kernels)} ratios, shown by hatched bars."
    rows = tuple(
        (s.name, str(x), significant(y or 0.0), f"{significant(low or 0.0)} – {significant(high or 0.0)}")
        for s in series
        for x, y, low, high in zip(s.x, s.y, s.low, s.high, strict=True)
    )
    return drawn.Drawn(
        anchor=f"node-kernels-figure{f'-{slug(toolchain)}' if toolchain else ''}",
        title=figure.title,
        caption=figure.caption,
        plot=drawn.embedded(plot),
        height=plot["layout"]["height"],
        wide=False,
        webgl=False,
        headings=("Mode", "Kernel", "Ratio", "95 % interval"),
        rows=rows,
        notes=(many,) if disturbed else (),
    )
