"""Every command of the program, each in a folder in which it lasts: what it runs on, and what it must keep when it is ended."""

import fcntl
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import numpy as np
import typer

from copied_runs import write_copy
from damage import unpack
from import_fixture import osu, write
from steelyard.measure.machine import describe
from steelyard.model.sensor import Sensor
from steelyard.power.message import Batch
from steelyard.power.stores import open_store
from steelyard.show.command_line import cli
from streams import goal, stencil

STEELYARD = str(Path(sys.executable).with_name("steelyard"))
SECOND = 10**9
NODE = "c/n1"
BATCHES = 4  # of readings in the store
FILES, VALUES = 300, 8  # to import, and in each file
# Some minutes of short cases.
CASES = ("--set", "threads=1", "--set", "chains=1", "--set", "page_size=4k", "--set")
SIZES = "bytes=" + ",".join(str(4096 * n) for n in range(1, 60))
END = "9000000000000000000"  # ns since 1970
NETWORK = "network=latency=2500ns,overhead=1500ns,gap=1us,time_per_byte=6ns/B"
MODEL = ("--sensor", "model:idle=10,full=20")
# A user's command: it has a child, one in a session of its own, and one that ignores the signals.
FAMILY = """#!/bin/sh
cd "$(dirname "$0")"
echo x >> begun
sleep 1000 &
(trap '' TERM HUP; while :; do sleep 1; done) &
setsid sleep 1000 &
sleep 1000
"""
APPLICATION = """
name = "family"
title = "A family"
summary = "Waits."
reading = "r"
caution = "c"
source = "s"
tried = "here"
command = ["./family"]
parallel = false
[[checks]]
title = "begun"
pattern = 'begun'
"""
# A compiler that takes its time, one that never answers, and a batch system with one job.
PROGRAMS = {
    "g++": '#!/bin/sh\ncase "$*" in *" -c "*) sleep 0.3;; esac\nexec /usr/bin/g++ "$@"\n',
    "sbatch": "#!/bin/sh\ncat > /dev/null\necho x > begun\necho 7\n",
    "scancel": "#!/bin/sh\necho x > cancelled\n",
    "scontrol": "#!/bin/sh\n[ -e cancelled ] && state=CANCELLED || state=RUNNING\necho JobId=7 JobState=$state ExitCode=0:0\n",
}
HANGING = {"clang++": "#!/bin/sh\necho x > begun\nsleep 1000\n"}


@dataclass(frozen=True)
class Lasting:
    """The words of a command, the programs that its PATH has, and the file that it makes when its work has begun.

    `seconds`: its usual time after that. `wait`: a user's sensor or command decides when it ends.
    """

    words: tuple[str, ...]
    begun: str = ""
    seconds: float = 1.5
    programs: Mapping[str, str] = field(default_factory=dict)
    own_cache: bool = False


def lasting(*words: str, begun: str = "", seconds: float = 1.5, own_cache: bool = False, **programs: str) -> Lasting:
    return Lasting(
        words, begun, seconds, {name.replace("xx", "++"): text for name, text in programs.items()}, own_cache
    )


HANG = {"clangxx": HANGING["clang++"]}
SLURM = {name: PROGRAMS[name] for name in ("sbatch", "scancel", "scontrol")}
RECORD = "runs/2*/records.jsonl"
COMMANDS: Mapping[str, Lasting] = {
    "run": lasting("--only", "memory.latency", *CASES, SIZES, "--quiet", begun=RECORD),
    "run --app": lasting("--app", "family.toml", "--quiet", begun="begun"),
    "resume": lasting("begun", "--quiet", begun="runs/begun/records.jsonl"),
    "scale": lasting("node.vector", "--set", "elements=65536,131072,262144", "--quiet", begun=RECORD),
    "import": lasting("logs", "--quiet", seconds=0.7),
    "plan": lasting(begun="begun", **HANG),
    "list": lasting(seconds=0.2),
    "show": lasting("run", "--all", seconds=0.5),
    "judge": lasting("run", "again", seconds=0.8),
    "verify": lasting("run", "again", seconds=0.3),
    "cite": lasting("run", "Fugaku", seconds=0.4),
    "share": lasting("run", "again", "--anonymous", "-o", "shared.zip", seconds=2.0),
    "figure": lasting("--all", "run", "-o", "figures", seconds=2.0),
    "report": lasting("run", seconds=1.2),
    "report of many": lasting("run", "again", "begun", "-o", "many.html", seconds=1.5),
    "export": lasting("trace.goal", "--format", "ti", "-o", "exported", seconds=0.5),
    "export of a run": lasting("run", "--format", "parquet", "-o", "run.parquet", seconds=0.6),
    "query": lasting("select count(*) from samples a, samples b, samples c, samples d", seconds=2.0),
    "compare": lasting("run", "again", "--all", seconds=0.8),
    "compare -- A B": lasting("--rounds", "50", "--json", "--", "./family", "./family", begun="begun"),
    "compare -- short": lasting("--rounds", "9999", "--json", "--", "./short", "./short", begun="begun", seconds=0.4),
    "compare --in-turn": lasting("--in-turn", "begun", "begun", "--rounds", "10", "--quiet", begun=RECORD),
    "history": lasting(seconds=0.8),
    "fleet": lasting("nodes", seconds=0.8),
    "gate": lasting("nodes", "--quiet", "--runs", "gated", begun="gated/gate/*/2*/records.jsonl"),
    "systems": lasting(seconds=0.2),
    "schema": lasting("show", seconds=0.2),
    "help": lasting("import", seconds=0.2),
    "remove": lasting("again", "--yes", seconds=0.2),
    "machine": lasting(begun="begun", **HANG),
    "doctor": lasting(begun="begun", **HANG),
    "mpi list": lasting(begun="begun", **HANG),
    "mpi install": lasting("mpich", seconds=2.5, own_cache=True),
    "device install": lasting(seconds=2.5, own_cache=True),
    "mpi remove": lasting("mpich", seconds=0.2, own_cache=True),
    "build": lasting("--only", "memory.latency", own_cache=True, begun="cache/build/making-*/build.ninja", gxx=PROGRAMS["g++"]),
    "selfcheck": lasting("--only", "polite", "--only", "streaming"),
    "submit": lasting("--", "--only", "memory.latency", begun="begun", **SLURM),
    "power agent": lasting("--store", "store", *MODEL, "--node", NODE, "--every", "5ms"),
    "power attach": lasting("--store", "store", "run", seconds=0.4),
    "power collect": lasting("--store", "store", "--broker", "127.0.0.1:9"),
    "power export": lasting("--store", "store", "--from", "0", "--to", END, "-o", "readings.csv", seconds=0.8),
    "power query": lasting("--store", "store", NODE, "--from", "0", "--to", END, seconds=0.4),
    "power sensors": lasting("--sensor", "command:run=./hang", begun="begun"),
    "power serve": lasting("--store", "store", "--listen", "127.0.0.1:0"),
    "power tail": lasting("--store", "store"),
    "power tidy": lasting("--store", "store", "--keep", "readings=1d", seconds=0.6),
    "power watch": lasting(*MODEL, "--", "./family", begun="begun"),
    "trace": lasting("-o", "traced", "--", "./family", begun="begun"),
    "whatif": lasting(
        "trace.goal", "--set", NETWORK, "--set", "loss=probability=0.001:0.01,rto=5ms:200ms", "--set", "repeats=4000", "--quiet"
    ),
    "whatif --submit": lasting(
        "trace.goal", "--set", NETWORK, "--set", "core=1:2:4", "--submit", "2", "--quiet", begun="begun", **SLURM
    ),
}  # fmt: skip


