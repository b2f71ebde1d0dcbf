"""Whose files are: nothing that another user may have prepared is executed, and no output follows a prepared link."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from replays import points
from steelyard.applications.foreign import description
from steelyard.errors import MachineFailed, UsageError
from steelyard.measure import build
from steelyard.measure.machine.system_file import load_system
from steelyard.model import Toolchain
from steelyard.system import files
from steelyard.system.user_cache import cache
from steelyard.whatif.scenario import load_scenario, read_scenario, read_tree

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")


def preset_mode(path: Path) -> None:
    path.chmod(0o777)


def given_away(path: Path) -> None:
    os.chown(path, NOBODY, NOBODY)


def of_a_group(path: Path) -> None:
    os.chown(path, os.geteuid(), 100)
    path.chmod(0o775)


WAYS = [
    pytest.param(preset_mode, "everyone can write to it"),
    pytest.param(given_away, "it belongs to nobody", marks=as_root),
    pytest.param(of_a_group, "its group can write to it", marks=as_root),
]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> build.Program:
    """A program that the cache holds already, as a script: the compiler is not needed to see whether it is taken."""
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    source = tmp_path / "own.cpp"
    source.write_text("")
    made = build.Program(
        name="own", source=source, toolchain=Toolchain("gcc-12.2.0", "g++", "12.2.0", "-O3"), alone=True
    )
    for path in (made.path, *(obj.path for obj in made.objects)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
    return made


@pytest.mark.parametrize(("spoil", "why"), WAYS)
@pytest.mark.parametrize("which", ["program", "its folder", "its object", "the folder of all"])
def test_a_program_that_others_can_write_is_not_taken(
    program: build.Program, spoil: Callable[[Path], None], why: str, which: str
) -> None:
    build.make([program])
    place = {
        "program": program.path,
        "its folder": program.path.parent,
        "its object": program.objects[0].path,
        "the folder of all": program.path.parent.parent,
    }[which]
    spoil(place)
    with pytest.raises(MachineFailed, match=f"'{place}' is not safe: {why}"):
        build.make([program])


@pytest.mark.parametrize(("spoil", "why"), WAYS)
def test_a_cache_that_others_can_write_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Path], None], why: str
) -> None:
    (tmp_path / "cache").mkdir()
    spoil(tmp_path / "cache")
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    with pytest.raises(MachineFailed, match=why):
        cache()


def test_a_cache_that_is_made_is_the_users_own_whatever_the_umask(tmp_path: Path) -> None:
    code = "import os; os.umask(0); from steelyard.measure import build; print(build.inside('build').parent)"
    environment = {**os.environ, "STEELYARD_CACHE": "relative/cache"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    made = Path(done.stdout.strip())
    assert made == tmp_path / "relative" / "cache"
    assert made.stat().st_mode & 0o077 == 0


def test_no_output_follows_a_link_that_somebody_prepared(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    prepared = [f".steelyard-{os.getpid()}.making", "report.html.making"]
    for name in prepared:
        (tmp_path / name).symlink_to(victim)
    seen: list[Path] = []

    def fill(making: Path) -> None:
        assert making.parent.stat().st_mode & 0o077 == 0, "nobody else can enter the folder"
        seen.append(making)
        making.write_text("new")

    files.make(tmp_path / "report.html", "The report", fill)
    files.write(tmp_path / "report.html", "The report", "newer")
    assert (tmp_path / "report.html").read_text() == "newer"
    assert victim.read_text() == "precious"
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["victim", "report.html", *prepared])
    assert not seen[0].parent.exists()


def test_a_file_keeps_its_mode_and_stays_whole_after_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    path.chmod(0o640)

    def fails(making: Path) -> None:
        making.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(MachineFailed, match="No space left"):
        files.make(path, "The report", fails)
    assert path.read_text() == "old"
    files.write(path, "The report", "new")
    assert path.stat().st_mode & 0o777 == 0o640
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


# ---------------------------------------------------------------------- passwords and tokens


@pytest.mark.parametrize(
    ("mode", "taken"),
    [(0o600, True), (0o400, True), (0o640, True)] + [(m, False) for m in (0o666, 0o644, 0o660, 0o602)],
)
def test_a_password_that_others_can_read_or_write_is_refused_unless_it_is_asked_for(
    tmp_path: Path, mode: int, taken: bool
) -> None:
    path = tmp_path / "secret"
    path.write_text("letmein\n")
    path.chmod(mode)
    assert files.secret(path, "password", insecure=True) == "letmein"
    if taken:
        assert files.secret(path, "password") == "letmein"
        return
    with pytest.raises(UsageError, match=f"mode {mode:o}.*chmod 600") as refused:
        files.secret(path, "password", insecure=False)
    assert "--insecure" in str(refused.value)
    with pytest.raises(UsageError) as refused:
        files.secret(path, "password")
    assert "--insecure" not in str(refused.value), "where there is no such option"


def test_what_is_no_short_file_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PATIENCE", 0.3)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    (tmp_path / "binary").chmod(0o600)
    (tmp_path / "long").write_text("x" * (files.SHORT + 1))
    for name in ("/dev/zero", str(tmp_path), str(tmp_path / "none"), str(tmp_path / "binary"), str(tmp_path / "long")):
        with pytest.raises(UsageError, match=r"The token file .* cannot be read: "):
            files.secret(Path(name), "token")
    with pytest.raises(UsageError, match="nobody writes to it"):
        files.secret(tmp_path / "pipe", "token")
    writer = os.open(tmp_path / "pipe", os.O_RDWR)
    with pytest.raises(UsageError, match="reading it took longer than"):
        files.secret(tmp_path / "pipe", "token")
    os.close(writer)


def test_a_password_may_come_from_a_command() -> None:
    """As a shell gives it: --password-file <(pass show broker)."""
    read, write = os.pipe()
    os.write(write, b"letmein\n")
    os.close(write)
    assert files.secret(Path(f"/dev/fd/{read}"), "password") == "letmein"
    os.close(read)


# ---------------------------------------------------------------------- files with settings


def deep(path: Path) -> None:
    path.write_text("a." * 5000 + "b = 1\n")


def nested(path: Path) -> None:
    path.write_text("nodes = " + "[" * 3000 + "]" * 3000)


def long(path: Path) -> None:
    path.write_text("".join(f"key{n} = 1\n" for n in range(1_000_000)))


def binary(path: Path) -> None:
    path.write_bytes(b"nodes = '\xff'")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def folder(path: Path) -> None:
    path.mkdir()


READERS: dict[str, Callable[[Path], object]] = {
    "--scenario": lambda path: read_scenario(load_scenario(path), []),
    "tree.name": lambda path: read_tree(str(path), lambda place, sentence: UsageError(sentence)),
    "--system": load_system,
    "--app": description.read,
}


@pytest.mark.sampled(10)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("spoil", [deep, nested, long, binary, pipe, endless, folder])
def test_whatever_lies_where_settings_are_expected_is_a_sentence(
    tmp_path: Path, reader: str, spoil: Callable[[Path], None]
) -> None:
    spoil(tmp_path / "settings.toml")
    with pytest.raises(UsageError):
        READERS[reader](tmp_path / "settings.toml")


def test_a_tree_in_a_file_may_be_a_sweep(tmp_path: Path) -> None:
    (tmp_path / "fat.toml").write_text("nodes = '2:4'\nswitches = 3\n")
    trees = [point.tree for point in points("network=L=1us", f"tree={tmp_path / 'fat.toml'}")]
    assert [(tree.nodes, tree.switches) for tree in trees] == [(2, 3), (4, 3)]


@pytest.mark.parametrize("level", ["2", "3"])
def test_without_its_texts_nothing_is_begun(level: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "steelyard", "list"],
        env={**os.environ, "PYTHONOPTIMIZE": level},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "PYTHONOPTIMIZE" in done.stderr


@pytest.mark.sampled(1)
@pytest.mark.parametrize("locale", ["C", pytest.param("C.UTF-8", marks=pytest.mark.long)])
@pytest.mark.parametrize(("letters", "code"), [("ü".encode(), 0), (b"\xff", 2)])
def test_a_question_is_utf_8_whatever_the_locale(tmp_path: Path, letters: bytes, code: int, locale: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "steelyard", "query", b"select '" + letters + b"' as letters", "--json"],
        cwd=tmp_path,
        env={**os.environ, "LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert b"Traceback" not in done.stderr
    assert code or json.loads(done.stdout)[0]["letters"] == "ü"
