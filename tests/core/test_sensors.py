"""Sensors of files: trees made by hand as the kernel documents them, one file after the other as its value."""

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from steelyard.measure.telemetry.sensors import Found, battery, find, hwmon, kinds, pm_counters, powercap
from steelyard.model.sensor import Reading, Sensor

RAPL = "sys/class/powercap"
# Two sockets and a platform domain; the range is that of a register of 32 bits in steps of 61 µJ.
SOCKETS = {
    f"{RAPL}/intel-rapl/enabled": "1",
    **{
        f"{RAPL}/{zone}/{file}": text
        for zone, name, energy in (
            ("intel-rapl:0", "package-0", 1_000_000),
            ("intel-rapl:0:0", "core", 400_000),
            ("intel-rapl:0:1", "dram", 300_000),
            ("intel-rapl:1", "package-1", 2_000_000),
            ("intel-rapl:1:0", "dram", 500_000),
            ("intel-rapl:2", "psys", 9_000_000),
        )
        for file, text in (("name", name), ("energy_uj", str(energy)), ("max_energy_range_uj", "262143328850"))
    },
}
CRAY = {
    "freshness": "812",
    "raw_scan_hz": "10",
    "generation": "4",
    "power_cap": "0 W",
    "energy": "5000 J 1700000000100000 us",
    "power": "410 W 1700000000100000 us",
    "cpu_energy": "2000 J 1700000000090000 us",
    "accel0_energy": "2500 J 1700000000080000 us",
    "cpu0_temp": "51 C 1700000000070000 us",
}


