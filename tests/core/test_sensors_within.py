"""Sensors that hold each other by what their makers and the kernel document: the whole of them counts, once."""

import json
from pathlib import Path

import pytest
from test_sensors import cray, tree

from folders import DATA
from steelyard.measure.telemetry.coverage import choose
from steelyard.measure.telemetry.sampler import select_summed
from steelyard.measure.telemetry.sensors import Found, hwmon, ipmi, pm_counters, powercap, rocm
from steelyard.measure.telemetry.sensors._programs import Program
from steelyard.measure.telemetry.sensors._supplies import find_feeding
from steelyard.model.sensor import Sensor

FIELD = DATA / "field"
HWMON = "sys/class/hwmon"


def total(found: Found) -> float:
    """What the sensors say that may be added, in J or W."""
    values = {reading.sensor: reading.value for device in found.devices for reading in device.read()}
    return sum(values[s.name] for s in select_summed([s for device in found.devices for s in device.sensors]))


def chips(root: Path, *names: tuple[str, dict[str, float]]) -> Found:
    """Chips of those drivers, each with its channels: 'power1 pin' → W, 'energy2' → J; the label follows the channel."""
    for number, (driver, channels) in enumerate(names):
        files = {"name": driver}
        for words, value in channels.items():
            channel, _, label = words.partition(" ")
            files |= {f"{channel}_input": f"{value * 1e6:.0f}", **({f"{channel}_label": label} if label else {})}
        tree(root, {f"{HWMON}/hwmon{number}/{file}": text for file, text in files.items()})
    return hwmon.find(root)


def watts(text: str) -> float:
    found = ipmi.parse_sensors(text, "ipmi")
    return sum(found[sensor] for sensor in select_summed([*found]))


# The inputs of users


@pytest.mark.parametrize(
    ("case", "right"),
    [("P01-rapl-mirrored-dies", 5000.0), ("P02-amd-energy", 600.0), ("P04-pmbus-psu", 300.0), ("P06-intel-xe", 900.0)],
)
def test_a_part_is_not_counted_beside_its_whole(case: str, right: float) -> None:
    kind = powercap if "rapl" in case else hwmon
    assert total(kind.find(FIELD / case)) == pytest.approx(right)


def test_what_supplies_put_out_is_not_added_to_what_goes_in() -> None:
    assert watts((FIELD / "P07-ipmi-supplies-in-and-out/sdr.csv").read_text()) == 1968.0


def test_a_bmc_that_answers_zero_watts_has_no_reading() -> None:
    text = (FIELD / "I01-dcmi-zero/dcmi.txt").read_text()
    assert ipmi.parse_dcmi(text, "ipmi") == {}
    assert [*ipmi.parse_dcmi(text.replace(" 0 Watts", " 7 Watts"), "ipmi").values()] == [7.0]


def test_a_warning_before_the_answer_of_rocm_smi_is_passed_over() -> None:
    text = (FIELD / "T03-rocm-warns/rocm-smi.txt").read_text()
    assert [*rocm.parse(text).values()] == [9.0]


# Others of their kind


def test_what_says_0_w_of_a_whole_machine_is_left_out_and_holds_nothing(tmp_path: Path) -> None:
    found = chips(tmp_path / "acpi", ("power_meter", {"power1": 0.0}), ("amdgpu", {"power1 PPT": 40}))
    assert total(found) == 40.0
    assert found.refused == ("hwmon/power_meter/power1 is left out: it reports 0 W for the whole machine.",)
    found = pm_counters.find(cray(tmp_path / "cray", energy="0 J", power="0 W"))
    assert total(found) == 2000.0 + 2500.0
    assert len(found.refused) == 2


def warned(*lines: str) -> str:
    return "\n".join((*lines, json.dumps({"card1": {"Current Socket Graphics Package Power (W)": "41.0"}})))


@pytest.mark.parametrize(
    "text",
    [
        warned("WARNING: {low-power} state {", "ERROR: 2 GPU[0] : get_power_avg, Not supported on the given system"),
        warned('{"warning": "deprecated, use amd-smi"}'),
        warned("") + "\n=== End of ROCm SMI Log ===\n{",
        warned("{" * 40),
        warned("\ufeff"),
    ],
)
def test_rocms_answer_is_found_among_other_words(text: str) -> None:
    assert {sensor.name: watts for sensor, watts in rocm.parse(text).items()} == {"rocm/card1/power": 41.0}


