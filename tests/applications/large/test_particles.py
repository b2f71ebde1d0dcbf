"""Molecular dynamics at its usual size, as a crystal and as a liquid, in both models, also on more ranks than processors."""

from collections.abc import Iterator

import pytest

from npb_runs import Asked
from steelyard.model import Machine

USUAL = {"particles": "256000", "steps": "100"}


@pytest.fixture(scope="module")
def ask(here: Machine) -> Iterator[Asked]:
    with Asked(here, "dynamics", "application.molecular_dynamics", USUAL) as asked:
        yield asked


# Weak scaling makes boxes that are no cubes; 16 ranks have blocks of half of the box and less along every axis.
CASES = [
    ("threads", 2, {}),
    ("threads", 2, {"temperature": "1.44", "steps": "150"}),
    ("mpi", 2, {"temperature": "1.44"}),
    ("mpi", 4, {"particles": "384000"}),
    ("mpi", 16, {"particles": "32000", "temperature": "1.44"}),
]


@pytest.mark.parametrize(("model", "workers", "more"), CASES)
def test_energy_momentum_and_forces_are_right(ask: Asked, model: str, workers: int, more: dict[str, str]) -> None:
    answer = ask(model, workers, seconds=600, **more)
    assert "error" not in answer, answer["error"]
    assert answer["check"]["passed"], answer["check"]["detail"]
    speed = answer["work"]["particle_steps"] / answer["samples"][0] / 1e6
    print(f"{model} {workers}: {answer['samples'][0]:.3f} s, {speed:.1f} Mparticle-step/s")
