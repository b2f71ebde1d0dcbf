"""Readings over HTTP: the real server over a real store with known readings, asked as Grafana and promtool ask it."""

import contextlib
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
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steelyard.commands import cli
from steelyard.errors import MachineFailed, UsageError
from steelyard.model.sensor import Sensor
from steelyard.telemetry.http import door, evaluation, language, prometheus, readings, server, windows
from steelyard.telemetry.http.readings import Readings, TooMuch
from steelyard.telemetry.message import Batch, Gap
from steelyard.telemetry.stores.embedded import Embedded

for package in ("fastapi", "uvicorn", "promql_parser", "re2"):
    pytest.importorskip(package, reason=f"the Python package {package} is not installed (the extra 'serve')")

SECOND = 10**9
T0 = 1_790_000_000 // 3600 * 3600  # s: a whole hour
END = T0 + 3600
RAIL = Sensor("rail", "power", "BMC", window=1.0)
SOCKET = Sensor("rapl/package-0", "energy", "RAPL", range=1000.0, resolution=1e-6)
CORES = Sensor("rapl/package-0/core", "energy", "RAPL", range=1000.0, resolution=1e-6, part_of="rapl/package-0")
HEAT = Sensor("board", "temperature", "BMC")
MODEL = Sensor("model/node", "power", "model", modelled=True)
RAIL_OF_N1 = 'steelyard_power_watts{node="n1",sensor="rail"}'
TOKEN = "correct-horse-battery-staple"


def watts(second: int) -> float:
    """Of n1: 100 W and 110 W in turn; in the last ten minutes 300 W."""
    return 300.0 if second >= 3000 else 100.0 + 10.0 * (second % 2)


def batch(node: str, number: int, columns: dict[Sensor, list[float]], gaps: tuple[Gap, ...] = ()) -> Batch:
    """A reading each second from T0 on."""
    length = len(next(iter(columns.values())))
    at = np.tile(T0 * SECOND + SECOND * np.arange(length, dtype=np.int64), len(columns))
    numbers = np.repeat(np.arange(len(columns), dtype=np.uint16), length)
    values = np.concatenate([np.array(column) for column in columns.values()])
    return Batch(node, UUID(int=7), number, tuple(s.name for s in columns), numbers, at, values, gaps)


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
    gap = Gap(("rail",), (T0 + 10) * SECOND, (T0 + 20) * SECOND, "buffer full")
    store.write([batch("cluster/n1", 1, n1, (gap,)), batch("cluster/n2", 2, {RAIL: [200.0 for _ in seconds]})])


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

    def data(self, path: str, **fields: Any) -> Any:
        """What Prometheus' API answers."""
        status, kind, body = self.asked(f"/api/v1/{path}", **fields)
        found = json.loads(body)
        assert (status, kind, found["status"]) == (200, "application/json", "success"), found
        return found["data"]

    def refused(self, path: str, **fields: Any) -> str:
        """The sentence of what Prometheus' API refuses."""
        status, _, body = self.asked(f"/api/v1/{path}", **fields)
        found = json.loads(body)
        assert (status, found["status"], found["errorType"]) == (400, "error", "bad_data"), found
        return str(found["error"])

    def own(self, path: str, **fields: Any) -> Any:
        status, _, body = self.asked(f"/api/steelyard/{path}", **fields)
        assert status == 200, body
        return json.loads(body)

    def at(self, query: str, second: float) -> dict[str, float]:
        """A query's values at so many seconds after T0, by node and sensor."""
        found = self.data("query", query=query, time=T0 + second)
        assert found["resultType"] == "vector"
        return {called(each["metric"]): float(each["value"][1]) for each in found["result"]}

    def over(self, query: str, start: int, end: int, step: Any) -> dict[str, dict[int, float]]:
        found = self.data("query_range", query=query, start=T0 + start, end=T0 + end, step=step)
        assert found["resultType"] == "matrix"
        return {
            called(each["metric"]): {int(at) - T0: float(value) for at, value in each["values"]}
            for each in found["result"]
        }


def expect_good_end(found: Served, number: int) -> None:
    """Ends the server by this signal: a start of its own for that would cost a second."""
    found.process.send_signal(number)
    assert found.process.wait(60) == 0
    assert found.process.stderr
    assert "Traceback" not in found.process.stderr.read()


