"""Commands that write are killed by kill -9 at any moment, and go on: no record is lost, and none is there twice.

STEELYARD_ATTACK=20 kills them five hundred times.
"""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

import lasting_commands as commands
from lasting_commands import COMMANDS
from patience import still
from steelyard.measure.records import head, read
from steelyard.power.stores import open_store

pytestmark = [pytest.mark.attack, pytest.mark.timeout(20_000)]
TIMES = int(os.environ.get("STEELYARD_ATTACK") or 1)
GONE = 5.0  # seconds in which nothing of a command is left
KILLS = {
    "run": 160, "scale": 80, "compare --in-turn": 40, "import": 80, "report": 60, "power agent": 50, "power tidy": 40,
}  # fmt: skip
FEW = {"run": 3, "import": 2, "power agent": 2}  # where not all are asked for
QUICK = ("--set", "bytes=" + ",".join(str(4096 * n) for n in range(1, 9)), "--quiet")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, programs: dict[str, Path]) -> Path:
    return commands.shared(tmp_path_factory.getbasetemp())


def steelyard(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(
        [commands.STEELYARD, *words], cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode in (0, 1), done.stderr
    return done


def kill(folder: Path, words: tuple[str, ...], seconds: float) -> bool:
    """Starts a command and kills it after some time. Returns whether it was still running."""
    with (folder / "err").open("wb") as err:
        process = subprocess.Popen(
            [commands.STEELYARD, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err
        )
    time.sleep(seconds)
    process.kill()
    return process.wait() == -signal.SIGKILL


def expect_complete(path: Path) -> None:
    """Every case of a finished run has records, and no attempt has two."""
    run = read(path)
    assert run.finished
    assert run.notes == ()
    measured = [(record.launch, record.case, record.attempt) for record in run.records]
    assert len(set(measured)) == len(measured), f"records of {path} are doubled"
    cases = {(launch.number, index) for launch in run.plan.launches for index, _ in enumerate(launch.cases)}
    assert cases == {place[:2] for place in measured}, f"records of {path} are lost"


def kill_runs(folder: Path, start: tuple[str, ...], kills: int, chance: random.Random) -> None:
    """Starts runs, kills each many times, goes on with it, and judges it when it is finished."""
    runs, name, killed = folder / "runs", "", 0
    while killed < kills:
        if not name or (runs / name / "finished.json").exists():
            if name:
                expect_complete(runs / name)
            name = f"r{killed}"
        exists = (runs / name).exists()
        before = commands.lines_of(runs)
        killed += kill(
            folder, ("resume", name, "--quiet") if exists else (*start, "--name", name), chance.uniform(0.1, 3)
        )
        after = commands.lines_of(runs)
        assert all(after[path].startswith(lines) for path, lines in before.items()), "a finished record was lost"
    if (runs / name).exists() and not (runs / name / "finished.json").exists():
        steelyard(folder, "resume", name, "--quiet")
        expect_complete(runs / name)


def kill_imports(folder: Path, kills: int, chance: random.Random) -> None:
    killed = 0
    while killed < kills:
        killed += kill(folder, ("import", "logs", "--quiet"), chance.uniform(0.1, 1.5))
        imported = [path.parent for path in folder.glob("runs/*/values.jsonl")]
        if not killed % 5 or killed >= kills:
            steelyard(folder, "import", "logs", "--quiet")
            imported = [path.parent for path in folder.glob("runs/*/values.jsonl")]
            contents = [digest for path in imported for digest in head(path).imported.files]
            assert len(contents) == len(set(contents)) == commands.FILES
            for path in imported:
                assert len(read(path).imported.values) == commands.VALUES * commands.FILES
                shutil.rmtree(path)


def kill_reports(folder: Path, kills: int, chance: random.Random) -> None:
    killed = 0
    while killed < kills:
        killed += kill(folder, ("report", "run"), chance.uniform(0.1, 2.5))
        page = folder / "runs/run/report.html"
        assert not page.exists() or page.read_text(encoding="utf-8").rstrip().endswith("</html>")
    steelyard(folder, "report", "run")


def kill_in_turn(folder: Path, kills: int, chance: random.Random) -> None:
    killed = 0
    steelyard(folder, "resume", "begun", "--quiet")
    while killed < kills:
        words = ("compare", "--in-turn", "begun", "begun", "--rounds", "10", "--quiet")
        killed += kill(folder, words, chance.uniform(0.5, 4))
        for path in folder.glob("runs/2*"):
            run = read(path)
            measured = [(record.launch, record.case, record.attempt) for record in run.records]
            assert (
                len(measured)
                == len(set(measured))
                == commands.lines_of(path.parent)[path / "records.jsonl"].count(b"\n")
            )
            shutil.rmtree(path)


def kill_writers(folder: Path, words: tuple[str, ...], kills: int, chance: random.Random) -> None:
    """Kills what writes into a store: no reading that was in it is lost, and none is in it twice."""
    killed, before = 0, stored(folder)
    while killed < kills:
        killed += kill(folder, words, chance.uniform(0.1, 2.5))
        after = stored(folder)
        assert all(moments[: len(before.get(name, []))] == before.get(name, []) for name, moments in after.items())
        assert all(len(set(moments)) == len(moments) for moments in after.values()), "readings are doubled"
        before = after
    if "tidy" in words:
        steelyard(folder, *words)
        assert stored(folder) == before


def stored(folder: Path) -> dict[str, list[int]]:
    """Returns the moments of all readings of each sensor in the store."""
    with contextlib.closing(open_store(str(folder / "store"))) as store:
        sensors = store.sensors()[commands.NODE]
        return {s.name: store.trace(commands.NODE, s.name, 0, int(commands.END)).at.tolist() for s in sensors}


@pytest.mark.parametrize("name", KILLS if TIMES > 1 else FEW)
def test_kill_at_any_moment_loses_nothing_and_doubles_nothing(name: str, world: Path, tmp_path: Path) -> None:
    chance, folder = random.Random(name), tmp_path / "world"
    kills = (KILLS if TIMES > 1 else FEW)[name]
    subprocess.run(["cp", "-r", world, folder], check=True)
    match name:
        case "run":
            kill_runs(folder, ("run", "--only", "memory.latency", *commands.CASES[:-1], *QUICK), kills, chance)
        case "scale":
            kill_runs(folder, ("scale", *COMMANDS["scale"].words), kills, chance)
        case "compare --in-turn":
            kill_in_turn(folder, kills, chance)
        case "import":
            kill_imports(folder, kills, chance)
        case "report":
            kill_reports(folder, kills, chance)
        case _:
            words = COMMANDS[name].words if name == "power agent" else ("--store", "store")
            kill_writers(folder, (*commands.command_of(name), *words), kills, chance)
    assert not still(lambda: [p for p in folder.rglob("*") if commands.MARKED.search(str(p.relative_to(folder)))], GONE)
    assert not still(lambda: [p for p in all_processes() if runs_in(p, folder)], GONE)


def all_processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def runs_in(process: int, folder: Path) -> bool:
    try:
        return os.readlink(f"/proc/{process}/cwd").startswith(str(folder))
    except OSError:
        return False
