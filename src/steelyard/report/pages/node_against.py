"""The kernels of the node against another system: the time of each mode over the same mode's there."""

from dataclasses import dataclass

from steelyard.compare.modes import Together, alone, together
from steelyard.errors import UsageError
from steelyard.model import Evaluation
from steelyard.model.figure import Axis, Figure, Mark
from steelyard.report import kernel_bars
from steelyard.report.kernel_bars import Kernel, Part
from steelyard.report.names import slug

PLACE, TITLE = 41, "Node kernels against {page.base}"
AGAINST = True

NOTE = (
    "Below 1 this system is faster, above it the other one. Each ratio has the 95 % interval that the comparison of both "
    "runs gives."
)


@dataclass(frozen=True)
class Page:
    """What the page shows. `base` is the other system's name, `about` its processor and run; `left_out` a sentence or ""."""

    base: str
    about: str
    parts: tuple[Part, ...]
    left_out: str


def data(evaluation: Evaluation, base: Evaluation) -> Page:
    """The page's data. UsageError where the two runs have no kernel of the node in common."""
    found = together(evaluation, base)
    if not found:
        raise UsageError(
            f"The runs '{evaluation.run.id}' and '{base.run.id}' (given by --against) have no kernel of the node in common; "
            "expected the same kernels, with the same sizes, measured in both. Measure them on both systems with: "
            "steelyard run --only node"
        )
    name = _name(evaluation, base)
    lone = alone(evaluation, base, found)
    said = f"In one of the runs only, or with other sizes: {', '.join(lone)}." if lone else ""
    parts = tuple(_part(one, name, len(found) > 1, evaluation) for one in found)
    return Page(name, f"{base.run.machine.processor}, run {base.run.id}", parts, said)


def _name(evaluation: Evaluation, base: Evaluation) -> str:
    """The other system's name; its run where both have the same one."""
    name = base.run.machine.system or base.run.machine.host
    mine = evaluation.run.machine.system or evaluation.run.machine.host
    return name if name and name != mine else f"run {base.run.id}"


def _part(found: Together, base: str, several: bool, evaluation: Evaluation) -> Part:
    mine, other = found.toolchains
    compiled = f"Compiled with {mine}." if mine == other else f"Compiled with {mine}, there with {other}."
    figure = Figure(
        name="node-against",
        title=f"Time of an iteration over that of {base}{f', {mine}' if several else ''}",
        kind="bars",
        x=Axis("kernel"),
        y=Axis(f"time over that of {base}", log=True, ratio=True),
        marks=(Mark("y", 1.0, base),),
        caption=f"{NOTE} {compiled}",
    )
    rows = [
        Kernel(k.name, slug(k.benchmark) if k.benchmark in evaluation.benchmarks else "", k.modes)
        for k in found.kernels
    ]
    anchor = f"node-against-figure{f'-{slug(mine)}' if several else ''}"
    return kernel_bars.part(mine if several else "", anchor, figure, rows, found.modes)


def has_figures(page: Page) -> bool:
    """Wherever there is the page it has figures."""
    return True