def called(labels: dict[str, str]) -> str:
    return " ".join(labels[name] for name in ("node", "sensor", "source") if name in labels)


@contextlib.contextmanager
def serving(*words: object, listen: str = "127.0.0.1:0") -> Iterator[Served]:
    line = [sys.executable, "-m", "steelyard", "power", "serve", "--listen", listen, *map(str, words)]
    process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    try:
        for said in process.stderr:
            if "answers at" in said:
                break
        else:
            raise AssertionError("the server did not start")
        yield Served(said.split("answers at ")[1].split(";")[0], process)
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


# ---------------------------------------------------------------------- Prometheus' API


def test_a_sensor_is_a_series(served: Served) -> None:
    found = served.data("series", **{"match[]": '{node="n1"}'})
    by_name = {each["sensor"]: each for each in found}
    assert by_name["rail"] == {
        "__name__": "steelyard_power_watts", "system": "cluster", "node": "n1", "sensor": "rail", "source": "BMC",
    }  # fmt: skip
    assert by_name["rapl/package-0/core"]["part_of"] == "rapl/package-0"
    assert {each["sensor"] for each in found if each.get("modelled") == "true"} == {"model/node"}
    assert {each["__name__"] for each in found} == {
        "steelyard_power_watts", "steelyard_energy_joules_total", "steelyard_temperature_celsius",
    }  # fmt: skip


def test_labels_and_their_values(served: Served) -> None:
    assert served.data("labels") == ["__name__", "modelled", "node", "part_of", "sensor", "source", "system"]
    assert served.data("label/node/values") == ["n1", "n2"]
    assert served.data("label/node/values", limit=1) == ["n1"]
    assert served.data("label/sensor/values", **{"match[]": 'steelyard_power_watts{node="n2"}'}) == ["rail"]
    assert served.data("label/nothing/values") == []
    assert "no name of a label" in served.refused("label/a-b/values")
    assert "match[] is missing" in served.refused("series")
    assert "takes a selector" in served.refused("series", **{"match[]": "sum(x)"})


def test_what_metrics_are(served: Served) -> None:
    found = served.data("metadata")
    assert found["steelyard_energy_joules_total"][0]["type"] == "counter"
    assert found["steelyard_power_watts"][0]["unit"] == "watts"
    assert "steelyard_memory_bytes" not in found
    assert list(served.data("metadata", metric="steelyard_power_watts")) == ["steelyard_power_watts"]
    assert served.data("status/buildinfo")["version"].count(".") == 2


def test_an_instant_is_the_last_reading_of_five_minutes(served: Served) -> None:
    assert served.at('steelyard_power_watts{node="n1",modelled=""}', 7) == {"n1 rail BMC": 110.0}
    assert served.at('steelyard_power_watts{node="n1",modelled=""}', 8.9) == {"n1 rail BMC": 100.0}
    assert served.at('steelyard_power_watts{node="n1",modelled=""}', 3600 + 299.9) == {"n1 rail BMC": 300.0}
    assert served.at('steelyard_power_watts{node="n1",modelled=""}', 3600 + 300) == {}
    assert served.at("steelyard_power_watts", -1) == {}
    assert served.at('steelyard_power_watts{node="n1",modelled=""} offset 1s', 7) == {"n1 rail BMC": 100.0}
    assert served.at('steelyard_energy_joules_total{part_of=""}', 30) == {"n1 rapl/package-0 RAPL": 500.0}


@pytest.mark.parametrize(
    ("matchers", "nodes"),
    [
        ('node="n1"', {"n1"}),
        ('node!="n1"', {"n2"}),
        ('node=~"n.*"', {"n1", "n2"}),
        ('node=~"n"', set()),
        ('node=~".*1|x"', {"n1"}),
        ('node!~"n1"', {"n2"}),
        ('absent=""', {"n1", "n2"}),
        ('absent!=""', set()),
        ('node=~"(n+)+2"', {"n2"}),
    ],
)
def test_matchers_are_anchored(served: Served, matchers: str, nodes: set[str]) -> None:
    found = served.at(f'steelyard_power_watts{{sensor="rail",{matchers}}}', 10)
    assert {name.split()[0] for name in found} == nodes


