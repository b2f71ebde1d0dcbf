"""Sensors that a user gives: a file that is replayed, a model, and a Redfish service that answers over HTTP and HTTPS."""

import json
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import MachineFailed, SteelyardError, UsageError
from steelyard.measure.telemetry.sensors import csv, find, kinds, open_device
from steelyard.measure.telemetry.sensors.model import Model

START = 1_700_000_000_000_000_000
TRACE = f"""Sensor,Time,Value
/mont/blade0/node1_POWER,{START},5300
/mont/blade0/node1_POWER,{START + 2_240_000_000},9500
/mont/blade0/node1_POWER,{START + 1_120_000_000},7800
/mont/blade0/node1_temp,{START + 1_000_000_000},41
/mont/blade0/eth0_xmitdata,{START},123456
"""


def readings_file(folder: Path, text: str) -> Path:
    path = folder / "trace.csv"
    path.write_text(text)
    return path


# A file


def test_a_file_is_read_whole_as_traces_in_the_order_of_time(tmp_path: Path) -> None:
    power, temperature = csv.traces(readings_file(tmp_path, TRACE))
    assert (power.sensor.name, power.sensor.unit) == ("mont/blade0/node1_POWER", "W")
    assert power.at.tolist() == [START, START + 1_120_000_000, START + 2_240_000_000]
    assert power.value.tolist() == [5300, 7800, 9500]
    assert (temperature.sensor.quantity, temperature.value.tolist()) == ("temperature", [41])
    assert (power.at.dtype, power.value.dtype) == (np.int64, np.float64)


def test_the_unit_and_the_window_that_a_user_gives_hold_for_all_values(tmp_path: Path) -> None:
    traces = csv.traces(readings_file(tmp_path, TRACE), "mW", 1.12)
    assert len(traces) == 3
    assert traces[0].value.tolist() == [5.3, 7.8, 9.5]
    assert {trace.sensor.window for trace in traces} == {1.12}


def test_a_replay_gives_each_reading_once_at_the_moment_at_which_it_comes_due(tmp_path: Path) -> None:
    clock = iter([50, 50, 50 + 1_050_000_000, 50 + 1_050_000_000, 50 + 9_000_000_000, 50 + 99_000_000_000])
    device = csv.Replay(csv.traces(readings_file(tmp_path, TRACE)), lambda: next(clock), lambda: 7_000)
    steps = [[(r.sensor.rpartition("_")[2], r.at, r.value) for r in device.read()] for _ in range(5)]
    assert steps == [
        [("POWER", 7_000, 5300)],
        [("temp", 7_000 + 1_000_000_000, 41)],
        [],
        [("POWER", 7_000 + 1_120_000_000, 7800), ("POWER", 7_000 + 2_240_000_000, 9500)],
        [],
    ]


@given(
    st.lists(
        st.tuples(st.sampled_from(["a/power", "b/energy"]), st.integers(0, 2**62), st.floats(-1e9, 1e9)), min_size=1
    )
)
def test_what_was_written_is_read_and_replayed_to_the_last_reading(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, int, float]]
) -> None:
    text = "".join(f"{name},{at},{value!r}\r\n" for name, at, value in rows)
    traces = csv.traces(readings_file(tmp_path_factory.mktemp("csv"), "Sensor,Time,Value\r\n" + text))
    read = [
        (t.sensor.name, at, value) for t in traces for at, value in zip(t.at.tolist(), t.value.tolist(), strict=True)
    ]
    assert sorted(read) == sorted(rows)
    clock = iter([0, 0, 2**63])
    device = csv.Replay(traces, lambda: next(clock), lambda: 0)
    replayed = [*device.read(), *device.read()]
    assert [reading.at for reading in replayed] == sorted(at - min(at for _, at, _ in rows) for _, at, _ in rows)


@given(st.one_of(st.binary(max_size=200), st.text('0123456789,."\n\r/aP+# ', max_size=200).map(str.encode)))
def test_no_file_ends_in_a_traceback(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("csv") / "trace.csv"
    for start in (b"", b"Sensor,Time,Value\n"):
        path.write_bytes(start + content)
        try:
            assert csv.traces(path)
        except UsageError as problem:
            assert "trace.csv" in str(problem)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "begins with ''"),
        ("Time,Sensor,Value\n", "begins with 'Time,Sensor,Value'"),
        ("Sensor,Time,Value\n", "no usable readings"),
        ("Sensor,Time,Value\neth0,1,1\n", "no usable readings"),
        ("Sensor,Time,Value\npower,1,1\npower,2\n", "line 3: 'power,2'"),
        ("Sensor,Time,Value\npower,2026-11-22T10:00:00,1\n", "dcdbquery -r"),
        ("Sensor,Time,Value\npower,1,nan\n", "line 2"),
        (f"Sensor,Time,Value\npower,{2**63},1\n", "line 2"),
        ("Sensor,Time,Value\n+/power,1,1\n", "line 2"),
    ],
)
def test_a_file_that_holds_no_readings_is_a_sentence_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UsageError) as problem:
        open_device(f"csv:file={readings_file(tmp_path, text)}")
    assert told in str(problem.value)


