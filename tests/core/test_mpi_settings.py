"""What steers an MPI besides Steelyard: it is recorded, shown, a condition of a comparison, and the cause of slow messages."""

import glob
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from builders import evaluation, machine, message
from steelyard.compare.cause import Cause, find_cause_of_runs
from steelyard.errors import UsageError
from steelyard.judge import findings
from steelyard.judge.findings.doctor import MPI_SETTINGS, Advice, examine
from steelyard.measure import records
from steelyard.measure.machine.mpi_settings import read_mpi_settings
from steelyard.measure.plan import mpi_in_effect
from steelyard.measure.run import session
from steelyard.model import (
    Case,
    Evaluation,
    Finding,
    Launch,
    Machine,
    Parameters,
    Plan,
    Sampling,
    Setting,
    Site,
    Tool,
    Variant,
)
from steelyard.model.mpi_settings import ENVIRONMENT
from steelyard.model.plain import to_plain
from steelyard.show.report import screen, terminal

LEFT_OVER = (Setting("OMPI_MCA_btl", "self,tcp", ENVIRONMENT),)
OPENMPI = Tool("openmpi", "/nowhere/bin/mpicxx", "4.1.4")


@pytest.fixture(autouse=True)
def no_files_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian's Open MPI comes with a file of parameters in /etc."""
    real = glob.glob
    monkeypatch.setattr(glob, "glob", lambda path: [] if path.startswith("/etc") else real(path))


def settings(environment: Mapping[str, str], *tools: Tool) -> dict[str, tuple[str | None, str]]:
    return {s.name: (s.value, s.source) for s in read_mpi_settings(tools or [OPENMPI], environment)}


def here(settings: Iterable[Setting] | None = LEFT_OVER, **changed: Any) -> Machine:
    return machine(mpis=(OPENMPI,), mpi_settings=None if settings is None else tuple(settings), **changed)


def run_of(
    settings: Iterable[Setting] | None, seconds: float = 6.6e-6, site: Site | None = None, **parameters: Any
) -> Evaluation:
    """A run of one ping-pong on a machine with these settings."""
    measured = message(seconds, **parameters)
    case = Case(measured.benchmark, measured.kernel, measured.parameters, Sampling(0.02, 1.0))
    plan = Plan("quick", 1, (Launch(1, measured.benchmark, "gcc-12.2.0", 1, (case,)),), 60.0)
    return evaluation([measured], here(settings), plan=plan, site=site or Site({"openmpi-4.1.4": OPENMPI}))


def slow(of: Evaluation) -> list[Finding]:
    return findings.load_rule("slow_transport").find(of)


# --------------------------------------------------------------------------- what is read


@pytest.mark.parametrize(
    "name",
    ["OMPI_MCA_btl", "PRTE_MCA_plm", "PMIX_MCA_gds", "UCX_TLS", "FI_PROVIDER", "I_MPI_FABRICS", "MPICH_NO_LOCAL",
     "MPIR_CVAR_NOLOCAL", "HYDRA_BOOTSTRAP", "MV2_USE_SHARED_MEM", "FLUX_SHELL_OPTIONS", "SLURM_MPI_TYPE", "UCC_TLS",
     "HCOLL_ENABLE_MCAST_ALL", "SHARP_COLL_ENABLE_SAT", "PSM2_DEVICES", "MXM_TLS", "ROMIO_HINTS", "SHMEM_SYMMETRIC_SIZE",
     "RDMAV_HUGEPAGES_SAFE", "MLX5_SINGLE_THREADED"],
)  # fmt: skip
def test_a_variable_that_steers_an_mpi_is_recorded_with_its_value(name: str) -> None:
    assert settings({name: "x"}) == {name: ("x", ENVIRONMENT)}


def test_no_other_variable_is_recorded() -> None:
    others = {
        "HOME": "/",
        "API_TOKEN": "secret",
        "FLUX_URI": "local:///run/flux",
        "OMP_NUM_THREADS": "4",
        "MY_UCX_TLS": "x",
    }
    harmless = {
        "I_MPI_ROOT": "/opt/intel",
        "OMPI_MCA_btl_base_verbose": "10",
        "UCX_LOG_LEVEL": "info",
        "UCC_LOG_LEVEL": "info",
        "FI_PROVIDER_PATH": "/opt/intel/lib/prov",  # Intel's setvars.sh
        "FLUX_CONNECTOR_PATH": "/usr/lib/flux/connectors",
        "HCOLL_VERBOSE": "1",
        "ROMIO_PRINT_HINTS": "1",
        "MV2_SHOW_ENV_INFO": "2",
        "MPICH_CXX": "g++",
    }
    assert settings({**others, **harmless, "OMPI_ALLOW_RUN_AS_ROOT": "1"}) == {}


