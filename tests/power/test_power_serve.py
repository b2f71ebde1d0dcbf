"""The newest readings over HTTP: the real server over a real store with known readings, scraped as by a Prometheus."""

import contextlib
import itertools
import json
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import MachineFailed, UsageError
from steelyard.model.sensor import Quantity, Reading, Sensor
from steelyard.power.http import door, metrics
from steelyard.power.message import Batch
from steelyard.power.stores.embedded import Embedded
from steelyard.show.command_line import cli

pytest.importorskip(
    "prometheus_client", reason="the Python package prometheus_client is not installed (the extra 'test')"
)
from prometheus_client.openmetrics.parser import text_string_to_metric_families

SECOND = 10**9
T0 = 1_790_000_000 // 3600 * 3600  # s: a whole hour
END = T0 + 3600
RAIL = Sensor("rail", "power", "BMC", window=1.0)
SOCKET = Sensor("rapl/package-0", "energy", "RAPL", range=1000.0, resolution=1e-6)
CORES = Sensor("rapl/package-0/core", "energy", "RAPL", range=1000.0, resolution=1e-6, part_of="rapl/package-0")
HEAT = Sensor("board", "temperature", "BMC")
MODEL = Sensor("model/node", "power", "model", modelled=True)
TOKEN = "correct-horse-battery-staple"


def watts(second: int) -> float:
    """Of n1: 100 W and 110 W in turn; in the last ten minutes 300 W."""
    return 300.0 if second >= 3000 else 100.0 + 10.0 * (second % 2)


def batch(node: str, number: int, columns: dict[Sensor, list[float]]) -> Batch:
    """A reading each second from T0 on."""
    length = len(next(iter(columns.values())))
    at = np.tile(T0 * SECOND + SECOND * np.arange(length, dtype=np.int64), len(columns))
    numbers = np.repeat(np.arange(len(columns), dtype=np.uint16), length)
    values = np.concatenate([np.array(column) for column in columns.values()])
    return Batch(node, UUID(int=7), number, tuple(s.name for s in columns), numbers, at, values)


def filled(folder: Path) -> None:
    store, seconds = Embedded(folder, make=True), range(3601)
    n1 = {
        RAIL: [watts(s) for s in seconds],
        SOCKET: [50.0 * s % 1000.0 for s in seconds],
        CORES: [20.0 * s % 1000.0 for s in seconds],
        HEAT: [40.0 + s / 100 for s in seconds],
        MODEL: [70.0 for _ in seconds],
    }
    store.describe("cluster/n1", tuple(n1))
    store.describe("cluster/n2", (RAIL,))
    store.write([batch("cluster/n1", 1, n1), batch("cluster/n2", 2, {RAIL: [200.0 for _ in seconds]})])


def fresh(number: int) -> Batch:
    """A reading of each sensor of n1 at this moment."""
    columns = {RAIL: [100.0], SOCKET: [float(number)], CORES: [float(number)], HEAT: [40.0], MODEL: [70.0]}
    made = batch("cluster/n1", number, columns)
    made.at[:] = time.time_ns()
    return made


