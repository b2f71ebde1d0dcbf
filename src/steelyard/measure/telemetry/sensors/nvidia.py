"""NVIDIA's GPUs by nvidia-smi, which prints NVML's values as a table; their energy counters by NVML itself."""

from collections.abc import Sequence
from pathlib import Path

from steelyard.measure.telemetry.sensors import Device, Found, Kind
from steelyard.measure.telemetry.sensors._nvml import Counters
from steelyard.measure.telemetry.sensors._programs import Program
from steelyard.measure.telemetry.sensors._words import MOST_DIGITS, number
from steelyard.model.sensor import Sensor
from steelyard.system.starts import find_program

# nvidia-smi's help: the average is that over one second, from Ampere on; an older GPU's power.draw is that moment's. The
# maker states ±5 W, which is no relative error. Drivers before 530 do not know the average, and refuse the whole question.
_POWERS = ("power.draw.average,power.draw", "power.draw")
_SOURCE = "NVML (nvidia-smi)"
_MEGA = 1e6  # clocks are printed in MHz


def parse(text: str) -> dict[Sensor, float]:
    """Reads one line for each GPU: index, mean power (W, newer drivers), power (W), temperature (°C), clock (MHz).

    Values '[N/A]' are left out. The clock is that of the multiprocessors.
    """
    values: dict[Sensor, float] = {}
    for line in text.splitlines():
        index, *words = (word.strip() for word in line.split(","))
        if len(words) in (3, 4) and index.isascii() and index.isdecimal() and len(index) <= MOST_DIGITS:
            *powers, temperature, clock = (number(word) for word in words)
            values |= _read_gpu(f"nvidia/gpu{int(index)}", powers, temperature, clock)
    return values


def _read_gpu(
    name: str, powers: Sequence[float | None], temperature: float | None, clock: float | None
) -> dict[Sensor, float]:
    values: dict[Sensor, float] = {}
    averaged = powers[0] if len(powers) == 2 else None
    power = powers[-1] if averaged is None else averaged
    if power is not None:
        field, window = ("power.draw", 0.0) if averaged is None else ("power.draw.average", 1.0)
        sensor = Sensor(f"{name}/power", "power", _SOURCE, field, resolution=0.01, window=window, scope="accelerators")
        values[sensor] = power
    if temperature is not None:
        values[Sensor(f"{name}/temperature", "temperature", _SOURCE, "temperature.gpu", resolution=1.0)] = temperature
    if clock is not None:
        values[Sensor(f"{name}/clock", "clock", _SOURCE, "clocks.sm", resolution=_MEGA)] = clock * _MEGA
    return values


def find(root: Path) -> Found:
    """Returns the GPUs of this machine if NVIDIA's driver is loaded."""
    if not (root / "dev/nvidiactl").exists():
        return Found()
    if not find_program("nvidia-smi"):
        return Found(
            (), ("NVIDIA's driver is loaded, but nvidia-smi is not in PATH. Install nvidia-smi to read the GPUs.",)
        )
    reason = ""
    for powers in _POWERS:
        fields = f"index,{powers},temperature.gpu,clocks.sm"
        try:
            program = Program(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits"], parse)
        except OSError as problem:
            reason = str(problem)
        else:
            return Found((program, *_open_counters(root)))
    return Found((), (f"NVIDIA's GPUs cannot be read: {reason}.",))


def _open_counters(root: Path) -> tuple[Device, ...]:
    """Returns the energy counters of the GPUs, if there are any. The library is that of this machine for every `root`."""
    try:
        return (Counters(),) if root == Path("/") else ()
    except OSError:  # older GPUs have power alone
        return ()


kind = Kind("nvidia", "NVIDIA's GPUs: energy, power, temperature, clock (NVML, nvidia-smi)", find)