RAPL = "sys/class/powercap"


def dies(root: Path, joules: dict[str, float]) -> Found:
    return powercap.find(
        tree(
            root,
            {
                f"{RAPL}/intel-rapl:{number}/{file}": text
                for number, (name, value) in enumerate(joules.items())
                for file, text in (("name", name), ("energy_uj", f"{value * 1e6:.0f}"))
            },
        )
    )


@pytest.mark.parametrize(
    ("joules", "right"),
    [
        # Two sockets, the dies of each repeat its counter.
        ({f"package-{p}-die-{d}": 7000.0 + 900 * p + 1e-4 * d for p in (0, 1) for d in range(8)}, 14_900),
        # Dies with counters of their own (Intel's multi-die packages).
        (
            {"package-0-die-0": 5000.0, "package-0-die-1": 5100.0, "package-1-die-0": 90.0, "package-1-die-1": 80.0},
            10_270,
        ),
        # Two sockets are never one, however near they are.
        ({"package-0": 5000.0, "package-1": 5000.0}, 10_000),
        ({"package-0-die-0": 5000.0, "package-1-die-0": 5000.0}, 10_000),
        # The platform holds all.
        ({"psys": 9000.0, "package-0-die-0": 5000.0, "package-0-die-1": 5000.0}, 9000),
    ],
)
def test_only_dies_of_one_package_repeat_a_counter(tmp_path: Path, joules: dict[str, float], right: float) -> None:
    assert total(dies(tmp_path, joules)) == pytest.approx(right, abs=0.01)


@pytest.mark.parametrize(
    ("driver", "channels", "right"),
    [
        ("amd_energy", {"energy1 Ecore000": 5, "energy2 Ecore001": 6, "energy3 Esocket0": 40, "energy4 Esocket1": 50}, 90),
        ("amd_energy", {"energy1 Ecore000": 5, "energy2 Ecore001": 6}, 11),  # the sockets may not be read
        ("dps800", {"power1 pin": 300, "power2 pout1": 200, "power3 pout2": 70}, 300),
        ("xdpe12284", {"power1 pin1": 50, "power2 pin2": 40, "power3 pout1": 45, "power4 pout2": 36}, 90),
        ("ltc2978", {"power1 pout1": 30, "power2 pout2": 20}, 50),
        ("mp2975", {"power1 pin": 90, "power2 pout1": 80, "power3 pout1.0": 40, "power4 pout1.1": 40}, 90),
        ("mp2888", {"power1 pout1": 80, "power2 pout1.1": 40, "power3 pout1.2": 40}, 80),
        ("xe", {"energy1 card": 900, "energy2 pkg": 700, "power1 card": 90, "power2 pkg": 70}, 900),
        ("corsairpsu", {"power1 power total": 260, "power2 power +12v": 200, "power3 power +5v": 40}, 260),
        ("macsmc_hwmon", {"power1 Total System Power": 20, "power2 3.8 V Rail Power": 12, "power3 AC Input Power": 25}, 20),
        ("occ", {"power1 system": 900, "power2 0_proc": 300, "power3 0_vdd": 200, "power4 1_proc": 280}, 900),
        ("occ", {"power1 0_proc": 300, "power2 0_vdd": 200, "power3 0_vdn": 40}, 300),
        ("zenpower", {"power1 SVI2_P_Core": 60, "power2 SVI2_P_SoC": 12}, 72),
        ("zenpower", {"power1 SVI2_P_Core": 60, "power2 SVI2_P_SoC": 12, "power3 RAPL_P_Package": 90}, 90),
        ("ltc2947", {"power1": 9, "energy1": 100, "energy2": 100}, 100),
        ("ina238", {"power1": 9, "energy1": 100}, 100),
        ("ina3221", {"power1 VDD_GPU": 9, "power2 VDD_CPU": 4}, 13),
        ("unheard-of", {"power1 A": 9, "power2 B": 4}, 13),
    ],
)  # fmt: skip
def test_the_whole_of_a_chip_counts(tmp_path: Path, driver: str, channels: dict[str, float], right: float) -> None:
    assert total(chips(tmp_path, (driver, channels))) == pytest.approx(right)


def test_two_cards_are_added_and_a_tile_lies_within_its_card(tmp_path: Path) -> None:
    assert total(chips(tmp_path / "xe", *[("xe", {"energy1 card": 900, "energy2 pkg": 700})] * 2)) == pytest.approx(
        1800
    )
    two = (("i915", {"energy1": 500}), ("i915_gt0", {"energy1": 200}), ("i915_gt1", {"energy1": 250}))
    assert total(chips(tmp_path / "i915", *two)) == pytest.approx(500)


