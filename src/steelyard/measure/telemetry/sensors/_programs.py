"""Sensors that are read by a program: its output, and a device of a command and a parser of its output."""

import os
import shlex
from collections.abc import Callable, Mapping, Sequence

from steelyard.measure.telemetry.sensors import Device
from steelyard.measure.telemetry.sensors._files import read_with_timestamp
from steelyard.model.sensor import Reading, Sensor
from steelyard.system.answers import NoAnswer, ask, reason

SECONDS = 10.0  # a BMC takes a second or two over the network
_SHOWN = 300  # letters of an answer that are repeated in a sentence

Parser = Callable[[str], Mapping[Sensor, float]]


def answer(command: Sequence[str]) -> str:
    """Returns the output of a program. OSError with a sentence if it cannot be started, fails, or does not end."""
    called = shlex.join(command)
    try:
        done = ask(command, SECONDS, environment={**os.environ, "LC_ALL": "C"})
    except NoAnswer as problem:
        raise OSError(f"'{called}' {problem}") from None
    if done.returncode != 0:
        why = reason(done)[:_SHOWN] or "(no message)"
        raise OSError(f"'{called}' ended with exit code {done.returncode}: {why}")
    return done.stdout


class Program(Device):
    """A device that runs a command. Its first output defines the sensors. OSError if that has none; `explain` says why."""

    def __init__(self, command: Sequence[str], parser: Parser, explain: Callable[[str], str] = lambda text: "") -> None:
        self._command = command
        self._parser = parser
        text = answer(command)
        self.sensors = tuple(parser(text))
        if not self.sensors:
            why = explain(text) or f"gave no reading; it printed: {text.strip()[:_SHOWN] or '(nothing)'}"
            raise OSError(f"'{shlex.join(command)}' {why}")

    def read(self) -> Sequence[Reading]:
        text, at = read_with_timestamp(answer, self._command)
        names = {sensor.name for sensor in self.sensors}
        return [Reading(s.name, at, value) for s, value in self._parser(text).items() if s.name in names]
