"""Redfish: the power of a chassis by any of its schemas, services that fail in part, and what is not the whole node."""

import json
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from test_sensors_given import CHASSIS, RESOURCES, Bmc, link, service, token, words  # noqa: F401 - fixtures

from folders import DATA
from steelyard.errors import MachineFailed
from steelyard.measure.run import sensing
from steelyard.measure.telemetry import sensors
from steelyard.measure.telemetry.sampler import select_summed
from steelyard.measure.telemetry.sensors import Device, Found, open_device
from steelyard.model.sensor import Sensor
from steelyard.show.command_line.progress import Console

FIELD = DATA / "field"
ONE, TWO = f"{CHASSIS}/1", f"{CHASSIS}/2"
Routes = dict[str, Any]


@pytest.fixture
def asked(
    service: ThreadingHTTPServer,  # noqa: F811
    token: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> Any:
    """Opens the device of a service with those routes."""

    def ask(routes: Routes) -> Device:
        monkeypatch.setattr(Bmc, "resources", routes)
        return open_device(words(service, token))

    return ask


def totals(device: Device) -> dict[str, float]:
    """By source, what the sensors say that are added."""
    values = {reading.sensor: reading.value for reading in device.read()}
    found: dict[str, float] = {}
    for sensor in select_summed([*device.sensors]):
        found[sensor.source] = found.get(sensor.source, 0.0) + values[sensor.name]
    return found


def field(case: str) -> Routes:
    routes: Routes = json.loads((FIELD / case / "routes.json").read_text())
    return routes


def chassis(**resources: Any) -> Routes:
    """A service of one chassis with these resources below it; what lies deeper is named 'PowerSubsystem/PowerSupplies'."""
    routes: Routes = {CHASSIS: {"Members": [link(ONE)]}}
    routes[ONE] = {name: link(f"{ONE}/{name}") for name in resources if "/" not in name}
    return routes | {f"{ONE}/{name}": resource for name, resource in resources.items()}


def supplies(*metrics: Any) -> dict[str, Any]:
    """The resources of PowerSubsystem; a supply whose metrics are None has a link that leads nowhere."""
    base = f"{ONE}/PowerSubsystem/PowerSupplies"
    numbers = range(len(metrics))
    return {
        "PowerSubsystem": {"PowerSupplies": link(base)},
        "PowerSubsystem/PowerSupplies": {"Members": [link(f"{base}/{n}") for n in numbers]},
        **{
            f"PowerSubsystem/PowerSupplies/{n}": {"Name": f"psu{n}", "Metrics": link(f"{base}/{n}/Metrics")}
            for n in numbers
        },
        **{f"PowerSubsystem/PowerSupplies/{n}/Metrics": each for n, each in enumerate(metrics) if each is not None},
    }


def reading(value: Any) -> dict[str, Any]:
    return {"Reading": value}


POWER = {"ReadingType": "Power"}
STANDING = {"InputPowerWatts": reading(0)}


def power_sensors(**watts: float) -> dict[str, Any]:
    """A collection of sensors, among them one of temperature."""
    each = {
        f"Sensors/{name}": {"Id": name, "Name": name, "Reading": value, "ReadingType": "Power", "ReadingUnits": "W"}
        for name, value in watts.items()
    }
    other = {"Sensors/inlet": {"Id": "inlet", "Reading": 21.5, "ReadingType": "Temperature", "ReadingUnits": "Cel"}}
    return {"Sensors": {"Members": [link(f"{ONE}/{path}") for path in (*other, *each)]}, **other, **each}


# The inputs of users


def test_environment_metrics_are_read_where_there_is_no_power_resource(asked: Any) -> None:
    device = asked(field("R01-environment-metrics"))
    assert totals(device) == {"Redfish": 374.0}
    power, energy = device.sensors
    assert (power.scope, power.part_of, power.quantity) == ("node", "", "power")
    assert (energy.quantity, energy.resolution, energy.part_of) == ("energy", 3.6e6, power.name)
    assert {r.sensor: r.value for r in device.read()}[energy.name] == pytest.approx(325675 * 3.6e6)
    assert not device.notes


def test_a_chassis_that_cannot_be_read_does_not_refuse_the_others(asked: Any) -> None:
    device = asked(field("R03-one-chassis-fails"))
    assert totals(device) == {"Redfish": 100.0}
    (note,) = device.notes
    assert "/HGX_Baseboard_0: " in note
    assert "404" in note


def test_the_power_of_a_gpu_is_not_that_of_the_node(asked: Any) -> None:
    device = asked(field("R04-first-control-without-watts"))
    (gpu,) = device.sensors
    assert (gpu.scope, gpu.source) == ("accelerators", "Redfish (parts)")
    assert totals(device) == {"Redfish (parts)": 310.0}
    assert device.notes[0].endswith("/Chassis/1, only of gpu. This is not the power of the node.")


# Others of their kind


@pytest.mark.parametrize(
    ("routes", "right"),
    [
        (chassis(EnvironmentMetrics={"PowerWatts": reading(176)}), 176),
        # Both the deprecated resource and its successor: one power.
        (chassis(Power={"PowerControl": [{"PowerConsumedWatts": 200}]}, EnvironmentMetrics={"PowerWatts": reading(201)}), 200),
        # The deprecated one is there and says nothing, or fails, or says 0 W.
        (chassis(Power={"PowerControl": [{"Name": "x"}]}, EnvironmentMetrics={"PowerWatts": reading(201)}), 201),
        (chassis(Power=None, EnvironmentMetrics={"PowerWatts": reading(201)}), 201),
        (chassis(Power={"PowerControl": [{"PowerConsumedWatts": 0}]}, EnvironmentMetrics={"PowerWatts": reading(201)}), 201),
        # Supplies: what goes in (a standing one at 0 W), or else what comes out.
        (chassis(**supplies({"InputPowerWatts": reading(199.0)}, {"InputPowerWatts": reading(172.0)})), 371),
        (chassis(**supplies({"InputPowerWatts": reading(300.0), "OutputPowerWatts": reading(280)}, STANDING)), 300),
        (chassis(**supplies({"InputPowerWatts": reading(None), "OutputPowerWatts": reading(280)})), 280),
        (chassis(EnvironmentMetrics={"PowerWatts": reading(None)}, **supplies({"InputPowerWatts": reading(99.0)})), 99),
        (chassis(Power={"PowerControl": [{}], "PowerSupplies": [{"PowerInputWatts": 110}, {"LastPowerOutputWatts": 80}]}), 190),
        # Sensors, named as OpenBMC and others do.
        (chassis(**power_sensors(power_total_power=470, power_ps0_input_power=240, power_p0_power=90)), 470),
        (chassis(**power_sensors(power_ps0_input_power=240, power_ps0_output_power=220, power_ps1_input_power=250)), 490),
        (chassis(**power_sensors(TotalPower=374, CPU1Power=40)), 374),
        (chassis(**power_sensors(TrayPower=900, GPU0_Power=300)), 900),
        # The DMTF's mock-up of a rack server: names are sentences, and the context says what they are of.
        (
            chassis(
                Sensors={"Members": [link(f"{ONE}/Sensors/all"), link(f"{ONE}/Sensors/cpu")]},
                **{
                    "Sensors/all": {**POWER, "Name": "Input wattage", "Reading": 374, "PhysicalContext": "Chassis"},
                    "Sensors/cpu": {**POWER, "Name": "Power reading for CPU #1", "Reading": 90, "PhysicalContext": "CPU"},
                },
            ),
            374,
        ),
        # Parts that stand in the same list as the whole.
        (
            chassis(
                Power={
                    "PowerControl": [
                        {"Name": "Server Power Control", "PowerConsumedWatts": 344},
                        {"Name": "CPU Sub-system Power", "PowerConsumedWatts": 130},
                        {"Name": "Memory Sub-system Power", "PowerConsumedWatts": 20, "PhysicalContext": "Memory"},
                    ]
                }
            ),
            344,
        ),
        # The first one says nothing, and a later one is of the chassis.
        (
            chassis(
                Power={
                    "PowerControl": [
                        {"Name": "Limit", "PowerConsumedWatts": None},
                        {"Name": "GPU", "PowerConsumedWatts": 310, "PhysicalContext": "GPU"},
                        {"Name": "All", "PowerConsumedWatts": 900, "PhysicalContext": "Chassis"},
                    ]
                }
            ),
            900,
        ),
        (chassis(Power={"PowerControl": [{"PowerConsumedWatts": "231"}]}), 231),
        (chassis(Power={"PowerControl": [{"PowerMetrics": {"AverageConsumedWatts": 225, "IntervalInMin": 1}}]}), 225),
        # An energy alone.
        (chassis(EnvironmentMetrics={"EnergyJoules": reading(5000)}), 5000),
    ],
)  # fmt: skip
def test_the_power_of_the_whole_chassis_counts_once_by_whatever_schema(
    asked: Any, routes: Routes, right: float
) -> None:
    device = asked(routes)
    assert totals(device) == {"Redfish": pytest.approx(right)}
    assert {sensor.scope for sensor in select_summed([*device.sensors])} == {"node"}
    assert not device.notes


def two(first: Routes, about: Any, **resources: Any) -> Routes:
    """The same service with a second chassis."""
    more = {f"{TWO}/{name}": resource for name, resource in resources.items()}
    return {**first, CHASSIS: {"Members": [link(ONE), link(TWO)]}, TWO: about, **more}


BOARD = {"ChassisType": "Module", "EnvironmentMetrics": link(f"{TWO}/EnvironmentMetrics")}


@pytest.mark.parametrize(
    "about",
    [
        {**BOARD, "Links": {"ContainedBy": link(ONE)}},
        BOARD,  # nobody says where it is: a module lies in the one box
        {**BOARD, "ChassisType": "Component"},
        {**BOARD, "Links": {"ContainedBy": link(ONE)}, "ChassisType": "RackMount"},
    ],
)
def test_a_board_within_a_box_is_not_added_to_it(asked: Any, about: Any) -> None:
    box = chassis(EnvironmentMetrics={"PowerWatts": reading(1349.0)})
    box[ONE] = {**box[ONE], "ChassisType": "RackMount"}
    device = asked(two(box, about, EnvironmentMetrics={"PowerWatts": reading(232.0)}))
    assert totals(device) == {"Redfish": 1349.0}
    assert not device.notes


def test_a_board_alone_is_not_the_node(asked: Any) -> None:
    """As the service of an accelerator's board has it, or a box that does not say what it draws."""
    routes = two(chassis(), BOARD, EnvironmentMetrics={"PowerWatts": reading(2420.5)})
    device = asked(routes)
    assert totals(device) == {"Redfish (parts)": 2420.5}
    assert device.sensors[0].scope == ""
    assert device.notes[0].endswith("but not of the chassis that contains it. This is not the power of the node.")


def test_a_chassis_that_another_one_says_it_contains_lies_within_it(asked: Any) -> None:
    box = chassis(EnvironmentMetrics={"PowerWatts": reading(1349.0)})
    box[ONE] = {**box[ONE], "Links": {"Contains": [link(TWO)]}}
    routes = two(box, {**BOARD, "ChassisType": "Sled"}, EnvironmentMetrics={"PowerWatts": reading(232.0)})
    assert totals(asked(routes)) == {"Redfish": 1349.0}


def enclosed(machines: int) -> Routes:
    """An enclosure of 1,420 W with so many sleds of 310 W."""
    box = chassis(EnvironmentMetrics={"PowerWatts": reading(1420.0)})
    box[ONE] = {**box[ONE], "ChassisType": "Enclosure"}
    paths = [f"{CHASSIS}/Sled{number}" for number in range(machines)]
    for path in paths:
        metrics = {"EnvironmentMetrics": link(f"{path}/EnvironmentMetrics")}
        box[path] = {"ChassisType": "Sled", "Links": {"ContainedBy": link(ONE)}, **metrics}
        box[f"{path}/EnvironmentMetrics"] = {"PowerWatts": reading(310.0)}
    return {**box, CHASSIS: {"Members": [link(ONE), *map(link, paths)]}}


def test_a_sled_is_the_machine_and_not_its_enclosure(asked: Any) -> None:
    device = asked(enclosed(1))
    assert totals(device) == {"Redfish": 310.0}
    assert [sensor.scope for sensor in device.sensors] == ["node"]
    assert device.notes[0].endswith("is an enclosure of machines. Its power is not that of one machine.")
    several = asked(enclosed(2))
    assert [sensor.scope for sensor in several.sensors] == ["", ""]
    assert "It contains 2 machines, and the service does not say which is this one." in several.notes


def test_two_boxes_are_added(asked: Any) -> None:
    routes = two(
        chassis(EnvironmentMetrics={"PowerWatts": reading(300.0)}),
        {**BOARD, "ChassisType": "Blade"},
        EnvironmentMetrics={"PowerWatts": reading(232.0)},
    )
    assert totals(asked(routes)) == {"Redfish": 532.0}


@pytest.mark.parametrize(
    "answer", ["not json", "[1]", None, "http://127.0.0.1:1/other", '{"PowerControl": [{"x": 1e400}, ']
)
def test_one_resource_that_fails_leaves_the_others(asked: Any, answer: Any) -> None:
    device = asked({**RESOURCES, f"{CHASSIS}/Enclosure/Power": answer})
    assert totals(device) == {"Redfish": 344.5}
    (note,) = device.notes
    assert "/Chassis/Enclosure: " in note


def test_a_supply_that_fails_is_said(asked: Any) -> None:
    device = asked(chassis(**supplies({"InputPowerWatts": reading(199.0)}, None)))
    assert totals(device) == {"Redfish": 199.0}
    (note,) = device.notes
    assert "reports only a part of" in note
    assert "PowerSupplies/1/Metrics" in note


@pytest.mark.parametrize(
    "routes",
    [
        chassis(EnvironmentMetrics={"PowerWatts": reading(0)}),
        chassis(Power={"PowerControl": [{"PowerConsumedWatts": 0}]}),
        chassis(**supplies({"InputPowerWatts": reading(0)}, {"InputPowerWatts": reading(0)})),
    ],
)
def test_zero_watts_of_a_whole_chassis_are_no_reading(asked: Any, routes: Routes) -> None:
    with pytest.raises(MachineFailed, match="reports 0 W for the whole chassis"):
        asked(routes)


def test_a_chassis_that_falls_to_zero_or_fails_later_gives_no_reading_then(
    asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = asked(chassis(EnvironmentMetrics={"PowerWatts": reading(176)}))
    monkeypatch.setattr(Bmc, "resources", chassis(EnvironmentMetrics={"PowerWatts": reading(0)}))
    assert device.read() == []
    monkeypatch.setattr(Bmc, "resources", {})
    with pytest.raises(OSError, match="EnvironmentMetrics"):
        device.read()


def test_while_one_chassis_fails_the_other_is_still_read(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    device = asked(RESOURCES)
    monkeypatch.setattr(Bmc, "resources", {**RESOURCES, f"{CHASSIS}/Enclosure/Power": None})
    assert [reading.value for reading in device.read()] == [344.5]


def test_a_collection_in_pages_is_read_to_its_end_and_not_for_ever(asked: Any) -> None:
    routes = two(chassis(EnvironmentMetrics={"PowerWatts": reading(300.0)}), BOARD | {"ChassisType": "Blade"},
                 EnvironmentMetrics={"PowerWatts": reading(232.0)})  # fmt: skip
    routes[CHASSIS] = {"Members": [link(ONE)], "Members@odata.nextLink": f"{CHASSIS}?$skip=1"}
    routes[f"{CHASSIS}?$skip=1"] = {"Members": [link(TWO)], "Members@odata.nextLink": f"{CHASSIS}?$skip=1"}
    assert totals(asked(routes)) == {"Redfish": 532.0}


def test_members_that_stand_in_the_collection_are_not_asked_again(asked: Any) -> None:
    routes = chassis(**power_sensors(TotalPower=374, CPU1Power=40))
    paths = [path for path in routes if "/Sensors/" in path]
    routes[f"{ONE}/Sensors"] = {"Members": [{"@odata.id": path, **routes[path]} for path in paths]}
    device = asked(routes)
    assert totals(device) == {"Redfish": 374.0}


def test_what_it_does_not_say_is_printed_where_sensors_are_named(
    service: ThreadingHTTPServer,  # noqa: F811
    token: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sensors, "find", lambda **_: Found())
    monkeypatch.setattr(Bmc, "resources", field("R04-first-control-without-watts"))
    sensing.asked(None, [words(service, token)], 1.0, Console())
    assert "This is not the power of the node." in capsys.readouterr().err


def test_every_sensor_has_a_name_of_its_own(asked: Any) -> None:
    same = {"Name": "Power", "PowerConsumedWatts": 3}
    found: list[Sensor] = asked(chassis(Power={"PowerControl": [same] * 3})).sensors
    assert len({sensor.name for sensor in found}) == 3
    assert [bool(sensor.part_of) for sensor in found] == [False, True, True]
