"""A meter whose unit is not what its interface says: milliwatts, microwatts or kilowatts as watts."""

from dataclasses import replace

import numpy as np
import pytest

from steelyard.measure.telemetry.energy import course
from steelyard.measure.telemetry.possible_readings import find_possible, find_wrong_power
from steelyard.measure.telemetry.watched import courses, describe_impossible
from steelyard.model.sensor import Sensor, Trace, Values

SECOND = 10**9
COUNT = 1000
# Idle and full power (W) of real parts, from the smallest to the largest of each scope: makers' data sheets and published idle
# powers (Raspberry Pi, Lunar Lake, Superdome Flex, Cerebras CS-3, Instinct MI355X, GB200).
PARTS: list[tuple[str, Sensor, float, float]] = [
    ("Raspberry Pi Zero 2 W", Sensor("command/power", "power", "c", scope="node"), 0.4, 2.5),
    ("laptop", Sensor("battery/BAT0", "power", "battery", scope="node"), 2.5, 60.0),
    ("server", Sensor("ipmi/dcmi-power", "power", "IPMI (DCMI)", scope="node"), 110.0, 900.0),
    ("DGX B300", Sensor("redfish/power", "power", "Redfish", scope="node"), 2500.0, 14_300.0),
    ("CS-3", Sensor("redfish/power", "power", "Redfish", scope="node"), 12_000.0, 23_000.0),
    ("platform of a laptop", Sensor("rapl/psys", "power", "RAPL", scope="platform"), 1.5, 64.0),
    ("Lunar Lake", Sensor("rapl/package-0", "power", "RAPL", scope="processors"), 0.2, 30.0),
    ("socket of a server", Sensor("rapl/package-1", "power", "RAPL", scope="processors"), 40.0, 500.0),
    ("32 sockets", Sensor("command/processors", "power", "c", scope="processors"), 2000.0, 8000.0),
    ("one module of LPDDR5", Sensor("rapl/package-0/dram", "power", "RAPL", scope="memory"), 0.02, 1.5),
    ("memory of 32 sockets", Sensor("command/memory", "power", "c", scope="memory"), 900.0, 4800.0),
    ("Hailo-8", Sensor("accel/power", "power", "c", scope="accelerators"), 0.3, 2.5),
    ("MI355X", Sensor("rocm/card3/power", "power", "ROCm", scope="accelerators"), 130.0, 1400.0),
    ("16 of these", Sensor("command/accelerators", "power", "c", scope="accelerators"), 2100.0, 22_400.0),
    ("GB200", Sensor("nvidia/gpu0/power", "power", "NVML", scope="superchip"), 170.0, 2700.0),
]
ABSURD = (np.nan, np.inf, -1.0, 0.0, 65535.0, 1e9, 4294967295.0)


