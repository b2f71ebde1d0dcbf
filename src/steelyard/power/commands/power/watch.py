"""`steelyard power watch`."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.show.command_line.options import Every, Json, Sensors

PLACE = 20


def command(
    words: Annotated[list[str], typer.Argument(metavar="-- COMMAND …", help="Command to run, with its own options.")],
    sensor: Sensors = None,
    every: Every = "100ms",
    idle: Annotated[
        str | None,
        typer.Option(
            "--idle",
            metavar="TIME",
            help="Measure the idle machine first for this time, such as 10s (default: do not measure it).",
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace",
            metavar="FILE",
            help="CSV file for the readings, such as trace.csv: Sensor,Time,Value (default: none).",
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """Run a command and print its energy, mean and greatest power, in total and for each phase that it marks.

    A phase begins when the command writes the phase's name as a line into the file that $STEELYARD_PHASES names. It ends with the
    next line. The exit code is that of the command.

    Examples: **steelyard power watch -- make -j8** · **steelyard power watch --idle 10s -- ./solver input.nml**

    A script marks the start of a phase with: **echo solve > $STEELYARD_PHASES**
    """
    import sys
    import time

    from steelyard.measure.launch import watch
    from steelyard.measure.machine.load import measure_load
    from steelyard.measure.telemetry.sampler import Memory, Sampler
    from steelyard.measure.telemetry.sensors import NONE
    from steelyard.measure.telemetry.watched import Stretch
    from steelyard.model.numbers import length_of_time, period
    from steelyard.power.command_line import command_costs, device_options
    from steelyard.power.command_line.connections import say
    from steelyard.system import files

    between = period(every)
    still = length_of_time(idle, "The idle time (given by --idle)") if idle else 0.0
    if trace:
        files.expect_output(trace, "The trace")
    devices = device_options.open_devices(sensor)
    if not devices:
        say(NONE)
    before, busy = None, None
    memory = Memory()
    with Sampler(devices, between, memory) as sampler:
        if still:
            begin = time.time_ns()
            busy = measure_load(still)
            before = Stretch("idle", begin, time.time_ns())
        outcome = watch.run_watched(words)
    costs = command_costs.compute_costs(memory.traces(), sampler, outcome, before, busy)
    if trace:
        files.write(trace, "The trace", command_costs.format_trace(memory.traces()))
    if devices or json_:
        command_costs.print_costs(costs, json_)
    sys.exit(outcome.code)
