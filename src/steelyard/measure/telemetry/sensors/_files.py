"""Sensors that are files of the kernel: their numbers, the moments of reading, and a device of several files."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from steelyard.measure.telemetry.sensors import Device
from steelyard.measure.telemetry.sensors._words import number
from steelyard.model.sensor import Reading, Sensor

Answer = TypeVar("Answer")
MOST_BYTES = 4096  # a file of /sys is at most one page


@dataclass(frozen=True, slots=True)
class File:
    """A sensor and its file, `sensor.place`; `scale` is the factor from the file's unit to the sensor's."""

    sensor: Sensor
    scale: float


class Files(Device):
    """A device whose sensors are files with one number each."""

    def __init__(self, files: Sequence[File]) -> None:
        self._files = files
        self.sensors = [file.sensor for file in files]

    def read(self) -> Sequence[Reading]:
        readings: list[Reading] = []
        problem: OSError | None = None
        for file in self._files:
            try:
                value, at = read_with_timestamp(value_of, file.sensor.place)
            except OSError as error:
                problem = error
            else:
                readings.append(Reading(file.sensor.name, at, value * file.scale))
        if problem and not readings:
            raise problem
        return readings


def text_of(path: str | Path) -> str:
    """Returns the stripped text of a file of the kernel. OSError if it cannot be read."""
    with open(path, "rb", buffering=0) as file:
        return (file.read(MOST_BYTES) or b"").decode("utf-8", "replace").strip()


def value_of(path: str | Path) -> float:
    """Returns the number in a file. OSError if it cannot be read or contains no number."""
    text = text_of(path)
    value = number(text)
    if value is None:
        raise OSError(f"{path} contains '{text[:40]}' instead of a number")
    return value


def read_with_timestamp(read: Callable[..., Answer], *of: object) -> tuple[Answer, int]:
    """Returns what `read` returns of these, and the middle of its time (ns since 1970): I2C takes milliseconds, a BMC seconds."""
    before = time.time_ns()
    answer = read(*of)
    return answer, (before + time.time_ns()) // 2


def read_any(path: str | Path) -> float | None:
    """Returns the number in a file; None if the file is missing or contains no number."""
    try:
        return value_of(path)
    except OSError:
        return None


def label(path: str | Path) -> str:
    """Returns the text of a file; "" if it cannot be read."""
    try:
        return text_of(path)
    except OSError:
        return ""


def listed(folder: Path, pattern: str) -> list[Path]:
    """Returns the paths in `folder` that match a shell pattern, by their numbers (temp2 before temp10)."""
    try:
        return sorted(folder.glob(pattern), key=lambda path: (len(path.name), path.name))
    except OSError:
        return []


def read_all(files: Iterable[File]) -> tuple[dict[File, float], dict[File, OSError]]:
    """Returns the files that contain a number, with the number, and the others with the reason."""
    good: dict[File, float] = {}
    bad: dict[File, OSError] = {}
    for file in files:
        try:
            good[file] = value_of(file.sensor.place)
        except OSError as problem:
            bad[file] = problem
    return good, bad


def keep(sensors: Sequence[Sensor]) -> list[Sensor]:
    """Returns the sensors with `part_of` only if that sensor is among them: an unread sensor must not remove parts from a sum."""
    names = {sensor.name for sensor in sensors}
    return [sensor if sensor.part_of in names else replace(sensor, part_of="") for sensor in sensors]


def explain(path: str | Path, problem: OSError) -> str:
    """Returns the reason why a file cannot be read, as the middle of a sentence."""
    if isinstance(problem, PermissionError):
        return f"only root may read {path}"
    return f"{path}: {problem.strerror}" if problem.strerror else str(problem)
