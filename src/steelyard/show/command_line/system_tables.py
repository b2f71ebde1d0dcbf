"""The library of systems on the terminal."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from steelyard.measure.published.system import System, count_comparable, describe_figure
from steelyard.measure.published.system_library import user_folder
from steelyard.model.plain import to_plain
from steelyard.show.report.json_output import print_json
from steelyard.show.report.lines import cut

COLUMNS, LEAST = {"system": 24, "year": 4, "kind": 8, "figures": 8}, 16  # widths; the least of the last column


def show_systems(systems: Sequence[System], as_json: bool) -> None:
    """Prints all systems, the newest first: name, year, kind, number of figures, and what it is; in JSON also its source."""
    ordered = sorted(systems, key=lambda system: (-(system.year or 0), system.name))
    if as_json:
        rows = [
            {
                **{key: value for key, value in to_plain(system).items() if key != "figures"},
                "figures": len(system.figures),
                "comparable": count_comparable(system),
            }
            for system in ordered
        ]
        print_json(rows)
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    console = Console(highlight=False)
    for heading, width in COLUMNS.items():
        table.add_column(
            heading, overflow="fold", width=width, justify="right" if heading in ("year", "figures") else "left"
        )
    room = max(LEAST, console.width - sum(COLUMNS.values()) - 3 * len(COLUMNS) - 1)
    table.add_column("what it is", no_wrap=True, width=room)
    for system in ordered:
        count = f"{count_comparable(system)} of {len(system.figures)}"
        what = cut(system.about or system.source, room, 1)[0]
        table.add_row(*map(escape, (system.name, str(system.year or ""), system.kind, count, what)))
    console.print(table)
    console.print(
        "figures: those that a run can be compared with, of all. For one system and its source: steelyard systems NAME"
    )
    if folder := user_folder():
        console.print(f"Your own systems: one file each in {escape(str(folder))}", soft_wrap=True)


def show_figures(system: System, as_json: bool) -> None:
    """Prints the figures of a system, each with the case of Steelyard that it corresponds to, or with the reason for none."""
    if as_json:
        print_json(system)
        return
    console = Console(highlight=False)
    about = "; ".join(filter(None, (system.kind, str(system.year or ""), system.about)))
    console.print(f"[bold]{escape(system.name)}[/]: {escape(about)}")
    console.print(f"Source: {escape(system.source)}")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("figure", overflow="fold", ratio=2)
    table.add_column("printed", justify="right", no_wrap=True)
    table.add_column("compared with", overflow="fold", ratio=3)
    for figure in system.figures:
        name, matched = describe_figure(figure)
        table.add_row(*map(escape, (name, figure.printed, matched)))
    console.print(table)