def test_a_metric_s_name_can_be_matched(served: Served) -> None:
    assert len(served.at('{__name__=~"steelyard_.*"}', 10)) == 6


def test_arithmetic(served: Served) -> None:
    rail = 'steelyard_power_watts{sensor="rail"}'
    assert served.at(f"{rail} * 2 + 1", 7) == {"n1 rail BMC": 221.0, "n2 rail BMC": 401.0}
    assert served.at(f"1000 / -({rail})", 7)["n2 rail BMC"] == -5.0
    assert served.at(f"{rail} - {rail} offset 1s", 7) == {"n1 rail BMC": 10.0, "n2 rail BMC": 0.0}
    assert served.at(f"{rail} % 7 ^ 2", 7)["n1 rail BMC"] == 110 % 49
    assert served.data("query", query="1 + 2 * 3 ^ 2 - -1", time=5)["result"] == [5, "20"]
    assert served.data("query", query="1/0", time=5) == {"resultType": "scalar", "result": [5, "+Inf"]}
    assert served.data("query", query="0/0", time=5)["result"] == [5, "NaN"]
    assert served.data("query", query="-1/0", time=1.5)["result"] == [1.5, "-Inf"]
    found = served.data("query", query=f"{rail} * 2", time=T0 + 7)["result"]
    assert all("__name__" not in each["metric"] for each in found)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('sum(steelyard_power_watts{sensor="rail"})', {"": 310.0}),
        ("sum by (node) (steelyard_power_watts)", {"n1": 180.0, "n2": 200.0}),
        ("avg by (node) (steelyard_power_watts)", {"n1": 90.0, "n2": 200.0}),
        ("min without (sensor, source, modelled, system) (steelyard_power_watts)", {"n1": 70.0, "n2": 200.0}),
        ("max(steelyard_power_watts)", {"": 200.0}),
        ("count by (system) (steelyard_power_watts)", {"": 3.0}),
        ("sum(steelyard_power_watts) / count(steelyard_power_watts)", {"": 380 / 3}),
    ],
)
def test_aggregations(served: Served, query: str, expected: dict[str, float]) -> None:
    assert served.at(query, 7) == pytest.approx(expected)


def test_functions_over_a_window(served: Served) -> None:
    rail = 'steelyard_power_watts{node="n1",sensor="rail"}[1m]'
    expected = {"avg": 105.0, "min": 100.0, "max": 110.0, "sum": 6300.0, "count": 60.0}
    for function, value in expected.items():
        for second in (120, 137):  # from the rollup of a minute, and from readings
            assert served.at(f"{function}_over_time({rail})", second) == {"n1 rail BMC": pytest.approx(value)}
    assert served.at(f"count_over_time({rail} offset -1m)", 20) == {"n1 rail BMC": 60.0}
    assert served.at(f"count_over_time({rail})", 20) == {"n1 rail BMC": 20.0}
    assert served.at(f"count_over_time({rail})", -5) == {}


def test_steps_of_a_minute_are_exactly_the_rollups(served: Served) -> None:
    rail = 'steelyard_power_watts{node="n1",sensor="rail"}'
    found = served.over(f"avg_over_time({rail}[1m])", 0, 3600, 60)["n1 rail BMC"]
    assert found == {60 * m: pytest.approx(105.0 if m <= 50 else 300.0) for m in range(1, 61)}
    odd = served.over(f"avg_over_time({rail}[1m])", 7, 3600, 60)["n1 rail BMC"]
    assert odd[3007] == pytest.approx((27 * 110 + 26 * 100 + 7 * 300) / 60)
    # A gauge by itself, in such steps, is the mean of the last whole minute.
    assert served.over(rail, 600, 720, 60)["n1 rail BMC"] == {600: 105.0, 660: 105.0, 720: 105.0}
    assert served.over(rail, 601, 603, 1)["n1 rail BMC"] == {601: 110.0, 602: 100.0, 603: 110.0}
    assert served.over(rail, 3600, 4200, "5m")["n1 rail BMC"] == {3600: 300.0, 3900: pytest.approx(300.0)}


