"""Turbulence: the vortex beside its series and a second simulation, third order, whoever shares it the same, planted errors."""

import json
import math
import re
import subprocess
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from native import linked
from npb_runs import FOLDER, WIDTHS, Asked, details
from steelyard.measure.plan import sweep
from steelyard.model import Machine

NAME = "application.turbulence"
VISCOSITY = 1 / 1600
SHARED = (
    ("threads", 1, {}),
    ("threads", 2, {}),
    ("mpi", 1, {}),
    ("mpi", 2, {}),
    ("mpi", 3, {}),
    ("mpi", 4, {}),
    ("mpi", 8, {}),
    ("mpi", 2, {"threads": "2"}),
)
Values = NDArray[np.float64]
Modes = NDArray[np.complex128]


@pytest.fixture(scope="module")
def ask(here: Machine) -> Iterator[Asked]:
    with Asked(here, "flow", NAME, {}) as asked:
        yield asked


class Cube:
    """The same equations on whole cubes of complex numbers, by numpy."""

    def __init__(self, n: int) -> None:
        self.n = n
        each = np.fft.fftfreq(n, 1 / n)
        self.k = np.stack(np.meshgrid(each, each, each, indexing="ij"))
        self.square = (self.k**2).sum(axis=0)
        self.kept = (np.abs(self.k) <= (n - 1) // 3).all(axis=0)

    def vortex(self) -> Modes:
        x, y, z = np.meshgrid(*[2 * np.pi * np.arange(self.n) / self.n] * 3, indexing="ij")
        return self.modes(np.stack([np.sin(x) * np.cos(y) * np.cos(z), -np.cos(x) * np.sin(y) * np.cos(z), 0 * x]))

    def modes(self, values: Values) -> Modes:
        return np.asarray(np.fft.fftn(values, axes=(1, 2, 3)) / self.n**3)

    def values(self, modes: Modes) -> Values:
        return np.asarray(np.fft.ifftn(modes * self.n**3, axes=(1, 2, 3)).real)

    def curl(self, modes: Modes) -> Modes:
        return np.asarray(1j * np.cross(self.k, modes, axis=0))

    def projected(self, modes: Modes) -> Modes:
        along = (self.k * modes).sum(axis=0) / np.where(self.square > 0, self.square, 1)
        return np.asarray((modes - self.k * along) * self.kept)

    def enstrophy(self, modes: Modes) -> float:
        return float((np.abs(self.curl(modes)) ** 2).sum() / 2)

    def simulated(self, steps: int) -> Modes:
        """Three stages of third order (Williamson 1980), friction by its factor."""
        step, u = 1 / self.n, self.vortex()
        left = np.zeros_like(u)
        stages = ((0, 1 / 3, 1 / 3), (-5 / 9, 15 / 16, 5 / 12), (-153 / 128, 8 / 15, 1 / 4))
        for _ in range(steps):
            for keep, take, part in stages:
                product = np.cross(self.values(u), self.values(self.curl(u)), axis=0)
                left = keep * left + self.projected(self.modes(product))
                factor = np.exp(-VISCOSITY * self.square * part * step)
                u, left = (u + take * step * left) * factor, left * factor
        return u


def series(orders: int) -> list[float]:
    """Coefficients of the enstrophy in powers of time, by the recursion that the equations give."""
    cube = Cube(32)
    u = [cube.vortex()]
    fields = [(cube.values(u[0]), cube.values(cube.curl(u[0])))]
    for n in range(orders - 1):
        product = sum(np.cross(fields[m][0], fields[n - m][1], axis=0) for m in range(n + 1))
        u.append((cube.projected(cube.modes(np.asarray(product))) - VISCOSITY * cube.square * u[n]) / (n + 1))
        fields.append((cube.values(u[-1]), cube.values(cube.curl(u[-1]))))
    return [
        sum(float((fields[m][1] * fields[n - m][1]).sum(axis=0).mean()) for m in range(n + 1)) / 2
        for n in range(orders)
    ]


def written() -> Sequence[float]:
    """The coefficients that runs are verified by."""
    text = (FOLDER / "turbulence" / "proof.h").read_text()
    found = re.search(r"enstrophy_series\[\] = \{([^}]*)\}", text)
    assert found
    return [float(word) for word in found[1].split(",")]


def test_runs_are_verified_by_the_series_that_follows_from_the_equations() -> None:
    known, orders = written(), 9
    assert series(orders) == pytest.approx(known[:orders], rel=1e-6, abs=1e-16)
    # Without viscosity the terms are Brachet's: 3/8, 5/128 t^2.
    assert known[0] == 3 / 8
    assert known[2] == pytest.approx(5 / 128, rel=1e-4)
    assert abs(known[-1]) * 0.5 ** len(known) < 1e-13


def test_a_second_simulation_finds_the_same(ask: Asked) -> None:
    cube = Cube(32)
    flow = cube.simulated(4)
    found = details(ask("threads", 1, points=str(32**3), steps="4"))
    assert found["energy"] == pytest.approx(float((np.abs(flow) ** 2).sum() / 2), rel=1e-13)
    assert found["enstrophy"] == pytest.approx(cube.enstrophy(flow), rel=1e-13)


def test_steps_are_of_third_order(ask: Asked) -> None:
    # The longest axis sets the step: twice as many points along it, half the step.
    coarse = details(ask("threads", 1, points=str(32**3), steps="8"))
    fine = details(ask("threads", 1, points=str(2 * 32**3), steps="16"))
    assert fine["points"] == [32, 32, 64]
    assert fine["time"] == coarse["time"] == 0.25
    assert math.log2(coarse["energy_off"] / fine["energy_off"]) == pytest.approx(3, abs=0.05)
    assert math.log2(coarse["enstrophy_off"] / fine["enstrophy_off"]) == pytest.approx(3, abs=0.05)


@pytest.mark.long
@pytest.mark.parametrize("points", [n * 32**3 for n in (1, 2, 4)])
def test_whoever_shares_the_cube_finds_the_same(ask: Asked, points: int) -> None:
    found = [details(ask(model, workers, points=str(points), **more)) for model, workers, more in SHARED]
    for other in found[1:]:
        assert other["energy"] == pytest.approx(found[0]["energy"], rel=1e-13)
        assert other["enstrophy"] == pytest.approx(found[0]["enstrophy"], rel=1e-13)
        assert other["divergence"] < 1e-15


def test_the_last_time_that_is_verified_holds(ask: Asked) -> None:
    assert details(ask("threads", 2, points=str(32**3), steps="16"))["time"] == 0.5


@pytest.mark.parametrize(("model", "workers"), [("threads", 1), ("threads", 2), ("mpi", 1), ("mpi", 4)])
@pytest.mark.parametrize("plant", ["skip", "wrong"])
def test_a_planted_error_fails(ask: Asked, model: str, workers: int, plant: str) -> None:
    answer = ask(model, workers, points="32768", plant=plant)
    assert "error" not in answer, answer.get("error")
    assert answer["check"]["passed"] is False


def test_the_work_is_points_and_steps(ask: Asked) -> None:
    answer = ask("threads", 1, points="40000", steps="3", phases="on")
    assert details(answer)["points"] == [32, 32, 32]
    assert answer["work"]["operations"] == 3 * 32**3
    assert answer["work"]["flops"] > answer["work"]["operations"] * 300
    phases = answer["surroundings"]["details"]["phases"]
    assert list(phases) == ["columns", "to planes", "planes", "to columns"]
    assert phases["columns"] > 0
    assert phases["planes"] > 0


@pytest.mark.parametrize(
    ("model", "workers", "asked", "words"),
    [
        ("threads", 1, {"points": "4096"}, "points='4096' cannot be used: expected 32768 (32 x 32 x 32) to 2^40"),
        ("threads", 1, {"steps": "17", "points": "32768"}, "on 32 x 32 x 32 points: expected 1 to 16"),
        ("mpi", 2, {"threads": "0"}, "threads='0' of each rank must be from 1 to 1024"),
    ],
)
def test_what_cannot_be_shared_or_verified_is_a_sentence(
    ask: Asked, model: str, workers: int, asked: dict[str, str], words: str
) -> None:
    assert words in ask(model, workers, **asked)["error"]


def test_too_large_a_cube_is_refused_before_anything_is_allocated(ask: Asked) -> None:
    answer = ask("threads", 1, memory="100000000", points=str(2**21))
    assert "128 x 128 x 128 points need" in answer["error"]


def test_it_scales_strongly_and_weakly(here: Machine) -> None:
    assert NAME in sweep.growing(here)


@pytest.mark.long
@pytest.mark.parametrize("width", WIDTHS)
def test_the_program_is_right_for_every_width_of_vectors(here: Machine, width: tuple[str, ...]) -> None:
    program = linked(here, FOLDER / "turbulence" / "threads.cpp", "-O2", *width)
    case = "case=1 kernel=flow threads=2 points=65536 steps=4 least=1 most=1"
    done = subprocess.run([program], input=f"{case}\n", capture_output=True, text=True, timeout=120, check=True)
    assert details(json.loads(done.stdout))["time"] == 4 / 64