@dataclass
class Served:
    place: str
    process: subprocess.Popen[str]

    def asked(self, path: str, headers: dict[str, str] | None = None, **fields: Any) -> tuple[int, str, bytes]:
        """Status, kind and body of an answer."""
        query = urllib.parse.urlencode(fields, doseq=True)
        return self.raw(f"{path}?{query}" if query else path, headers or {})

    def raw(self, target: str, headers: dict[str, str], data: bytes | None = None) -> tuple[int, str, bytes]:
        request = urllib.request.Request(f"{self.place}{target}", data, headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.headers["Content-Type"], answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers["Content-Type"], error.read()


def expect_good_end(found: Served, number: int) -> None:
    """Ends the server by this signal: a start of its own for that would cost a second."""
    found.process.send_signal(number)
    assert found.process.wait(60) == 128 + number
    assert found.process.stderr
    assert "Traceback" not in found.process.stderr.read()


@contextlib.contextmanager
def serving(*words: object, listen: str = "127.0.0.1:0") -> Iterator[Served]:
    line = [sys.executable, "-m", "steelyard", "power", "serve", "--listen", listen, *map(str, words)]
    process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    try:
        for said in process.stderr:
            if "Serving at" in said:
                break
        else:
            raise AssertionError("the server did not start")
        yield Served(said.split("Serving at ")[1].split(". ")[0], process)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("served") / "store"
    filled(made)
    return made


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    with serving("--store", folder) as found:
        yield found
        assert found.process.poll() is None, "the server died"


# ---------------------------------------------------------------------- OpenMetrics


def exposed(text: str) -> dict[str, dict[str, tuple[float, float]]]:
    """By the reference parser: of each sample's name the value and the moment (s since 1970) of each "node sensor"."""
    assert text.endswith("# EOF\n")
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for family in text_string_to_metric_families(text):
        assert family.documentation
        assert family.name.endswith(f"_{family.unit}")
        for sample in family.samples:
            name = f"{sample.labels['node']} {sample.labels['sensor']}"
            assert name not in found.setdefault(sample.name, {})
            found[sample.name][name] = sample.value, float(sample.timestamp)
    return found


def at(folder: Path, second: float) -> dict[str, dict[str, tuple[float, float]]]:
    """What is exposed so many seconds after T0."""
    return exposed(metrics.write_metrics(Embedded(folder), int((T0 + second) * SECOND)))


def test_each_sensor_exposes_its_newest_reading(folder: Path) -> None:
    assert at(folder, 7.5) == {
        "steelyard_power_watts": {
            "n1 rail": (110.0, T0 + 7), "n1 model/node": (70.0, T0 + 7), "n2 rail": (200.0, T0 + 7),
        },
        "steelyard_energy_joules_total": {
            "n1 rapl/package-0": (350.0, T0 + 7), "n1 rapl/package-0/core": (140.0, T0 + 7),
        },
        "steelyard_temperature_celsius": {"n1 board": (40.07, T0 + 7)},
    }  # fmt: skip
    assert at(folder, 20)["steelyard_energy_joules_total"]["n1 rapl/package-0"] == (0.0, T0 + 20), "it goes round"


def test_a_reading_older_than_five_minutes_is_left_out(folder: Path) -> None:
    assert at(folder, 3900)["steelyard_power_watts"]["n1 rail"] == (300.0, T0 + 3600)
    assert at(folder, 3900.1) == at(folder, -0.1) == {}


def test_the_text_is_openmetrics_letter_by_letter(tmp_path: Path) -> None:
    store = Embedded(tmp_path / "store", make=True)
    odd = Sensor("b", "fan", 'a "word"\\n\né', part_of="a/b", modelled=True)
    columns = {odd: [1e16], Sensor("t", "time", "x"): [1e-7], Sensor("m", "memory", "x"): [-2.5]}
    columns[Sensor("below", "energy", "x")] = [-1.0]
    store.describe("c/n", tuple(columns))
    written = batch("c/n", 1, columns)
    written.at[:] += 1
    store.write([written])
    expected = rf"""# TYPE steelyard_fan_rpm gauge
# UNIT steelyard_fan_rpm rpm
# HELP steelyard_fan_rpm Revolutions of a fan per minute.
steelyard_fan_rpm{{system="c",node="n",sensor="b",source="a \"word\"\\n\né",part_of="a/b",modelled="true"}} 1e+16 {T0}.000000001
# TYPE steelyard_time_seconds counter
# UNIT steelyard_time_seconds seconds
# HELP steelyard_time_seconds Time since the counter was last 0.
steelyard_time_seconds_total{{system="c",node="n",sensor="t",source="x"}} 1e-07 {T0}.000000001
# TYPE steelyard_memory_bytes gauge
# UNIT steelyard_memory_bytes bytes
# HELP steelyard_memory_bytes Memory in use.
steelyard_memory_bytes{{system="c",node="n",sensor="m",source="x"}} -2.5 {T0}.000000001
# EOF
"""
    text = metrics.write_metrics(store, (T0 + 1) * SECOND)
    assert text == expected
    (fan, *_) = text_string_to_metric_families(text)
    assert fan.samples[0].labels["source"] == odd.source


@given(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=20),
    st.sampled_from(sorted(metrics.FAMILIES)),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(0, 1 << 61),
)
def test_what_any_sensor_exposes_can_be_parsed(text: str, quantity: Quantity, value: float, moment: int) -> None:
    sensor = Sensor(text, quantity, text, part_of=text)

    class One:
        def sensors(self) -> dict[str, tuple[Sensor, ...]]:
            return {f"s/{text}": (sensor,)}

        def newest(self, start: int, end: int) -> dict[tuple[str, str], Reading]:
            return {(f"s/{text}", sensor.name): Reading(sensor.name, moment, value)}

    families = list(text_string_to_metric_families(metrics.write_metrics(One(), moment)))  # type: ignore[arg-type]
    if metrics.FAMILIES[quantity].kind == "counter" and value < 0:
        assert families == []
        return
    ((sample,),) = (family.samples for family in families)
    assert (sample.value, sample.timestamp.sec, sample.timestamp.nsec) == (value, moment // SECOND, moment % SECOND)
    expected = {"system": "s", "node": text, "sensor": text, "source": text, "part_of": text}
    assert sample.labels == {name: label for name, label in expected.items() if label}


def test_what_is_written_meanwhile_is_scraped_and_ctrl_c_ends_it_in_good_order(tmp_path: Path) -> None:
    filled(tmp_path / "store")
    with serving("--store", tmp_path / "store") as found:
        assert found.asked("/metrics") == (200, metrics.FORM, b"# EOF\n"), "all readings are old"
        before = time.time_ns()
        Embedded(tmp_path / "store").write([fresh(3)])
        _, _, body = found.asked("/metrics")
        for name, (_, moment) in exposed(body.decode())["steelyard_power_watts"].items():
            assert moment == pytest.approx(before / SECOND, abs=60), name
        expect_good_end(found, signal.SIGINT)


def test_health_says_whether_the_store_can_be_read(tmp_path: Path) -> None:
    filled(tmp_path / "store")
    with serving("--store", tmp_path / "store") as found:
        assert found.asked("/health") == (200, "text/plain; charset=utf-8", b"ok\n")
        (tmp_path / "store").rename(tmp_path / "moved")
        for path in ("/health", "/metrics"):
            status, _, body = found.asked(path)
            assert status == 503
            assert b"cannot be read" in body


def test_other_paths_are_not_there(served: Served) -> None:
    for path in ("/api/v1/query", "/api/steelyard/sensors", "/metrics/", "/docs"):
        status, kind, body = served.asked(path)
        assert (status, kind) == (404, "text/plain; charset=utf-8")
        assert b"/metrics has the newest readings" in body
    assert served.asked("/metrics", x="1")[0] == 200
    status, kind, body = served.asked("/")
    assert (status, kind) == (200, "text/plain; charset=utf-8")
    assert b"/metrics" in body


@pytest.mark.parametrize(
    "request_line", [b"DELETE /metrics HTTP/1.1", b"x", b"GET", b"GET /metrics HTTP/9.9", b"\xff\x00", b"G" * 70_000]
)
def test_what_is_no_request_for_a_page_is_refused(served: Served, request_line: bytes) -> None:
    host, port = served.place.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 10) as client:
        client.sendall(request_line + b"\r\nHost: localhost\r\n\r\n")
        with contextlib.suppress(ConnectionResetError):  # the server does not read all of a long line
            answer = client.makefile("rb").read()
            assert b"Traceback" not in answer
            assert b"steelyard_" not in answer
    assert served.asked("/health")[0] == 200


