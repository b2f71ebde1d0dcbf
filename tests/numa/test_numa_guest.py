"""Machines with several sockets and memory nodes: what the tool says of them, and where it puts memory."""

import guest
import pytest
from guest import Shape
from visits import PINNINGS, SHAPES, Visit, visited

from steelyard.measure.benchmarks.memory.nodes import Placement, placements
from steelyard.measure.machine.placement import place
from steelyard.model import Evaluation, Machine, Record
from steelyard.model.figure import Figure

# Memory that a kernel keeps for itself before it counts what a node has.
KERNEL_SHARE = 0.2
# The harness asks 64 pages of each array: three arrays on an even share of a half leave less than this.
SHARE_ERROR = 0.05
NAMES = {
    "two sockets": ["full_system", "local_socket", "remote_other_socket"],
    "two sockets of two nodes": [
        "full_system",
        "local_socket",
        "local_numa_node",
        "remote_same_socket",
        "remote_other_socket",
    ],
}


def _of(shape: Shape) -> Visit:
    back = visited(shape)
    if isinstance(back, str):
        pytest.fail(back, pytrace=False)
    return back


@pytest.fixture(params=SHAPES, ids=lambda shape: shape.name)
def visit(request: pytest.FixtureRequest) -> Visit:
    """To each of the machines in turn."""
    return _of(request.param)


@pytest.fixture
def two_sockets() -> Visit:
    """To the machine in which the policies and the command line are tried."""
    return _of(SHAPES[0])


def _figure(judged: Evaluation, name: str) -> Figure:
    figures = judged.benchmarks["memory.placement"].figures(judged.results, judged.run.machine)
    return next(figure for figure in figures if figure.name == name)


def _measured(judged: Evaluation, kernel: str, pinning: str, policy: str) -> Record:
    """The one record of a case, which must have been measured and have a right result."""
    asked = (kernel, pinning, policy)
    found = [
        record
        for record in judged.run.records
        if (record.kernel, str(record.parameters["pinning"]), record.parameters["memory_policy"]) == asked
    ]
    assert len(found) == 1, asked
    assert found[0].error is None
    assert found[0].check.passed
    return found[0]


def _nodes(record: Record) -> dict[int, float]:
    """The share of the pages on each memory node, as the kernel of the operating system told it."""
    return {int(node): share for node, share in record.surroundings.pages.nodes.items()}


