"""Every command in a folder full of modules, programs and libraries that bear the names of others: none of them is executed."""

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer

from canaries import BEGIN, Canaries
from copied_runs import write_copy
from damage import powered, unpack
from folders import ROOT
from steelyard.measure.machine import describe
from steelyard.show.command_line import cli
from traces import otf2_archive

pytestmark = [pytest.mark.attack, pytest.mark.timeout(900)]

SECONDS = 120
LASTING = 2.0  # seconds of a command that does not end by itself
CASE = ("--set", "threads=1", "--set", "chains=1", "--set", "page_size=4k", "--set", "bytes=4096")
PAIR = (
    "--set", "message_bytes=8", "--set", "placement=compact", "--set", "buffers=reused", "--set", "transport=default",
)  # fmt: skip
SMALL = ("--only", "memory.latency", *CASE, "--quiet")
HOSTS = ("--only", "network.pingpong", *PAIR, "--quiet", "--hosts", "localhost:2")
MODEL = ("--sensor", "model:idle=1,full=2")
APP = """
name = "count"
title = "Count"
summary = "Counts."
reading = "None."
caution = "None."
source = "None."
tried = "untried"
command = ["seq", "3"]
parallel = false
seconds = 0.1
memory = "1"

[axes]
n = {quick = [1]}

[[figures]]
name = "speed"
title = "speed"
unit = "step/s"
amount = "1"
better = "higher"
rate = true

[[checks]]
title = "three"
pattern = '^(3)$'
least = 3
"""
KERNEL = """
#include "kernel.h"
using namespace steelyard;
struct Fill {
  std::size_t elements;
  MemoryPolicy policy;
  Buffer<double> vector;
  Fill(Params& p, Team& team) : elements(p.count("elements", 1 << 20)), policy(p), vector(elements, policy, team) {
    team.each([&](Worker w) { overwrite(w, 0.0); });
  }
  void run(Worker w, std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i) { overwrite(w, 1.0); clobber(); }
  }
  Work work() const { return {{"bytes", 8.0 * static_cast<double>(elements)}}; }
  Check check() { return {vector[0] == 1.0, "the vector is written"}; }
  void corrupt() { vector[0] = 0.0; }
 private:
  void overwrite(Worker w, double value) {
    auto [first, last] = w.part(elements);
    std::fill(vector.data() + first, vector.data() + last, value);
  }
};
int main() { return serve({kernel<Fill>("fill")}); }
"""
DECLARATION = '''"""Fill

Fills a vector.

Reading: None.

Caution: None.

Source: None.
"""
from steelyard.model import Axes, Metric
def axes(machine, effort):
    return (Axes({"kernel": ("fill",), "threads": (1,), "pinning": ("compact",), "elements": (4096,)}),)
metrics = (Metric("bandwidth", "B/s", "higher", "bandwidth", lambda seconds, record: record.work["bytes"] / seconds),)
def limit(metric, result, machine):
    return None
def figures(results, machine):
    return ()
'''
MPI_PROGRAM = (
    "#include <mpi.h>\nint main(int c, char** v) { MPI_Init(&c, &v); MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize(); }\n"
)
GOAL = (
    "num_ranks 2\nrank 0 {\na: calc 100\nb: send 8b to 1 tag 1\nb requires a\n}\nrank 1 {\na: recv 8b from 0 tag 1\n}\n"
)
# A scheduler on one node: it starts the script, or each task of an array, in the folder in which it is called.
SLURM = {
    "sbatch": """
cat > {folder}/script
rm -f {folder}/done
last=$(sed -n 's/^#SBATCH.*--array=0-\\([0-9]*\\).*/\\1/p' {folder}/script)
{{
  for task in $(seq 0 "${{last:-0}}"); do
    SLURM_ARRAY_TASK_ID=$task sh {folder}/script </dev/null >>{folder}/out 2>&1 || echo $? >> {folder}/failed
  done
  touch {folder}/done
}} >/dev/null 2>&1 &
echo 12
""",
    "scontrol": """
state=RUNNING
[ -e {folder}/done ] && state=COMPLETED
echo "JobId=12 JobState=$state ExitCode=0:0 RunTime=00:00:01 NodeList=n1 BatchHost=n1"
""",
    "squeue": "[ -e {folder}/done ] || echo RUNNING\n",
    "scancel": "true\n",
}


