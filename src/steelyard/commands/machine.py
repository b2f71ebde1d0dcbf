"""`steelyard machine`."""

from steelyard.command_line.options import Json, System

PLACE = 120
# Options of earlier versions, and what a user writes now.
FORMER = {
    "--svg": "lstopo node.svg (of the package hwloc), or the page Machine of a report",
    "--cluster": "--system FILE, which prints the cluster as a table",
}


def command(system: System = None, json_: Json = False) -> None:
    """Show this machine: topology, caches, memory, network, limits, compilers and MPIs.

    Examples: **steelyard machine** · **steelyard machine --system mont-blanc** (with the cluster that this file describes) ·
    **steelyard machine --json**
    """
    import json

    from steelyard.model.plain import to_plain
    from steelyard.report import machine_text
    from steelyard.report.pages.machine import page
    from steelyard.run import setup

    here = setup.machine(system)
    if json_:
        print(json.dumps(to_plain(here), indent=1))
    else:
        machine_text.show(page(here))
