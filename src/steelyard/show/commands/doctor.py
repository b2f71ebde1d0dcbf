"""`steelyard doctor`."""

from steelyard.show.command_line.options import Json, System

PLACE = 130


def command(system: System = None, json_: Json = False) -> None:
    """List the settings of this machine that spoil measurements, and how to change them.

    Example: **steelyard doctor**
    """
    from steelyard.judge.findings.doctor import examine
    from steelyard.measure.run import setup
    from steelyard.show.command_line import tables

    tables.print_advice(examine(setup.machine(system)), json_)