def measured(
    sensor: Sensor, idle: float, full: float, factor: float = 1.0, absurd: bool = False, seed: int = 1
) -> Trace:
    """A reading each second of a load that comes and goes; `absurd`: 0.5 % of the readings of a power."""
    chance = np.random.default_rng(seed)
    busy = np.repeat(chance.random(COUNT // 20) < 0.4, 20)
    watts: Values = factor * np.where(busy, full, idle) * chance.normal(1.0, 0.02, COUNT)
    at = np.arange(COUNT, dtype=np.int64) * SECOND
    if sensor.quantity == "energy":
        watts = np.cumsum(watts)
    if absurd:
        watts = watts.copy()
        watts[chance.choice(COUNT, COUNT // 200, replace=False)] = chance.choice(ABSURD, COUNT // 200)
    return Trace(sensor, at, watts)


def list_sensors(sensor: Sensor) -> tuple[Sensor, Sensor]:
    return sensor, replace(sensor, quantity="energy", name=f"{sensor.name}/energy")


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("name", "power", "idle", "full"), PARTS, ids=[p[0] for p in PARTS])
@pytest.mark.parametrize("absurd", [False, True])
def test_no_power_of_a_real_part_is_refused(name: str, power: Sensor, idle: float, full: float, absurd: bool) -> None:
    for sensor in list_sensors(power):
        for seed in range(20):
            trace = measured(sensor, idle, full, absurd=absurd and sensor.quantity == "power", seed=seed)
            assert find_wrong_power(trace) is None
            assert find_possible(trace).mean() >= 0.99
            assert course(trace) is not None
            # Idle all the time, too.
            assert find_wrong_power(measured(sensor, idle, idle, absurd=absurd, seed=seed)) is None


@pytest.mark.parametrize(("name", "power", "idle", "full"), PARTS, ids=[p[0] for p in PARTS])
@pytest.mark.parametrize("factor", [1e3, 1e6])
@pytest.mark.parametrize("absurd", [False, True])
def test_milliwatts_and_microwatts_as_watts_have_no_energy(
    name: str, power: Sensor, idle: float, full: float, factor: float, absurd: bool
) -> None:
    least = {"node": 51.0, "platform": 16.0}.get(power.scope, 11.0)  # W; with less, mW look possible
    for sensor in list_sensors(power):
        trace = measured(sensor, idle, full, factor, absurd and sensor.quantity == "power")
        if factor == 1e6 or (full > least and (sensor.quantity == "power" or 0.4 * full > least)):
            assert find_wrong_power(trace) is not None
            assert course(trace) is None


@pytest.mark.parametrize(
    ("scope", "watts", "text"),
    [
        ("processors", 85_000.0, "85.0 kW for the scope 'processors', which is more than any machine draws"),
        ("processors", 0.085, "85.0 mW for the scope 'processors', which is less than any machine draws"),
        ("node", 0.25, "250 mW for the scope 'node', which is less than any machine draws"),
        ("accelerators", 70_000.0, "70.0 kW for the scope 'accelerators', which is more than any machine draws"),
        ("memory", 0.008, "8.00 mW for the scope 'memory', which is less than any machine draws"),
    ],
)
@pytest.mark.parametrize("quantity", ["power", "energy"])
def test_a_sensor_with_a_wrong_unit_is_named(scope: str, watts: float, text: str, quantity: str) -> None:
    sensor = Sensor("meter", quantity, "command", scope=scope)  # type: ignore[arg-type]
    traces = {"meter": measured(sensor, watts, watts)}
    (sentence,) = describe_impossible(traces)
    spread = sentence.split(" shows ")[1]
    assert spread.split(" ", 1)[1].partition(" for ")[2] == text.partition(" for ")[2] + (
        ". Its readings do not count. Check the unit of this sensor."
    )
    assert courses(traces) == {}


def test_a_counter_that_jumps_or_is_coarse_has_the_right_unit() -> None:
    sensor = Sensor("rapl/package-0", "energy", "RAPL", scope="processors", range=262_144.0)
    trace = measured(sensor, 40.0, 500.0)
    wrapped = replace(trace, value=trace.value % 262_144.0)
    assert find_wrong_power(wrapped) is None
    jumped = trace.value.copy()
    jumped[600:] += 1e12
    assert find_wrong_power(replace(trace, value=jumped)) is None
    board = Sensor("ipmi/energy", "energy", "IPMI", scope="node", resolution=3.6e6)
    kilowatt_hours = measured(board, 110.0, 14_300.0)
    coarse = replace(kilowatt_hours, value=np.floor(kilowatt_hours.value / 3.6e6) * 3.6e6)
    assert find_wrong_power(coarse) is None


def test_an_error_code_of_a_meter_in_many_readings_is_no_wrong_unit() -> None:
    sensor = Sensor("ipmi/dcmi-power", "power", "IPMI (DCMI)", scope="node")
    trace = measured(sensor, 110.0, 900.0)
    value = trace.value.copy()
    value[::3] = 65_535.0
    assert find_possible(replace(trace, value=value)).sum() == COUNT - len(value[::3])


def test_a_supply_beside_others_may_deliver_little() -> None:
    supplies = [Sensor(f"ipmi/psu{n}", "power", "IPMI", scope="node") for n in (1, 2)]
    traces = {s.name: measured(s, watts, watts) for s, watts in zip(supplies, (250.0, 0.2), strict=True)}
    assert describe_impossible(traces) == []
    assert list(courses(traces)) == [s.name for s in supplies]


def test_a_sensor_without_a_scope_may_show_anything() -> None:
    assert find_possible(measured(Sensor("rail", "power", "hwmon"), 1e-3, 1e-3)).all()
    assert find_possible(measured(Sensor("rack", "power", "Redfish", scope="enclosure"), 1e5, 2e5)).all()
