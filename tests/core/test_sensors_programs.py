"""Sensors that a program is asked for: the texts of ipmitool, nvidia-smi and rocm-smi, real commands, and a simulated BMC."""

import shutil
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import MachineFailed, SteelyardError, UsageError
from steelyard.measure.telemetry.sensors import Device, command, ipmi, nvidia, open_device, rocm
from steelyard.measure.telemetry.sensors._nvml import Counters

# As ipmitool 1.8.19 prints them.
DCMI = """
    Instantaneous power reading:                   137 Watts
    Minimum during sampling period:                100 Watts
    Maximum during sampling period:                180 Watts
    Average power reading over sample period:      140 Watts
    IPMI timestamp:                           11/22/26 23:43:43 UTC    Sampling period:                          00000001 Seconds.
    Power reading state is:                   activated
"""
SENSORS = """CPU Temp,42,degrees C,ok
Sys Power,240,Watts,ok
FAN 1,5400,RPM,ok
FAN 1,5300,RPM,ok
PSU1, Input,12.06,Volts,ok
Rack, left, Power,6,Watts,ok
DIMM Temp,,degrees C,ns
PCH Temp,na,degrees C,na
"""
# As nvidia-smi prints it for two GPUs with --format=csv,noheader,nounits; the second does not average.
GPUS = "0, 61.50, 63.01, 35, 1980\n1, [N/A], 41.25, [N/A], 345\n"
ROCM = """{"card0": {"Average Graphics Package Power (W)": "237.0", "Temperature (Sensor edge) (C)": "42.0",
 "Temperature (Sensor HBM 0) (C)": "N/A", "sclk clock speed:": "(1700Mhz)", "sclk clock level:": "1",
 "Energy counter": "148472910", "Accumulated Energy (uJ)": "2271635523.75", "Max Graphics Package Power (W)": "500.0"},
 "card1": {"Average Graphics Package Power (W)": "N/A (Secondary die)", "Accumulated Energy (uJ)": "0.0"},
 "system": {"Driver version": "6.7"}}"""