def test_a_counter_that_goes_round_is_counted_on(served: Served) -> None:
    for second in (120, 137.5, 1800, 3599):
        assert served.at('rate(steelyard_energy_joules_total{part_of=""}[1m])', second) == {
            "n1 rapl/package-0 RAPL": pytest.approx(50.0)
        }
    hour = {"n1 rapl/package-0 RAPL": pytest.approx(180000), "n1 rapl/package-0/core RAPL": pytest.approx(72000)}
    assert served.at("increase(steelyard_energy_joules_total[1h])", 3600) == hour
    assert served.at("increase(steelyard_energy_joules_total[90m])", 6500) == {}, "of 5400 s 2500 are known"
    found = served.over('sum(rate(steelyard_energy_joules_total{part_of=""}[5m]))', 600, 3600, 300)
    assert list(found[""].values()) == [pytest.approx(50.0)] * 11
    assert "is of counters" in served.refused("query", query="rate(steelyard_power_watts[5m])", time=T0)


def test_long_windows_begin_at_whole_minutes(served: Served) -> None:
    found = served.at('max_over_time(steelyard_power_watts{sensor="rail"}[3h])', 3599)
    assert found == {"n1 rail BMC": 300.0, "n2 rail BMC": 200.0}
    assert served.at('count_over_time(steelyard_power_watts{node="n2"}[3h])', 3599) == {"n2 rail BMC": 3540.0}


def test_a_form_is_posted(served: Served) -> None:
    body = urllib.parse.urlencode({"query": "steelyard_power_watts", "time": T0 + 5}).encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    status, _, answer = served.raw("/api/v1/query", headers, body)
    assert (status, len(json.loads(answer)["data"]["result"])) == (200, 3)
    status, _, answer = served.raw("/api/v1/query", headers, b"query=" + b"x" * 70_000)
    assert (status, json.loads(answer)["errorType"]) == (400, "bad_data")


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("", "missing|no query"),
        ("x{", "no PromQL"),
        ("nothing(x)", "no PromQL.*unknown function"),
        ("topk(3, x)", "aggregation topk"),
        ("irate(x[5m])", "function irate"),
        ("x > 2", "operator >"),
        ("x and y", "operator and"),
        ("x + on(node) y", "on, ignoring"),
        ("x @ 5", "modifier @"),
        ("x[5m]", "only taken by a function"),
        ("avg_over_time(x[5m:1m])", "no subquery"),
        ("x[5m:1m]", "Subqueries"),
        ('"word"', "string"),
        ('x{a="b" or c="d"}', "between matchers"),
        ('steelyard_power_watts{a=~"(?=b)"}', "no PromQL|no pattern"),
        ("x offset 200y", "hundred years"),
        ("x[NaN]", "length of time"),
        ("x offset 1e300", "length of time"),
        ("(" * 400 + "x" + ")" * 400, "words and signs"),
        ("x^" * 400 + "x", "words and signs"),
        ("x" * 20_000, "characters"),
        ('{__name__=~"steelyard_.*"} + {__name__=~"steelyard_.*"} + sum(x', "no PromQL"),
    ],
)
def test_what_is_not_supported_is_named(served: Served, query: str, why: str) -> None:
    assert re.search(why, served.refused("query", query=query))


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"start": 0, "end": 11000, "step": 1}, "11,000 points"),
        ({"start": 5, "end": 4, "step": 1}, "before the start"),
        ({"start": 0, "end": 4, "step": 0}, "length of time"),
        ({"start": 0, "end": 4, "step": "nan"}, "length of time"),
        ({"start": 0, "end": 4, "step": "1e300"}, "length of time"),
        ({"start": "x", "end": 4, "step": 1}, "no moment"),
        ({"start": "inf", "end": 4, "step": 1}, "no moment"),
        ({"start": "1e300", "end": 4, "step": 1}, "no moment"),
        ({"start": -5, "end": 4, "step": 1}, "no moment"),
        ({"start": 0, "end": 4}, "step is missing"),
    ],
)
def test_ranges_have_limits(served: Served, fields: dict[str, Any], why: str) -> None:
    assert why in served.refused("query_range", query="steelyard_power_watts", **fields)