# A model


def test_a_model_counts_joules_between_idle_and_full_power_by_the_load(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    stat.write_text("cpu 1000 0 500 90000 10 0 0 0 0 0\n")
    now = [0]
    model = Model(idle=20.0, full=100.0, stat=stat, cpus=4, ticks=100, clock=lambda: now[0])
    (sensor,) = model.sensors
    assert (sensor.quantity, sensor.modelled, sensor.error) == ("energy", True, None)
    assert model.read()[0].value == 0
    now[0] = 10_000_000_000
    stat.write_text("cpu 2500 0 1000 91990 20 0 0 0 0 0\n")  # 20 of 40 core seconds: half of the load
    assert model.read()[0].value == pytest.approx(10 * (20 + 100) / 2)
    stat.write_text("cpu broken\n")
    with pytest.raises(OSError, match="does not show how busy"):
        model.read()


@given(late=st.lists(st.integers(-30, 30), min_size=1, max_size=30))
def test_a_model_never_exceeds_full_power_although_the_kernel_counts_late(
    late: list[int], tmp_path_factory: Any
) -> None:
    stat = tmp_path_factory.mktemp("proc") / "stat"
    stat.write_text("cpu 0 0 0\n")
    now = [0]
    model = Model(idle=20.0, full=100.0, stat=stat, cpus=4, ticks=100, clock=lambda: now[0])
    before = busy = 0
    for turn in range(len(late) + 10):  # of 20 ms, with 8 ticks at most; idle in the last ten
        busy = max(busy, 8 * (turn + 1) - late[turn] if turn < len(late) else 8 * len(late))
        now[0] += 20_000_000
        stat.write_text(f"cpu {busy} 0 0\n")
        joules = model.read()[0].value
        assert 20 * 0.02 - 1e-9 <= joules - before <= 100 * 0.02 + 1e-9
        before = joules
    # What was counted late is not lost.
    assert joules == pytest.approx(20 * now[0] / 1e9 + busy * 80 / 400)


def test_a_model_of_this_machine_is_never_found_but_opened() -> None:
    assert kinds()["model"].find(Path("/")).devices == ()
    assert not any(sensor.modelled for device in find().devices for sensor in device.sensors)
    device = open_device("model:idle=20,full=95")
    assert device.sensors[0].modelled
    assert device.read()[0].value >= 0


# Redfish


def link(path: str) -> dict[str, str]:
    return {"@odata.id": path}


# As the DMTF's mock-ups have them: an enclosure that holds a blade, and a rack that says nothing of power.
CHASSIS = "/redfish/v1/Chassis"
RESOURCES: dict[str, Any] = {
    CHASSIS: {"Members": [link(f"{CHASSIS}/{name}") for name in ("Enclosure", "Blade1", "Rack")]},
    f"{CHASSIS}/Enclosure": {"Power": link(f"{CHASSIS}/Enclosure/Power")},
    f"{CHASSIS}/Blade1": {
        "Power": link(f"{CHASSIS}/Blade1/Power"),
        "Links": {"ContainedBy": link(f"{CHASSIS}/Enclosure")},
    },
    f"{CHASSIS}/Rack": {},
    f"{CHASSIS}/Enclosure/Power": {"PowerControl": [{"Name": "Total Power", "PowerConsumedWatts": 8000}]},
    f"{CHASSIS}/Blade1/Power": {
        "PowerControl": [{"MemberId": "0", "PowerConsumedWatts": 344.5}, {"PowerConsumedWatts": None}]
    },
}


class Bmc(BaseHTTPRequestHandler):
    resources: ClassVar[dict[str, Any]] = RESOURCES

    def do_GET(self) -> None:
        if self.headers.get("X-Auth-Token") != "letmein" and not self.headers.get("Authorization"):
            self.send_error(401)
            return
        found = self.resources.get(self.path)
        if isinstance(found, str) and found.startswith("http"):
            self.send_response(302)
            self.send_header("Location", found)
            self.end_headers()
            return
        body = found.encode() if isinstance(found, str) else json.dumps(found).encode()
        self.send_response(404 if found is None else 200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def service() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Bmc) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.touch(0o600)
    path.write_text("letmein\n")
    return path


def words(server: ThreadingHTTPServer, token: Path, scheme: str = "http", host: str = "127.0.0.1") -> str:
    return f"redfish:url={scheme}://{host}:{server.server_address[1]},token-file={token}"


def test_redfish_gives_the_watts_of_each_chassis_and_a_blade_lies_within_its_enclosure(
    service: ThreadingHTTPServer, token: Path
) -> None:
    device = open_device(words(service, token))
    assert {reading.sensor: reading.value for reading in device.read()} == {
        "redfish/127.0.0.1/enclosure/total-power": 8000.0,
        "redfish/127.0.0.1/blade1/0": 344.5,
    }
    assert {sensor.name: sensor.part_of for sensor in device.sensors} == {
        "redfish/127.0.0.1/enclosure/total-power": "",
        "redfish/127.0.0.1/blade1/0": "redfish/127.0.0.1/enclosure/total-power",
    }
    service.shutdown()
    service.server_close()
    with pytest.raises(OSError, match="Connection refused"):
        device.read()


def test_redfish_takes_a_name_and_a_password_too(service: ThreadingHTTPServer, token: Path) -> None:
    address = f"http://127.0.0.1:{service.server_address[1]}"
    assert len(open_device(f"redfish:url={address},user=root,password-file={token}").sensors) == 2
    with pytest.raises(MachineFailed, match="401"):
        open_device(f"redfish:url={address}")


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        (CHASSIS, "not json"),
        (CHASSIS, "[1]"),
        (CHASSIS, "[" * 100_000),
        (CHASSIS, {"Members": "all"}),
        (CHASSIS, {"Members": [1, link("http://elsewhere/"), link("//elsewhere/"), link("@elsewhere/")]}),
        (CHASSIS, {"Members": [link(f"{CHASSIS}/Missing")]}),
        (CHASSIS, {"Members": [link(f"{CHASSIS}/Rack")]}),
        (CHASSIS, "http://127.0.0.1:1/other"),
    ],
)
def test_what_is_no_answer_of_redfish_is_a_sentence(
    service: ThreadingHTTPServer, token: Path, path: str, answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Bmc, "resources", {**RESOURCES, path: answer})
    with pytest.raises(MachineFailed) as problem:
        open_device(words(service, token))
    assert "/redfish/v1/Chassis" in str(problem.value)
    assert "elsewhere" not in str(problem.value)