def test_the_own_files_of_an_mpi_are_read_in_the_order_in_which_it_reads_them(tmp_path: Path) -> None:
    home, prefix = tmp_path / "home", tmp_path / "opt"
    files = {
        home / ".openmpi/mca-params.conf": "# mine\nbtl = self,tcp\npml=ob1\nbroken line\n",
        prefix / "etc/openmpi-mca-params.conf": "btl = ^vader\nmtl = psm2\npml = ucx\n",
        prefix / "etc/openmpi-mca-params-override.conf": "mtl = ofi\n",
        prefix / "etc/prte-mca-params.conf": "plm = ssh\n",
        home / "ucx.conf": "UCX_TLS=tcp\nSECRET=1\n[Grace]\nUCX_NET_DEVICES=mlx5_0:1\n",
    }
    for file, text in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    mine, _, override, prte, ucx = map(str, files)
    environment = {"HOME": str(home), "OMPI_MCA_pml": "cm", "OMPI_MCA_mtl": "psm2"}
    assert settings(environment, replace(OPENMPI, path=f"{prefix}/bin/mpicxx")) == {
        "OMPI_MCA_btl": ("self,tcp", mine),
        "OMPI_MCA_mtl": ("ofi", override),
        "OMPI_MCA_pml": ("cm", ENVIRONMENT),
        "PRTE_MCA_plm": ("ssh", prte),
        "UCX_TLS": ("tcp", ucx),
    }
    other = tmp_path / "other.conf"
    other.write_text("btl = tcp\n")
    named = {"HOME": str(home), "OMPI_MCA_mca_base_param_files": f"{tmp_path}/none,{other}"}
    assert settings(named).get("OMPI_MCA_btl") == ("tcp", str(other))
    assert "OMPI_MCA_pml" not in settings(named), "Open MPI reads only the named files"


OF_FILES: dict[str, tuple[str, str, str, dict[str, str]]] = {
    "UCC": ("openmpi", "home/ucc.conf", "UCC_TLS=^sharp", {"UCC_TLS": "^sharp"}),
    "libfabric": ("mpich", "opt/etc/libfabric.conf", "FI_PROVIDER=tcp", {"FI_PROVIDER": "tcp"}),
    "Hydra": (
        "mpich", "home/.mpiexec.hydra.conf", "-genv UCX_TLS tcp -env FI_PROVIDER tcp", {"UCX_TLS": "tcp", "FI_PROVIDER": "tcp"},
    ),
    "Intel MPI": ("intelmpi", "opt/etc/mpiexec.conf", "-genv I_MPI_FABRICS ofi", {"I_MPI_FABRICS": "ofi"}),
}  # fmt: skip


@pytest.mark.parametrize("case", OF_FILES)
def test_the_files_below_an_mpi_and_of_its_launcher_are_read(case: str, tmp_path: Path) -> None:
    name, file, text, expected = OF_FILES[case]
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(f"# mine\n{text}\n")
    tool = Tool(name, f"{tmp_path}/opt/bin/mpicxx", "5")
    found = settings({"HOME": str(tmp_path / "home"), "FI_PROVIDER": "verbs"}, tool)
    wins = expected if case == "Hydra" else {"FI_PROVIDER": "verbs"}  # mpiexec's options win over the environment
    assert {n: value for n, (value, _) in found.items()} == {**expected, **wins}


def test_devices_of_psm_choose_the_transport() -> None:
    assert slow(run_of([Setting("PSM2_DEVICES", "hfi", ENVIRONMENT)]))


def test_an_unreadable_file_of_parameters_is_no_setting(tmp_path: Path) -> None:
    file = tmp_path / ".openmpi/mca-params.conf"
    file.parent.mkdir()
    file.write_bytes(b"btl = \xff\n" * 9)
    assert settings({"HOME": str(tmp_path)}) == {}
    file.unlink()
    file.mkdir()
    assert settings({"HOME": str(tmp_path)}) == {}


# --------------------------------------------------------------------------- what reaches the ranks


@pytest.mark.parametrize(
    ("parameters", "count"),
    [
        ({}, 1),
        ({"transport": "tcp"}, 0),  # Steelyard sets the same variable
        ({"mpi": "mpich-5.0.2"}, 0),  # another MPI
        ({"variant": "own"}, 0),  # a variant of the user sets it
        ({"variant": "other"}, 1),
        ({"mpi": "unheard-of-1"}, 0),
    ],
)
def test_a_setting_counts_where_it_reaches_the_ranks(parameters: Parameters, count: int) -> None:
    variants = (Variant("own", {"OMPI_MCA_btl": "sm,self"}), Variant("other", {"OMPI_MCA_pml": "ob1"}))
    site = Site({"openmpi-4.1.4": OPENMPI}, variants=variants)
    of_case = mpi_in_effect.list_of_case(here(), site, {"mpi": "openmpi-4.1.4", **parameters})
    assert len(of_case) == count
    assert mpi_in_effect.list_of_run(run_of(LEFT_OVER, site=site, **parameters).run) == of_case


def test_settings_of_a_run_are_read_back_and_those_of_older_runs_are_not_recorded(tmp_path: Path) -> None:
    run = run_of(LEFT_OVER).run
    records.RunFolder.create(tmp_path, run.machine, run.plan, {"site": to_plain(run.site)}, "a").close()
    assert mpi_in_effect.list_of_run(records.head(tmp_path / "a")) == LEFT_OVER
    file = tmp_path / "a/run.json"
    content = json.loads(file.read_text())
    del content["machine"]["mpi_settings"]
    file.write_text(json.dumps(content))
    assert records.head(tmp_path / "a").machine.mpi_settings is None
    assert mpi_in_effect.list_of_run(records.head(tmp_path / "a")) is None


