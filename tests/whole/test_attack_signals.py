"""A signal at any moment ends any command in good order: nothing runs on, nothing temporary stays, what was measured is kept.

STEELYARD_ATTACK=20 sends each command each of the signals at twenty moments.
"""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import time
import uuid
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

import lasting_commands as commands
from lasting_commands import COMMANDS, Lasting
from patience import still

pytestmark = [pytest.mark.attack, pytest.mark.timeout(20_000)]
TIMES = int(os.environ.get("STEELYARD_ATTACK") or 1)
FORMS = {
    "INT": (signal.SIGINT,),
    "TERM": (signal.SIGTERM,),
    "HUP": (signal.SIGHUP,),
    "KILL": (signal.SIGKILL,),
    "INT INT": (signal.SIGINT, signal.SIGINT),
    "INT TERM": (signal.SIGINT, signal.SIGTERM),
}
SHOTS = 2  # of each command that lasts, where not all are asked for; one of the others
SHORT = 1.0  # seconds
GONE = 5.0  # seconds in which nothing of a command is left
BETWEEN = 0.4  # seconds between the two signals, at most


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, programs: dict[str, Path]) -> Path:
    return commands.shared(tmp_path_factory.getbasetemp())


def marked(mark: str) -> list[int]:
    """Returns the processes whose environment has the mark."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if mark.encode() in Path("/proc", name, "environ").read_bytes():
                found.append(int(name))
        except OSError:
            continue
    return found


def called(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:120]
    except OSError:
        return ""


def treats(process: int, how: str, number: int) -> bool:
    """Returns whether a process catches ("SigCgt") or ignores ("SigIgn") a signal."""
    with contextlib.suppress(OSError):
        mask = Path(f"/proc/{process}/status").read_text().partition(f"{how}:\t")[2][:16]
        return bool(int(mask or "0", 16) >> (number - 1) & 1)
    return False


@dataclass
class Shot:
    """A command that is started, and then ended by signals at a random moment."""

    name: str
    form: str
    world: Path
    folder: Path
    chance: random.Random
    faults: list[str] = field(default_factory=list)
    hit: bool = True

    def fire(self) -> "Shot":
        lasting = COMMANDS[self.name]
        subprocess.run(["cp", "-r", self.world, self.folder], check=True)
        self._temporary = self.folder.with_name(f"{self.folder.name}-temporary")
        self._temporary.mkdir()
        self._mark = uuid.uuid4().hex
        with (self.folder / "out").open("wb") as out, (self.folder / "err").open("wb") as err:
            process = subprocess.Popen(
                [commands.STEELYARD, *commands.command_of(self.name), *lasting.words],
                cwd=self.folder, env=self._environment(lasting), stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                start_new_session=True,
            )  # fmt: skip
        moment = self._wait(process, lasting)
        before = commands.lines_of(self.folder / "runs")
        sent = self._send(process)
        try:
            code = process.wait(60)
        except subprocess.TimeoutExpired:
            code = self._blame("it did not end in a minute") or 0
        self._judge(code, before)
        took = time.monotonic() - sent
        for fault in self.faults:
            print(f"{self.name}: {self.form} {moment}: {fault} (after {took:.1f} s)")
        self._index.close()
        for process_left in marked(self._mark):
            os.kill(process_left, signal.SIGKILL)
        if not self.faults:
            shutil.rmtree(self.folder)
        return self

    def _environment(self, lasting: Lasting) -> dict[str, str]:
        for name, text in lasting.programs.items():
            commands.executable(self.folder / "bin" / name, text)
        self._index = commands.silent_index()
        index = f"http://127.0.0.1:{self._index.getsockname()[1]}/simple"
        more = {"STEELYARD_CACHE": str(self.folder / "cache"), "PIP_INDEX_URL": index}
        return {
            **os.environ, **(more if lasting.own_cache else {}), "MARK": self._mark, "TMPDIR": str(self._temporary),
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
        }  # fmt: skip

    def _wait(self, process: "subprocess.Popen[bytes]", lasting: Lasting) -> str:
        """Waits for a moment: of the whole time, or (more often) of the time when its work has begun."""
        until = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < until and not treats(process.pid, "SigCgt", signal.SIGTERM):
            time.sleep(0.001)
        begins = lasting.begun and self.chance.random() < 0.7
        while begins and process.poll() is None and time.monotonic() < until and not self._has_begun(lasting.begun):
            time.sleep(0.005)
        seconds = self.chance.uniform(0, lasting.seconds)
        time.sleep(seconds)
        return f"{seconds:.2f} s after its {'work' if begins else 'start'}"

    def _has_begun(self, pattern: str) -> bool:
        return any(path.stat().st_size for path in self.folder.glob(pattern))

    def _send(self, process: "subprocess.Popen[bytes]") -> float:
        whom = self.chance.random()  # a terminal sends it to a group, a batch system to every process
        for number in FORMS[self.form]:
            all_processes = sorted(marked(self._mark), reverse=True)  # a search that takes a while
            if process.poll() is not None or treats(process.pid, "SigIgn", number):  # its work is done
                self.hit = number != FORMS[self.form][0]
                break
            for each in all_processes if whom < 0.2 and number != signal.SIGKILL else ():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(each, number)
            if whom >= 0.2 or number == signal.SIGKILL:
                os.killpg(process.pid, number) if whom < 0.4 else process.send_signal(number)
            if len(FORMS[self.form]) > 1:
                time.sleep(self.chance.uniform(0, BETWEEN))
        return time.monotonic()

    def _blame(self, fault: str) -> None:
        self.faults.append(fault)

    def _judge(self, code: int, before: dict[Path, bytes]) -> None:
        number = FORMS[self.form][0]
        said = (self.folder / "err").read_text(errors="replace")
        expected = -number if number == signal.SIGKILL else 128 + number
        if self.hit and code != expected:
            self._blame(f"exit code {code} instead of {expected}: {said[-300:]!r}")
        if any(words in said for words in ("Traceback", "Exception ignored", "Error in sys")):
            self._blame(f"a traceback: {said[-600:]}")
        if self.hit and number != signal.SIGKILL and said.count("steelyard: interrupted") != 1:
            self._blame(f"no single sentence: {said[-300:]!r}")
        if left := still(partial(marked, self._mark), GONE):
            self._blame(f"it left {[called(process) for process in left]}")
        if files := [str(path) for path in self._temporary.iterdir()]:
            self._blame(f"temporary files: {files}")
        parts = [str(p.relative_to(self.folder)) for p in self.folder.rglob("*")]
        if files := [path for path in parts if commands.MARKED.search(path)]:
            self._blame(f"temporary files: {files}")
        if halves := [path.name for path in (self.folder / "runs").iterdir() if not (path / "run.json").exists()]:
            self._blame(f"halves of runs: {halves}")
        after = commands.lines_of(self.folder / "runs")
        removed = {path for path in before if self.name == "remove" and not path.parent.exists()}
        if lost := [
            path for path in before if path not in removed and not after.get(path, b"").startswith(before[path])
        ]:
            self._blame(f"records are lost: {lost}")
        if "values that were read are kept" in said and not list((self.folder / "runs").glob("*/values.jsonl")):
            self._blame("nothing was imported, although it says so")
        if self.name == "compare -- short" and self.hit and number != signal.SIGKILL:
            pairs = (
                (self.folder / "begun").read_bytes().count(b"\n") // 2 - 2 if (self.folder / "begun").exists() else 0
            )
            if commands.pairs_printed((self.folder / "out").read_text()) < pairs:
                self._blame(f"of {pairs} pairs not all are printed: {(self.folder / 'out').read_text()[:200]}")


def forms_of(name: str) -> list[str]:
    """Returns which signals a command gets: all in the long form, and otherwise some, so that each comes to many commands."""
    if TIMES > 1:
        return [form for form in FORMS for _ in range(TIMES)]
    at = list(COMMANDS).index(name)
    shots = SHOTS if COMMANDS[name].seconds >= SHORT else 1
    return [list(FORMS)[(SHOTS * at + 3 * shot + at // 3) % len(FORMS)] for shot in range(shots)]


def test_every_command_is_attacked() -> None:
    assert {commands.command_of(name) for name in COMMANDS} == commands.all_commands()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_signal_ends_a_command_in_good_order(name: str, world: Path, tmp_path: Path) -> None:
    chance = random.Random(f"{name}{TIMES}")
    shots = [
        Shot(name, form, world, tmp_path / str(number), chance).fire() for number, form in enumerate(forms_of(name))
    ]
    assert not [f"{shot.form}: {fault}" for shot in shots for fault in shot.faults]
    if TIMES > 1:
        assert any(shot.hit for shot in shots), "the command ended before every signal"
