"""From a user's words to the programs that are built."""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from steelyard.measure import records
from steelyard.measure.plan import EFFORTS
from steelyard.measure.run import session, setup
from steelyard.measure.screen import Screen
from steelyard.model import Benchmark


def without_openshmem(folder: Path) -> Path:
    """A C++ wrapper that answers as the Open MPI from PyPI does: it finds <mpi.h>, and no <shmem.h>."""
    wrapper = folder / "mpicxx"
    wrapper.write_text(
        "#!/bin/sh\n"
        'case "$1" in\n'
        "  --showme:version) echo 'mpicxx: Open MPI 5.0.10 (Language: C++)' ;;\n"
        "  -E) ! grep -q shmem.h ;;\n"
        "  *) exit 1 ;;\n"
        "esac\n"
    )
    wrapper.chmod(0o755)
    return wrapper


def programs(chosen: Mapping[str, Benchmark]) -> set[tuple[str, str]]:
    return {(name, source.model) for name, benchmark in chosen.items() for source in benchmark.sources}


@pytest.mark.wings
def test_what_the_mpi_cannot_build_is_neither_planned_nor_built(tmp_path: Path) -> None:
    mpi = str(without_openshmem(tmp_path))
    made, here, _ = setup.plan(setup.Request(effort=EFFORTS["quick"], only=["application.npb_cg"], mpis=[mpi]))
    chosen = here.benchmarks
    assert programs(chosen) == {(launch.benchmark, launch.model) for launch in made.launches}
    assert programs(chosen) == {("application.npb_cg", model) for model in ("threads", "mpi", "rma")}


@pytest.mark.wings
def test_programs_that_no_case_of_the_plan_needs_are_not_built(tmp_path: Path) -> None:
    mpi = str(without_openshmem(tmp_path))
    only, settings = ["application.npb_cg", "memory.stream"], {"model": ["threads"]}
    chosen = setup.plan(setup.Request(effort=EFFORTS["quick"], only=only, settings=settings, mpis=[mpi]))[1].benchmarks
    assert programs(chosen) == {("application.npb_cg", "threads"), ("memory.stream", "")}


def test_a_run_measures_less_if_its_set_up_takes_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = setup.Request(
        effort=replace(EFFORTS["quick"], seconds=1.0, promised=1.0, most=4.0), only=["memory.latency"]
    )
    build = setup.Setup.programs
    monkeypatch.setattr(setup.Setup, "programs", lambda *words: (time.sleep(2.4), build(*words))[1])
    run = records.read(session.start(asked, tmp_path, Screen()))
    assert run.plan.seconds < setup.plan(asked)[0].seconds <= 4.0
    assert run.plan.left_out["memory.latency"] > 0
