"""How ranks are started: the command lines as text, where the ranks are placed, and who is blamed when one is lost."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import builders
from scripts import write_script
from steelyard.errors import MachineFailed, UsageError
from steelyard.measure import plan as planning
from steelyard.measure.launch import mpiexec, site
from steelyard.measure.launch.command_text import format_command
from steelyard.measure.launch.rank_errors import explain, remove_reports
from steelyard.measure.launch.start import job
from steelyard.measure.machine.rank_placement import pair_placements, place_ranks
from steelyard.measure.mpi import Job, Order, leave_out_unused_hosts
from steelyard.measure.run.asking import time_limit
from steelyard.model import Axes, Benchmark, Case, Core, Host, Machine, Site, Source, Tool

HOSTS = (Host("a", 2), Host("b", 2))


@pytest.fixture
def wrapper(tmp_path: Path) -> str:
    """A folder with an mpicxx and an mpiexec, as an MPI installs them."""
    write_script(tmp_path / "mpiexec", "")
    return str(write_script(tmp_path / "mpicxx", ""))


def words(wrapper: str, flavour: str, version: str = "4.1.4", **more: object) -> str:
    """The command line without the folder of the MPI."""
    asked = Job(Path("/cache/pingpong"), 4, Tool(flavour, wrapper, version), **more)
    return " ".join(mpiexec.argv(asked)).replace(str(Path(wrapper).parent) + "/", "")


def test_open_mpi_4_on_one_machine(wrapper: str) -> None:
    assert words(wrapper, "openmpi") == (
        "mpiexec -n 4 --bind-to none --map-by slot --oversubscribe "
        "-x STEELYARD_CPUS -x STEELYARD_MEMORY -x STEELYARD_NODES /cache/pingpong"
    )


def test_open_mpi_5_over_hosts_goes_round_them(wrapper: str) -> None:
    assert words(wrapper, "openmpi", "5.0.8", hosts=HOSTS, mapping="cyclic") == (
        "mpiexec -n 4 --bind-to none --map-by node:OVERSUBSCRIBE --host a:2,b:2 "
        "-x STEELYARD_CPUS -x STEELYARD_MEMORY -x STEELYARD_NODES /cache/pingpong"
    )


def test_open_mpi_puts_so_many_ranks_on_each_host(wrapper: str) -> None:
    told = words(wrapper, "openmpi", hosts=(Host("a", 8), Host("b", 8)), ranks_per_node=2)
    assert "--map-by slot --oversubscribe --host a:2,b:2" in told


@pytest.mark.parametrize(
    ("ranks", "per_node", "mapping", "used"),
    [
        (2, None, "block", "a"),
        (3, None, "block", "ab"),
        (2, 1, "block", "ab"),
        (2, None, "cyclic", "ab"),
        (9, None, "block", "abc"),
    ],
)
def test_only_hosts_with_ranks_are_named(ranks: int, per_node: int | None, mapping: Order, used: str) -> None:
    hosts = tuple(Host(name, 2) for name in "abc")
    job = Job(Path("/p"), ranks, Tool("mpich", "/m", "4"), hosts=hosts, ranks_per_node=per_node, mapping=mapping)
    assert "".join(host.name for host in leave_out_unused_hosts(job).hosts) == used


@pytest.mark.parametrize(("slots", "cpus", "yields"), [(4, (0, 1), True), (1, (0, 1), False), (4, (), False)])
def test_waiting_ranks_of_open_mpi_yield_where_they_share_processors(
    wrapper: str, monkeypatch: pytest.MonkeyPatch, slots: int, cpus: tuple[int, ...], yields: bool
) -> None:
    """mpirun does so by itself if there are more ranks than slots, but `--host` gives it as many slots as ranks."""
    hosts = tuple(Host(name, slots) for name in (("a",) if slots == 4 else ("a", "b", "c", "d")))
    assert ("--mca mpi_yield_when_idle 1 /cache" in words(wrapper, "openmpi", hosts=hosts, cpus=cpus)) == yields
    monkeypatch.setenv("OMPI_MCA_mpi_yield_when_idle", "0")
    assert "yield" not in words(wrapper, "openmpi", hosts=hosts, cpus=cpus)


def test_mpich_over_hosts(wrapper: str) -> None:
    assert words(wrapper, "mpich", hosts=HOSTS, ranks_per_node=1) == (
        "mpiexec -n 4 -bind-to none -hosts a:1,b:1 -genvlist STEELYARD_CPUS,STEELYARD_MEMORY,STEELYARD_NODES /cache/pingpong"
    )


def test_mpich_goes_round_the_hosts(wrapper: str) -> None:
    told = words(wrapper, "mpich", hosts=(Host("a", 8), Host("b", 8)), ranks_per_node=2, mapping="cyclic")
    assert "-hosts a:2,b:2 -ppn 1" in told


@pytest.mark.parametrize("flavour", ["openmpi", "mpich", "intelmpi"])
def test_without_shared_memory_every_mpi_is_told_so_in_its_environment(wrapper: str, flavour: str) -> None:
    usual = Job(Path("p"), 2, Tool(flavour, wrapper, "4"))
    without = replace(usual, transport="no shared memory")
    changed = set(mpiexec.environment(without, {}).items()) - set(mpiexec.environment(usual, {}).items())
    assert changed
    for name, _ in changed:
        assert name in " ".join(mpiexec.argv(without)) or flavour == "intelmpi"


def test_an_mpi_without_mpiexec_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MachineFailed, match="no mpiexec in the same folder"):
        mpiexec.argv(Job(Path("p"), 2, Tool("openmpi", str(tmp_path / "mpicxx"), "4.1.4")))


def test_the_ranks_are_told_their_processors(wrapper: str) -> None:
    asked = Job(Path("p"), 2, Tool("mpich", wrapper, "4"), cpus=(0, 3))
    assert mpiexec.environment(asked, {"HOME": "/x"})["STEELYARD_CPUS"] == "0,3"
    assert mpiexec.environment(asked, {"HOME": "/x"})["HOME"] == "/x"


def test_the_command_is_shown_with_the_variables_that_are_not_the_users() -> None:
    assert format_command(["mpiexec", "p"], {"STEELYARD_CPUS": "0,1", "FI_PROVIDER": "tcp"}) == (
        "STEELYARD_CPUS=0,1 FI_PROVIDER=tcp mpiexec p"
    )


# --------------------------------------------------------------------------- placement


def test_the_relations_of_a_pair_are_found_from_near_to_far(two_sockets: Machine) -> None:
    assert pair_placements(two_sockets) == ("same cache", "other socket")
    assert place_ranks(two_sockets, 2, None, "same cache") == (0, 1)
    assert place_ranks(two_sockets, 2, None, "other socket") == (0, 2)
    with_hosts = replace(two_sockets, hosts=HOSTS)
    assert pair_placements(with_hosts)[-1] == "other node"
    assert place_ranks(with_hosts, 2, 1, "other node") == (0,)
    assert pair_placements(replace(two_sockets, hosts=(Host("a", 1), Host("b", 1)))) == ("other node",)


def test_two_threads_of_a_core_are_the_nearest_pair(two_sockets: Machine) -> None:
    threads = replace(two_sockets, cores=(Core(0, 0, 0, (0, 1)), Core(1, 1, 1, (2, 3))))
    assert pair_placements(threads) == ("same core", "other socket")


def test_a_relation_that_the_machine_has_not_is_refused_with_those_it_has(two_sockets: Machine) -> None:
    with pytest.raises(UsageError, match="same cache, other socket"):
        place_ranks(two_sockets, 2, None, "same core")
    with pytest.raises(UsageError, match="Did you mean 'same cache'"):
        place_ranks(two_sockets, 2, None, "same cach")
    with pytest.raises(UsageError, match="two hosts"):
        place_ranks(two_sockets, 2, None, "other node")


def test_more_ranks_than_processors_take_turns_and_more_than_slots_are_refused(two_sockets: Machine) -> None:
    assert place_ranks(two_sockets, 16, None, "compact") == (0, 1, 2, 3)
    with pytest.raises(UsageError, match="more than the 4 slots of the hosts a:2, b:2"):
        place_ranks(replace(two_sockets, hosts=HOSTS), 5, None, "compact")
    with pytest.raises(UsageError, match="need 3 hosts"):
        place_ranks(replace(two_sockets, hosts=HOSTS), 3, 1, "compact")


# --------------------------------------------------------------------------- hosts


def test_a_list_of_hosts_is_read() -> None:
    assert site.hosts("a:4,node-2.cluster") == (Host("a", 4), Host("node-2.cluster", 1))
    assert site.hosts(None) == ()


@pytest.mark.parametrize(
    "text", ["a:0", "a:x", "", ",", "a b", "a;b", "$(reboot)", "-a", "n[1-]:2", "[::1:2", "[::x]:2", "[::1]:0", "u@a"]
)
def test_what_is_no_host_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a host"):
        site.hosts(text)


# --------------------------------------------------------------------------- the plan


def parallel(values: dict[str, tuple[str | int, ...]]) -> Benchmark:
    def axes(machine: Machine, effort: object) -> tuple[Axes, ...]:
        return (Axes({"kernel": ("k",), **values}),)

    return replace(builders.benchmark("network.x"), sources=(Source("x.cpp", parallel=True),), axes=axes)


def test_cases_that_are_started_differently_get_a_launch_each(two_sockets: Machine) -> None:
    values = {"ranks": (2, 4), "message_bytes": (0, 8, 64), "transport": ("default", "no shared memory")}
    made = planning.make(
        {"network.x": parallel(values)}, two_sockets, planning.EFFORTS["quick"], {}, ["gcc"], mpis=["one", "two"]
    )
    assert len(made.launches) == 2 * 2 * 2 * 2  # ranks, transports, MPIs, repetitions
    for launch in made.launches:
        assert len(launch.cases) == 3
        assert len({tuple(c.parameters[n] for n in ("ranks", "transport", "mpi")) for c in launch.cases}) == 1


def test_the_job_of_a_case_holds_what_its_parameters_say(two_sockets: Machine) -> None:
    mpi = Tool("openmpi", "/usr/bin/mpicxx", "4.1.4")
    asked = {"ranks": 2, "placement": "other node", "transport": "tcp", "mpi": "openmpi-4.1.4"}
    found = job(Site({"openmpi-4.1.4": mpi}), replace(two_sockets, hosts=HOSTS), asked, Path("/p"))
    assert (found.ranks, found.ranks_per_node, found.transport, found.cpus) == (2, 1, "tcp", (0,))


# --------------------------------------------------------------------------- a rank that is lost


def report(what: str, rank: int, host: str = "n1", process: int = 0) -> str:
    return json.dumps(
        {"steelyard": what, "rank": rank, "host": host, "process": process or 100 + rank}, separators=(",", ":")
    )


def test_a_silent_rank_is_named_with_its_host() -> None:
    said = "\n".join(
        [report("here", 0), report("here", 1, "n2"), report("here", 2), report("overdue", 0), report("overdue", 2)]
    )
    assert "Rank 1 on n2 did not answer" in explain(said, 3, over_time=True)


def test_a_rank_that_never_started_is_named() -> None:
    assert "Rank 1 of 3 did not start" in explain("\n".join([report("here", 0), report("here", 2)]), 3, over_time=True)


def test_of_many_lost_ranks_the_first_are_named_with_the_number_of_the_others() -> None:
    here = "\n".join(report("here", r, f"n{r}") for r in range(100))
    assert "Ranks 100, 101, 102, 103, 104, 105 and 65430 more of 65536 did not start" in explain(
        here, 65536, over_time=True
    )
    assert len(explain(here, 65536, over_time=True)) < 200
    waiting = "\n".join(report("overdue", r, f"n{r}") for r in range(40))
    assert " and 54 more did not answer" in explain(f"{here}\n{waiting}", 100, over_time=True)


def test_a_case_of_many_ranks_on_few_processors_may_take_longer(two_sockets: Machine) -> None:
    def limit(ranks: int) -> float:
        asked = {"ranks": ranks, "mpi": "openmpi-4.1.4"}
        return time_limit(Case("network.x", "k", asked, setup_seconds=1.0), two_sockets)

    assert limit(1024) > 2 * limit(8)


@pytest.mark.parametrize(
    "launcher",
    [
        "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   PID 101 RUNNING AT n2\n=   EXIT CODE: 9",
        "mpirun noticed that process rank 1 with PID 101 on node n2 exited on signal 9 (Killed).",
    ],
)
def test_a_killed_rank_is_named_by_the_process_that_the_launcher_tells(launcher: str) -> None:
    said = "\n".join([report("here", 0), report("here", 1, "n2"), launcher])
    assert "Rank 1 on n2 (process 101) died" in explain(said, 2, over_time=False)


def test_a_rank_that_ended_without_a_word_is_the_one_that_died() -> None:
    told = [report("here", r) for r in range(3)] + [report("aborted", 0), report("ended", 2)]
    blamed = "prterun has exited due to process rank 0 with PID 100 on node n1 calling abort"
    assert "Rank 1 on n1 (process 101) died" in explain("\n".join([*told, blamed]), 3, over_time=False)


def test_a_rank_that_crashed_says_so_itself() -> None:
    said = "\n".join([report("here", 0), report("here", 1, "n2"), report("crashed", 1, "n2"), report("ended", 0)])
    assert "Rank 1 on n2 (process 101) crashed" in explain(said, 2, over_time=False)


def test_when_all_ranks_wait_nobody_is_blamed() -> None:
    said = "\n".join(report(what, rank) for what in ("here", "overdue") for rank in (0, 1))
    assert "wait for each other" in explain(said, 2, over_time=True)


def test_of_a_serial_program_nothing_is_said() -> None:
    assert explain("some error", None, over_time=True) == ""
    assert remove_reports(report("here", 0) + "\nsome error") == "some error"


@given(st.text())
def test_no_text_on_the_error_channel_breaks_the_explanation(text: str) -> None:
    explain(text, 2, over_time=True)
    explain('{"steelyard":' + text, 2, over_time=False)