def program(folder: Path, name: str, body: str) -> Path:
    """A program of that name in `folder`, which is made."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def values(device: Device) -> dict[str, float]:
    return {reading.sensor: reading.value for reading in device.read()}


# Texts


def test_the_power_of_dcmi_is_that_of_the_moment_in_whole_watts() -> None:
    ((sensor, watts),) = ipmi.parse_dcmi(DCMI, "ipmi").items()
    assert (sensor.name, watts, sensor.resolution, sensor.window) == ("ipmi/dcmi-power", 137.0, 1.0, 0.0)
    assert ipmi.parse_dcmi(DCMI.replace("activated", "deactivated"), "ipmi") == {}


def test_the_sensors_of_a_bmc_are_those_with_a_value_in_watts_degrees_or_turns() -> None:
    assert {s.name: (s.unit, v) for s, v in ipmi.parse_sensors(SENSORS, "ipmi").items()} == {
        "ipmi/cpu-temp": ("°C", 42.0),
        "ipmi/sys-power": ("W", 240.0),
        "ipmi/fan-1": ("rpm", 5400.0),
        "ipmi/fan-1-2": ("rpm", 5300.0),
        "ipmi/rack-left-power": ("W", 6.0),
    }


def test_a_gpu_gives_its_average_where_it_has_one_and_else_the_power_of_the_moment() -> None:
    found = {s.name: (v, s.window) for s, v in nvidia.parse(GPUS).items()}
    assert found == {
        "nvidia/gpu0/power": (61.5, 1.0),
        "nvidia/gpu0/temperature": (35.0, 0.0),
        "nvidia/gpu0/clock": (1.98e9, 0.0),
        "nvidia/gpu1/power": (41.25, 0.0),
        "nvidia/gpu1/clock": (3.45e8, 0.0),
    }


def test_rocm_gives_joules_and_leaves_out_what_is_not_measured() -> None:
    assert {s.name: v for s, v in rocm.parse(ROCM).items()} == pytest.approx(
        {
            "rocm/card0/power": 237.0,
            "rocm/card0/energy": 2271.63552375,
            "rocm/card0/temperature-edge": 42.0,
            "rocm/card0/clock": 1.7e9,
        }
    )


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "[" * 100_000, '{"card0": 1}', '{"card0": {"Accumulated Energy (uJ)": [1e400]}}']
)
def test_what_is_no_answer_of_rocm_gives_nothing(text: str) -> None:
    assert rocm.parse(text) == {}


PRINTED = st.one_of(
    st.text(max_size=300),
    st.lists(
        st.sampled_from([*DCMI.split(), *SENSORS.split(","), *GPUS.split(","), "\n", ",", "9" * 400, "-1e309", "٣"])
    ).map(" ".join),
    st.tuples(st.sampled_from([DCMI, SENSORS, GPUS, ROCM]), st.integers(0, 400), st.text(max_size=5)).map(
        lambda cut: cut[0][: cut[1]] + cut[2] + cut[0][cut[1] :]
    ),
)


@given(PRINTED)
def test_no_text_makes_a_parser_fail_and_every_value_is_finite_and_named_once(text: str) -> None:
    sensor = next(iter(ipmi.parse_dcmi(DCMI, "x")))
    for found in (
        ipmi.parse_dcmi(text, "ipmi"),
        ipmi.parse_sensors(text, "ipmi"),
        ipmi.parse_raw(text, sensor, 1, 2, 1.0),
        nvidia.parse(text),
        rocm.parse(text),
        command.parse(text, "x", "x", "W", 0.0),
    ):
        assert all(abs(value) < float("inf") for value in found.values())
        assert len({s.name for s in found}) == len(found)
        assert not any(sign in s.name for s in found for sign in "+# \n")


@given(st.floats(0, 1e6), st.sampled_from(["W", "mW", "J"]), st.from_regex(r"[a-z][a-z ]{0,20}[a-z]", fullmatch=True))
def test_a_line_of_a_command_is_read_as_it_was_written(value: float, unit: str, name: str) -> None:
    ((sensor, read),) = command.parse(f"{name} {value} {unit}\n", "x", "x", "W", 0.0).items()
    assert sensor.name == f"command/{'-'.join(name.split())}"
    assert read == pytest.approx(value * {"W": 1, "mW": 1e-3, "J": 1}[unit])


@given(st.binary(min_size=2, max_size=20), st.data())
def test_bytes_are_a_number_with_the_lowest_first(answer: bytes, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(answer) - 1))
    count = data.draw(st.integers(1, len(answer) - first))
    sensor = next(iter(ipmi.parse_dcmi(DCMI, "x")))
    text = " " + " ".join(f"{byte:02x}" for byte in answer) + "\n"
    expected = sum(byte << 8 * place for place, byte in enumerate(answer[first : first + count]))
    assert ipmi.parse_raw(text, sensor, first, count, 1.0) == {sensor: pytest.approx(expected)}
    assert ipmi.parse_raw(text, sensor, first, len(answer) - first + 1, 1.0) == {}


# Commands


def test_a_command_that_prints_a_number_is_a_sensor(tmp_path: Path) -> None:
    (tmp_path / "watts").write_text("5300\n")
    device = open_device(f"command:run=cat {tmp_path}/watts,unit=mW,name=rail,window=1.12")
    (sensor,) = device.sensors
    assert (sensor.name, sensor.unit, sensor.window) == ("command/rail", "W", 1.12)
    assert values(device) == pytest.approx({"command/rail": 5.3})
    (tmp_path / "watts").write_text("broken\n")
    assert values(device) == {}
    (tmp_path / "watts").unlink()
    with pytest.raises(OSError, match="No such file"):
        device.read()


def test_a_command_that_prints_lines_gives_a_sensor_each(tmp_path: Path) -> None:
    print_lines = program(
        tmp_path / "bin",
        "site",
        "echo 'Rail A 1.5 kW'; echo noise; echo 'Rail A 2 W'; echo 'fan 900 rpm'; echo 'x 1 V'",
    )
    assert values(open_device(f"command:run={print_lines}")) == {
        "command/rail-a": 1500.0,
        "command/rail-a-2": 2.0,
        "command/fan": 900.0,
    }


@pytest.mark.parametrize(
    ("words", "mistake", "told"),
    [
        ("command:", UsageError, "needs the setting 'run'"),
        ("command:run=true,unit=V", UsageError, "'V'"),
        ("command:run=true,window=soon", UsageError, "'soon'"),
        ("command:run='", UsageError, "is not a command"),
        ("command:run= ", UsageError, "needs a program"),
        ("command:run=true,runn=x", UsageError, "Did you mean 'run'"),
        ("command:run=true", MachineFailed, "gave no reading"),
        ("command:run={missing}/at/all", MachineFailed, "cannot be started"),
        ("command:run=sh -c 'echo broken >&2; exit 3'", MachineFailed, "exit code 3: broken"),
        ("ipmi:raw=thirty", UsageError, "expected bytes"),
        ("ipmi:raw=0x30 0x01,bytes=9", UsageError, "'9'"),
        ("ipmi:ask=weather", UsageError, "power or sensors"),
        ("ipmi:host=127.0.0.1,password-file={missing}", UsageError, "{missing}"),
        ("ipmi:hots=x", UsageError, "Did you mean 'host'"),
    ],
)
def test_what_cannot_be_opened_is_a_sentence(
    tmp_path: Path, words: str, mistake: type[SteelyardError], told: str
) -> None:
    missing = str(tmp_path / "missing")
    with pytest.raises(mistake, match=told.replace("{missing}", missing)):
        open_device(words.replace("{missing}", missing))


@pytest.mark.parametrize(
    ("module", "device", "name"),
    [(nvidia, "nvidiactl", "nvidia-smi"), (rocm, "kfd", "rocm-smi"), (ipmi, "ipmi0", "ipmitool")],
)
def test_a_driver_without_its_program_and_a_program_that_fails_are_sentences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: object, device: str, name: str
) -> None:
    find = module.kind.find  # type: ignore[attr-defined]
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / device).touch()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (sentence,) = find(tmp_path).refused
    assert name in sentence
    program(tmp_path / "bin", name, "echo 'no such device' >&2; exit 9")
    found = find(tmp_path)
    assert found.devices == ()
    assert all("no such device" in sentence for sentence in found.refused)


def test_an_older_driver_is_asked_for_what_it_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidiactl").touch()
    program(
        tmp_path / "bin",
        "nvidia-smi",
        'case "$1" in *average*) echo invalid field; exit 2;; esac; echo "0, 63.01, 35, 1980"',
    )
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    (device,) = nvidia.find(tmp_path).devices
    assert values(device)["nvidia/gpu0/power"] == 63.01
    assert [s.window for s in device.sensors] == [0.0, 0.0, 0.0]


# What libnvidia-ml gives on a machine with a GPU that counts, one that is too old and one that is lost (errors 3 and 15).
NVML = """
int nvmlInit_v2(void) { return FAIL; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned* count) { *count = 3; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) { *handle = (void*)(index + 1L); return index == 2 ? 15 : 0; }
#ifndef OLD
int nvmlDeviceGetTotalEnergyConsumption(void* handle, unsigned long long* energy) {
  static unsigned long long counted = 123456789012345ULL;
  *energy = counted++;
  return handle == (void*)1L ? 0 : 3;
}
#endif
"""


def nvml(folder: Path, *options: str) -> str:
    compiler = shutil.which("cc") or shutil.which("gcc") or pytest.skip("needs a C compiler")
    library = folder / "libnvidia-ml.so.1"
    words = [compiler, "-shared", "-fPIC", "-x", "c", "-o", str(library), *options, "-"]
    subprocess.run(words, input=NVML, text=True, check=True)
    return str(library)


def test_a_gpu_that_counts_its_energy_gives_joules(tmp_path: Path) -> None:
    device = Counters(nvml(tmp_path, "-DFAIL=0"))
    (sensor,) = device.sensors
    assert (sensor.name, sensor.quantity, sensor.resolution) == ("nvidia/gpu0/energy", "energy", 0.001)
    first, second = device.read()[0].value, device.read()[0].value
    assert first == pytest.approx(123456789012.345, abs=0.01)
    assert second - first == pytest.approx(0.001, abs=1e-4)
    device.close()


@pytest.mark.parametrize(
    ("options", "told"),
    [(["-DFAIL=9"], "nvmlInit_v2 returned the error 9"), (["-DFAIL=0", "-DOLD"], "no GPU has an energy counter")],
)
def test_a_driver_that_counts_nothing_is_a_sentence(tmp_path: Path, options: list[str], told: str) -> None:
    with pytest.raises(OSError, match=told):
        Counters(nvml(tmp_path, *options))


# A BMC, simulated by OpenIPMI's ipmi_sim: a temperature and a power sensor, which is set while it runs

LAN = """name "lab"
set_working_mc 0x20
  startlan 1
    addr 127.0.0.1 {port}
    priv_limit admin
    allowed_auths_callback none md2 md5 straight
    allowed_auths_user none md2 md5 straight
    allowed_auths_operator none md2 md5 straight
    allowed_auths_admin none md2 md5 straight
    guid a123456789abcdefa123456789abcdef
  endlan
  user 1 true  ""     "test" user  10 none md2 md5 straight
  user 2 true  "admin" "secret" admin 10 none md2 md5 straight