@dataclass(frozen=True)
class Use:
    """Words that make a command do its work. `codes`: how it may end. `lasting`: it ends when it is told to.

    `foreign`: it runs a command of the user, whose lists of libraries are his own.
    """

    words: str
    codes: tuple[int, ...] = (0,)
    lasting: bool = False
    foreign: bool = False


def use(*words: str, code: int | tuple[int, ...] = 0, lasting: bool = False, foreign: bool = False) -> Use:
    codes = (128 + signal.SIGTERM,) if lasting else (code,) if isinstance(code, int) else code
    return Use("\0".join(words), codes, lasting, foreign)


@dataclass(frozen=True)
class Stage:
    """A hostile current folder, and beside it what the commands work on."""

    canaries: Canaries
    things: Path
    slurm: Path

    @property
    def environment(self) -> dict[str, str]:
        around = self.canaries.environment
        around["PATH"] = f".::bin:{self.slurm}:{around['PATH']}"
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        places = {"HOME": str(self.things / "home"), "STEELYARD_CACHE": os.environ["STEELYARD_CACHE"]}
        return {**around, **root, **places, "STEELYARD_OPENCL": "libc.so.6"}  # which is asked, and has no devices

    def do(self, words: Sequence[str], how: Use) -> "subprocess.CompletedProcess[str]":
        """Runs a command to its end, or ends it when it has begun its work."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        environment = self.environment
        if how.foreign:
            environment.pop("LD_LIBRARY_PATH", None)
        line = [*BEGIN, *(word.format(things=self.things, port=port) for word in words)]
        with (
            (self.things / "printed").open("w+") as printed,
            subprocess.Popen(
                line,
                cwd=self.canaries.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
            ) as process,
        ):
            if how.lasting:
                time.sleep(LASTING)
                process.send_signal(signal.SIGTERM)
            try:
                code = process.wait(SECONDS)
            finally:
                process.kill()
            printed.seek(0)
            return subprocess.CompletedProcess(line, code, "", printed.read())


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    if "STEELYARD_CACHE" not in os.environ:  # the programs are compiled once for all tests; the home is another one
        usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        monkeypatch.setenv("STEELYARD_CACHE", str(usual / "steelyard"))
    things, slurm = tmp_path / "things", tmp_path / "slurm"
    for folder in (things, slurm, things / "home", things / "wheels", things / "mine" / "own"):
        folder.mkdir(parents=True)
    for name, script in SLURM.items():
        (slurm / name).write_text("#!/bin/sh\n" + script.format(folder=slurm))
        (slurm / name).chmod(0o755)
    powered(unpack(things / "runs"))
    shutil.copytree(things / "runs" / "run", things / "runs" / "again")
    if importlib.util.find_spec("otf2"):
        otf2_archive("all_kinds", things / "otf2")
    for node in range(5):
        write_copy(things / "nodes" / f"n{node}", host=f"n{node}", seed=node, processor=describe(whole=False).processor)
    (things / "count.toml").write_text(APP)
    (things / "mine" / "own" / "fill.cpp").write_text(f"// {tmp_path}: compiled anew each time\n{KERNEL}")
    (things / "mine" / "own" / "fill.py").write_text(DECLARATION)
    (things / "two.goal").write_text(GOAL)
    (things / "hello.c").write_text(MPI_PROGRAM)
    subprocess.run(["mpicc", "-o", things / "hello", things / "hello.c"], check=True)
    made = Stage(Canaries(tmp_path), things, slurm)
    yield made
    shutil.rmtree(made.canaries.folder)  # some ten thousand links


RUNS = ("--runs", "{things}/runs")
STORE = ("--store", "{things}/store")


# In this order: each uses what others have made. Refused, after their work, are an MPI without a wheel, one that is not there, an
# run without readings of its time, and a job that Slurm does not know the time of.
USES: Mapping[str, tuple[Use, ...]] = {
    "run": (
        use(*SMALL, "--runs", "{things}/made"),
        use(*HOSTS, "--runs", "{things}/hosts"),
        use("--app", "{things}/count.toml", "--quiet", "--runs", "{things}/apps"),
        use("--path", "{things}/mine", "--only", "own.fill", "--quiet", "--runs", "{things}/compiled"),
    ),
    "scale": (use("memory.latency", "--counts", "1,2", *CASE[2:], "--quiet", "--runs", "{things}/scaled"),),
    "resume": (use("--runs", "{things}/made"),),
    "import": (use(str(ROOT / "examples" / "logs"), "--runs", "{things}/imported"),),
    "plan": (use("--only", "network.pingpong", "--hosts", "localhost:2"),),
    "list": (use(), use("memory.stream")),
    "show": (use(*RUNS),),
    "judge": (use(*RUNS),),
    "verify": (use(*RUNS, code=1),),  # this run of an earlier version has no checksums
    "cite": (use(*RUNS),),
    "share": (use(*RUNS, "--anonymous", "-o", "{things}/shared.zip"),),
    "figure": (use("--all", *RUNS, "-o", "{things}/plots"),),
    "schema": (use("show"),),
    "help": (use("import"),),
    "report": (use(*RUNS),),
    "export": (use(*RUNS, "--format", "csv"),),
    "query": (use("select 1", *RUNS),),
    "compare": (
        use("run", "again", *RUNS),
        use("{things}/stranger/a", "{things}/stranger/b", "--in-turn", "--rounds", "10", "--runs", "{things}/turns"),
        use("--rounds", "6", "--", "true", "sh -c true"),
    ),
    "history": (use(*RUNS),),
    "fleet": (use("{things}/nodes"),),
    "gate": (use("{things}/nodes", "--budget", "4s", "--runs", "{things}/gated", code=(0, 1, 5)),),
    "systems": (use(),),
    "remove": (use("{things}/stranger/b", "--yes"),),
    "machine": (use(),),
    "doctor": (use(),),
    "mpi list": (use(),),
    "mpi install": (use("mpich", "--from", "{things}/wheels", code=4),),
    "device install": (use("--from", "{things}/wheels", code=4),),
    "mpi remove": (use("mpich", code=2),),
    "build": (use("--only", "memory.latency"),),
    "selfcheck": (use("--only", "intervals"),),
    "submit": (use("--runs", "{things}/jobs", "--", *HOSTS),),
    "power sensors": (use(*MODEL),),
    "power watch": (use(*MODEL, "--", "sh", "-c", "sleep 0.3"),),
    "power agent": (use(*STORE, *MODEL, "--every", "100ms", "--moments", "3", "--node", "c/node1"),),
    "power collect": (use("--broker", "127.0.0.1:{port}", *STORE, lasting=True),),
    "power query": (use(*STORE), use(*STORE, "--job", "12", code=4)),
    "power export": (use(*STORE, "c/node1"),),
    "power tail": (use(*STORE, "c/node1", lasting=True),),
    "power serve": (use(*STORE, "--listen", "127.0.0.1:{port}", lasting=True),),
    "power attach": (use(*STORE, *RUNS, "run", code=2),),
    "power tidy": (use(*STORE),),
    "trace": (use("-o", "{things}/trace", "--", "mpiexec", "-n", "1", "{things}/hello", foreign=True),),
    "whatif": (
        use("--demo", "--set", "repeats=2"),
        *([use("{things}/otf2", "--set", "network=L=1us")] if importlib.util.find_spec("otf2") else []),
        use("{things}/two.goal", "--set", "network=L=1us:2us:3us,o=1us,G=1ns/B,S=1k", "--submit", "2"),
    ),
}


def commands() -> Iterator[str]:
    """All commands, as the program lists them."""

    def within(command: Any, names: tuple[str, ...]) -> Iterator[str]:
        if not hasattr(command, "list_commands"):
            yield " ".join(names)
            return
        context = typer.Context(command)
        for name in command.list_commands(context):
            yield from within(command.get_command(context, name), (*names, name))

    return within(typer.main.get_command(cli.app), ())


def test_every_command_is_used_here() -> None:
    assert set(USES) == set(commands()), "add the new command, with words that make it do its work"


def test_no_command_executes_what_lies_in_the_current_folder(stage: Stage) -> None:
    executed, failed = {}, {}
    for name, uses in USES.items():
        for one in uses:
            words = [*name.split(), *filter(None, one.words.split("\0"))]
            done = stage.do(words, one)
            if marks := stage.canaries.executed():
                executed[" ".join(words)] = marks[:5]
            if done.returncode not in one.codes:
                failed[" ".join(words)] = (done.returncode, done.stderr[-1500:])
        if name == "run":  # a stranger's two runs
            for made in (stage.things / "hosts").glob("*"):
                for side in ("a", "b"):
                    shutil.copytree(made, stage.things / "stranger" / side)
    assert not executed, "\n".join(f"{words}: {marks}" for words, marks in executed.items())
    assert not failed, "\n".join(f"{words}: {how}" for words, how in failed.items())
    out = (stage.slurm / "out").read_text()
    assert "Traceback" not in out, out
    assert not (stage.slurm / "failed").exists(), out
