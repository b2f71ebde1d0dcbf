"""How many operations a sample has: also where the calibration met another process."""

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from mpis import mpi
from native import linked
from steelyard.measure import build
from steelyard.measure.launch.program import Program
from steelyard.measure.launch.start import start
from steelyard.model import Benchmark, Case, Launch, Machine, Site

WANTED = 2e-4  # seconds of a sample, unless a case says otherwise
# No sampling ends early because the interrupted samples are alike, or because a busy machine takes long for them.
UNTIL_LAST = "width=1e-9 seconds=60"
# The first calls take as long as a turn of another process, all alike. Then each operation takes a microsecond.
INTERRUPTED = "static int calls; const double until = calls++ < {calls} ? 4e-3 : operations * 1e-6;"
WAIT = "for (std::uint64_t t = Clock::get().ticks(); Clock::get().seconds(Clock::get().ticks() - t) < until;) relax();"
KERNEL = """
#include "kernel.h"
using namespace steelyard;
struct Interrupted {
  Interrupted(Params&, Team&) {}
  void run(Worker, std::size_t operations) { %s %s }
  Work work() const { return {{"calls", 1}}; }
  Check check() { return {true, ""}; }
  void corrupt() {}
};
int main() { return serve({kernel<Interrupted>("interrupted")}); }
"""


def expect_long_samples(answer: dict[str, Any]) -> None:
    assert answer["check"]["passed"], answer["check"]
    samples = answer["surroundings"]["samples"]["seconds"]
    assert median(samples) >= WANTED / 2
    assert len(samples) == len(answer["samples"]) >= 6
    assert answer["operations"] > 1


@pytest.mark.sampled(1)
@pytest.mark.parametrize("calls", [3, 12, 30], ids=lambda calls: f"{calls} interrupted calls")
def test_turns_of_another_process_do_not_pass_for_a_long_operation(here: Machine, calls: int) -> None:
    """The samples show it, and are taken again: during the calibration nothing tells them from a long operation."""
    program = linked(here, KERNEL % (INTERRUPTED.replace("{calls}", str(calls)), WAIT))
    line = f"case=0 kernel=interrupted least=6 most=200 {UNTIL_LAST}\n"
    done = subprocess.run([program], input=line, capture_output=True, text=True, timeout=250, check=True)
    expect_long_samples(json.loads(done.stdout))


def test_ranks_take_too_short_samples_again(here: Machine, benchmarks: dict[str, Benchmark], tmp_path: Path) -> None:
    ping = benchmarks["network.pingpong"]
    source = Path(ping.sources[0].path)
    for name in ("messages.h", "messages.once.cpp"):
        (tmp_path / name).write_text(source.with_name(name).read_text())
    text, count = re.subn(
        r"(void run\(std::size_t operations\) \{)",
        rf"\1 {{ {INTERRUPTED.replace('{calls}', '12')} {WAIT} }}",
        source.read_text(),
    )
    assert count
    (tmp_path / source.name).write_text(text)
    changed = replace(ping, sources=(replace(ping.sources[0], path=str(tmp_path / source.name)),))
    tool = mpi("default", here)
    built = build.build([changed], build.resolve(build.default(here), here), tool)[ping.name]
    case = Case(ping.name, "pingpong", {"ranks": 2, "mpi": "any"})
    line = f"case=0 kernel=pingpong ranks=2 message_bytes=8 least=6 most=40 {UNTIL_LAST}"
    program = Program(*start(Site({"any": tool}), here, Launch(1, ping.name, "any", 1, (case,)), built), 2)
    try:
        expect_long_samples(program.ask(line, 250))
    finally:
        program.close()