def test_ten_thousand_points_and_written_moments(served: Served) -> None:
    found = served.data("query_range", query="2", start=0, end=10999, step=1)
    assert len(found["result"][0]["values"]) == 11000
    found = served.data(
        "query_range", query="2", start="1970-01-01T00:00:10Z", end="1970-01-01T01:00:20+01:00", step="5s"
    )
    assert found["result"] == [{"metric": {}, "values": [[10, "2"], [15, "2"], [20, "2"]]}]


def test_the_whole_of_time_is_no_trouble(served: Served) -> None:
    status, _, _ = served.asked("/api/v1/query", query="max_over_time(steelyard_power_watts[100y])", time=4_000_000_000)
    assert status in (200, 422)
    status, _, _ = served.asked(
        "/api/v1/query_range", query="steelyard_energy_joules_total", start=0, end=T0 + 9000, step=86400 * 30
    )
    assert status == 200


def test_other_paths_are_not_there(served: Served) -> None:
    status, _, body = served.asked("/api/v1/rules")
    assert (status, json.loads(body)["status"]) == (404, "error")
    assert served.asked("/docs")[0] == served.asked("/redoc")[0] == 404
    assert served.asked("/")[0] == 200


WORDS = (
    "steelyard_power_watts", "sum", "avg", "rate", "increase", "avg_over_time", "by", "without", "offset", "(", ")", "{", "}",
    "[", "]", "5m", "1h", "1y", "-", "+", "*", "/", "%", "^", "=", "!=", "=~", "!~", '"n1"', '".*"', '"("', "node", ",", "1", "0",
    "1e9", "NaN", "Inf", "@", ":", "#", "'", "`", '"', "\\", "\n", "\x00", "é", "[1m]", "(steelyard_energy_joules_total[1m])",
)  # fmt: skip


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join), st.text(max_size=40)),
    st.sampled_from(["query", "query_range", "series"]),
    st.sampled_from([str(T0 + 60), "0", "nan", "-1", "1e18", "9e9", "x", ""]),
)
def test_no_query_is_answered_by_a_failure(served: Served, query: str, path: str, time: str) -> None:
    fields = {"query": query, "time": time, "start": time, "end": T0 + 100, "step": 60, "match[]": query}
    try:
        encoded = urllib.parse.urlencode(fields)
    except UnicodeEncodeError:
        return
    status, _, body = served.raw(f"/api/v1/{path}?{encoded}", {})
    assert status in (200, 400, 422), (status, body)
    assert json.loads(body)["status"] == ("success" if status == 200 else "error")


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["sensors", "trace", "rollup", "gaps", "energy"]), st.data())
def test_no_field_of_our_own_api_makes_it_fail(served: Served, path: str, data: st.DataObject) -> None:
    said = st.sampled_from(
        ["cluster/n1", "rail", "cluster/n1/rail", "now", "now-1h", "0", "9" * 30, "-1", "é\x00", "60", "csv"]
    )
    fields = {
        name: data.draw(said) for name in ("node", "sensor", "from", "to", "level", "form") if data.draw(st.booleans())
    }
    status, _, body = served.asked(f"/api/steelyard/{path}", **fields)
    assert status in (200, 400), (status, body)
    assert status == 200 or json.loads(body)["error"]


@settings(max_examples=300)
@given(st.lists(st.sampled_from(WORDS), max_size=20))
def test_a_query_is_read_or_refused(words: list[str]) -> None:
    with contextlib.suppress(UsageError):
        language.parsed(" ".join(words))


# ---------------------------------------------------------------------- how much is read


def test_pieces_are_the_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "_PIECE", 7 * SECOND)
    monkeypatch.setattr(readings, "_MANY", 20)
    monkeypatch.setattr(readings, "_ROWS", 5)
    store = Embedded(folder)
    start, end = (T0 - 100) * SECOND, (T0 + 1800) * SECOND
    with Readings(store).query() as query:
        found = query.trace("cluster/n1", RAIL, np.array([start]), np.array([end]))
        rolled = dict(query.rollup([("cluster/n2", "rail"), ("cluster/n1", "rail")], 60, start, end))
    assert found.at.tolist() == store.trace("cluster/n1", "rail", start, end - 1).at.tolist()
    for name, part in rolled.items():
        whole = store.rollup([name], 60, start, end)
        assert part.at.tolist() == whole.at.tolist()
        assert part.joules.tolist() == pytest.approx(whole.joules.tolist())


