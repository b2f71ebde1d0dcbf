"""`steelyard resume`."""

from pathlib import Path

from steelyard.show.command_line.options import OutputOptions, Paths, PowerOptions, RunName, Runs, Trust

PLACE = 30


def command(
    *,
    name: RunName = None,
    runs: Runs = Path("runs"),
    paths: Paths = None,
    trust: Trust = False,
    sensing: PowerOptions,
    output: OutputOptions,
) -> None:
    """Continue a run that was interrupted or killed. Finished cases are not measured again.

    Example: **steelyard resume 20261120-101500**
    """
    from steelyard.measure import records
    from steelyard.measure.run import session
    from steelyard.show.command_line import conclusion
    from steelyard.show.command_line.progress import Console
    from steelyard.show.command_line.request import open_sensors

    form, screen, further = output.form, Console(output.quiet), paths or []
    sensors = open_sensors(sensing, screen)
    path = session.go_on(records.find(runs, name), further, screen, sensors, trust)
    conclusion.conclude(path, further, None, form, output.strict, screen.working)
