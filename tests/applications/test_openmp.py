"""OpenMP as a model: planned where asked for, on the processors of our own threads, right, and refused where it is cut short."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from steelyard.errors import UsageError
from steelyard.measure import build, plan
from steelyard.measure.launch import site
from steelyard.measure.launch.program import Program
from steelyard.measure.launch.start import start
from steelyard.measure.machine import openmp
from steelyard.measure.plan import EFFORTS, catalogue, possible
from steelyard.measure.run import setup
from steelyard.model import Benchmark, Case, Device, Launch, Machine, Toolchain

CODES = {
    "application.npb_cg": "kernel=cg class=S",
    "application.npb_ep": "kernel=ep class=S",
    "application.npb_mg": "kernel=mg class=S",
    "application.npb_lu": "kernel=lu class=S",
    "application.finite_elements": "kernel=program elements=4096",
    "application.molecular_dynamics": "kernel=dynamics particles=4000 steps=20",
    "application.turbulence": "kernel=flow points=32768 steps=2",
    "node.matmul": "kernel=matmul order=96",
    "node.mergesort": "kernel=mergesort elements=20000",
    "node.reduction": "kernel=reduction elements=100000",
    "node.stencil": "kernel=stencil elements=32768",
}
# One application and one kernel of the node in `make test`; each program takes seconds to compile.
PROGRAMS = [
    pytest.param(name, marks=[pytest.mark.long] * (name not in ("application.npb_ep", "node.stencil")))
    for name in CODES
]
two_processors = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")


def planned(here: Machine, effort: str = "standard", **settings: Any) -> list[Launch]:
    chosen = {"application.npb_ep": catalogue.find()["application.npb_ep"]}
    made = plan.make(chosen, here, EFFORTS[effort], settings, ["gcc"], mpis=["mpi-1"])
    return list(made.launches)


# --------------------------------------------------------------------------- the plan


@pytest.mark.parametrize("effort", EFFORTS)
def test_it_is_planned_where_the_model_is_named(two_sockets: Machine, effort: str) -> None:
    assert "openmp" not in {launch.model for launch in planned(two_sockets, effort)}
    assert {launch.model for launch in planned(two_sockets, effort, model=["openmp"])} == {"openmp"}
    assert {launch.model for launch in planned(two_sockets, effort, model=["openmp", "mpi"])} == {"openmp", "mpi"}


def kernels(here: Machine, **settings: Any) -> set[tuple[str, str, str]]:
    """Model of the program, `mode` and `model` of each case of the node's stencil."""
    chosen = {"node.stencil": catalogue.find()["node.stencil"]}
    made = plan.make(chosen, here, EFFORTS["quick"], settings, ["gcc"])
    return {
        (launch.model, str(case.parameters["mode"]), str(case.parameters.get("model", "")))
        for launch in made.launches
        for case in launch.cases
    }


def test_kernels_of_the_node_name_a_model_only_where_it_is_openmp(two_sockets: Machine) -> None:
    here = replace(two_sockets, devices=(Device(0, "Example GPU", "GPU", 8 << 30, False),))
    ours = {("", "threads", ""), ("", "opencl", ""), ("", "mixed", "")}
    theirs = {("openmp", "threads", "openmp")}
    assert kernels(here) == kernels(here, model=["threads"]) == ours
    assert kernels(here, model=["openmp"]) == theirs
    assert kernels(here, model=["threads", "openmp"]) == ours | theirs
    assert kernels(here, model=["openmp", "threads"], mode=["mixed"]) == {("", "mixed", "")}
    with pytest.raises(UsageError, match="with model 'mpi'"):
        kernels(here, model=["mpi"])


def test_cases_that_the_runtime_must_know_at_its_start_have_starts_of_their_own(two_sockets: Machine) -> None:
    settings = {
        "model": ["openmp"],
        "threads": [1, 2],
        "pinning": ["compact", "none"],
        "wait_policy": ["active", "passive"],
    }
    launches = planned(two_sockets, **settings)
    alike = [{tuple(c.parameters[n] for n in openmp.ALIKE) for c in launch.cases} for launch in launches]
    assert all(len(each) == 1 for each in alike)
    assert len({each.pop() for each in alike}) == 8


def test_a_policy_that_there_is_not_is_refused(two_sockets: Machine) -> None:
    with pytest.raises(UsageError, match="wait_policy 'activ'.*Did you mean 'active'"):
        planned(two_sockets, model=["openmp"], wait_policy=["activ"])


def test_the_runtime_is_given_the_processors_of_our_own_threads(two_sockets: Machine) -> None:
    around = {
        "OMP_PLACES": "cores",
        "GOMP_CPU_AFFINITY": "0",
        "OMP_WAIT_POLICY": "active",
        "OMP_THREAD_LIMIT": "3",
        "HOME": "/",
    }
    scattered = openmp.environment(two_sockets, {"threads": 2, "pinning": "scatter"}, around)
    own = possible.cpus_of(two_sockets, {"threads": 2, "pinning": "scatter"})
    assert own
    assert scattered == {
        "HOME": "/", "OMP_THREAD_LIMIT": "3", "OMP_NUM_THREADS": "2", "OMP_DYNAMIC": "false", "OMP_PROC_BIND": "close",
        "OMP_PLACES": f"{{{own[0]}}},{{{own[1]}}}",
    }  # fmt: skip
    free = openmp.environment(two_sockets, {"threads": 2, "pinning": "none", "wait_policy": "passive"}, around)
    assert free["OMP_PROC_BIND"] == "false"
    assert free["OMP_WAIT_POLICY"] == "passive"
    assert "OMP_PLACES" not in free


