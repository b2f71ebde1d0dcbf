"""A run folder from a stranger: whatever its run.json names, `resume` and `compare --in-turn` start nothing foreign."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from steelyard.compare import measuring
from steelyard.errors import SteelyardError
from steelyard.measure.plan import second
from steelyard.measure.run import session
from steelyard.measure.screen import Screen
from steelyard.show.command_line import cli

pytestmark = pytest.mark.attack
SMALL = "run --only memory.latency --only network.pingpong --set threads=1 --set chains=1 --set page_size=4k --set bytes=4096"
FURTHER = "--set message_bytes=8 --set placement=compact --set buffers=reused --set transport=default --quiet"
# What a compiler, a launcher or an MPI's wrapper is asked, so that nothing but Steelyard's own care keeps it from being used.
CANARY = """#!/bin/sh
echo "$0 $*" >> {log}
case "$*" in
*showme:version*) echo "mpicxx: Open MPI 4.1.4 (Language: C++)" ;;
*--version*) echo "g++ (Canary) 12.2.0" ;;
esac
"""
NAMES = ("canary", "mpicxx", "g++", "mpiexec", "cc1plus", "as", "orted")
FLAGS = (
    "-wrapper sh,-c,{canary}",
    "-O3 -wrapper {canary}",
    "-B{folder}/",
    "-fplugin={canary}",
    "-specs={canary}",
    "-fuse-ld={canary}",
    "-fmodule-mapper=|{canary}",
    "@{canary}",
    "-Wl,-plugin,{canary}",
    "-Xlinker -plugin -Xlinker {canary}",
    "-Dstrtod=system",
    "-include {canary}",
    "-L{folder} -lcanary",
    "-save-temps={canary}",
)


class Stranger:
    """A run that was not finished, and a folder of programs that leave a line in `log` when they are started."""

    def __init__(self, folder: Path, healthy: Path) -> None:
        self.canaries, self.log, self.healthy = folder / "canaries", folder / "log", healthy
        self.run = folder / "run"
        self.canaries.mkdir()
        for name in NAMES:
            (self.canaries / name).write_text(CANARY.format(log=self.log))
            (self.canaries / name).chmod(0o755)
        self.canary = str(self.canaries / "canary")
        self.about: dict[str, Any] = json.loads((healthy / "run.json").read_text())

    def resumed(self, about: dict[str, Any], trusted: bool = False) -> str:
        """What `resume` says of it; "" where it goes through."""
        shutil.rmtree(self.run, ignore_errors=True)
        self.run.mkdir()
        (self.run / "run.json").write_text(json.dumps(about))
        (self.run / "records.jsonl").touch()
        try:
            session.go_on(self.run, [], Screen(), trusted=trusted)
        except SteelyardError as refused:
            return refused.shown()
        return ""

    def started(self) -> str:
        return self.log.read_text() if self.log.exists() else ""


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two launches, a program of threads and one of ranks, as it was when it had measured nothing."""
    runs = tmp_path_factory.mktemp("healthy") / "runs"
    assert cli.run_and_explain(lambda: cli.app([*SMALL.split(), *FURTHER.split(), "--runs", str(runs)])) in (0, 1)
    (run,) = runs.iterdir()
    about = json.loads((run / "run.json").read_text())
    planned = reversed(about["plan"]["launches"])  # so that the first of each stays
    launches = {launch["benchmark"]: {**launch, "cases": launch["cases"][:1]} for launch in planned}
    about["plan"]["launches"] = list(launches.values())
    for launch in launches.values():  # what is measured does not matter here
        launch["cases"][0]["sampling"] |= {"width": 1.0, "seconds": 0.01, "least": 2, "most": 3}
    (run / "run.json").write_text(json.dumps(about))
    return run


@pytest.fixture
def stranger(tmp_path: Path, healthy: Path, monkeypatch: pytest.MonkeyPatch) -> Stranger:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(second, "launches", lambda *asked: ())  # what is not settled is not measured again
    return Stranger(tmp_path, healthy)


Place = tuple[str | int, ...]


def strings(content: object, place: Place = ()) -> Iterator[Place]:
    """Where its strings are."""
    if isinstance(content, str):
        yield place
    elif isinstance(content, dict):
        for name, value in content.items():
            yield from strings(value, (*place, name))
    elif isinstance(content, list):
        for number, value in enumerate(content):
            yield from strings(value, (*place, number))


def changed(about: dict[str, Any], places: list[Place], text: str) -> dict[str, Any]:
    copy: Any = json.loads(json.dumps(about))
    for *way, last in places:
        inner = copy
        for step in way:
            inner = inner[step]
        inner[last] = text
    return dict(copy)


def groups(places: list[Place]) -> list[list[Place]]:
    """What decides what is started, each string alone; the others by parts of the run, and all at once."""
    alone = [[p] for p in places if p[0] in ("plan", "toolchains", "site")]
    parts: dict[Place, list[Place]] = {}
    for place in places:
        parts.setdefault(place[:2] if place[0] == "machine" else place[:1], []).append(place)
    return [*alone, *parts.values(), places]