def tree(root: Path, files: Mapping[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text + "\n")
    return root


def cray(root: Path, **other: str) -> Path:
    return tree(root, {f"sys/cray/pm_counters/{name}": text for name, text in {**CRAY, **other}.items()})


def sensors(found: Found) -> dict[str, Sensor]:
    every = [sensor for device in found.devices for sensor in device.sensors]
    assert len({sensor.name for sensor in every}) == len(every)
    return {sensor.name: sensor for sensor in every}


def readings(found: Found) -> dict[str, Reading]:
    return {reading.sensor: reading for device in found.devices for reading in device.read()}


def values(found: Found) -> dict[str, float]:
    return {name: reading.value for name, reading in readings(found).items()}


def test_every_kind_is_declared_under_a_name_of_its_own_and_finds_nothing_on_an_empty_machine(tmp_path: Path) -> None:
    files = [f for f in (Path(powercap.__file__).parent).glob("*.py") if not f.name.startswith("_")]
    assert len(kinds()) == len(files)
    assert all(kind.title for kind in kinds().values())
    assert all(kind.words for kind in kinds().values() if kind.open)
    assert find(tmp_path) == Found()


# RAPL


def test_rapl_counts_joules_up_to_the_range_that_the_kernel_gives(tmp_path: Path) -> None:
    found = powercap.find(tree(tmp_path, SOCKETS))
    assert found.refused == ()
    assert values(found)["rapl/package-0/core"] == pytest.approx(0.4)
    package = sensors(found)["rapl/package-0"]
    assert package.range == pytest.approx(262143.32885)
    assert package.resolution == pytest.approx(2**-14, rel=1e-5)
    assert package.place == str(tmp_path / RAPL / "intel-rapl:0/energy_uj")
    assert (package.quantity, package.update, package.error) == ("energy", 0.001, None)
    (tmp_path / RAPL / "intel-rapl:0/energy_uj").write_text("17\n")  # after the counter began anew
    assert values(found)["rapl/package-0"] == pytest.approx(17e-6)


def test_the_energies_that_hold_each_other_are_not_added(tmp_path: Path) -> None:
    parts = {name: sensor.part_of for name, sensor in sensors(powercap.find(tree(tmp_path, SOCKETS))).items()}
    assert parts == {
        "rapl/package-0": "rapl/psys",
        "rapl/package-1": "rapl/psys",
        "rapl/psys": "",
        "rapl/package-0/core": "rapl/package-0",
        "rapl/package-0/dram": "rapl/psys",  # beside the package, though its files lie below
        "rapl/package-1/dram": "rapl/psys",
    }


def test_without_the_platform_domain_packages_and_memory_are_the_sum(tmp_path: Path) -> None:
    files = {path: text for path, text in SOCKETS.items() if "intel-rapl:2" not in path}
    found = powercap.find(tree(tmp_path, files))
    whole = [name for name, sensor in sensors(found).items() if not sensor.part_of]
    assert sum(values(found)[name] for name in whole) == pytest.approx(1 + 0.3 + 2 + 0.5)


def test_each_socket_with_a_platform_domain_of_its_own_lies_within_that(tmp_path: Path) -> None:
    second = {f"{RAPL}/intel-rapl:3/{file}": text for file, text in (("name", "psys-1"), ("energy_uj", "4000000"))}
    parts = sensors(powercap.find(tree(tmp_path, {**SOCKETS, **second})))
    assert (parts["rapl/package-0"].part_of, parts["rapl/package-1"].part_of) == ("rapl/psys", "rapl/psys-1")
    assert (parts["rapl/psys-1"].range, parts["rapl/psys-1"].resolution) == (None, 0.0)


def test_a_counter_that_stands_at_0_is_left_out_and_holds_nothing(tmp_path: Path) -> None:
    found = powercap.find(tree(tmp_path, {**SOCKETS, f"{RAPL}/intel-rapl:2/energy_uj": "0"}))
    assert len(found.refused) == 1
    assert "stays at 0 J" in found.refused[0]
    assert sensors(found)["rapl/package-0"].part_of == ""


def test_the_same_package_by_another_way_is_not_counted_twice(tmp_path: Path) -> None:
    second = {f"{RAPL}/intel-rapl-mmio:0/{file}": text for file, text in (("name", "package-0"), ("energy_uj", "1"))}
    assert len(sensors(powercap.find(tree(tmp_path, {**SOCKETS, **second})))) == 6


def test_without_rights_rapl_says_once_why_and_how_to_allow_it() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = tree(Path(folder), SOCKETS)
        root.chmod(0o755)
        for counter in (root / RAPL).glob("*/energy_uj"):
            counter.chmod(0)
        with as_an_ordinary_user():
            found = powercap.find(root)
    assert found.devices == ()
    assert len(found.refused) == 1
    for word in ("intel-rapl:0/energy_uj", "only root", "CVE-2020-8694", "chmod a+r", "udev"):
        assert word in found.refused[0]


@contextlib.contextmanager
def as_an_ordinary_user() -> Iterator[None]:
    """Root may read everything: it becomes somebody else for a while."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(was)


@pytest.mark.parametrize("text", ["", "garbage", "-", "nan", "1e999", "9" * 5000, "0x10", "1 2"])
def test_a_malformed_counter_is_a_sentence(tmp_path: Path, text: str) -> None:
    found = powercap.find(tree(tmp_path, {**SOCKETS, f"{RAPL}/intel-rapl:1/energy_uj": text}))
    assert "rapl/package-1" not in sensors(found)
    assert len(found.refused) == 1
    assert found.refused[0].startswith("rapl/package-1 cannot be read:")
    assert len(found.refused[0]) < 400


def test_a_folder_in_place_of_a_counter_is_a_sentence_and_a_counter_that_goes_away_is_left_out(tmp_path: Path) -> None:
    root = tree(tmp_path, SOCKETS)
    counter = root / RAPL / "intel-rapl:0:0/energy_uj"
    found = powercap.find(root)
    counter.unlink()
    assert "rapl/package-0/core" not in readings(found)
    counter.mkdir()
    assert "Is a directory" in powercap.find(root).refused[0]
    for path in (root / RAPL).glob("*/energy_uj"):
        path.rmdir() if path.is_dir() else path.unlink()
    with pytest.raises(OSError, match="energy_uj"):
        found.devices[0].read()


# hwmon


def test_hwmon_gives_watts_joules_degrees_and_turns(tmp_path: Path) -> None:
    chip = "sys/class/hwmon/hwmon3"
    found = hwmon.find(
        tree(
            tmp_path,
            {
                f"{chip}/name": "ina226",
                f"{chip}/update_interval": "282",
                f"{chip}/power1_input": "5300000",
                f"{chip}/power1_label": "Rail 5V / board",
                f"{chip}/energy1_input": "7000001",
                f"{chip}/temp1_input": "-4500",
                f"{chip}/fan2_input": "1200",
                f"{chip}/fan2_min": "300",
                f"{chip}/in0_input": "5000",
            },
        )
    )
    assert values(found) == pytest.approx(
        {
            "hwmon/ina226/rail-5v-board": 5.3,
            "hwmon/ina226/energy1": 7.000001,
            "hwmon/ina226/temp1": -4.5,
            "hwmon/ina226/fan2": 1200,
        }
    )
    power = sensors(found)["hwmon/ina226/rail-5v-board"]
    assert (power.quantity, power.update, power.window) == ("power", 0.282, 0.282)
    assert sensors(found)["hwmon/ina226/temp1"].window == 0


def test_the_mean_of_a_power_meter_is_taken_with_its_window_and_not_its_momentary_value_too(tmp_path: Path) -> None:
    chip = "sys/class/hwmon/hwmon0"
    files = {
        "name": "power_meter",
        "power1_average": "137000000",
        "power1_average_interval": "1000",
        "power1_input": "1",
    }
    found = hwmon.find(tree(tmp_path, {f"{chip}/{name}": text for name, text in files.items()}))
    assert values(found) == {"hwmon/power_meter/power1": 137.0}
    assert sensors(found)["hwmon/power_meter/power1"].window == 1.0


def test_equal_chips_are_named_by_their_bus_address_and_equal_labels_by_number(tmp_path: Path) -> None:
    hwmons = "sys/class/hwmon"
    for number, address in ((0, "0-0041"), (1, "0-0040")):
        tree(tmp_path, {f"{hwmons}/hwmon{number}/{f}": t for f, t in (("name", "ina219"), ("power1_input", "1"))})
        (tmp_path / "bus" / address).mkdir(parents=True)
        (tmp_path / hwmons / f"hwmon{number}/device").symlink_to(tmp_path / "bus" / address)
    labels = {f"temp{i}_{f}": t for i in (1, 2) for f, t in (("input", "1000"), ("label", "CPU"))}
    tree(tmp_path, {f"{hwmons}/hwmon2/{f}": t for f, t in {"name": "nct", **labels}.items()})
    assert set(sensors(hwmon.find(tmp_path))) == {
        "hwmon/ina219-0-0040/power1",
        "hwmon/ina219-0-0041/power1",
        "hwmon/nct/cpu",
        "hwmon/nct/cpu-2",
    }


def test_a_malformed_channel_is_a_sentence_and_the_others_are_read(tmp_path: Path) -> None:
    chip = "sys/class/hwmon/hwmon0"
    files = {f"{chip}/power1_input": "none", f"{chip}/temp1_input": "41000", f"{chip}/update_interval": "soon"}
    found = hwmon.find(tree(tmp_path, files))
    assert values(found) == {"hwmon/hwmon0/temp1": 41.0}
    assert "contains 'none'" in found.refused[0]


# Battery


@pytest.mark.parametrize("power", [{"power_now": "9500000"}, {"current_now": "-1000000", "voltage_now": "9500000"}])
def test_a_battery_says_what_the_machine_draws_while_it_feeds_it(tmp_path: Path, power: dict[str, str]) -> None:
    folder = "sys/class/power_supply/BAT0"
    files = {"type": "Battery", "status": "Discharging", "present": "1", **power}
    found = battery.find(tree(tmp_path, {f"{folder}/{name}": text for name, text in files.items()}))
    assert values(found) == pytest.approx({"battery/bat0": 9.5})
    tree(tmp_path, {f"{folder}/status": "Charging"})
    assert readings(found) == {}
    assert "'Charging'" in battery.find(tmp_path).refused[0]


def test_the_mains_and_the_battery_of_a_mouse_are_none(tmp_path: Path) -> None:
    supplies = {
        "AC/type": "Mains",
        "hid/type": "Battery",
        "hid/scope": "Device",
        "BAT9/type": "Battery",
        "BAT9/present": "0",
    }
    assert battery.find(tree(tmp_path, {f"sys/class/power_supply/{p}": t for p, t in supplies.items()})) == Found()


def test_a_battery_without_power_or_current_is_a_sentence(tmp_path: Path) -> None:
    files = {"type": "Battery", "status": "Discharging"}
    found = battery.find(tree(tmp_path, {f"sys/class/power_supply/BAT1/{name}": text for name, text in files.items()}))
    assert found.devices == ()
    assert "BAT1 cannot be read" in found.refused[0]


# Cray


def test_cray_counters_have_the_time_stamps_of_the_device(tmp_path: Path) -> None:
    found = pm_counters.find(cray(tmp_path))
    assert found.refused == ()
    assert readings(found)["pm_counters/energy"] == Reading("pm_counters/energy", 1700000000100000000, 5000.0)
    assert readings(found)["pm_counters/cpu0_temp"].at == 1700000000070000000
    parts = {name: (s.quantity, s.part_of) for name, s in sensors(found).items()}
    assert parts == {
        "pm_counters/energy": ("energy", ""),
        "pm_counters/power": ("power", "pm_counters/energy"),
        "pm_counters/cpu_energy": ("energy", "pm_counters/energy"),
        "pm_counters/accel0_energy": ("energy", "pm_counters/energy"),
        "pm_counters/cpu0_temp": ("temperature", ""),
    }
    assert {(s.resolution, s.update) for s in sensors(found).values()} == {(1.0, 0.1)}


def test_a_stamp_that_is_no_date_gives_way_to_the_time_of_asking(tmp_path: Path) -> None:
    found = pm_counters.find(cray(tmp_path, power="410 W 12345 us", cpu_energy="2000 J"))
    at = {name: reading.at for name, reading in readings(found).items()}
    assert at["pm_counters/power"] > at["pm_counters/energy"]
    assert at["pm_counters/cpu_energy"] > at["pm_counters/energy"]


def test_counters_that_never_stand_still_are_no_reading(tmp_path: Path) -> None:
    freshness = cray(tmp_path) / "sys/cray/pm_counters/freshness"
    found = pm_counters.find(tmp_path)
    freshness.unlink()
    freshness.symlink_to("/proc/sys/kernel/random/uuid")  # another one at each reading
    with pytest.raises(OSError, match="changed during 5 attempts"):
        found.devices[0].read()


@pytest.mark.parametrize(
    "text", ["", "410", "410 W soon", "-1 W", "410 kW 1 us", "9" * 30 + " W", "1 W " + "9" * 17 + " us"]
)
def test_a_malformed_cray_counter_is_a_sentence(tmp_path: Path, text: str) -> None:
    found = pm_counters.find(cray(tmp_path, power=text))
    assert len(found.refused) == 1
    assert "pm_counters/power" in found.refused[0]
    assert "pm_counters/energy" in values(found)


def test_cray_counters_without_freshness_are_refused(tmp_path: Path) -> None:
    (cray(tmp_path) / "sys/cray/pm_counters/freshness").unlink()
    found = pm_counters.find(tmp_path)
    assert found.devices == ()
    assert "freshness" in found.refused[0]