@pytest.mark.site
@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")
def test_redfish_by_tls_trusts_the_certificate_that_is_given_and_no_other(
    service: ThreadingHTTPServer, token: Path, tmp_path: Path
) -> None:
    ask = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=bmc"
    subprocess.run(
        [*ask.split(), "-addext", "subjectAltName=IP:127.0.0.1"], cwd=tmp_path, check=True, capture_output=True
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    service.socket = context.wrap_socket(service.socket, server_side=True)
    trusted = f",ca={tmp_path}/cert.pem"
    assert len(open_device(words(service, token, "https") + trusted).sensors) == 2
    with pytest.raises(MachineFailed, match="CERTIFICATE_VERIFY_FAILED"):
        open_device(words(service, token, "https"))
    with pytest.raises(MachineFailed, match="CERTIFICATE_VERIFY_FAILED"):
        open_device(words(service, token, "https", "localhost") + trusted)


@pytest.mark.parametrize(
    ("given_words", "told"),
    [
        ("model:", "needs the setting 'idle'"),
        ("model:idle=20,full=much", "'much'"),
        ("model:idle=20,full=10", "is below"),
        ("model:idle=-1,full=10", "'-1'"),
        ("csv:file={missing}/at/all", "{missing}/at/all"),
        ("csv:file=x,unite=W", "Did you mean 'unit'"),
        ("redfish:", "needs the setting 'url'"),
        ("redfish:url=http://10.0.0.2", "https://10.0.0.2"),
        ("redfish:url=https://user:secret@10.0.0.2", "expected an address"),
        ("redfish:url=https://10.0.0.2:port", "expected an address"),
        ("redfish:url=https://[::1", "expected an address"),
        ("redfish:url=https://10.0.0.2,user=root", "needs the setting 'password-file'"),
        ("redfish:url=https://10.0.0.2,token-file={missing}", "{missing}"),
        ("redfish:url=https://10.0.0.2,ca={missing}", "contains no certificate"),
        ("weather:", "does not accept the kind of sensor 'weather'"),
    ],
)
def test_words_that_cannot_be_are_a_sentence(tmp_path: Path, given_words: str, told: str) -> None:
    missing = str(tmp_path / "missing")
    with pytest.raises(SteelyardError) as problem:
        open_device(given_words.replace("{missing}", missing))
    assert told.replace("{missing}", missing) in str(problem.value)
    assert problem.value.exit_code == 2