def test_the_rail_that_feeds_a_board_holds_those_of_its_other_chips(tmp_path: Path) -> None:
    """Jetson TX2: the module's input on one chip, the carrier's on another."""
    rails = (
        ("ina3221x", {"power1 VDD_SYS_GPU": 2, "power2 VDD_SYS_SOC": 1}),
        ("ina3221x", {"power1 VDD_IN": 7, "power2 VDD_SYS_CPU": 3}),
        ("ina3221x", {"power1 VDD_MUX": 10, "power2 VDD_5V0_IO_SYS": 2}),
    )
    assert total(chips(tmp_path / "module", *rails[:2])) == pytest.approx(7)
    assert total(chips(tmp_path / "carrier", *rails)) == pytest.approx(10)


# Texts as BMCs print them: Marconi100 (IBM), Dell, HPE, Fujitsu, Inspur, Quanta, Supermicro, ASRock Rack, ASUS, Huawei.
@pytest.mark.parametrize(
    ("printed", "right"),
    [
        ({"p0_power": 90, "p0_mem_power": 30, "ps0_input_power": 240, "ps1_input_power": 250, "total_power": 470}, 470),
        ({"p0_power": 90, "ps0_input_power": 240, "ps1_input_power": 250}, 490),
        ({"Pwr Consumption": 168}, 168),
        ({"System Level": 105}, 105),
        ({"System Board Pwr Consumption": 98, "CPU1 Power": 50}, 98),
        ({"Power Supply 1": 90, "Power Supply 2": 65}, 155),
        ({"Power Supply 1": 50, "PS 1 Output": 50, "Power Supply 2": 25, "PS 2 Output": 25}, 75),
        ({"PS 1 Input": 150, "PS 2 Input": 190}, 340),
        ({"Power Meter": 160, "Power Supply 1": 80, "Power Supply 2": 90}, 160),
        ({"Power Supply 1": 0, "Power Supply 2": 95}, 95),
        ({"Total Power Out": 200, "Total Power": 220, "PSU1 Power": 110, "CPU1 Power": 60}, 220),
        ({"Total_Power": 296, "CPU_Power": 158, "MEM_Power": 10, "PSU0_POUT": 136, "PSU1_POUT": 128}, 296),
        ({"Total_Power": 760, "CPU_Total_Power": 198, "PSU1_POUT": 352, "PSU2_POUT": 368}, 760),
        ({"PSU0_Pin": 110, "PSU0_Pout": 98, "PSU0_Pout_Max": 0, "PSU1_Pin": 114, "PSU1_Pout": 51}, 224),
        ({"PSU1_PIN": 96, "PSU1_POUT": 92, "PSU2_POUT": 90}, 186),  # the second says only what comes out
        ({"POWER_DDR5_A1": 2, "Memory_Power": 8, "Memory VRM Power": 12, "PSU1 Power In": 144, "PSU1 Power Out": 112}, 144),
        ({"PMB1Power": 120, "PMB2Power": 130, "CPU_Power": 70}, 250),
        ({"POWER_USAGE": 310, "PSU1_POUT": 150, "PSU2_POUT": 140}, 310),
        ({"Power": 300, "Power1": 160, "Power2": 140}, 300),
        ({"Power1": 160, "Power2": 140, "CPU1 Power": 80}, 300),
        ({"Sys Power": 0, "PS1 Input Power": 120, "PS2 Input Power": 120}, 240),
        ({"PWR PSU0": 700, "PWR PSU1": 690, "PWR GPU0": 300}, 1390),
        ({"CPU Power": 70, "MEM Power": 10}, 80),
    ],
)  # fmt: skip
def test_of_a_board_what_feeds_it_counts_once(printed: dict[str, int], right: float) -> None:
    assert watts("".join(f"{name},{value},Watts,ok\n" for name, value in printed.items())) == right


def test_limits_and_peaks_of_supplies_feed_nothing() -> None:
    assert find_feeding(["PSU1 Max Power", "PSU1 Rated Power", "Total Power Limit"]) == []
    assert find_feeding(["System Fan Power", "CPU1 Power"]) == []


