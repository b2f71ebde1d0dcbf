"""Asks the programs of the NAS Parallel Benchmarks, in any programming model, each kept from case to case."""

from pathlib import Path
from typing import Any, Self

import pytest

from mpis import mpi
from steelyard import build
from steelyard.launch.program import Program
from steelyard.launch.start import Site, start
from steelyard.model import Case, Launch, Machine, Sampling
from steelyard.run import line

ONCE = Sampling(width=0.5, seconds=0.1, least=1, most=1)
MODELS = {
    "cg": ("threads", "mpi", "rma", "shmem"),
    "lu": ("threads", "mpi"),
    "ua": ("threads",),
    "ep": ("threads", "mpi"),
    "mg": ("threads", "mpi"),
    "ft": ("threads", "mpi"),
    "is": ("threads", "mpi"),
}


class Asked:
    """The programs of one benchmark; a context manager, which ends them."""

    def __init__(self, programs: dict[str, Path], here: Machine, code: str) -> None:
        self.programs, self.here, self.code, self.name = programs, here, code, f"application.npb_{code}"
        self._open: dict[tuple[str, int, str], Program] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for program in self._open.values():
            program.close()

    def __call__(self, model: str, workers: int, memory: str = "", seconds: float = 120, **more: str) -> dict[str, Any]:
        """The answer to a case on so many threads or ranks, with `memory` bytes to be had, within so many seconds."""
        key = (model, workers if model != "threads" else 0, memory)
        case = self._case(model, workers, **more)
        launch = Launch(1, self.name, "any", 1, (case,), model)
        if key not in self._open:
            self._open[key] = self._start(model, launch, memory)
        return self._open[key].ask(line(self.here, launch, 0, case), seconds)

    def _case(self, model: str, workers: int, **more: str) -> Case:
        # Pinned where that is possible: more threads than processors are not.
        pinning = "compact" if workers <= len(self.here.cpus) else "none"
        many: dict[str, str | int] = {"threads": workers, "pinning": pinning}
        if model != "threads":
            many = {"ranks": workers, "placement": "compact", "mpi": build.mpi_name(mpi("default", self.here))}
        return Case(self.name, self.code, {"class": "S", "model": model, **many, **more}, ONCE)

    def _start(self, model: str, launch: Launch, memory: str) -> Program:
        program = build.program_name(self.name, model)
        if program not in self.programs:
            pytest.skip(f"The MPI of this machine has no {model}.")
        mpis = {} if model == "threads" else {str(launch.cases[0].parameters["mpi"]): mpi("default", self.here)}
        command, environment = start(Site(mpis), self.here, launch, self.programs[program])
        if memory:
            environment = {**environment, "STEELYARD_MEMORY": memory}
        return Program(command, environment, int(launch.cases[0].parameters.get("ranks", 0)) or None)