@pytest.mark.parametrize(
    ("module", "limit", "value", "why"),
    [
        (readings, "MOST_READINGS", 100, "reads more than 100 readings"),
        (readings, "LONGEST", -1.0, "takes longer"),
        (windows, "MOST_LOOKS", 500, "at most 500 are looked at"),
        (evaluation, "MOST_SERIES", 1, "is of 3 series"),
        (evaluation, "MOST_POINTS", 5, "3 series at 10 moments"),
    ],
)
def test_what_is_too_much_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch, module: Any, limit: str, value: float, why: str
) -> None:
    monkeypatch.setattr(module, limit, value)
    fields = {"query": ["avg_over_time(steelyard_power_watts[90s])"], "step": ["2"]}
    fields |= {"start": [str(T0 + 600)], "end": [str(T0 + 619)]}
    with pytest.raises(TooMuch, match=why):
        prometheus.query_range(Readings(Embedded(folder)), fields)


def test_a_segment_that_is_replaced_meanwhile_is_asked_for_again(folder: Path) -> None:
    class Merged(Embedded):
        failures = 2

        def sensors(self) -> dict[str, tuple[Sensor, ...]]:
            if self.failures:
                self.failures -= 1
                raise OSError("no such file")
            return super().sensors()

    store = Merged(folder)
    assert set(Readings(store).sensors()) == {"cluster/n1", "cluster/n2"}
    store.failures = 3
    with pytest.raises(MachineFailed, match="cannot be read: no such file"):
        Readings(store).sensors()


def test_what_is_written_meanwhile_is_answered_and_ctrl_c_ends_it_in_good_order(tmp_path: Path) -> None:
    filled(tmp_path / "store")
    with serving("--store", tmp_path / "store") as found:
        assert found.at("steelyard_temperature_celsius", 4000) == {}
        later = batch("cluster/n2", 3, {RAIL: [200.0] * 3601, HEAT: [50.0] * 3601})
        Embedded(tmp_path / "store").describe("cluster/n2", (RAIL, HEAT))
        Embedded(tmp_path / "store").write([later])
        assert found.at("steelyard_temperature_celsius", 3600)["n2 board BMC"] == 50.0
        expect_good_end(found, signal.SIGINT)


# ---------------------------------------------------------------------- our own API


def test_sensors_are_listed(served: Served) -> None:
    found = {f"{each['node']}/{each['name']}": each for each in served.own("sensors")}
    assert len(found) == 6
    assert found["cluster/n1/rapl/package-0"]["range"] == 1000.0
    assert found["cluster/n1/rapl/package-0"]["unit"] == "J"


def test_readings_as_json_and_csv(served: Served) -> None:
    place = {"node": "cluster/n1", "sensor": "rail", "from": T0 * SECOND, "to": (T0 + 3) * SECOND}
    found = served.own("trace", **place)
    assert found == {
        "node": "cluster/n1", "sensor": "rail", "unit": "W",
        "at": [(T0 + s) * SECOND for s in range(3)], "value": [100.0, 110.0, 100.0],
    }  # fmt: skip
    status, kind, body = served.asked("/api/steelyard/trace", form="csv", **place)
    assert (status, kind.split(";")[0]) == (200, "text/csv")
    assert body.decode().splitlines()[:2] == ["Sensor,Time,Value", f"/cluster/n1/rail,{T0 * SECOND},100"]


def test_rollups_are_given(served: Served) -> None:
    sensors = ["cluster/n1/rail", "cluster/n1/rapl/package-0", "cluster/n1/board"]
    found = served.own("rollup", sensor=sensors, level=60, **{"from": T0 * SECOND, "to": (T0 + 120) * SECOND})
    rail, socket, board = found
    assert rail["at"] == [T0 * SECOND, (T0 + 60) * SECOND]
    assert (rail["count"], rail["mean"]) == ([60, 60], [105.0, 105.0])
    assert (socket["unit"], socket["joules"]) == ("W", pytest.approx([3000.0, 3000.0]))
    assert board["joules"] == [None, None]