def test_a_run_is_not_resumed_with_other_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(LEFT_OVER).run
    monkeypatch.setenv("OMPI_MCA_btl", "self,tcp")
    session._expect_same_configuration(run, run.site)
    monkeypatch.delenv("OMPI_MCA_btl")
    with pytest.raises(UsageError, match=r"OMPI_MCA_btl=self,tcp\. Now they are: none"):
        session._expect_same_configuration(run, run.site)
    session._expect_same_configuration(run_of(None).run, run.site)


# --------------------------------------------------------------------------- what is said of it


def cause(a: Evaluation, b: Evaluation) -> Cause:
    return find_cause_of_runs(a, b)


def test_the_configuration_of_the_mpi_is_a_condition_of_a_comparison() -> None:
    assert cause(run_of(LEFT_OVER), run_of(())).sentence == (
        "The configuration of the MPI is the only condition that differs: OMPI_MCA_btl=self,tcp (a), none (b)."
    )
    assert cause(run_of(LEFT_OVER), run_of(LEFT_OVER)).kind == "none"
    switched = {"transport": "tcp"}
    assert cause(run_of(LEFT_OVER, **switched), run_of((), **switched)).kind == "none", "the ranks got the same"
    assert cause(run_of(LEFT_OVER), run_of(None)).kind == "none", "not recorded in b"


def test_options_of_the_launcher_are_a_condition_of_a_comparison() -> None:
    extra = Site({"openmpi-4.1.4": OPENMPI}, extra=("--mca", "btl", "self,tcp"))
    assert [f.name for f in cause(run_of((), site=extra), run_of(())).factors] == ["launcher"]


def advice(settings: tuple[Setting, ...] | None, **changed: Any) -> Advice:
    return next(a for a in examine(replace(here(settings), **changed)) if a.name == MPI_SETTINGS)


def test_the_doctor_shows_what_steers_the_mpi() -> None:
    left = advice(LEFT_OVER)
    assert (left.level, left.command) == ("notice", "unset OMPI_MCA_btl")
    assert left.seen == "OMPI_MCA_btl=self,tcp (set in the environment)."
    assert advice((Setting("OMPI_MCA_btl", "tcp", "/etc/x.conf"),)).command == ""
    assert advice(()).level == "fine"
    assert advice(None).level == "unknown"
    unread = advice((Setting("I_MPI_FABRICS", "ofi", ENVIRONMENT),))
    assert (unread.level, "I_MPI_FABRICS=ofi" in unread.seen) == ("fine", True)


def test_the_screen_of_a_run_shows_what_steered_its_mpi() -> None:
    for settings, shown in ((LEFT_OVER, True), ((), False)):
        console = Console(file=io.StringIO(), width=80)
        screen.show(run_of(settings), console, None)
        terminal.show(run_of(settings), console)
        text = console.file.getvalue()  # type: ignore[attr-defined]
        assert text.count("Settings of the user for the MPI: OMPI_MCA_btl=self,tcp.") == shown
        assert text.count("Settings for the MPI besides the plan: OMPI_MCA_btl=self,tcp.") == shown


def test_slow_messages_name_the_setting_that_chooses_the_transport() -> None:
    (one,) = slow(run_of(LEFT_OVER, 6.65e-6))
    assert one.seen == (
        "Messages within the machine are as slow as over TCP: Open MPI takes 6.65 µs for 8 B, while OMPI_MCA_btl=self,tcp "
        "chooses its transport."
    )
    assert str(one.remedy).startswith("Run unset OMPI_MCA_btl. Then measure again.")
    (of_file,) = slow(run_of([Setting("UCX_TLS", "tcp", "/home/x/ucx.conf")]))
    assert str(of_file.remedy).startswith("Remove UCX_TLS from /home/x/ucx.conf.")


@pytest.mark.parametrize(
    ("settings", "seconds", "parameters"),
    [
        (LEFT_OVER, 0.4e-6, {}),  # fast
        ((), 6.6e-6, {}),
        (None, 6.6e-6, {}),
        (LEFT_OVER, 6.6e-6, {"transport": "tcp"}),
        ([Setting("OMPI_MCA_mtl", "^ofi", "/etc/openmpi.conf")], 5.3e-6, {"transport": "no shared memory"}),
        (LEFT_OVER, 6.6e-6, {"placement": "other node"}),
        ([Setting("OMPI_MCA_coll", "tuned", ENVIRONMENT)], 6.6e-6, {}),  # chooses no transport
    ],
)
def test_no_setting_is_blamed_without_slow_messages_that_it_steers(
    settings: Iterable[Setting] | None, seconds: float, parameters: dict[str, Any]
) -> None:
    assert slow(run_of(settings, seconds, **parameters)) == []