@pytest.mark.parametrize("name", ["canary", "mpicxx"])
def test_a_program_named_in_any_string_is_not_started(stranger: Stranger, name: str) -> None:
    said = set()
    for places in groups(list(strings(stranger.about))):
        said.add(stranger.resumed(changed(stranger.about, places, str(stranger.canaries / name))))
        assert not stranger.started(), places
    assert "" in said, "most strings are only told, and the run goes on"
    assert len(said) > 5, "what would be started is refused, each in its own sentence"


@pytest.mark.parametrize("flags", FLAGS)
def test_no_flag_leads_the_compiler_to_a_foreign_program(stranger: Stranger, flags: str) -> None:
    (name,) = stranger.about["toolchains"]
    flags = flags.format(canary=stranger.canary, folder=stranger.canaries)
    for place in ("flags", "compiler"):
        text = flags if place == "flags" else f"g++ {flags}"
        about = changed(stranger.about, [("toolchains", name, place)], text)
        # The plan names the toolchain as the flags would make it, too.
        spelled = f"{name}+{flags.replace(' ', '')}"
        about = json.loads(json.dumps(about).replace(f'"{name}"', json.dumps(spelled)))
        said = stranger.resumed(about)
        assert "uses the compiler flag" in said or "this machine does not have now" in said, said
    assert not stranger.started()
    (stranger.run / "run.json").write_text(json.dumps(about))
    with pytest.raises(SteelyardError, match="uses the compiler flag"):
        measuring.measure(stranger.run, stranger.run, Path("runs"), [], 10, 1, Screen())
    assert not stranger.started()


def test_a_compiler_that_is_not_found_by_itself_is_used_with_trust_only(stranger: Stranger) -> None:
    (name,) = stranger.about["toolchains"]
    canary = str(stranger.canaries / "g++")
    about = changed(stranger.about, [("toolchains", name, "compiler")], canary)
    about = json.loads(json.dumps(about).replace(f'"{name}"', '"gcc-12.2.404"'))
    assert f"uses the compiler '{canary}'" in stranger.resumed(about)
    assert not stranger.started()
    stranger.resumed(about, trusted=True)
    assert "--version" in stranger.started(), "the canary works, and --trust does what it says"


def test_words_and_mpis_are_used_with_trust_only(stranger: Stranger) -> None:
    ((name, mpi),) = stranger.about["site"]["mpis"].items()
    gone = changed(stranger.about, [("site", "mpis", name, "path")], str(stranger.canaries / "mpicxx"))
    gone = json.loads(json.dumps(gone).replace(f"{mpi['name']}-{mpi['version']}", "openmpi-4.1.404"))
    words = changed(stranger.about, [], "")
    words["site"]["extra"] = ["--mca", "orte_launch_agent", stranger.canary]
    changed_start = changed(stranger.about, [], "")
    variant = {"name": "evil", "environment": {"LD_PRELOAD": stranger.canary}, "options": [], "mpi": ""}
    changed_start["site"]["variants"] = [variant]
    assert "uses the variant 'evil:LD_PRELOAD=" in stranger.resumed(changed_start)
    assert "uses the MPI" in stranger.resumed(gone)
    assert "uses the launcher options" in stranger.resumed(words)
    assert not stranger.started()
    assert "with --trust" not in stranger.resumed(gone, trusted=True)
    assert "showme" in stranger.started(), "the canary works, and --trust does what it says"


def test_an_mpi_that_is_gone_is_named(stranger: Stranger) -> None:
    ((name, _),) = stranger.about["site"]["mpis"].items()
    gone = json.loads(json.dumps(stranger.about).replace(name, "openmpi-9.9.9"))
    gone["site"]["mpis"]["openmpi-9.9.9"]["path"] = "/opt/gone/bin/mpicxx"
    said = stranger.resumed(gone)
    assert "openmpi-9.9.9 (/opt/gone/bin/mpicxx), which this machine does not have now" in said


def test_what_the_user_measured_with_is_used_again(stranger: Stranger, monkeypatch: pytest.MonkeyPatch) -> None:
    own = ["run", "--only", "noise.quanta", "--toolchain", "gcc -O1 -Wl,-z,now", "--quiet", "--runs", "own"]
    assert cli.run_and_explain(lambda: cli.app(own)) in (0, 1)
    (run,) = Path("own").iterdir()
    stranger.run = run
    about = json.loads((run / "run.json").read_text())
    assert stranger.resumed(about) == ""
    about = json.loads(json.dumps(about).replace("-march=native -O1 -Wl", "-O1 -Wl"))
    assert (
        "flags '-O1 -Wl,-z,now'. On this machine they would now be compiled with '-march=native -O1 -Wl,-z,now'"
        in stranger.resumed(about)
    )
    monkeypatch.setenv("STEELYARD_CACHE", "another")
    assert "uses the compiler flag '-Wl,-z,now'" in stranger.resumed(about)