def test_what_feeds_the_board_is_of_the_whole_node() -> None:
    found: list[Sensor] = [*ipmi.parse_sensors("PSU1 Power In,120,Watts,ok\nCPU_Power,70,Watts,ok\n", "ipmi")]
    assert [(sensor.scope, sensor.part_of) for sensor in found] == [("node", ""), ("", "ipmi/psu1-power-in")]


# What a meter covers


def grace(root: Path, *modules: dict[str, int]) -> Found:
    """NVIDIA Grace by ACPI: a chip for each meter, with the maker's words."""
    meters = [
        (f"{name} Power Socket {socket}", watts)
        for socket, module in enumerate(modules)
        for name, watts in module.items()
    ]
    for number, (text, watts) in enumerate(meters):
        chip = {"name": "power_meter", "power1_average": f"{watts * 1_000_000}", "device/power1_oem_info": text}
        tree(root, {f"{HWMON}/hwmon{number}/{file}": content for file, content in chip.items()})
    return hwmon.find(root)


def test_the_modules_of_grace_add_up_under_their_own_names(tmp_path: Path) -> None:
    parts = {"Grace": 210, "CPU": 150, "SysIO": 30}
    found = grace(tmp_path, {"Module": 480, **parts}, {"Module": 500, **parts})
    assert total(found) == 980.0
    covered = choose(sensor for device in found.devices for sensor in device.sensors)
    assert covered.scope == ("module",)
    assert covered.sensors[0].name == "hwmon/power_meter/module-power-socket-0/power1"


def test_without_its_module_grace_is_the_processor(tmp_path: Path) -> None:
    found = grace(tmp_path, {"Grace": 210, "CPU": 150, "SysIO": 30})
    assert total(found) == 210.0
    assert choose(sensor for device in found.devices for sensor in device.sensors).scope == ("processors",)


def test_the_power_of_an_apu_contains_the_rails_of_its_processor(tmp_path: Path) -> None:
    rails = ("zenpower", {"power1 SVI2_P_Core": 12, "power2 SVI2_P_SoC": 6})
    assert total(chips(tmp_path / "apu", ("amdgpu", {"power1 PPT": 21}), rails)) == 21.0
    card = tree(tmp_path / "card", {f"{HWMON}/hwmon0/power1_cap": "250000000"})
    found = chips(card, ("amdgpu", {"power1 PPT": 200}), rails)
    assert total(found) == 218.0
    assert [s.scope for device in found.devices for s in device.sensors] == ["accelerators", "", ""]


@pytest.mark.parametrize("watts", [0, 65535])
def test_a_power_that_no_machine_draws_is_left_out_with_a_sentence(watts: int, tmp_path: Path) -> None:
    text = (FIELD / "I01-dcmi-zero/dcmi.txt").read_text().replace(" 0 Watts", f" {watts} Watts")
    assert ipmi.parse_dcmi(text, "ipmi") == {}
    (tmp_path / "answer").write_text(text)
    with pytest.raises(OSError, match=f"reports {watts} W, which no running machine draws"):
        Program(["cat", str(tmp_path / "answer")], lambda said: ipmi.parse_dcmi(said, "ipmi"), ipmi._explain_dcmi)


def test_the_mean_of_an_amd_card_counts_and_not_its_momentary_power_too() -> None:
    keys = {"Current Socket Graphics Package Power (W)": "61.0", "Average Graphics Package Power (W)": "58.0"}
    for order in (keys, dict(reversed(keys.items()))):
        assert [*rocm.parse(json.dumps({"card0": order})).values()] == [58.0]
    second = {"card0": keys, "card1": {"Average Graphics Package Power (W)": "0.0"}}  # the second die of MI250
    assert [sensor.name for sensor in rocm.parse(json.dumps(second))] == ["rocm/card0/power"]


def test_one_card_by_two_ways_is_one_part(tmp_path: Path) -> None:
    at = "0000:03:00.0"
    by_rocm = rocm.parse(json.dumps({"card0": {"PCI Bus": at, "Accumulated Energy (uJ)": "5000000.0"}}))
    root = tree(tmp_path, {f"{HWMON}/hwmon0/power1_cap": "1", f"devices/{at}/class": "0x038000"})
    (root / HWMON / "hwmon0/device").symlink_to(root / "devices" / at)
    by_kernel = chips(root, ("amdgpu", {"power1 PPT": 200}))
    both = [*by_rocm, *(sensor for device in by_kernel.devices for sensor in device.sensors)]
    assert [sensor.name for sensor in choose(both).sensors] == ["rocm/card0/energy"]