def test_gaps_and_energy(served: Served) -> None:
    stretch = {"from": T0 * SECOND, "to": (T0 + 600) * SECOND}
    (gap,) = served.own("gaps", node="cluster/n1", **stretch)
    assert gap == {"sensors": ["rail"], "start": (T0 + 10) * SECOND, "end": (T0 + 20) * SECOND, "why": "buffer full"}
    found = served.own("energy", node="cluster/n1", sensor="rapl/package-0", **stretch)
    assert found["joules"] == pytest.approx(30000.0)
    assert found["low"] <= 30000.0 <= found["high"]
    assert found["power"] == pytest.approx(50.0)
    none = served.own("energy", node="cluster/n1", sensor="rail", **{"from": 0, "to": SECOND})
    assert none["joules"] is None


@pytest.mark.parametrize(
    ("path", "fields", "why"),
    [
        ("trace", {"node": "cluster/n9", "sensor": "rail"}, "knows no node 'cluster/n9'"),
        ("trace", {"node": "cluster/n1", "sensor": "x"}, "has no sensor 'x'"),
        ("trace", {"node": "cluster/n1"}, "parameter sensor is not as expected"),
        ("trace", {"node": "cluster/n1", "sensor": "rail", "from": "tomorrow"}, "is no moment"),
        ("trace", {"node": "cluster/n1", "sensor": "rail", "from": "now"}, "has no length"),
        ("trace", {"node": "cluster/n1", "sensor": "rail", "form": "xml"}, "parameter form"),
        ("rollup", {"sensor": "cluster/n1/rail", "level": 7}, "no stretches of 7 s"),
        ("rollup", {"sensor": "cluster/n1/rail", "level": "x"}, "parameter level"),
        ("rollup", {"sensor": "rail"}, "no sensor 'rail'"),
        ("energy", {"node": "cluster/n1", "sensor": "board"}, "is of temperature"),
        ("gaps", {"node": "x"}, "knows no node"),
    ],
)
def test_mistakes_have_a_sentence(served: Served, path: str, fields: dict[str, Any], why: str) -> None:
    status, _, body = served.asked(f"/api/steelyard/{path}", **fields)
    assert status == 400
    assert why in json.loads(body)["error"]


def test_the_api_describes_itself(served: Served) -> None:
    _, _, body = served.asked("/openapi.json")
    found = json.loads(body)
    assert set(found["paths"]) == {
        f"/api/steelyard/{name}" for name in ("sensors", "trace", "rollup", "gaps", "energy")
    }
    assert {"SensorOf", "TraceOf", "RollupOf", "GapOf", "EnergyOf"} <= set(found["components"]["schemas"])
    names = {each["name"] for each in found["paths"]["/api/steelyard/trace"]["get"]["parameters"]}
    assert names == {"node", "sensor", "from", "to", "form"}


# ---------------------------------------------------------------------- who may ask


def test_a_token_is_asked_for_and_a_terminated_server_ends_in_good_order(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o600)
    with serving("--store", folder, "--token-file", file, listen="0.0.0.0:0") as found:
        found.place = found.place.replace("0.0.0.0", "127.0.0.1")
        for path in ("/api/v1/labels", "/api/steelyard/sensors", "/openapi.json", "/"):
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
        with urllib.request.urlopen(f"{found.place}/api/v1/labels", context=context) as answer:
            assert json.load(answer)["status"] == "success"


def test_without_a_token_only_this_machine_s_names_are_answered(served: Served) -> None:
    assert served.asked("/api/v1/labels", {"Host": "localhost:9464"})[0] == 200
    for name in ("evil.example", "evil.example:9464", "localhost.evil.example", ""):
        assert served.asked("/api/v1/labels", {"Host": name})[0] in (400, 403)


def test_the_address_and_its_mistakes() -> None:
    assert door.address("127.0.0.1:80") == door.Address("127.0.0.1", 80, True)
    assert door.address("localhost").port == door.PORT
    assert door.address("[::1]:80") == door.Address("::1", 80, True)
    assert not door.address("0.0.0.0:80").loopback
    for wrong in ("", ":80", "127.0.0.1:x", "127.0.0.1:70000", "127.0.0.1:٣"):
        with pytest.raises(UsageError, match="is no address|no host that is known"):
            door.address(wrong)
    with pytest.raises(UsageError, match="--token-file"):
        door.expect_token(door.address("0.0.0.0:80"), "")
    with door.opened(door.address("127.0.0.1:0")) as taken, pytest.raises(MachineFailed, match="cannot be listened on"):
        door.opened(door.address(f"127.0.0.1:{taken.getsockname()[1]}"))