def test_sockets_nodes_and_cores_are_those_of_the_guest(visit: Visit) -> None:
    shape, machine = visit.shape, visit.machine
    assert machine.cpus == tuple(range(shape.cores))
    assert {node.number: node.cpus for node in machine.nodes} == {n: shape.cpus(n) for n in range(shape.nodes)}
    found = {core.cpus: (core.socket, core.node) for core in machine.cores}
    assert found == {
        (cpu,): (node // shape.nodes_of_socket, node) for node in range(shape.nodes) for cpu in shape.cpus(node)
    }
    for node in machine.nodes:
        assert shape.node_bytes * (1 - KERNEL_SHARE) < node.memory <= shape.node_bytes
    assert machine.memory <= sum(node.memory for node in machine.nodes)


def test_the_distances_are_those_of_the_firmware(visit: Visit) -> None:
    assert tuple(node.distances for node in visit.machine.nodes) == visit.shape.distances
    figure = _figure(visit.placement, "placement-slit")
    assert figure.z == visit.shape.distances
    assert figure.rows == figure.columns == tuple(str(node) for node in range(visit.shape.nodes))


def test_no_cache_is_shared_by_two_sockets(visit: Visit) -> None:
    socket = {cpu: core.socket for core in visit.machine.cores for cpu in core.cpus}
    assert {found.level for found in visit.machine.caches} >= {1, 2}
    for found in visit.machine.caches:
        assert len({socket[cpu] for cpu in found.cpus}) == 1, found


def test_threads_are_spread_over_the_nodes_or_kept_together_as_asked(visit: Visit) -> None:
    machine, shape = visit.machine, visit.shape
    node = {cpu: core.node for core in machine.cores for cpu in core.cpus}
    scattered = place(machine, shape.nodes, "scatter")
    compact = place(machine, shape.cores_of_node, "compact")
    assert scattered
    assert sorted(node[cpu] for cpu in scattered) == list(range(shape.nodes))
    assert {cpu: node[cpu] // shape.nodes_of_socket for cpu in scattered[:2]} == {
        scattered[0]: 0,
        scattered[1]: 1,
    }
    assert compact == shape.cpus(0)


def test_every_cell_of_the_matrix_is_measured_on_its_processors_with_its_memory(visit: Visit) -> None:
    shape = visit.shape
    for near in range(shape.nodes):
        cpus = shape.cpus(near)
        for memory in range(shape.nodes):
            triad = _measured(visit.placement, "triad", f"{cpus[0]}-{cpus[-1]}", f"bind:{memory}")
            chase = _measured(visit.placement, "chase", str(cpus[0]), f"bind:{memory}")
            assert triad.surroundings.cpus == list(cpus)
            assert chase.surroundings.cpus == [cpus[0]]
            assert _nodes(triad) == _nodes(chase) == {memory: 1.0}


def test_the_matrices_have_a_row_for_each_processor_node_and_a_column_for_each_memory_node(
    visit: Visit,
) -> None:
    numbers = tuple(str(node) for node in range(visit.shape.nodes))
    for name in ("placement-bandwidth", "placement-latency", "placement-ratio"):
        figure = _figure(visit.placement, name)
        assert figure.rows == figure.columns == numbers
        assert all(value is not None and value > 0 for row in figure.z for value in row), name


def test_the_five_placements_are_found_where_the_machine_has_them(visit: Visit) -> None:
    machine, shape = visit.machine, visit.shape
    found = {placement.name: placement for placement in placements(machine)}
    assert list(found) == NAMES[shape.name]
    assert found["full_system"].cpus == machine.cpus
    home = tuple(cpu for node in range(shape.nodes_of_socket) for cpu in shape.cpus(node))
    assert found["local_socket"].cpus == home
    assert found["remote_other_socket"].memory_policy == f"bind:{shape.nodes_of_socket}"
    if shape.nodes_of_socket > 1:
        assert found["local_numa_node"].memory_policy == "bind:0"
        assert found["remote_same_socket"].memory_policy == "bind:1"


def test_every_placement_has_its_pages_where_its_name_says(visit: Visit) -> None:
    for placement in placements(visit.machine):
        record = _measured(visit.placement, "triad", placement.pinning, placement.memory_policy)
        assert record.surroundings.cpus == list(placement.cpus)
        expected = _expected(visit.machine, placement)
        assert _nodes(record) == pytest.approx(expected, abs=SHARE_ERROR), placement.name


def _expected(machine: Machine, placement: Placement) -> dict[int, float]:
    """Where first touch, or the binding, must have put the pages."""
    if placement.memory_policy.startswith("bind:"):
        return {int(placement.memory_policy.removeprefix("bind:")): 1.0}
    node = {cpu: core.node for core in machine.cores for cpu in core.cpus}
    used = [node[cpu] for cpu in placement.cpus]
    return {number: used.count(number) / len(used) for number in used}


def test_the_figure_of_the_placements_shows_all_of_them(visit: Visit) -> None:
    measured = next(s for s in _figure(visit.placement, "placement-five").series if s.name == "measured")
    assert len(measured.x) == len(NAMES[visit.shape.name])
    assert all(measured.y)


def test_the_loaded_latency_is_of_memory_next_to_its_processors(visit: Visit) -> None:
    loaded = [record for record in visit.placement.run.records if record.kernel == "loaded"]
    assert loaded
    for record in loaded:
        assert record.error is None
        assert record.check.passed
        assert record.surroundings.cpus == list(visit.shape.cpus(0))
        assert _nodes(record) == {0: 1.0}


def test_each_memory_policy_puts_the_pages_where_it_promises(two_sockets: Visit) -> None:
    assert two_sockets.stream
    for pinning, local in PINNINGS.items():
        promised = {"local": local, "interleave": {0: 0.5, 1: 0.5}, "bind:0": {0: 1.0}, "bind:1": {1: 1.0}}
        for policy, expected in promised.items():
            record = _measured(two_sockets.stream, "triad", pinning, policy)
            assert _nodes(record) == pytest.approx(expected, abs=SHARE_ERROR), f"{policy} on {pinning}"


def test_a_node_that_is_not_there_is_an_error_that_names_those_that_are(two_sockets: Visit) -> None:
    assert two_sockets.stream
    asked = [record for record in two_sockets.stream.run.records if record.parameters["memory_policy"] == "bind:7"]
    assert len(asked) == len(PINNINGS)
    for record in asked:
        assert record.verdict.level == "INVALID"
        assert record.error
        assert "'bind:7'" in record.error
        assert "0-1" in record.error


def test_the_command_line_evaluates_a_machine_of_two_nodes_to_its_end(two_sockets: Visit) -> None:
    assert two_sockets.command
    # 1: an emulated machine may well earn a serious finding. Wrong results and failures are 2 and more.
    assert two_sockets.codes["command"] in (0, 1), two_sockets.told
    assert two_sockets.command.run.finished
    assert [node.distances for node in two_sockets.command.run.machine.nodes] == [(10, 21), (21, 10)]
    assert "report.html" in two_sockets.told
    for record in two_sockets.command.run.records:
        assert _nodes(record) == pytest.approx({0: 0.5, 1: 0.5}, abs=SHARE_ERROR)


def test_a_guest_that_hangs_is_killed_and_all_that_it_said_is_kept() -> None:
    said = guest.watch(["sh", "-c", "echo the kernel has stopped; exec sleep 600"], seconds=1)
    assert "the kernel has stopped" in said
    assert "killed after 1 s" in said
