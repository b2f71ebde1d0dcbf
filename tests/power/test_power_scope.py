"""Which joules count: one sensor for each part, sums of separate parts, and none where no meter covers what computes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import builders
import power_fixture
from builders import measured
from steelyard.judge import findings
from steelyard.judge.evaluation import energy, judging
from steelyard.measure.plan import EFFORTS, catalogue, make
from steelyard.measure.run.sensing import Sensing
from steelyard.measure.telemetry.coverage import absent, choose, missing, of_hosts
from steelyard.model import Device, Evaluation, Result, Value
from steelyard.model.scope import words
from steelyard.model.sensor import Power, Sensor, Trace
from steelyard.power.pages.power import data
from steelyard.show.report import export, summarised_run, summary
from steelyard.show.report.columns import metric_rows

SECOND, START = 10**9, 1_790_000_000
MODES = ("threads", "opencl", "mixed")
TIMES = {"threads": 0.1, "opencl": 0.02, "mixed": 0.018}  # s of an operation
CASE, PAUSE, STEP = 10.0, 2.0, 0.1  # s
H200 = Device(0, "NVIDIA H200", "GPU", 140 << 30, False)
GH200 = Device(0, "NVIDIA GH200 480GB", "GPU", 96 << 30, False)
INTEL = Device(1, "Intel(R) Data Center GPU Max 1550", "GPU", 128 << 30, False)
POCL = Device(1, "cpu-skylake-Intel(R) Xeon(R)", "CPU", 4 << 30, True)
MI300X = tuple(Device(n, "AMD Instinct MI300X", "GPU", 192 << 30, False) for n in (0, 1))
MI250 = tuple(Device(n, "AMD Instinct MI250X", "GPU", 64 << 30, False) for n in (0, 1))

Watts = tuple[float, float, float, float]  # idle, threads, OpenCL, mixed
Meters = Mapping[Sensor, Watts]
COUNTER: Sensor = Sensor("nvidia/gpu0/energy", "energy", "NVML", resolution=1e-3, scope="accelerators")
SMI = Sensor("nvidia/gpu0/power", "power", "NVML (nvidia-smi)", resolution=0.01, window=1.0, scope="accelerators")
RAPL = Sensor("rapl/package-0", "energy", "RAPL (powercap)", resolution=6e-5, update=1e-3, scope="processors")
CORE = replace(RAPL, name="rapl/package-0/core", part_of="rapl/package-0")
DRAM = replace(RAPL, name="rapl/package-0/dram")
PSYS = replace(RAPL, name="rapl/psys", scope="")
DCMI = Sensor("ipmi/dcmi-power", "power", "IPMI (DCMI)", resolution=1.0, scope="node")
REDFISH = Sensor("redfish/bmc/1/power", "power", "Redfish", scope="node", window=1.0)
PDU = Sensor("pdu/outlet-7", "power", "command", scope="node", window=1.0)
SUPPLY = Sensor("ipmi/psu1", "power", "IPMI (sensor)", scope="node")
BATTERY = Sensor("battery/bat0", "power", "battery", scope="node")
MODULE = Sensor("hwmon/power_meter/module-power-socket-0/power1", "power", "hwmon", window=0.05, scope="module")
GRACE = Sensor("hwmon/power_meter/grace-power-socket-0/power1", "power", "hwmon", window=0.05, scope="processors")
CARD = Sensor("rocm/card0/energy", "energy", "ROCm (rocm-smi)", resolution=1e-5, scope="accelerators")
ACCEL = replace(CARD, name="pm_counters/accel0_energy", source="Cray pm_counters")
GPU, CPU = (81.0, 81.0, 400.0, 400.0), (120.0, 350.0, 140.0, 360.0)
NODE = (300.0, 600.0, 800.0, 950.0)


def named(sensor: Sensor, name: str, **changed: object) -> Sensor:
    return replace(sensor, name=name, **changed)


def trace(sensor: Sensor, watts: Watts, shift: float = 0.0) -> Trace:
    """The readings of a sensor before and during the cases, ten a second."""
    ends = [CASE, *(CASE + (n + 1) * (CASE + PAUSE) for n in range(3 * len(MODES)))]
    at = np.arange(0, ends[-1], STEP)
    place = np.searchsorted(ends, at, side="right")
    level = np.array([watts[0], *(watts[1 + n % len(MODES)] for n in range(3 * len(MODES)))])[place]
    value = np.concatenate(([0.0], np.cumsum(level[:-1] * STEP))) if sensor.quantity == "energy" else level
    return Trace(sensor, START * SECOND + np.round((at + shift) * SECOND).astype(np.int64), value)


def power(meters: Meters) -> Power:
    return Power({s.name: trace(s, w) for s, w in meters.items()}, (START * SECOND, (START + 9) * SECOND), 0.0)


def results(hosts: Sequence[str] = ()) -> list[Result]:
    """A kernel in three modes, each 10 s in three launches."""
    made = []
    for place, mode in enumerate(MODES):
        parameters = {"mode": mode, "threads": 1 if mode == "opencl" else 16, "device": 0, "elements": 1 << 20}
        result = builders.result("node.vector", "vector", parameters, TIMES[mode], {"flops": 1e9, "bytes": 1e9})
        records = []
        for launch, record in enumerate(result.records):
            began = START + CASE + (launch * len(MODES) + place) * (CASE + PAUSE) + PAUSE
            when = {"began": began, "ended": began + CASE - 1, "ranks": {"hosts": list(hosts)}}
            records.append(replace(record, surroundings=builders.seen(record.surroundings, **when)))
        metrics = {"time": Value(TIMES[mode], "s", None, None, "lower")}
        made.append(measured(result, records=tuple(records), metrics=metrics))
    return made


def with_energy(
    meters: Meters, devices: Sequence[Device] = (H200,), hosts: Sequence[str] = (), host: str = "bench"
) -> Evaluation:
    """The kernel with its energies by these meters, without verdicts and findings."""
    here = builders.machine(cores=16, devices=tuple(devices), host=host)
    made, _ = energy.add_energy(results(hosts), {}, power(meters), here)
    return replace(builders.evaluation(made, here), power=power(meters))


def evaluated(meters: Meters) -> Evaluation:
    """The same as a run is judged."""
    here = builders.machine(cores=16, devices=(H200,))
    records = tuple(record for result in results() for record in result.records)
    run = replace(builders.evaluation([], here).run, records=records)
    return judging.evaluate_run(run, {"node.vector": builders.known()["node.vector"]}, power(meters))


def joules(made: Evaluation) -> dict[str, float | None]:
    of_mode = {str(r.parameters["mode"]): r.metrics.get("energy") for r in made.results}
    return {mode: value.value if (value := of_mode[mode]) else None for mode in MODES}


def sums(*watts: float | None) -> dict[str, object]:
    return {mode: pytest.approx(w * TIMES[mode], rel=0.01) if w else None for mode, w in zip(MODES, watts, strict=True)}


FOUR = {named(COUNTER, f"nvidia/gpu{n}/energy"): GPU if n == 0 else (81.0,) * 4 for n in range(4)}
ALL = {RAPL: CPU, COUNTER: GPU}


@pytest.mark.parametrize(
    ("meters", "devices", "right"),
    [
        ({COUNTER: GPU}, (H200,), (None, 400, None)),
        ({RAPL: CPU}, (H200,), (350, None, None)),
        (ALL, (H200,), (431, 540, 760)),
        (FOUR, (H200,), (None, 643, None)),
        ({RAPL: CPU} | FOUR, (H200,), (674, 783, 1003)),
        (ALL | {SMI: (90.0, 90.0, 410.0, 410.0)}, (H200,), (431, 540, 760)),
        (ALL | {CORE: (50.0, 300.0, 60.0, 310.0)}, (H200,), (431, 540, 760)),
        (ALL | {DRAM: (10.0, 30.0, 12.0, 32.0)}, (H200,), (461, 552, 792)),
        ({RAPL: CPU, named(RAPL, "rapl/package-1"): CPU}, (), (700, None, None)),
        # A meter of the node is the total, once.
        (ALL | {DCMI: NODE}, (H200,), (600, 800, 950)),
        ({RAPL: CPU, DCMI: NODE, REDFISH: NODE, PDU: NODE}, (H200,), (600, 800, 950)),
        ({RAPL: CPU, BATTERY: NODE}, (H200,), (600, 800, 950)),
        # Impossible values of a BMC: it has no reading.
        (ALL | {DCMI: (65535.0,) * 4}, (H200,), (431, 540, 760)),
        (ALL | {DCMI: (0.0,) * 4}, (H200,), (431, 540, 760)),
        # The platform of RAPL has what its maker chose: beside a GPU's meter its parts count.
        ({replace(RAPL, part_of="rapl/psys"): CPU, PSYS: NODE}, (), (600, None, None)),
        ({replace(RAPL, part_of="rapl/psys"): CPU, PSYS: NODE, COUNTER: GPU}, (H200,), (431, 540, 760)),
        # GH200: the GPU's counter may be that of the module, and is never added to the processors.
        ({COUNTER: GPU}, (GH200,), (None, 400, None)),
        ({COUNTER: GPU, GRACE: CPU}, (GH200,), (None, 400, None)),
        ({COUNTER: GPU, replace(GRACE, part_of=MODULE.name): CPU, MODULE: NODE}, (GH200,), (600, 800, 950)),
        # A card that lies beside a module is not in it.
        ({COUNTER: GPU, MODULE: NODE}, (H200,), (681, 1200, 1350)),
        # A GPU without a meter; two dies with one counter; a device that is the processors.
        (ALL, (INTEL, replace(H200, number=1)), (431, None, None)),
        (ALL, (H200, INTEL), (431, 540, 760)),
        ({RAPL: CPU, CARD: GPU}, MI250, (431, 540, 760)),
        ({RAPL: CPU}, (replace(POCL, number=0),), (350, 140, 360)),
        ({COUNTER: GPU}, (replace(POCL, number=0), replace(H200, number=1)), (None, None, None)),
        # One of two GPUs of a kind: which one, nobody says.
        (ALL, (H200, replace(H200, number=1)), (431, None, None)),
        # Nobody says what it measures.
        ({Sensor("rail", "power", "command"): CPU}, (H200,), (None, None, None)),
        # Values that no part can have, of any scope.
        ({RAPL: CPU, SMI: (65535.0,) * 4}, (H200,), (350, None, None)),
        ({RAPL: CPU, SMI: (-1.0,) * 4}, (H200,), (350, None, None)),
        ({RAPL: CPU, SMI: (0.0,) * 4}, (H200,), (350, None, None)),
        ({RAPL: CPU, SMI: (0.0, 0.0, 400.0, 400.0)}, (H200,), (350, 540, 760)),  # a card that sleeps
        ({replace(GRACE, name="cpu"): (65535.0,) * 4, COUNTER: GPU}, (H200,), (None, 400, None)),
        # Supplies are the node together: one that stands by, two that take turns, one that cannot be read.
        ({SUPPLY: NODE, named(SUPPLY, "ipmi/psu2"): (0.0,) * 4}, (), (600, 800, 950)),
        ({SUPPLY: (9.0, 0.0, 9.0, 9.0), named(SUPPLY, "ipmi/psu2"): NODE}, (), (600, 809, 959)),
        ({SUPPLY: NODE, named(SUPPLY, "ipmi/psu2"): (65535.0,) * 4, RAPL: CPU}, (), (350, None, None)),
        # Parts with their number before the word for the quantity; the memory of one of two sockets.
        ({RAPL: CPU} | {named(ACCEL, f"pm_counters/accel{n}_energy"): GPU for n in (0, 1)}, MI300X, (512, 940, 1160)),
        ({RAPL: CPU, named(RAPL, "rapl/package-1"): CPU, DRAM: NODE}, (), (700, None, None)),
        # A counter that may have the processors of its module, of any maker.
        ({RAPL: CPU, ACCEL: GPU}, (GH200,), (None, 400, None)),
        # A meter of the node without its accelerators, and theirs.
        ({named(DCMI, "board", scope="host"): NODE, RAPL: CPU, COUNTER: GPU}, (H200,), (681, 1200, 1350)),
        ({named(DCMI, "board", scope="host"): NODE, COUNTER: GPU}, (GH200,), (600, None, None)),
        # A meter of the node or the platform that shows less than its parts, or never changes although they do.
        (ALL | {DCMI: (100.0, 120.0, 110.0, 120.0)}, (H200,), (431, 540, 760)),
        (ALL | {DCMI: (700.0,) * 4}, (H200,), (431, 540, 760)),
        ({RAPL: (1.0, 1.8, 1.0, 1.8), DCMI: (5.0,) * 4}, (H200,), (5, 5, 5)),  # less than its resolution shows
        (
            {named(RAPL, f"rapl/package-{n}", part_of="rapl/psys"): (100.0 + n, 330.0, 90.0, 330.0 + n) for n in (0, 1)}
            | {PSYS: (150.0, 380.0, 100.0, 380.0)},
            (),
            (660, None, None),
        ),
        # A model knows the load of the processors alone.
        ({Sensor("model/node", "power", "model", modelled=True): NODE}, (H200,), (600, None, None)),
    ],
)  # fmt: skip
def test_each_case_has_the_right_joules_or_none(
    meters: Meters, devices: Sequence[Device], right: tuple[float | None, ...]
) -> None:
    made = with_energy(meters, devices)
    assert joules(made) == sums(*right)
    assert all(r.metrics["energy"].low <= r.metrics["energy"].value for r in made.results if "energy" in r.metrics)
    if None in right:
        have = "has" if right.count(None) == 1 else "have"
        assert f"{have} no energy, because no sensor covers" in energy.name_uncovered(made)


@pytest.mark.parametrize(
    ("names", "right"),
    [
        (("rapl/package-0",), (None, None, None)),
        (("n1/rapl/package-0", "n2/rapl/package-0"), (700, None, None)),
        (("slurm/n2/energy",), (None, None, None)),
        # One accelerator less than on the other host.
        (
            ("n1/rapl/package-0", "n2/rapl/package-0", "n1/nvidia/gpu0", "n2/nvidia/gpu0", "n2/nvidia/gpu1"),
            (None, None, None),
        ),
    ],
)
def test_several_hosts_need_a_sensor_on_each(names: Sequence[str], right: tuple[float | None, ...]) -> None:
    meters = {named(COUNTER if "gpu" in name else RAPL, name): CPU for name in names}
    made = with_energy(meters, hosts=("n1", "n2"), host="n1")
    assert joules(made) == sums(*right)
    assert (energy.measure_run(made) is None) == (right[0] is None)
    questions = [found.seen for found in findings.load_rule("idle_share").find(made) if found.level == "undecided"]
    assert questions == ([] if right[0] else ["The power of the run is unknown: no sensor covers all hosts."])


SLURM = Sensor("slurm/bench/energy", "energy", "Slurm (ipmi)", resolution=1.0, update=0.1, scope="node")
BMCS = [named(DCMI, f"ipmi/{host}-bmc/dcmi-power") for host in ("bench", "n2")]


@pytest.mark.parametrize("sensors", [[SLURM, named(SLURM, "slurm/n2/energy")], BMCS])
def test_a_node_that_did_not_compute_has_no_part_in_the_energy(sensors: Sequence[Sensor]) -> None:
    here = builders.machine(host="bench")
    assert of_hosts(sensors, here).sensors == (sensors[0],)
    both, third = of_hosts(sensors, here, ("bench", "n2")), named(SLURM, "slurm/n3/energy")
    assert both.sensors == tuple(sensors)
    assert words(both.scope) == "2 nodes"
    if sensors[0] == SLURM:
        assert of_hosts([*sensors, third], here, ("bench", "n2")) == both


def test_local_cases_and_cases_on_two_nodes_have_their_own_energy() -> None:
    meters, here = {SLURM: NODE, named(SLURM, "slurm/n2/energy"): NODE}, builders.machine(host="bench", devices=(H200,))
    both = [r for hosts in ((), ("bench", "n2")) for r in results(hosts)]
    made, _ = energy.add_energy(both, {}, power(meters), here)
    watts = [r.metrics["power"].value for r in made]
    assert watts == [pytest.approx(n * w, rel=0.01) for n in (1, 2) for w in (600, 800, 950)]
    spent = energy.measure_run(replace(builders.evaluation(list(made), here), power=power(meters)))
    assert spent
    assert words(spent.coverage.scope) == "2 nodes"


@pytest.mark.parametrize("hosts", [("10.0.0.1", "10.0.0.2"), ("n1.a.org", "n1.b.org")])
def test_names_that_begin_alike_are_two_hosts(hosts: Sequence[str]) -> None:
    sensor = named(SLURM, f"slurm/{hosts[0]}/energy")
    assert not of_hosts([sensor], builders.machine(host=hosts[0]), hosts).sensors


@pytest.mark.parametrize(
    ("name", "host", "counts"),
    [
        # The same host by its short and its full name, in any letters, and by that of its BMC.
        ("slurm/node1/energy", "node1", True),
        ("slurm/node1/energy", "node1.cluster", True),
        ("slurm/node1.cluster/energy", "node1", True),
        ("slurm/Node1.Cluster/energy", "NODE1", True),
        ("slurm/localhost/energy", "node1", True),
        ("ipmi/node1-bmc/dcmi-power", "node1", True),
        ("ipmi/bmc-r1n7/dcmi-power", "r1n7.cluster", True),
        ("redfish/node1.mgmt/power", "node1", True),
        # A BMC, or a part, whose name says nothing about a host.
        ("ipmi/10.0.0.9/dcmi-power", "node1", True),
        ("ipmi/rack4-u17/dcmi-power", "node1", True),
        ("ipmi/dcmi-power", "node1", True),
        ("nvidia/gpu0/energy", "gpu1", True),
        ("rapl/package-0", "package-1", True),
        ("slurm/node9/energy", "localhost", True),
        ("slurm/node9/energy", "unknown", True),
        # Another host.
        ("slurm/node9/energy", "node1", False),
        ("slurm/gpu3/energy", "node1", False),
        ("slurm/node9.cluster/energy", "node1.cluster", False),
        ("slurm/Node10/energy", "node1", False),
        ("slurm/10.0.0.9/energy", "10.0.0.1", False),
        ("ipmi/node9-bmc/dcmi-power", "node1", False),
        ("ipmi/bmc-cn-9/dcmi-power", "cn-7", False),
        ("ipmi/r2n7-bmc/dcmi-power", "r1n7", False),
        ("ipmi/gpu2/dcmi-power", "gpu1", False),
        ("redfish/node9.mgmt/power", "node1", False),
        ("node9/rapl/package-0", "node1", False),
        ("cluster/rack4/node9/power", "node1", False),
    ],
)
def test_a_lone_sensor_counts_only_if_it_names_no_other_host(name: str, host: str, counts: bool) -> None:
    sensor = Sensor(name, "energy" if "energy" in name or "rapl" in name else "power", "meter", scope="node")
    assert bool(of_hosts([sensor], builders.machine(host=host)).sensors) == counts
    assert bool(of_hosts([sensor], builders.machine(host=host), ("localhost",)).sensors) == counts


@pytest.mark.parametrize("count", [2, 16, 128, 1024])
def test_a_lone_sensor_of_one_host_is_that_of_no_other_one(count: int) -> None:
    hosts = [f"node{number}" for number in range(count)]
    here = builders.machine(host=hosts[0])
    for name in ("ipmi/node1-bmc/dcmi-power", "slurm/node1/energy", "redfish/node1.mgmt/power"):
        sensor = Sensor(name, "energy" if "energy" in name else "power", "meter", scope="node")
        assert not of_hosts([sensor], here, hosts[:1], hosts).sensors
        assert not of_hosts([sensor], here, hosts).sensors
        assert of_hosts([sensor], here, hosts[1:2], hosts).sensors == (sensor,)
    every = [Sensor(f"slurm/{host}/energy", "energy", "Slurm", scope="node") for host in hosts]
    assert of_hosts(every, here, hosts).sensors == tuple(every)


def test_a_sensor_of_another_host_is_named_and_gives_no_joule() -> None:
    made = with_energy({named(SLURM, "slurm/node9/energy"): NODE}, host="node1")
    assert joules(made) == sums(None, None, None)
    assert (
        "slurm/node9/energy does not count, because node9 is not one of the hosts of this run." in data(made).sentences
    )
    assert energy.describe_other_hosts(with_energy({named(SLURM, "slurm/node1/energy"): NODE}, host="Node1.org")) == []


def test_a_case_on_another_host_has_no_energy_of_this_one() -> None:
    assert joules(with_energy({RAPL: CPU}, hosts=("n2",), host="n1")) == sums(None, None, None)
    assert joules(with_energy({RAPL: CPU}, hosts=("n1.example.org",), host="n1")) == sums(350, None, None)


def test_of_two_sockets_one_counter_is_not_the_processors() -> None:
    here = builders.machine(nodes=2, cores=4)
    assert choose([RAPL], here).scope == ("processor 0",)
    assert missing(("processor 0",), {}, here) == "the processors"
    assert choose([RAPL, named(RAPL, "rapl/package-1")], here).scope == ("processors",)


@pytest.mark.parametrize(
    ("numbers", "whole"),
    [(("0-die-0", "0-die-1", "1-die-0"), False), (("0-die-0", "1-die-0"), False), (("0", "1"), True)],
)
def test_a_missing_die_or_module_is_not_covered(numbers: Sequence[str], whole: bool) -> None:
    here = builders.machine(nodes=2, cores=4)
    scope = choose([named(RAPL, f"rapl/package-{number}") for number in numbers], here).scope
    assert missing(scope, {}, here) == ("" if whole else "the processors")
    modules = [named(MODULE, f"hwmon/power_meter/module-power-socket-{n}/power1") for n in (0, 1)]
    assert choose(modules, here).scope == ("module",)
    assert missing(choose(modules[:1], here).scope, {}, here) == "the processors"
    assert absent(choose(modules[:1], here).scope, here).startswith("other processors")


EVERY = [RAPL, CORE, DRAM, COUNTER, SMI, DCMI, REDFISH, PDU, BATTERY, CARD, MODULE, PSYS, *FOUR]


@settings(max_examples=50)
@given(st.sets(st.sampled_from(EVERY), min_size=1), st.data())
def test_a_second_sensor_of_a_device_changes_nothing(sensors: set[Sensor], draw: st.DataObject) -> None:
    """The same again by a slower source: neither the sensors that count, and so the totals, nor the length of a case differ."""
    once = sorted(sensors, key=lambda sensor: sensor.name)
    assume(choose(once).scope)
    again = draw.draw(st.sampled_from(choose(once).sensors))
    slower = {"quantity": "power", "window": 60.0, "source": f"{again.source} (again)"}
    both = draw.draw(st.permutations([*once, replace(again, name=f"{again.name}-again", **slower)]))
    assert {*choose(both).sensors} == {*choose(once).sensors}
    assert sorted(choose(both).scope) == sorted(choose(once).scope)
    assert Sensing((Meter(both),), 0.1).seconds(0.02) == Sensing((Meter(once),), 0.1).seconds(0.02)


class Meter:
    def __init__(self, sensors: Sequence[Sensor]) -> None:
        self.sensors = sensors

    def read(self) -> tuple[()]:
        return ()

    def close(self) -> None:
        """Nothing is open."""


def test_the_node_on_16_cores_with_a_gpu_takes_a_quarter_of_an_hour() -> None:
    here = builders.machine(cores=16, devices=(replace(POCL, number=0), replace(H200, number=1)))
    plan = make(catalogue.choose(catalogue.find(), ["node"]), here, EFFORTS["quick"], {}, ["gcc-12.2.0"])
    for sensors, least, most in (((COUNTER, SMI), 60.0, 400.0), ((RAPL, COUNTER, SMI), 600.0, 900.0)):
        sensing = Sensing((Meter(sensors),), 0.1, wanted=True)
        assert sensing.seconds(0.02) == pytest.approx(5.0)
        assert least < sensing.lengthen(plan, 0.02, here).seconds < most


FIXTURES = {
    "board": lambda: power_fixture.evaluated(power_fixture.results()),
    "gpu": lambda: evaluated({COUNTER: GPU}),
    "both": lambda: evaluated(ALL),
    "node": lambda: evaluated(ALL | {DCMI: NODE}),
    "model": lambda: evaluated({Sensor("model/node", "power", "model", modelled=True): NODE}),
}


@pytest.mark.parametrize("fixture", FIXTURES)
def test_no_joule_leaves_a_result_without_its_scope(fixture: str) -> None:
    made = FIXTURES[fixture]()
    counted = [
        (r, name, value)
        for r in made.results
        for name, value in r.metrics.items()
        if "J" in value.unit or value.unit == "W"
    ]
    assert counted
    assert all(value.scope for _, _, value in counted)
    scope = words(counted[0][2].scope)
    titles = [m.title for b in made.benchmarks.values() for m in b.metrics if "J" in m.unit or m.unit == "W"]
    assert titles
    assert all(f"({scope}" in title for title in titles)
    exported = json.loads("".join(export.parts(made, "json")))
    values = [v for r in exported["results"] for v in r["metrics"].values() if "J" in v["unit"] or v["unit"] == "W"]
    assert len(values) == len(counted)
    assert all(value["scope"] for value in values)
    assert all(row["scope"] for row in metric_rows(made) if "J" in row["unit"] or row["unit"] == "W")
    lines = [
        line for line in "".join(export.parts(made, "openmetrics")).splitlines() if "_joule" in line and "{" in line
    ]
    assert lines
    assert all(',scope="' in line for line in lines)
    short = summary.as_json(summarised_run.summarised(made))
    assert short["energy"]["energy"]["scope"]
    assert all(v["scope"] for figure in short["figures"] for v in figure["energy"].values())
    text = data(made).sentences
    assert any(f"the {scope} used" in sentence for sentence in text)


def test_one_number_stands_for_the_idle_machine_and_for_the_run() -> None:
    made = evaluated(ALL | {SMI: (87.3, 90.0, 410.0, 410.0)})
    short = summary.as_json(summarised_run.summarised(made))["energy"]
    assert short["idle"] == pytest.approx(201.0, rel=0.01)
    (found,) = findings.load_rule("idle_share").find(made)
    assert "(201 W of 540 W, by RAPL (powercap) + NVML)" in found.seen
    assert found.seen.startswith("While idle, the processors and accelerator gpu0 draw 37 % of their power under load")
    (used,) = [s for s in data(made).sentences if "used" in s]
    kilojoules = f"{short['energy']['value'] / 1000:.1f} kJ"
    assert f"used {kilojoules}" in used
    assert "the idle machine drew 201 W there" in used


@pytest.mark.parametrize(
    ("meters", "text", "cause"),
    [
        (
            {DCMI: (500.0, 600.0, 600.0, 600.0)},
            "The idle machine draws 83 % of its",
            "Fans, power supplies, memory and cores",
        ),
        (
            {RAPL: (300.0, 350.0, 140.0, 360.0), COUNTER: GPU},
            "While idle, the processors and accelerator gpu0 draw 71 % of their",
            "Accelerators and cores",
        ),
        ({PSYS: (500.0, 600.0, 600.0, 600.0)}, "While idle, the platform draws 83 % of its", "Memory and cores"),
        ({RAPL: (500.0, 350.0, 140.0, 360.0), COUNTER: GPU}, None, ""),
    ],
)
def test_the_idle_share_fits_the_parts_that_are_measured(meters: Meters, text: str | None, cause: str) -> None:
    found = findings.load_rule("idle_share").find(evaluated(meters))
    assert [f.seen.startswith(text) and f.cause.startswith(cause) for f in found] == ([True] if text else [])


def test_an_idle_power_beside_other_processes_is_not_shown() -> None:
    made = evaluated({DCMI: NODE})
    assert made.power
    busy = replace(made, power=replace(made.power, busy=9.0))
    shown = [summarised_run.summarised(evaluation).energy for evaluation in (made, busy)]
    assert [energy.idle if energy else 0 for energy in shown] == [pytest.approx(300.0), None]


def test_findings_refuse_energies_that_lack_a_part() -> None:
    for meters, part in (({COUNTER: GPU}, "the processors"), ({RAPL: CPU}, "the device NVIDIA H200")):
        made = with_energy(meters)
        for rule in ("accelerator_energy", "together_energy"):
            (found,) = findings.load_rule(rule).find(made)
            assert (found.level, f"no sensor covers {part}" in found.seen) == ("undecided", True)
    assert findings.load_rule("idle_share").find(with_energy({COUNTER: GPU})) == []


@pytest.mark.parametrize(
    ("node", "words"),
    [((100.0, 120.0, 110.0, 120.0), "use more power than"), ((700.0,) * 4, "shows the same value all the time")],
)
def test_sensors_that_contradict_each_other_are_named_once_beside_the_energy(node: Watts, words: str) -> None:
    made = evaluated(ALL | {DCMI: node})
    spent = summarised_run.summarised(made).energy
    assert spent
    assert words in spent.doubt
    page = data(made)
    assert page
    assert [words in sentence for sentence in page.sentences].count(True) == 1


@pytest.mark.parametrize(
    ("sensor", "why"),
    [(RAPL, "did not change"), (DCMI, "reported impossible values"), (PDU, "has too few readings"), (None, "")],
)
def test_the_real_reason_for_a_case_without_energy_is_named(sensor: Sensor | None, why: str) -> None:
    one = sensor or DCMI
    readings = trace(one, NODE)
    begins = [
        START + CASE + (launch * len(MODES) + 1) * (CASE + PAUSE) + 1 for launch in range(3)
    ]  # of the device's cases
    lost = np.any([(readings.at > b * SECOND) & (readings.at < (b + 11) * SECOND) for b in begins], axis=0)
    value = readings.value.copy()
    if sensor == RAPL:
        value[lost] = value[np.maximum.accumulate(np.where(lost, 0, np.arange(len(value))))[lost]]
    value[lost] = 65535.0 if sensor == DCMI else value[lost]
    kept = ~lost if sensor == PDU else np.arange(len(lost)) % (1 if sensor else 200) == 0
    told = Power({one.name: Trace(one, readings.at[kept], value[kept])})
    made, _ = energy.add_energy(results(), {}, told, builders.machine(devices=(replace(POCL, number=0),)))
    unread = energy.count_missing_reasons(
        replace(builders.evaluation(list(made), builders.machine(devices=(replace(POCL, number=0),))), power=told)
    )
    assert unread == ({f"{one.name} {why}": 1} if why else {"": 3})


def test_a_power_that_jumps_for_a_reading_does_not_count() -> None:
    jumps = {**power({DCMI: NODE}).traces}
    value = jumps[DCMI.name].value.copy()
    value[[200, 201]] = 60_000.0
    jumps[DCMI.name] = replace(jumps[DCMI.name], value=value)
    made, _ = energy.add_energy(results(), {}, Power(jumps), builders.machine(devices=(H200,)))
    assert joules(builders.evaluation(list(made))) == sums(600, 800, 950)


def test_impossible_readings_of_a_bmc_are_named() -> None:
    sentences = data(with_energy(ALL | {DCMI: (65535.0,) * 4})).sentences
    assert any(
        s.startswith("ipmi/dcmi-power reported 65535 W in") and "No running machine draws" in s for s in sentences
    )
