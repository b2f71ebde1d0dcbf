"""`steelyard machine`."""

from steelyard.show.command_line.options import Json, System

PLACE = 120


def command(system: System = None, json_: Json = False) -> None:
    """Show this machine: topology, caches, memory, network, limits, compilers and MPIs.

    Examples: **steelyard machine** · **steelyard machine --system mont-blanc** (with the cluster that this file describes) ·
    **steelyard machine --json**
    """
    from steelyard.measure.run import setup
    from steelyard.show.report import machine_text
    from steelyard.show.report.json_output import print_json
    from steelyard.show.report.pages.machine import page

    here = setup.machine(system)
    if json_:
        print_json(here)
    else:
        machine_text.show(page(here))