def command_of(name: str) -> tuple[str, ...]:
    """Returns the words of the program's command that an entry of the table attacks: "run --app" is `run`."""
    words = name.split()
    return tuple(words[:2] if words[0] in ("power", "mpi", "device") else words[:1])


def all_commands() -> set[tuple[str, ...]]:
    """Returns the program's own list of commands, those within groups too."""

    def leaves(group: object, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        for name in group.commands:  # type: ignore[attr-defined]
            command = group.commands[name]  # type: ignore[attr-defined]
            yield from leaves(command, (*path, name)) if hasattr(command, "commands") else [(*path, name)]

    return set(leaves(typer.main.get_command(cli.app), ()))


def shared(base: Path) -> Path:
    """Returns a folder that `prepare` has filled once for all workers of the tests."""
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with (base / "world.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder := base / "world").exists():
            (base / "making").mkdir(exist_ok=True)
            prepare(base / "making").rename(folder)
    return folder


def prepare(folder: Path) -> Path:
    """Fills a folder with what the commands run on. The run `begun` is one that kill -9 ended."""
    run = unpack(folder / "runs")
    subprocess.run(["cp", "-r", run, run.with_name("again")], check=True)
    words = ["run", "--name", "begun", "--only", "memory.latency", *CASES, ",".join(SIZES.split(",")[:12])]
    process = subprocess.Popen([STEELYARD, *words[:1], "--quiet", *words[1:]], cwd=folder, stderr=subprocess.DEVNULL)
    records = folder / "runs/begun/records.jsonl"
    while not (records.exists() and records.read_bytes().count(b"\n") >= 2) and process.poll() is None:
        os.sched_yield()
    process.kill()
    process.wait()
    for node in range(5):  # peers of this machine, so a gate measures
        write_copy(folder / "nodes" / f"n{node}", host=f"n{node}", seed=node, processor=describe(whole=False).processor)
    write(folder, {f"logs/{n}.txt": osu(n + 1) * (VALUES // 2) for n in range(FILES)})
    (folder / "trace.goal").write_text(goal(stencil(3, 3, 40, 100_000, 8192)), encoding="utf-8")
    (folder / "family.toml").write_text(APPLICATION)
    _store(folder / "store")
    scripts = {"family": FAMILY, "hang": HANGING["clang++"], "short": "#!/bin/sh\necho x >> begun\nsleep 0.01\n"}
    for name, text in scripts.items():
        executable(folder / name, text)
    return folder


def executable(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def _store(folder: Path) -> None:
    store = open_store(str(folder), make=True)
    sensor = Sensor("power", "power", "by hand")
    store.describe(NODE, [sensor])
    for sequence in range(BATCHES):
        at = (1_790_000_000 + 2000 * sequence) * SECOND + np.arange(20_000, dtype=np.int64) * (SECOND // 10)
        numbers = np.zeros(len(at), np.uint16)
        store.write([Batch(NODE, UUID(int=7), sequence, (sensor.name,), numbers, at, np.linspace(1, 2, len(at)))])
    store.close()


def silent_index() -> socket.socket:
    """Returns a server of packages that accepts connections and never answers."""
    return socket.create_server(("127.0.0.1", 0))


def lines_of(folder: Path) -> dict[Path, bytes]:
    """Returns the complete records of every run under a folder of runs."""
    found = {}
    for path in folder.glob("*/records.jsonl"):
        content = path.read_bytes()
        found[path] = content[: content.rfind(b"\n") + 1]
    return found


def pairs_printed(out: str) -> int:
    """Returns the number of pairs that `compare -- A B --json` printed."""
    return int(json.loads(out)["pairs"]) if out.strip() else 0


MARKED = re.compile(r"(^|/)(\.steelyard-|making-)|\.part$")