# --------------------------------------------------------------------------- the compiler


def test_a_compiler_without_the_runtime_gets_a_sentence(
    here: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolchain = build.resolve(build.default(here), here)
    without = tmp_path / "g++"
    without.write_text(f'#!/bin/sh\ncase "$*" in *-fopenmp*) exit 1;; esac\nexec {toolchain.compiler} "$@"\n')
    without.chmod(0o755)
    assert not build.has_openmp(replace(toolchain, compiler=str(without)))
    monkeypatch.setattr(build, "has_openmp", lambda _: False)
    with pytest.raises(UsageError, match="has no OpenMP runtime.*libomp-dev"):
        setup.plan(setup.Request(effort=EFFORTS["quick"], only=["application.npb_ep"], settings={"model": ["openmp"]}))


# --------------------------------------------------------------------------- real runs


class Asking:
    """OpenMP's programs of some benchmarks, each case in a process of its own."""

    def __init__(self, here: Machine, toolchain: Toolchain) -> None:
        self.here, self.toolchain, self.found = here, toolchain, catalogue.find()
        self.site = site.site((), None, (), here)

    def program(self, name: str) -> Path:
        """The OpenMP program of a benchmark, built when it is first asked for."""
        own = replace(self.found[name], sources=tuple(s for s in self.found[name].sources if s.model == "openmp"))
        return build.build([own], self.toolchain)[f"{name}.openmp"]

    def __call__(self, name: str, threads: int, around: Mapping[str, str] | None = None, **more: str) -> dict[str, Any]:
        parameters = {"threads": threads, "model": "openmp", **more}
        launch = Launch(1, name, "any", 1, (Case(name, "any", parameters),), "openmp")
        command, environment = start(self.site, self.here, launch, self.program(name))
        given = {"threads": str(threads), "model": "openmp", "least": "1", "most": "1", **more}
        if threads <= len(self.here.cpus):
            given["cpus"] = ",".join(map(str, self.here.cpus[:threads]))
        words = f"case=1 {CODES[name]} " + " ".join(f"{k}={v}" for k, v in given.items())
        program = Program(command, {**environment, **(around or {})}, None)
        try:
            return program.ask(words, 120)
        finally:
            program.close()


@pytest.fixture(scope="module")
def ask(here: Machine) -> Asking:
    toolchain = build.resolve(build.default(here), here)
    if not build.has_openmp(toolchain):
        pytest.skip(f"{toolchain.name} has no OpenMP runtime here")
    return Asking(here, toolchain)


@two_processors
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("threads", [1, 2])
def test_programs_are_right_and_say_who_carried_them(ask: Asking, name: str, threads: int) -> None:
    answer = ask(name, threads)
    assert "error" not in answer, answer.get("error")
    assert answer["check"]["passed"], answer["check"]["detail"]
    carried = answer["surroundings"]["openmp"]
    assert carried["runtime"] in ("libgomp", "libomp")
    assert carried["specification"] >= 201511
    assert carried["settings"]["OMP_NUM_THREADS"] == str(threads)
    assert len(carried["settings"]["OMP_PLACES"].split("},{")) == threads


@two_processors
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("plant", ["skip", "wrong"])
def test_a_planted_error_fails(ask: Asking, name: str, plant: str) -> None:
    answer = ask(name, 2, plant=plant)
    assert "error" not in answer, answer.get("error")
    assert answer["check"]["passed"] is False


@two_processors
def test_a_runtime_that_is_cut_short_is_refused_and_not_measured(ask: Asking) -> None:
    answer = ask("application.npb_ep", 2, {"OMP_THREAD_LIMIT": "1"})
    assert "started only 1 of 2 threads (OMP_THREAD_LIMIT='1'" in answer["error"]
    assert "samples" not in answer


@two_processors
def test_threads_elsewhere_are_refused(ask: Asking) -> None:
    other = ask.here.cpus[1]
    answer = ask("application.npb_ep", 1, {"OMP_PLACES": f"{{{other}}}"})
    assert f"placed thread 0 on processors {other} instead of {ask.here.cpus[0]}" in answer["error"]


@pytest.mark.parametrize("policy", ["active", "passive"])
def test_the_policy_of_waiting_is_the_one_that_was_asked_for(ask: Asking, policy: str) -> None:
    answer = ask("application.npb_ep", 1, wait_policy=policy)
    assert answer["surroundings"]["openmp"]["settings"]["OMP_WAIT_POLICY"] == policy
    refused = ask("application.npb_ep", 1, {"OMP_WAIT_POLICY": "active"}, wait_policy="passive")
    assert "wait_policy='passive' differs from the environment in which the OpenMP runtime started" in refused["error"]


@pytest.mark.site
@pytest.mark.skipif(not shutil.which("clang++"), reason="a second compiler")
def test_another_compilers_runtime_is_told_apart(here: Machine) -> None:
    toolchain = build.resolve("clang", here)
    if not build.has_openmp(toolchain):
        pytest.skip("Clang has no OpenMP runtime here: apt-get install libomp-dev")
    answer = Asking(here, toolchain)("application.npb_ep", 1)
    assert answer["surroundings"]["openmp"]["runtime"] == "libomp"


def test_benchmarks_that_have_it_say_so() -> None:
    found: dict[str, Benchmark] = catalogue.find()
    assert {n for n, b in found.items() if any(s.model == "openmp" for s in b.sources)} == {
        n
        for n, b in found.items()
        if n.startswith("node.") or (n.startswith("application.") and any(s.model == "threads" for s in b.sources))
    }
