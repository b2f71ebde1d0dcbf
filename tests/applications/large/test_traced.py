"""The NAS Parallel Benchmarks of ours, traced on each MPI and replayed."""

import json
from pathlib import Path
from typing import Any

import pytest

from mpis import mpi
from replays import Parameters, asked
from steelyard.measure import build
from steelyard.measure.plan import catalogue
from steelyard.model import Machine
from steelyard.whatif import tracing
from traces import mpiexec

RANKS = 4
NETWORK = Parameters(L=2_500_000, o=1_500_000, g=1_000_000, G=80).word()
FREE = f"{NETWORK} core=1e12"


def traced(code: str, flavour: str, here: Machine, folder: Path, capfd: pytest.CaptureFixture[str]) -> Any:
    """The benchmark's record, and what the replay says of its trace. It reads its case, as ever, from its input."""
    own, name = mpi(flavour, here), f"application.npb_{code}"
    programs = build.programs([catalogue.find()[name]], build.resolve(build.default(here), here), own)
    [program] = [one for one in programs if one.name == build.program_name(name, "mpi")]
    build.make([program])
    case = f"case=1 kernel={code} class=S model=mpi ranks={RANKS} least=1 most=1"
    with pytest.MonkeyPatch.context() as patch:
        words = mpiexec(program.path, RANKS, own, patch)
        made = tracing.record(["sh", "-c", 'printf "%s\nend\n" "$0" | "$@"', case, *words], folder, here, own)
    lines = [line for line in capfd.readouterr().out.splitlines() if line.startswith("{")]
    assert (made.code, made.ranks) == (0, RANKS)
    return json.loads(lines[0]), asked(folder, NETWORK, FREE, f"{FREE} mode=event")


@pytest.mark.parametrize("code", ["cg", "lu", "mg", "is", "ft"])
def test_a_benchmark_is_traced_and_replayed_alike_on_both_mpis(
    code: str, here: Machine, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    found = {}
    for flavour in ("default", "mpich"):
        record, (about, worked, free, event) = traced(code, flavour, here, tmp_path / flavour, capfd)
        assert record["check"]["passed"], record
        assert (about["ranks"], about["unreceived"], about["traced"]["broken"]) == (RANKS, 0, [])
        # A time takes a byte more on a machine that is twenty times as slow because it is busy.
        assert about["traced"]["bytes"] <= 11 * about["traced"]["calls"] + RANKS * 200
        assert worked["time"][0] >= about["traced"]["computing"] * 1e12
        assert event["time"][0] >= free["time"][0] > 0
        found[flavour] = {name: about[name] for name in ("messages", "bytes")}
    # What is sent is the program's; in which order it comes is each run's own.
    assert found["default"] == found["mpich"]
