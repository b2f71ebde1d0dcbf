"""The kernels of the node side by side: the time of each mode against that of all threads."""

from dataclasses import dataclass

from steelyard.model import Evaluation
from steelyard.model.figure import Axis, Figure, Mark
from steelyard.show.report import kernel_bars
from steelyard.show.report.kernel_bars import Part
from steelyard.show.report.names import slug
from steelyard.show.report.node_modes import Measured, Mode, called, measured, mode_of

PLACE, TITLE = 40, "Node kernels"
UNCHANGED = True

LEAST = 2  # kernels: one alone is on its own benchmark's page
NOTE = (
    "Shorter bars are better: 1 is the time with {reference}. Each ratio has a 95 % interval that includes the "
    "uncertainty of both times."
)


@dataclass(frozen=True)
class Page:
    """Returns the data of the page; `left_out` tells what could not be compared."""

    reference: str
    parts: tuple[Part, ...]
    left_out: str


def data(evaluation: Evaluation) -> Page | None:
    """The page's data; None unless two kernels of the node were measured by all threads, and in some other mode."""
    results = [r for r in evaluation.results if r.benchmark.startswith("node.") and "mode" in r.parameters]
    usable = [r for r in results if kernel_bars.usable(r)]
    most = max((mode_of(r)[1] for r in usable if mode_of(r)[0] == 0), default=0)
    reference: Mode = (0, most, 0, "")
    toolchains = dict.fromkeys(r.parameters.get("toolchain") for r in usable)
    parts = []
    for toolchain in toolchains:
        kernels = measured([r for r in usable if r.parameters.get("toolchain") == toolchain])
        kernels = [k for k in kernels if reference in k.modes]
        if len(kernels) >= LEAST and any(len(k.modes) > 1 for k in kernels):
            parts.append(_part(str(toolchain) if len(toolchains) > 1 else "", kernels, reference, evaluation))
    if not parts:
        return None
    left = len(results) - len(usable)
    left_out = f"{left} INVALID result{'s are' if left > 1 else ' is'} left out." if left else ""
    return Page(called(reference, evaluation.run.machine), tuple(parts), left_out)


def _part(toolchain: str, kernels: list[Measured], reference: Mode, evaluation: Evaluation) -> Part:
    machine = evaluation.run.machine
    modes = sorted({mode for k in kernels for mode in k.modes})
    base = called(reference, machine)
    figure = Figure(
        name="node-kernels",
        title=f"Time of an iteration divided by the time with {base}{f', {toolchain}' if toolchain else ''}",
        kind="bars",
        x=Axis("kernel"),
        y=Axis(f"time / time with {base}"),
        marks=(Mark("y", 1.0, base),),
        caption=NOTE.format(reference=base),
    )
    rows = [kernel_bars.make_kernel(k, reference, evaluation) for k in kernels]
    anchor = f"node-kernels-figure{f'-{slug(toolchain)}' if toolchain else ''}"
    return kernel_bars.part(toolchain, anchor, figure, rows, [called(mode, machine) for mode in modes])


def has_figures(page: Page) -> bool:
    """Wherever there is the page it has figures."""
    return True
