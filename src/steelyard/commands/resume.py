"""`steelyard resume`."""

from pathlib import Path

from steelyard.command_line import output_forms
from steelyard.command_line.options import All, Every, Json, Paths, Power, Quiet, RunName, Runs, Sensors, Strict, Trust

PLACE = 30


def command(
    name: RunName = None,
    runs: Runs = Path("runs"),
    paths: Paths = None,
    trust: Trust = False,
    power: Power = None,
    sensor: Sensors = None,
    every: Every = "100ms",
    all_: All = False,
    json_: Json = False,
    strict: Strict = False,
    quiet: Quiet = False,
) -> None:
    """Continue a run that was interrupted or killed. Finished cases are not measured again.

    Example: **steelyard resume 20261120-101500**
    """
    from steelyard import records
    from steelyard.command_line import conclusion
    from steelyard.command_line.progress import Console
    from steelyard.numbers import period
    from steelyard.run import sensing, session

    form, further = output_forms.choose_form(all_, json_), paths or []
    between = period(every)
    screen = Console(quiet)
    watched = sensing.asked(power, sensor or [], between, screen)
    path = session.go_on(records.find(runs, name), further, screen, watched, trust)
    conclusion.conclude(path, further, None, form, strict, screen.working)
