"""`steelyard machine`."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.command_line.options import Json, System

PLACE = 120


def command(
    system: System = None,
    svg: Annotated[
        Path | None,
        typer.Option(
            "--svg",
            metavar="FILE",
            help="File for a drawing of the topology, such as node.svg (default: no drawing).",
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """Show this machine: topology, caches, memory, limits, compilers and MPIs.

    Examples: **steelyard machine** · **steelyard machine --svg node.svg** · **steelyard machine --json**
    """
    import json

    from steelyard import files
    from steelyard.model.plain import to_plain
    from steelyard.report import machine_drawing, machine_text
    from steelyard.report.pages.machine import page
    from steelyard.run import setup

    if svg:
        files.expect_output(svg, "The drawing")
    here = setup.machine(system)
    if json_:
        print(json.dumps(to_plain(here), indent=1))
    else:
        machine_text.show(page(here))
    if svg:
        files.write(svg, "The drawing", machine_drawing.draw(page(here)))