"""
EVENTS = f"enable scanning per-state {' '.join(['0' * 15] * 4)}"
# A full sensor record: number, type, unit and name follow one another where IPMI 2.0, table 43-1, has them.
RECORD = (
    "main_sdr_add 0x20 0x00 0x00 0x51 0x01 {length} 0x20 0x00 {number} 0x03 {number} 0x7f 0x68 {type} 0x01 0x00 0x00 0x00 "
    "0x00 0x00 0x00 0x00 {unit} 0x00 0x00 {factor} 0x00 0x00 0x00 0x00 0x00 0x00 0x00 0x00 0x00 0xff 0x00 0x00 0x00 0x00 "
    "0x00 0x00 0x00 0x00 0x00 0x00 0x00 0x00 {name}"
)


def record(name: str, **fields: str) -> str:
    letters = " ".join(f"0x{byte:02x}" for byte in (0xC0 + len(name), *name.encode()))
    return RECORD.format(length=f"0x{43 + len(name):02x}", name=letters, **fields)


EMULATED = f"""mc_setbmc 0x20
mc_add 0x20 0 has-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr
sel_enable 0x20 1000 0x0a
sensor_add 0x20 0 1 1 1
sensor_set_value 0x20 0 1 42 0
sensor_add 0x20 0 2 0x0b 1
sensor_set_value 0x20 0 2 120 0
{record("CPU Temp", number="0x01", type="0x01", unit="0x01", factor="0x01")}
{record("Sys Power", number="0x02", type="0x0b", unit="0x06", factor="0x02")}
sensor_set_event_support 0x20 0 1 {EVENTS}
sensor_set_event_support 0x20 0 2 {EVENTS}
mc_enable 0x20
"""


@pytest.fixture
def bmc(tmp_path: Path) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """The words that reach a simulated BMC, and its process."""
    if not (shutil.which("ipmi_sim") and shutil.which("ipmitool")):
        pytest.skip("needs ipmi_sim and ipmitool (Debian: openipmi, ipmitool)")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "lan.conf").write_text(LAN.format(port=port))
    (tmp_path / "sim.emu").write_text(EMULATED)
    (tmp_path / "password").write_text("secret")
    start = ["ipmi_sim", "-p", "-c", "lan.conf", "-f", "sim.emu", "-s", "state"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(start, cwd=tmp_path, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, text=True) as process:
        words = f"host=127.0.0.1,port={port},user=admin,password-file={tmp_path}/password,cipher=3"
        for _ in range(600):  # it is ready when it answers
            if process.poll() is not None or _answers(words):
                break
            time.sleep(0.1)
        yield words, process
        process.kill()


def _answers(words: str) -> bool:
    try:
        return bool(open_device(f"ipmi:{words},raw=0x06 0x01").sensors)
    except MachineFailed:
        return False


@pytest.mark.site
def test_a_bmc_is_read_over_the_network(bmc: tuple[str, "subprocess.Popen[str]"], tmp_path: Path) -> None:
    words, process = bmc
    device = open_device(f"ipmi:{words},ask=sensors")
    assert values(device) == {"ipmi/127.0.0.1/cpu-temp": 42.0, "ipmi/127.0.0.1/sys-power": 240.0}
    assert process.stdin
    process.stdin.write("sensor_set_value 0x20 0 2 75 0\n")
    process.stdin.flush()
    for _ in range(600):
        if values(device)["ipmi/127.0.0.1/sys-power"] == 150.0:
            break
        time.sleep(0.1)
    assert values(device)["ipmi/127.0.0.1/sys-power"] == 150.0
    # Get Device ID: the maker's number, 0x1291, stands in bytes 6 and 7 of the answer.
    assert values(open_device(f"ipmi:{words},raw=0x06 0x01,first=6")) == {"ipmi/127.0.0.1/raw-power": float(0x1291)}
    with pytest.raises(MachineFailed, match="DCMI request failed"):  # this one has no DCMI
        open_device(f"ipmi:{words}")
    (tmp_path / "password").write_text("wrong")
    with pytest.raises(MachineFailed, match="exit code 1"):
        open_device(f"ipmi:{words},ask=sensors")
    process.kill()
    with pytest.raises(OSError, match="ipmitool"):
        device.read()
