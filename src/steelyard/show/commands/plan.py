"""`steelyard plan`."""

import sys

from steelyard.show.command_line.options import Json, Only, PlanOptions

PLACE = 40


def command(*, only: Only = None, asked: PlanOptions, json_: Json = False) -> None:
    """Show what a run would measure and how long it would take, without measuring.

    Example: **steelyard plan --preset standard --only memory.apexmap**
    """
    from steelyard.measure import build
    from steelyard.measure.plan.variants import meanings
    from steelyard.measure.run import setup
    from steelyard.show.command_line import tables
    from steelyard.show.command_line.progress import Console
    from steelyard.show.command_line.request import read_request

    request = read_request(asked, only)
    with Console(quiet=json_).working("Examining the machine, its compilers and MPIs"):
        made, here, warnings = setup.plan(request)
        building = build.expect(list(here.wanted().values()))
    for warning in warnings:
        print(f"steelyard: {warning}", file=sys.stderr)
    tables.print_plan(made, request.budget, building, meanings(request.variants), json_)
