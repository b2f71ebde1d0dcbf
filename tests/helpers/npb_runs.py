"""Runs the programs of applications, each kept from case to case, and compiles parts of them; the usual ones are NPB's."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import pytest
from _pytest.mark import ParameterSet

from conftest import build_programs
from native import linked
from steelyard.applications.benchmarks import application
from steelyard.measure import build
from steelyard.measure.launch import site
from steelyard.measure.launch.program import Program
from steelyard.measure.launch.start import start
from steelyard.measure.plan import catalogue
from steelyard.model import Case, Launch, Machine, Scalar, Site

MODELS = {
    "cg": ("threads", "mpi", "rma", "shmem"),
    "lu": ("threads", "mpi"),
    "ua": ("threads",),
    "ep": ("threads", "mpi"),
    "mg": ("threads", "mpi"),
    "ft": ("threads", "mpi"),
    "is": ("threads", "mpi"),
}
FOLDER = Path(application.__path__[0])
Answer = dict[str, Any]
NPB = {"class": "S"}  # what a case has unless it says otherwise
# Vectors of a part that is compiled alone: those of this processor, or the least that the compiler may assume.
WIDTHS = [
    pytest.param(("-march=native",), id="as wide as can be"),
    pytest.param((), id="as narrow as can be", marks=pytest.mark.long),
]


# Models that `make test` leaves out: one that a bare machine lacks, and a further one with the same kernels.
MARKS = {"shmem": [pytest.mark.site], "rma": [pytest.mark.long]}


def cases_of(code: str) -> list[ParameterSet]:
    """Each model of a benchmark as a case."""
    return [pytest.param(model, id=model, marks=MARKS.get(model, [])) for model in MODELS[code]]


class Asked:
    """The programs of one benchmark, compiled when first asked; a context manager, which ends them.

    More threads than processors may be asked.
    """

    def __init__(self, here: Machine, code: str, name: str = "", usual: Mapping[str, str] = NPB) -> None:
        self.here, self.code, self.name, self.usual = here, code, name or f"application.npb_{code}", usual
        self.site: Site = site.site((), None, (), here)
        self._open: dict[tuple[str, int, str], Program] = {}
        self._answers: dict[tuple[str, ...], Answer] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for program in self._open.values():
            program.close()

    def __call__(self, model: str, workers: int, memory: str = "", seconds: float = 120, **more: str) -> Answer:
        """The answer to a case on so many threads or ranks, with `memory` bytes to be had, within so many seconds.

        A case is asked once: the same words get the answer that was kept.
        """
        asked = (model, str(workers), memory, *(f"{name}={value}" for name, value in sorted(more.items())))
        if asked not in self._answers:
            self._answers[asked] = self._ask(model, workers, memory, seconds, more)
        return self._answers[asked]

    def _ask(self, model: str, workers: int, memory: str, seconds: float, more: Mapping[str, str]) -> Answer:
        key = (model, workers if model != "threads" else 0, memory)
        if key not in self._open:
            self._open[key] = self._start(model, workers, memory)
        words = {"case": 1, "kernel": self.code, **self.usual, "model": model, "least": 1, "most": 1, **more}
        words["threads" if model == "threads" else "ranks"] = workers
        if model == "threads" and workers <= len(self.here.cpus):
            words["cpus"] = ",".join(map(str, self.here.cpus[:workers]))
        return self._open[key].ask(" ".join(f"{k}={v}" for k, v in words.items()), seconds)

    def _start(self, model: str, workers: int, memory: str) -> Program:
        benchmark = {self.name: catalogue.find()[self.name]}
        programs = build_programs(benchmark, self.here, lambda source: source.model == model)
        if not programs:
            pytest.skip(f"There is no MPI here that has {model}: apt-get install libopenmpi-dev")
        many: dict[str, Scalar] = {}
        if model != "threads":
            many = {"ranks": workers, "placement": "compact", "mpi": next(iter(self.site.mpis))}
        launch = Launch(1, self.name, "any", 1, (Case(self.name, self.code, many),), model)
        command, environment = start(self.site, self.here, launch, programs[build.program_name(self.name, model)])
        if memory:
            environment = {**environment, "STEELYARD_MEMORY": memory}
        return Program(command, environment, workers if model != "threads" else None)


def details(answer: Answer) -> dict[str, Any]:
    """The details of an answer whose check passed."""
    assert "error" not in answer, answer.get("error")
    assert answer["check"]["passed"], answer["check"]["detail"]
    found: dict[str, Any] = answer["surroundings"]["details"]
    return found


def compiled(here: Machine, code: str, text: str, *flags: str) -> Path:
    """Returns a C++ program of a test's own, made with the headers of the benchmark in folder `code` and of the harness."""
    return linked(here, text, *flags, f"-I{FOLDER / code}")


def told(program: Path, *words: object) -> list[float]:
    """The numbers that such a program prints, asked with these words."""
    out = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=True).stdout
    return [float(word) for word in out.split()]
