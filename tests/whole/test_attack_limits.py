"""Commands without descriptors, processes, memory or room for a file: one sentence and exit code 4, and nothing is lost."""

import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from folders import ROOT
from steelyard.judge.evaluation import evaluate
from steelyard.measure.records import sums
from steelyard.show.command_line.evaluated_run import find_summary
from steelyard.system import resource_limits

pytestmark = pytest.mark.attack

DISK = "size of the file system in bytes"
STEELYARD = str(Path(sys.executable).with_name("steelyard"))
COMMANDS = {
    "show": "show one",
    "list": "list",
    "systems": "systems Fugaku",
    "report": "report one -o out/r.html",
    "report of many": "report one two Fugaku -o out/m.html",
    "figure": "figure triad-threads one -o out/f.pdf",
    "verify": "verify one",
    "share": "share one --anonymous -o out/x.zip",
    "cite": "cite one",
    "compare": "compare one two",
    "judge": "compare one Fugaku",
    "query": "query select~count(*)~from~metrics",
    "export": "export one",
    "export csv": "export one --format csv -o out/x.csv",
    "export parquet": "export one --format parquet -o out/x.parquet",
    "import": "import a.txt --runs out/imported",
    "doctor": "doctor",
    "whatif": "whatif --demo --runs out/demo",
}
# Below these a process cannot even start Python.
LOWEST = {"RLIMIT_AS": 60 << 20, "RLIMIT_NOFILE": 5, "RLIMIT_NPROC": 1, "RLIMIT_FSIZE": 0, DISK: 4096}
# Below these every command is refused at the start. Twice as much is enough for some.
REFUSED = {
    "RLIMIT_AS": resource_limits.MEMORY,
    "RLIMIT_NOFILE": 40,
    "RLIMIT_NPROC": 8,
    "RLIMIT_FSIZE": 20_000,
    DISK: 40_000,
}
WRITES = (
    "report",
    "report of many",
    "query",
    "export csv",
    "export parquet",
    "import",
)  # and so feel RLIMIT_FSIZE and a full disk
TIMES = int(os.environ.get("STEELYARD_ATTACK") or 1)
# Root may start any number of processes, so another user does, who may read what belongs to root.
CAPABILITIES = "-all,+dac_override,+dac_read_search"
ANOTHER_USER = [
    "setpriv", "--reuid", "54321", "--clear-groups", f"--inh-caps={CAPABILITIES}", f"--ambient-caps={CAPABILITIES}",
    f"--bounding-set={CAPABILITIES}",
]  # fmt: skip


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """Two runs, and the output of another tool, in a folder that another user may enter."""
    folder = Path(tempfile.mkdtemp(prefix="steelyard-limits-"))
    folder.chmod(0o755)
    (folder / "runs").mkdir()
    subprocess.run(["tar", "-C", folder, "-xf", ROOT / "tests/data/small-run.tar.xz"], check=True)
    for name in ("one", "two"):
        shutil.copytree(folder / "run", folder / "runs" / name)
        evaluate(folder / "runs" / name)  # its table of results is there before
        find_summary(folder / "runs" / name, [])
        (folder / "runs" / name / sums.SUMS).write_text(sums.text(folder / "runs" / name))
    shutil.copy(ROOT / "tests/importing/outputs/babelstream.txt", folder / "a.txt")
    yield folder
    shutil.rmtree(folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def limiter(name: str, value: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(getattr(resource, name), (value, value))


def started(place: Path, line: str, limit: str, value: int) -> subprocess.CompletedProcess[str]:
    words = [STEELYARD, *(word.replace("~", " ") for word in line.split())]
    (place / "out").mkdir()
    (place / "out").chmod(0o777)
    if limit == DISK:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={value}", "tmpfs", place / "out"], check=True)
    environment = {**os.environ, "STEELYARD_CACHE": str(place / f"cache-{limit}"), "TMPDIR": str(place / "out")}
    if limit == "RLIMIT_NPROC":
        words, limit = [*ANOTHER_USER, "prlimit", f"--nproc={value}:{value}", *words], "RLIMIT_CORE"
    if limit == DISK:
        limit = "RLIMIT_CORE"
    return subprocess.run(
        words,
        cwd=place,
        env=environment,
        preexec_fn=limiter(limit, value),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def draw() -> list[tuple[str, str, int]]:
    chance = random.Random(TIMES)
    return [
        (name, limit, chance.randint(LOWEST[limit], REFUSED[limit] * (1 if name == "whatif" else 2)))  # it may compile
        for _ in range(TIMES)
        for limit in LOWEST
        for name in (WRITES if limit in ("RLIMIT_FSIZE", DISK) else COMMANDS)
    ]


@pytest.mark.parametrize(("name", "limit", "value"), draw())
def test_a_limit_of_the_system_ends_a_command_with_a_sentence(name: str, limit: str, value: int, place: Path) -> None:
    if limit in ("RLIMIT_NPROC", DISK) and (os.geteuid() != 0 or not shutil.which("setpriv")):
        pytest.skip("only root may mount, or start a process of another user")
    before = contents(place / "runs")
    try:
        done = started(place, COMMANDS[name], limit, value)
        left = contents(place / "out")
    finally:
        if limit == DISK:
            subprocess.run(["umount", place / "out"], check=True)
        shutil.rmtree(place / "out")
    assert done.returncode == 4 or (
        done.returncode == 0 and (limit in ("RLIMIT_FSIZE", DISK) or value >= REFUSED[limit])
    ), done
    if done.returncode == 4:
        *progress, sentence = done.stderr.splitlines()
        assert sentence.startswith("steelyard: "), done.stderr
        assert [line for line in progress if not line.startswith(("Reading run", "steelyard: left out: "))] == []
        assert [name for name in left if not name.startswith("imported/") or "/.steelyard-" in name] == []
    assert "Traceback" not in done.stderr
    assert contents(place / "runs") == before
