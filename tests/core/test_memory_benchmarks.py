"""What the memory benchmarks choose to measure on machines made by hand, and what their figures show."""

from dataclasses import replace

import pytest

import builders
from steelyard.measure.benchmarks.memory import apexmap, cores, latency, placement, stream
from steelyard.measure.benchmarks.memory.nodes import placements
from steelyard.measure.plan import EFFORTS, catalogue, make
from steelyard.model import Cache, Check, Core, Limit, Machine, NumaNode, Record, Result, Value, Verdict
from steelyard.statistics.samples.summary import best_by_copy

NAMES = ("memory.apexmap", "memory.latency", "memory.placement", "memory.cores")


@pytest.fixture
def four_nodes(two_sockets: Machine) -> Machine:
    """Two sockets, two memory nodes each, four cores with two hardware threads a node: 32 processors."""
    cores_ = tuple(Core(i, i // 8, i // 4, (i, i + 16)) for i in range(16))

    def near(n: int) -> tuple[int, ...]:
        return tuple(cpu for c in cores_ if c.node == n for cpu in c.cpus)

    distances = ((10, 12, 21, 21), (12, 10, 21, 21), (21, 21, 10, 12), (21, 21, 12, 10))
    nodes = tuple(NumaNode(n, near(n), 16 << 30, distances[n]) for n in range(4))
    caches = [Cache(2, "unified", 1 << 20, 64, c.cpus) for c in cores_]
    caches += [Cache(3, "unified", 16 << 20, 64, near(n)) for n in range(4)]
    limits = {"memory_bandwidth": Limit(136e9, "B/s", "8 channels")}
    return replace(
        two_sockets, cores=cores_, nodes=nodes, caches=tuple(caches), cpus=tuple(range(32)), memory=64 << 30,
        memory_available=60 << 30, limits=limits,
    )  # fmt: skip


@pytest.fixture
def single(two_sockets: Machine) -> Machine:
    """One processor, one node, little memory, no cache known."""
    node = NumaNode(0, (0,), 1 << 30, (10,))
    return replace(
        two_sockets, cores=(Core(0, 0, 0, (0,)),), nodes=(node,), caches=(), cpus=(0,), memory=1 << 30,
        memory_available=700 << 20,
    )  # fmt: skip


def bytes_needed(point: dict[str, object], kernel: str) -> int:
    threads = int(str(point.get("threads", 1)))
    words, ring = int(str(point.get("elements", 0))), int(str(point.get("bytes", 0)))
    return {
        "gather": 8 * words * threads,
        "triad": 24 * words,
        "chase": ring * threads,
        "loaded": ring + 24 * words * (threads - 1),
        "transfer": 0,
    }[kernel]


@pytest.mark.parametrize("preset", sorted(EFFORTS))
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("machine", ["two_sockets", "four_nodes", "single"])
def test_every_case_fits_into_the_available_memory(
    name: str, preset: str, machine: str, request: pytest.FixtureRequest
) -> None:
    here: Machine = request.getfixturevalue(machine)
    if machine == "single" and name == "memory.cores":
        assert cores.axes(here, EFFORTS["quick"]) == ()
        return
    plan = make({name: catalogue.find()[name]}, here, EFFORTS[preset], {}, ["any"])
    cases = plan.launches[0].cases
    assert cases
    for case in cases:
        assert bytes_needed(dict(case.parameters), case.kernel) <= 0.7 * here.memory_available, case.parameters


def test_the_five_placements_of_two_sockets_with_two_nodes_each(four_nodes: Machine) -> None:
    found = {p.name: p for p in placements(four_nodes)}
    assert list(found) == [
        "full_system", "local_socket", "local_numa_node", "remote_same_socket", "remote_other_socket",
    ]  # fmt: skip
    assert [p.limit.value for p in found.values() if p.limit] == [136e9, 68e9, 34e9, 34e9, 34e9]
    assert found["local_socket"].pinning == "0-7,16-23"
    assert found["local_numa_node"].memory_policy == "bind:0"
    assert found["remote_same_socket"].memory_policy == "bind:1"
    assert found["remote_other_socket"].memory_policy == "bind:2"
    assert found["remote_other_socket"].cpus == (0, 1, 2, 3, 16, 17, 18, 19)
    assert "link" in str(found["remote_other_socket"].limit)


def test_sockets_of_one_node_each_have_three_placements(two_sockets: Machine) -> None:
    found = placements(two_sockets)
    assert [p.name for p in found] == ["full_system", "local_socket", "remote_other_socket"]
    assert all(p.limit is None for p in found)


def test_one_node_has_one_placement_and_needs_no_binding(single: Machine) -> None:
    assert [(p.name, p.memory_policy) for p in placements(single)] == [("full_system", "local")]


@pytest.mark.parametrize("preset", sorted(EFFORTS))
def test_every_placement_is_measured(four_nodes: Machine, preset: str) -> None:
    plan = make({"memory.placement": catalogue.find()["memory.placement"]}, four_nodes, EFFORTS[preset], {}, ["any"])
    planned = {
        (c.parameters["pinning"], c.parameters["memory_policy"]) for c in plan.launches[0].cases if c.kernel == "triad"
    }
    assert {(p.pinning, p.memory_policy) for p in placements(four_nodes)} <= planned
    assert len([c for c in plan.launches[0].cases if c.kernel == "chase"]) == 16


def test_the_walker_under_load_shares_its_core_with_nobody(four_nodes: Machine, single: Machine) -> None:
    assert placement.loading_cpus(four_nodes) == (0, 1, 2, 3, 17, 18, 19)
    assert placement.loading_cpus(single) == ()


def test_the_standard_grid_of_apex_map_has_ninety_points(two_sockets: Machine) -> None:
    plan = make({"memory.apexmap": catalogue.find()["memory.apexmap"]}, two_sockets, EFFORTS["standard"], {}, ["any"])
    grid = [
        c.parameters
        for c in plan.launches[0].cases
        if c.parameters["threads"] == 1 and c.parameters["accumulators"] == 1 and "page_size" not in c.parameters
    ]
    assert len({(p["L"], p["alpha"]) for p in grid}) == 90
    assert {p["elements"] for p in grid} == {64 << 20}


def test_the_arrays_of_apex_map_shrink_with_the_memory(single: Machine) -> None:
    assert apexmap.elements(single) == 32 << 20
    assert apexmap.elements(single, 4) == 8 << 20


def test_the_ladder_ends_at_four_times_the_last_cache(two_sockets: Machine) -> None:
    sizes = latency.working_sets(two_sockets, 1)
    assert sizes[0] == 4 << 10
    assert sizes[-1] == 32 << 20
    assert len(sizes) >= 10
    assert set(latency.held_sets(two_sockets)) <= set(sizes)
    assert all(size % 1024 == 0 for size in latency.working_sets(two_sockets, 2))


def test_pairs_of_cores_are_all_or_a_choice_with_every_neighbourhood(four_nodes: Machine) -> None:
    assert len(cores.pairs(four_nodes, 1000)) == 32 * 31 // 2
    chosen = cores.pairs(four_nodes, 40)
    assert len(chosen) == len(set(chosen)) == 40
    assert chosen == cores.pairs(four_nodes, 40)
    around = cores.list_surroundings(four_nodes)
    every = {cores.neighbourhood(around[a], b) for a, b in cores.pairs(four_nodes, 1000)}
    assert every == {"same core", "same L3 cache", "same socket", "other socket"}
    assert {cores.neighbourhood(around[a], b) for a, b in chosen} == every


def result(kernel: str, metric: str, value: float, **parameters: object) -> Result:
    measured = Value(value, "", value * 0.99, value * 1.01, "none")
    return Result(
        benchmark="memory.x",
        kernel=kernel,
        parameters=parameters,
        records=(),
        metrics={metric: measured},
        verdict=Verdict("CLEAN"),
    )  # type: ignore[arg-type]


def test_the_measured_ratios_stand_beside_the_firmware_distances(two_sockets: Machine) -> None:
    times = {(0, 0): 80e-9, (0, 1): 144e-9, (2, 0): 160e-9, (2, 1): 80e-9}
    found = tuple(
        result("chase", "latency", t, pinning=str(cpu), memory_policy=f"bind:{node}")
        for (cpu, node), t in times.items()
    )
    figures = {f.name: f for f in placement.figures(found, two_sockets)}
    assert figures["placement-latency"].z == ((80e-9, 144e-9), (160e-9, 80e-9))
    assert figures["placement-slit"].z == ((10, 21), (21, 10))
    assert [[round(x or 0, 6) for x in row] for row in figures["placement-ratio"].z] == [[10, 18], [20, 10]]


def test_one_node_is_said_to_be_alone(single: Machine) -> None:
    figures = placement.figures((result("chase", "latency", 9e-8, pinning="0", memory_policy="local"),), single)
    assert "one memory node" in figures[0].caption
    assert not any(f.name == "placement-slit" for f in figures)
    assert figures[1].z == ((9e-8,),)


def test_the_matrix_of_cores_is_the_same_both_ways(two_sockets: Machine) -> None:
    figure = cores.figures((result("transfer", "transfer_latency", 5e-8, pinning="0,3"),), two_sockets)[0]
    assert figure.z == ((None, 5e-8), (5e-8, None))
    assert "1 of 6 pairs" in figure.caption


def record(kernel: str, work: dict[str, float], threads: int, clock: float | None) -> Record:
    clocks = {"core_clock": {"before": [clock], "after": [clock]}} if clock else {}
    return Record(
        benchmark="memory.x",
        kernel=kernel,
        parameters={"threads": threads},
        launch=1,
        case=0,
        attempt=1,
        samples=(1e-3,),
        operations=1,
        work=work,
        check=Check(True),
        verdict=Verdict("CLEAN"),
        surroundings=builders.seen(clocks),
    )


def corner(toolchain: str, point: str, policy: str, cycles: float) -> Result:
    length, alpha = apexmap.CORNERS[point]
    told = {"cycles": Value(cycles, "cycle", None, None, "lower")}
    parameters = {
        "L": length, "alpha": alpha, "threads": 1, "accumulators": 1, "elements": 1 << 20, "memory_policy": policy,
        "toolchain": toolchain,
    }  # fmt: skip
    return Result(
        benchmark="memory.apexmap",
        kernel="gather",
        parameters=parameters,
        records=(),
        metrics=told,
        verdict=Verdict("CLEAN"),
    )


def test_the_corners_stand_in_a_table_by_compiler_and_memory_beside_the_published_one(two_sockets: Machine) -> None:
    results = tuple(
        corner(compiler, point, policy, cycles)
        for compiler, factor in (("gcc-12", 1.0), ("clang-15", 1.1))
        for point, policy, cycles in (
            ("G", "local", 300 * factor),
            ("G", "interleave", 400 * factor),
            ("L", "local", 3.6),
        )
    )
    table = apexmap.figures(results, two_sockets)[-1]
    assert (table.kind, table.headings[2:4]) == ("table", ("G, nearest memory", "G, all memory nodes"))
    assert table.cells[:2] == (
        ("by hand", "clang-15", "330 cycle", "440 cycle", "3.60 cycle", "–"),
        ("by hand", "gcc-12", "300 cycle", "400 cycle", "3.60 cycle", "–"),
    )
    published = {row[:2]: row[2:] for row in table.cells[2:]}
    assert published["4x AMD 8350 Barcelona (published)", "icc"] == (
        "325 cycle",
        "419 cycle",
        "1.17 cycle",
        "1.17 cycle",
    )
    assert len(published) == 6
    assert "Steelyard assumes" in table.caption


@pytest.mark.parametrize("preset", sorted(EFFORTS))
def test_both_memories_of_the_corners_are_planned_with_one_thread(two_sockets: Machine, preset: str) -> None:
    made = make({"memory.apexmap": catalogue.find()["memory.apexmap"]}, two_sockets, EFFORTS[preset], {}, ["gcc"])
    alone = [c.parameters for launch in made.launches for c in launch.cases if c.parameters["threads"] == 1]
    for length, alpha in apexmap.CORNERS.values():
        there = [p for p in alone if (p["L"], p["alpha"], p["accumulators"]) == (length, alpha, 1)]
        assert {p.get("memory_policy", "local") for p in there} == {"local", "interleave"}


def test_triad_of_the_run_with_the_best_copy_is_not_the_best_triad() -> None:
    copy, triad = [2.0] * 24 + [1.0], [1.5] * 24 + [1.8]
    assert best_by_copy(copy, triad) == 1.8
    assert best_by_copy(copy[1:], triad[1:]) is None
    assert best_by_copy([0.5, *copy], [0.1, *triad]) == 1.8  # the last 25
    told = {"details": {"copy": copy, "triad": triad}}
    record = Record(
        benchmark="memory.stream", kernel="rotation", parameters={"elements": 75}, launch=1, case=0, attempt=1,
        samples=(6.0,) * 25, operations=1, work={},
        check=Check(True), verdict=Verdict("CLEAN"), surroundings=builders.seen(told),
    )  # fmt: skip
    assert stream.triad_by_copy(6.0, record) == pytest.approx(24 * 75 / 1.8)
    assert stream.triad_by_copy(6.0, replace(record, kernel="triad")) is None
    assert stream.triad_by_copy(6.0, replace(record, surroundings=builders.seen({}))) is None


def test_cycles_count_one_thread_and_cost_divides_by_the_threads() -> None:
    by_name = {m.name: m for m in apexmap.metrics}
    measured = record("gather", {"accesses": 4e5, "bytes": 3.2e6, "flops": 8e5}, 4, 2e9)
    assert by_name["access_time"].of(1e-3, measured) == pytest.approx(1e-8)
    assert by_name["cycles"].of(1e-3, measured) == pytest.approx(20)
    assert by_name["cost"].of(1e-3, measured) == pytest.approx(5)
    unknown = record("gather", {"accesses": 4e5, "bytes": 3.2e6, "flops": 8e5}, 4, None)
    assert by_name["cycles"].of(1e-3, unknown) is None


def test_latency_under_load_is_that_of_the_one_walker() -> None:
    by_name = {m.name: m for m in placement.metrics}
    loaded = record("loaded", {"accesses": 4096, "bytes": 262144, "injected_bytes": 4e6}, 8, 2e9)
    assert by_name["latency"].of(4.096e-4, loaded) == pytest.approx(1e-7)
    assert by_name["injected_bandwidth"].of(4.096e-4, loaded) == pytest.approx(9.765625e9)
    assert by_name["bandwidth"].of(4.096e-4, loaded) is None