# ---------------------------------------------------------------------- who may ask


def test_a_token_is_asked_for_and_a_terminated_server_ends_in_good_order(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o600)
    with serving("--store", folder, "--token-file", file, listen="0.0.0.0:0") as found:
        found.place = found.place.replace("0.0.0.0", "127.0.0.1")
        for path in ("/metrics", "/health", "/"):
            assert found.asked(path)[0] == 401
            for wrong in (f"Bearer {TOKEN}x", "Bearer ", f"Basic {TOKEN}", "Bearer \xe9"):
                assert found.asked(path, {"Authorization": wrong})[0] == 401
            assert found.asked(path, {"Authorization": f"Bearer {TOKEN}"})[0] == 200
        expect_good_end(found, signal.SIGTERM)


@pytest.mark.site
@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")
def test_tls_is_spoken(folder: Path, tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    names = ("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1")
    make = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, *names)
    subprocess.run(make, check=True, capture_output=True)
    with serving("--store", folder, "--certificate", certificate, "--key", key) as found:
        assert found.place.startswith("https://")
        context = ssl.create_default_context(cafile=str(certificate))
        host, port = found.place.removeprefix("https://").split(":")
        with (
            socket.create_connection((host, int(port))) as silent,
            socket.create_connection((host, int(port))) as plain,
        ):
            plain.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            with urllib.request.urlopen(f"{found.place}/health", context=context) as answer:
                assert answer.read() == b"ok\n", "beside a client that never makes its handshake"
            assert b"steelyard_" not in plain.recv(1000)
            assert silent.fileno() > 0


