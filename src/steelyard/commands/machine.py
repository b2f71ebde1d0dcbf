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
    cluster: Annotated[
        Path | None,
        typer.Option(
            "--cluster",
            metavar="FILE",
            help="File for a drawing of the cluster that the system file describes, such as cluster.svg (default: no drawing).",
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """Show this machine: topology, caches, memory, network, limits, compilers and MPIs.

    Examples: **steelyard machine** · **steelyard machine --svg node.svg** · **steelyard machine --system mont-blanc --cluster
    cluster.svg** · **steelyard machine --json**
    """
    import json

    from steelyard import files
    from steelyard.errors import UsageError
    from steelyard.model.plain import to_plain
    from steelyard.report import cluster_drawing, machine_drawing, machine_text
    from steelyard.report.pages.machine import page
    from steelyard.run import setup

    if svg:
        files.expect_output(svg, "The drawing")
    if cluster:
        files.expect_output(cluster, "The drawing")
    here = setup.machine(system)
    drawing = cluster_drawing.draw(here) if cluster else None
    if cluster and not drawing:
        raise UsageError(
            f"There is no cluster to draw in '{cluster}' (given by --cluster). Name a system file with hosts in its keys "
            "'enclosures' or 'switches': --system FILE."
        )
    if json_:
        print(json.dumps(to_plain(here), indent=1))
    else:
        machine_text.show(page(here))
    if svg:
        files.write(svg, "The drawing", machine_drawing.draw(page(here)))
    if cluster and drawing:
        files.write(cluster, "The drawing", drawing.svg)
