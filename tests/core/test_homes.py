"""Homes and caches as containers and services have them: none, an empty one, one that cannot be used."""

import os
import pwd
from pathlib import Path
from types import SimpleNamespace

import pytest

from steelyard.errors import MachineFailed
from steelyard.measure.build import compiling
from steelyard.measure.launch import mpiexec
from steelyard.measure.mpi import Job
from steelyard.model import Tool
from steelyard.system import user_cache


@pytest.fixture
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without HOME and without an entry in passwd."""
    for name in ("HOME", "XDG_CACHE_HOME", "STEELYARD_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    def getpwuid(number: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {number}")

    monkeypatch.setattr(pwd, "getpwuid", getpwuid)
    return tmp_path


@pytest.mark.parametrize("home", [None, ""])
def test_a_user_without_a_home_has_a_cache_of_its_own(
    home: str | None, nobody: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if home is not None:
        monkeypatch.setenv("HOME", home)
    own = nobody / f"steelyard-{os.getuid()}"
    assert user_cache.cache() == own
    assert user_cache.inside("build") == own / "build"
    assert own.stat().st_mode & 0o777 == 0o700


def test_a_temporary_cache_that_others_can_write_to_is_refused(nobody: Path) -> None:
    folder = nobody / f"steelyard-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(MachineFailed, match="everyone can write to it.*set STEELYARD_CACHE"):
        user_cache.cache()


def test_a_launcher_gets_a_home_where_there_is_none(nobody: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(Path("/bin/true"), 2, Tool("openmpi", "/usr/bin/mpicxx", "4.1.4"))
    assert mpiexec.environment(job, {})["HOME"] == str(nobody)
    monkeypatch.setenv("HOME", "/home/a")
    assert mpiexec.environment(job, {"HOME": "/home/a"})["HOME"] == "/home/a"


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"STEELYARD_CACHE": "/a/cache", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/a/cache"),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/steelyard"),
        ({"HOME": "/h"}, "/h/.cache/steelyard"),
        ({"STEELYARD_CACHE": "", "XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache/steelyard"),
    ],
)
def test_the_first_variable_that_is_set_names_the_cache(
    variables: dict[str, str], expected: str, nobody: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert str(user_cache.cache()) == expected


def test_a_cache_from_which_nothing_may_be_started_is_refused_before_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "not" / "made yet"))
    user_cache.expect_executable()
    noexec = SimpleNamespace(f_flag=os.statvfs(tmp_path).f_flag | os.ST_NOEXEC)
    monkeypatch.setattr(os, "statvfs", lambda path: noexec)
    with pytest.raises(MachineFailed, match="made yet.*noexec.*Set STEELYARD_CACHE"):
        compiling.make([])