def test_without_a_token_only_this_machine_s_names_are_answered(served: Served) -> None:
    assert served.asked("/metrics", {"Host": "localhost:9464"})[0] == 200
    for name in ("evil.example", "evil.example:9464", "localhost.evil.example", ""):
        assert served.asked("/metrics", {"Host": name})[0] in (400, 403)


def test_the_address_and_its_mistakes() -> None:
    assert door.parse_address("127.0.0.1:80") == door.Address("127.0.0.1", 80, True)
    assert door.parse_address("localhost").port == door.PORT
    assert door.parse_address("[::1]:80") == door.Address("::1", 80, True)
    assert not door.parse_address("0.0.0.0:80").loopback
    for wrong in ("", ":80", "127.0.0.1:x", "127.0.0.1:70000", "127.0.0.1:٣"):
        with pytest.raises(UsageError, match="is not an address|has no address"):
            door.parse_address(wrong)
    with pytest.raises(UsageError, match="--token-file"):
        door.expect_token(door.parse_address("0.0.0.0:80"), "")
    with door.listen(door.parse_address("127.0.0.1:0")) as taken, pytest.raises(MachineFailed, match="cannot listen"):
        door.listen(door.parse_address(f"127.0.0.1:{taken.getsockname()[1]}"))


@pytest.mark.parametrize("words", ["", "short", "two words that are long", "un-é-xpected-letters"])
def test_a_token_that_can_be_guessed_is_refused(tmp_path: Path, words: str) -> None:
    (tmp_path / "token").touch(0o600)
    (tmp_path / "token").write_text(words)
    with pytest.raises(UsageError, match="at least 16"):
        door.read_token(tmp_path / "token", insecure=False)
    with pytest.raises(UsageError, match="cannot be read"):
        door.read_token(tmp_path / "none", insecure=False)


def command(*words: object) -> int:
    return cli.run_and_explain(lambda: cli.app([str(word) for word in words]))


def test_the_command_s_mistakes(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("power", "serve") == 2
    assert "--store" in capsys.readouterr().err
    assert command("power", "serve", "--store", folder, "--listen", "0.0.0.0:0") == 2
    assert "--token-file" in capsys.readouterr().err
    assert command("power", "serve", "--store", tmp_path) == 2
    assert "not a store of readings" in capsys.readouterr().err
    assert command("power", "serve", "--store", folder, "--key", tmp_path / "key") == 2
    assert command("power", "serve", "--store", folder, "--certificate", tmp_path / "none.pem") == 2


# ---------------------------------------------------------------------- Grafana and Prometheus


def queries(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Those of the dashboard, with Grafana's variables filled in."""
    assert command("power", "serve", "--dashboard") == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in found["templating"]["list"]] == ["source", "system", "node"]
    variables = {"$system": ".*", "$node": ".*", "$__rate_interval": "1m", "$__range_s": "60", "$__range": "1m"}
    texts = [target["expr"] for panel in found["panels"] for target in panel["targets"]]
    for name, value in variables.items():
        texts = [text.replace(name, value) for text in texts]
    assert not any("$" in text for text in texts)
    return texts


def test_the_dashboard_queries_what_is_exposed(capsys: pytest.CaptureFixture[str]) -> None:
    samples = {family.sample: family.kind for family in metrics.FAMILIES.values()}
    labels = {"system", "node", "sensor", "source", "part_of", "modelled"}
    for query in queries(capsys):
        for function, name, matchers in re.findall(r"(\w+)\((\w+)\{(.*?)\}", query):
            assert (samples[name] == "counter") == (function in ("rate", "increase"))
            assert set(re.findall(r"(\w+)=", matchers)) <= labels
        assert set(re.findall(r"steelyard_\w+", query)) <= samples.keys()
        assert {label for by in re.findall(r"by \((.*?)\)", query) for label in by.split(", ")} <= labels


@contextlib.contextmanager
def scraping(target: Served, folder: Path) -> Iterator[Served]:
    """A Prometheus that scrapes the server each second."""
    folder.mkdir()
    address = target.place.partition("//")[2]
    scrape = {"job_name": "steelyard", "scrape_interval": "1s", "static_configs": [{"targets": [address]}]}
    scrape |= {"authorization": {"credentials": TOKEN}}
    (folder / "prometheus.yml").write_text(json.dumps({"scrape_configs": [scrape]}))  # JSON is YAML
    with socket.create_server(("127.0.0.1", 0)) as free:
        place = f"127.0.0.1:{free.getsockname()[1]}"
    words = (
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/tsdb",
        f"--web.listen-address={place}",
    )
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(("prometheus", *words), stdout=log, stderr=log)
    try:
        yield Served(f"http://{place}", process)  # type: ignore[arg-type]
    finally:
        process.kill()
        process.wait()


def asked_by_promtool(of: Served, query: str) -> str:
    line = ("promtool", "query", "instant", of.place, query)
    found = subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)
    return found.stdout.strip() if found.returncode == 0 else ""


