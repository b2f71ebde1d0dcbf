"""The kernels of the node against another system: the time of each mode over the same mode's there."""

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.compare.modes import NodeRun, Together, list_unpaired, pair_modes, select_node
from steelyard.compare.side import Side
from steelyard.measure.telemetry.coverage import kinds
from steelyard.model import Evaluation
from steelyard.model.figure import Axis, Figure, Mark
from steelyard.model.scope import words
from steelyard.show.report import kernel_bars
from steelyard.show.report.energy_figures import GUESS, OF, known, scope_of
from steelyard.show.report.kernel_bars import Kernel, Pair, Part
from steelyard.show.report.names import slug
from steelyard.show.report.sides_of_report import ReportSides

PLACE, TITLE = 41, "Node kernels against {page.base}"
SIDES = 2

NOTE = (
    "Below 1, this system is faster. Above 1, the other system is faster. Each ratio has a 95 % interval that includes "
    "the uncertainty of both times."
)
ENERGY_NOTE = (
    "Below 1, this system needs less energy. Above 1, the other system needs less. Each interval includes the "
    "uncertainty of both energies, but not the errors that the makers of the two sensors state."
)


@dataclass(frozen=True)
class Page:
    """Returns the page's data. `base` is the other system's name, `about` its processor and run; `left_out` a sentence or "".

    `parts` are of the times, `energies` of the energies, where both runs have them, measured or both modelled.
    """

    base: str
    about: str
    parts: tuple[Part, ...]
    energies: tuple[Part, ...]
    left_out: str


def data(evaluation: Evaluation | None, sides: ReportSides) -> Page | None:
    """Returns the page's data for the first other run; None if the two have no kernel of the node in common."""
    other = sides.other_run
    if evaluation is None or other is None or not all(map(_has_node, (sides.sides[sides.own or 0], other))):
        return None
    return compare(evaluation, sides.read_node(other.runs[-1]))


def _has_node(side: Side) -> bool:
    return any(case.benchmark.startswith("node.") for run in side.runs for case in run.cases)


def compare(evaluation: Evaluation, base: NodeRun) -> Page | None:
    """Returns the page's data; None if the two runs have no kernel of the node in common."""
    own = select_node(evaluation)
    tables = pair_modes(own, base)
    if not tables:
        return None
    name = _name(own, base)
    lone = list_unpaired(own, base, tables)
    words_of_lone = f"These kernels were measured in only one of the runs, or with different sizes: {', '.join(lone)}."
    parts = tuple(_part(one, name, len(tables) > 1, evaluation) for one in tables)
    guesses = {own.modelled_power, base.modelled_power}
    energies = _energies(tables, name, evaluation, guesses.pop()) if len(guesses) == 1 else ()
    texts = " ".join(filter(None, (words_of_lone if lone else "", _unequal(own, base, name))))
    return Page(name, f"{base.machine.processor}, run {base.run}", parts, energies, texts)


def _name(own: NodeRun, base: NodeRun) -> str:
    """The other system's name; its run where both have the same one."""
    name, system = (run.machine.system or run.machine.host for run in (base, own))
    return name if name and name != system else f"run {base.run}"


def _part(table: Together, base: str, several: bool, evaluation: Evaluation) -> Part:
    figure = Figure(
        name="node-against",
        title=f"Time of an iteration divided by the time on {base}{_append_toolchain(table, several)}",
        kind="bars",
        x=Axis("kernel"),
        y=Axis(f"time / time on {base}", log=True, ratio=True),
        marks=(Mark("y", 1.0, base),),
        caption=f"{NOTE} {_describe_compilers(table)}",
    )
    rows = _rows(table, evaluation)
    toolchain = table.toolchains[0]
    anchor = f"node-against-figure{f'-{slug(toolchain)}' if several else ''}"
    return kernel_bars.part(toolchain if several else "", anchor, figure, rows, table.modes)


def _energies(tables: Sequence[Together], base: str, evaluation: Evaluation, guess: bool) -> tuple[Part, ...]:
    """Returns the parts of the kernels whose energy both runs have. `guess`: both energies are modelled."""
    parts = []
    for one in tables:
        rows = [Kernel(k.name, k.anchor, pairs) for k in _rows(one, evaluation) if (pairs := _select_with_energy(k))]
        modes = [mode for mode in one.modes if any(mode in k.pairs for k in rows)]
        if rows:
            scope = words(scope_of(next(iter(rows[0].pairs.values()))[0]))
            figure = _energy_figure(one, base, len(tables) > 1, guess, scope)
            toolchain = one.toolchains[0]
            anchor = f"node-against-energy{f'-{slug(toolchain)}' if len(tables) > 1 else ''}"
            parts.append(kernel_bars.part("", anchor, figure, rows, modes, OF))
    return tuple(parts)


def _energy_figure(table: Together, base: str, several: bool, guess: bool, scope: str) -> Figure:
    what = "Modelled energy" if guess else "Energy"
    return Figure(
        name="node-against-energy",
        title=f"{what} of an iteration ({scope}) divided by the energy on {base}{_append_toolchain(table, several)}",
        kind="bars",
        x=Axis("kernel"),
        y=Axis(f"{what[0].lower()}{what[1:]} / energy on {base} ({scope})", log=True, ratio=True),
        marks=(Mark("y", 1.0, base),),
        caption=f"{GUESS if guess else ''}{ENERGY_NOTE} {_describe_compilers(table)}",
    )


def _select_with_energy(kernel: Kernel) -> dict[str, Pair]:
    pairs = {mode: pair for mode, pair in kernel.pairs.items() if all(known(result) for result in pair)}
    return {mode: pair for mode, pair in pairs.items() if len({kinds(scope) for scope in map(scope_of, pair)}) == 1}


def _unequal(own: NodeRun, base: NodeRun, name: str) -> str:
    """Returns the sentence that the meters of both runs cover different parts; "" if they cover the same, or one has none."""
    mine, other = (next((scope for r in side.results if (scope := scope_of(r))), ()) for side in (own, base))
    if not mine or not other or kinds(mine) == kinds(other):
        return ""
    return f"The energies are not compared: here they are those of the {words(mine)}, on {name} those of the {words(other)}."


def _rows(table: Together, evaluation: Evaluation) -> list[Kernel]:
    benchmarks = evaluation.benchmarks
    return [Kernel(k.name, slug(k.benchmark) if k.benchmark in benchmarks else "", k.modes) for k in table.kernels]


def _describe_compilers(table: Together) -> str:
    ours, theirs = table.toolchains
    return f"Compiled with {ours}." if ours == theirs else f"Compiled with {ours} here and with {theirs} there."


def _append_toolchain(table: Together, several: bool) -> str:
    return f", {table.toolchains[0]}" if several else ""


def has_figures(page: Page) -> bool:
    """Wherever there is the page it has figures."""
    return True
