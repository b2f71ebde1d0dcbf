"""Sensors that measure the same, or a part of each other: never added, and a sentence where they cannot all be right."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from test_sensors import SOCKETS, cray, sensors, tree
from test_sensors_programs import DCMI, ROCM
from test_sensors_slurm import NODE, OLDER

from steelyard.measure.telemetry.sampler import select_summed
from steelyard.measure.telemetry.sensors import Found, hwmon, ipmi, pm_counters, powercap, rocm, slurm
from steelyard.measure.telemetry.watched import Stretch, cost, courses, disagreements
from steelyard.model.sensor import Scope, Sensor, Trace
from steelyard.power.message import Batch
from steelyard.power.stores import open_store
from steelyard.show.command_line import cli

SECOND = 10**9
SECONDS = 100
ALL = Stretch("all", 10 * SECOND, 90 * SECOND)


def steady(sensor: Sensor, watts: float) -> Trace:
    at = np.arange(SECONDS + 1, dtype=np.int64) * SECOND
    return Trace(sensor, at, watts * at / SECOND if sensor.quantity == "energy" else np.full(len(at), float(watts)))


def told(*traces: Trace) -> list[str]:
    known = courses({trace.sensor.name: trace for trace in traces})
    return disagreements([trace.sensor for trace in traces], cost(known, ALL).claims)


def watts(sensors: Sequence[Sensor], each: float) -> dict[str, float]:
    """The mean power by source where every sensor says `each` watts."""
    known = courses({sensor.name: steady(sensor, each) for sensor in sensors})
    return {source: spent.power for source, spent in cost(known, ALL).claims.items()}


def added(found: Found) -> list[str]:
    return [sensor.name for sensor in select_summed([*sensors(found).values()])]


# Within a source


def test_the_joules_and_the_watts_of_a_cray_node_are_the_same_energy(tmp_path: Path) -> None:
    found = [*sensors(pm_counters.find(cray(tmp_path))).values()]
    assert watts(found, 100.0) == {"Cray pm_counters": pytest.approx(100.0)}


def test_a_gpu_that_counts_joules_is_not_added_to_its_own_watts() -> None:
    assert watts([*rocm.parse(ROCM)], 100.0) == {"ROCm (rocm-smi)": pytest.approx(100.0)}
    without = ROCM.replace("2271635523.75", "0.0")  # one that counts none has its power alone
    assert [sensor.part_of for sensor in rocm.parse(without) if sensor.quantity == "power"] == [""]


def test_slurms_joules_and_watts_are_the_same_energy() -> None:
    assert watts([*slurm.parse(OLDER, "n1", {"rapl": 1.0})], 100.0) == {"Slurm (rapl)": pytest.approx(100.0)}


def test_the_machines_power_meter_holds_the_power_of_its_devices(tmp_path: Path) -> None:
    chips = {
        f"sys/class/hwmon/hwmon{n}/{file}": text
        for n, name, power in ((0, "amdgpu", "power1_average"), (1, "power_meter", "power1_average"))
        for file, text in (("name", name), (power, "100000000"))
    }
    found = hwmon.find(tree(tmp_path, chips))
    assert added(found) == ["hwmon/power_meter/power1"]
    assert sensors(found)["hwmon/power_meter/power1"].scope == "node"


# Between sources

POWERCAP = Sensor("rapl/package-0", "energy", "RAPL (powercap)", scope="processors")
DCMI_POWER = next(iter(ipmi.parse_dcmi(DCMI, "ipmi")))
REDFISH = Sensor("redfish/bmc/node/power", "power", "Redfish", scope="node")
BY_SLURM = next(iter(slurm.parse(NODE, "n1", {"rapl": 1.0})))


@pytest.mark.parametrize("pair", [(POWERCAP, BY_SLURM), (DCMI_POWER, REDFISH)])
def test_two_ways_to_the_same_are_not_added_and_are_a_sentence_where_they_disagree(pair: tuple[Sensor, Sensor]) -> None:
    one, other = pair
    assert one.scope == other.scope != ""
    assert watts(pair, 100.0) == {one.source: pytest.approx(100.0), other.source: pytest.approx(100.0)}
    assert told(steady(one, 100.0), steady(other, 100.0)) == []
    (sentence,) = told(steady(one, 100.0), steady(other, 150.0))
    assert sentence.startswith(f"{other.source} and {one.source} both measure the ")
    assert f"{other.source} shows 1.50 times as much" in sentence


def test_within_the_makers_error_nothing_disagrees() -> None:
    rough = replace(REDFISH, error=0.05)
    assert told(steady(DCMI_POWER, 100.0), steady(rough, 107.0)) != []
    assert told(steady(DCMI_POWER, 100.0), steady(replace(REDFISH, error=0.1), 107.0)) == []


def test_a_part_that_used_more_than_its_whole_is_a_sentence() -> None:
    assert told(steady(POWERCAP, 80.0), steady(DCMI_POWER, 100.0)) == []
    (sentence,) = told(steady(POWERCAP, 103.0), steady(DCMI_POWER, 100.0))
    assert sentence.startswith("RAPL (powercap) shows 1.03 times as much power for the processors alone as IPMI")


@pytest.mark.parametrize("scope", ["", "accelerators"])
def test_what_measures_something_else_does_not_disagree(scope: Scope) -> None:
    other = Sensor("other", "power", "other", scope=scope)
    assert told(steady(POWERCAP, 80.0), steady(other, 20.0)) == []


def test_the_platform_of_rapl_is_not_compared_with_packages(tmp_path: Path) -> None:
    """Which holds what of a board its maker decides."""
    (psys,) = select_summed([*sensors(powercap.find(tree(tmp_path, SOCKETS))).values()])
    assert (psys.name, psys.scope) == ("rapl/psys", "platform")


def test_a_query_says_of_which_node_the_sensors_disagree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = open_store(str(tmp_path / "store"), make=True)
    start = 1_790_000_000 * SECOND
    for number, (node, by_redfish) in enumerate((("cluster/n1", 100.0), ("cluster/n2", 130.0))):
        pair = (DCMI_POWER, REDFISH)
        store.describe(node, pair)
        traces = steady(DCMI_POWER, 100.0), steady(REDFISH, by_redfish)
        at = start + np.concatenate([trace.at for trace in traces])
        of = np.repeat(np.arange(2, dtype=np.uint16), SECONDS + 1)
        value = np.concatenate([trace.value for trace in traces])
        store.write([Batch(node, UUID(int=number), 0, tuple(s.name for s in pair), of, at, value)])
    store.close()
    words = ["--store", str(tmp_path / "store"), "--from", str(start), "--to", str(start + SECONDS * SECOND)]
    lines = []
    for node in ("cluster/n1", "cluster/n2"):
        line = ["power", "query", *words, node]
        assert cli.run_and_explain(partial(cli.app, line)) == 0
        lines.append(" ".join(capsys.readouterr().err.split()))
    assert "measure the whole node" not in lines[0]
    assert "Redfish and IPMI (DCMI) both measure the whole node. Redfish shows 1.30 times" in lines[1]