@pytest.mark.site
@pytest.mark.skipif(
    not (shutil.which("prometheus") and shutil.which("promtool")), reason="Debian's prometheus is not installed"
)
def test_a_prometheus_scrapes_it_and_answers_the_dashboard(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    filled(tmp_path / "store")
    store = Embedded(tmp_path / "store")
    (tmp_path / "token").touch(0o600)
    (tmp_path / "token").write_text(TOKEN)
    left = queries(capsys)
    with (
        serving("--store", tmp_path / "store", "--token-file", tmp_path / "token") as served,
        scraping(served, tmp_path / "prometheus") as prometheus,
    ):
        until = time.monotonic() + 60
        for number in itertools.count(10):
            store.write([fresh(number)])
            left = [query for query in left if not asked_by_promtool(prometheus, query)]
            if not left or time.monotonic() > until:
                break
            time.sleep(0.5)
        assert not left
        found = asked_by_promtool(prometheus, 'steelyard_power_watts{node="n1",modelled=""}')
        for label in ('system="cluster"', 'sensor="rail"', 'source="BMC"'):
            assert label in found
        assert "=> 100 @[" in found
        _, _, body = prometheus.asked("/api/v1/metadata", metric="steelyard_energy_joules")
        assert json.loads(body)["data"]["steelyard_energy_joules"][0]["type"] == "counter"


class Slow:
    """A client that never finishes a request: says nothing, a header a second, or a body a byte at a time; and comes again."""

    def __init__(self, port: int, manner: int) -> None:
        self.port, self.manner, self.sent = port, manner % 3, 0
        self.socket: socket.socket | None = None

    def step(self) -> None:
        try:
            if self.socket is None:
                self.socket, self.sent = socket.create_connection(("127.0.0.1", self.port), 1), 0
                self.socket.setblocking(False)
            self.socket.send(self.next())
            if not self.socket.recv(1000):
                raise ConnectionError
        except BlockingIOError:
            pass
        except OSError:
            if self.socket:
                self.socket.close()
            self.socket = None

    def next(self) -> bytes:
        self.sent += 1
        if self.manner == 0:
            return b""
        begin = (b"GET / HTTP/1.1\r\n", b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")[
            self.manner - 1
        ]
        return begin if self.sent == 1 else (b"X: y\r\n", b"q")[self.manner - 1]


@pytest.mark.attack
def test_who_has_the_token_is_answered_beside_500_slow_clients(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o600)
    with serving("--store", folder, "--token-file", file) as served:
        port = int(served.place.rpartition(":")[2])
        slow = [Slow(port, number) for number in range(500)]
        ending = threading.Event()

        def annoy() -> None:
            while not ending.wait(0.02):  # they shall be slow, not keep a processor busy
                for each in slow:
                    each.step()

        annoying = threading.Thread(target=annoy)
        annoying.start()
        try:
            until_connected = time.monotonic() + 60
            while sum(each.socket is not None for each in slow) < 150 and time.monotonic() < until_connected:
                time.sleep(0.05)
            answers = []
            for _ in range(300):
                try:
                    answers.append(served.asked("/metrics", {"Authorization": f"Bearer {TOKEN}"})[0])
                except OSError as error:
                    answers.append(repr(error))
        finally:
            ending.set()
            annoying.join()
    assert answers.count(200) >= 0.99 * len(answers), Counter(answers)