@pytest.mark.parametrize("words", ["", "short", "two words that are long", "un-é-xpected-letters"])
def test_a_token_that_can_be_guessed_is_refused(tmp_path: Path, words: str) -> None:
    (tmp_path / "token").touch(0o600)
    (tmp_path / "token").write_text(words)
    with pytest.raises(UsageError, match="at least 16"):
        door.token(tmp_path / "token", insecure=False)
    with pytest.raises(UsageError, match="cannot be read"):
        door.token(tmp_path / "none", insecure=False)


def command(*words: object) -> int:
    return cli.explained(lambda: cli.app([str(word) for word in words]))


def test_the_command_s_mistakes(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("power", "serve") == 2
    assert "--store" in capsys.readouterr().err
    assert command("power", "serve", "--store", folder, "--listen", "0.0.0.0:0") == 2
    assert "--token-file" in capsys.readouterr().err
    assert command("power", "serve", "--store", tmp_path) == 2
    assert "no store of readings" in capsys.readouterr().err
    assert command("power", "serve", "--store", folder, "--key", tmp_path / "key") == 2
    assert command("power", "serve", "--store", folder, "--certificate", tmp_path / "none.pem") == 2


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "promql_parser", None)
    with pytest.raises(UsageError, match=r"promql_parser.*steelyard\[serve\]"):
        server.expect_packages()


# ---------------------------------------------------------------------- Grafana and promtool


def test_the_dashboard_s_queries_are_answered(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("power", "serve", "--dashboard") == 0
    found = json.loads(capsys.readouterr().out)
    known = {"$system": ".*", "$node": ".*", "$__interval": "1m", "$__range_s": "3600", "$__range": "1h"}
    answered = 0
    for panel in found["panels"]:
        for target in panel["targets"]:
            query = target["expr"]
            for name, value in known.items():
                query = query.replace(name, value)
            assert "$" not in query
            answered += bool(served.over(query, 0, 3600, 3600))
    assert answered == sum(len(panel["targets"]) for panel in found["panels"])
    assert [each["name"] for each in found["templating"]["list"]] == ["source", "system", "node"]


@pytest.mark.site
@pytest.mark.skipif(not shutil.which("promtool"), reason="Debian's prometheus is not installed")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("instant", "--time", T0 + 7, "sum(steelyard_power_watts)"), [f"{{}} => 380 @[{T0 + 7}]"]),
        (
            ("range", "--start", T0 + 60, "--end", T0 + 180, "--step", "1m", f"avg_over_time({RAIL_OF_N1}[1m])"),
            ['{node="n1", sensor="rail", source="BMC", system="cluster"} =>', f"105 @[{T0 + 60}]", f"105 @[{T0 + 120}]"],
        ),
        (("series", "--match", 'steelyard_power_watts{node="n2"}'), ['node="n2"']),
        (("labels", "node"), ["n1", "n2"]),
    ],
)  # fmt: skip
def test_promtool_reads_it(served: Served, words: tuple[object, ...], expected: list[str]) -> None:
    kind, *rest = map(str, words)
    before = 0 if kind == "labels" else len(rest) if kind == "series" else len(rest) - 1  # where the address stands
    line = ["promtool", "query", kind, *rest[:before], served.place, *rest[before:]]
    found = subprocess.run(line, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    for text in expected:
        assert text in found.stdout


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
        begin = (b"GET / HTTP/1.1\r\n", b"POST /api/v1/query HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")[
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
            while not ending.is_set():
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
                    answers.append(served.asked("/api/v1/labels", {"Authorization": f"Bearer {TOKEN}"})[0])
                except OSError as error:
                    answers.append(repr(error))
        finally:
            ending.set()
            annoying.join()
    assert answers.count(200) >= 0.99 * len(answers), Counter(answers)
