"""The NAS Parallel Benchmarks verify at their larger classes, in every programming model, also on more ranks than processors.

`make test-applications` takes W with 1, 2 and 4 workers, A with 2, and B with 2 in one model of each code.
STEELYARD_NPB=A:1,2,4;B:2;C:2 takes others in every model: C:1,4 takes a quarter of an hour on two processors.
"""

import os

import pytest

from npb_runs import MODELS, Asked
from steelyard.model import Machine

WANTED = os.environ.get("STEELYARD_NPB", "")
LONGEST = 1500  # seconds of one run


def points() -> list[tuple[str, str, str, int]]:
    """(class, code, model, workers) of all that is wanted."""
    found = []
    for words in (WANTED or "W:1,2,4;A:2").split(";"):
        letter, _, counts = words.partition(":")
        for code, models in MODELS.items():
            found += [(letter, code, model, int(n)) for model in models for n in counts.split(",")]
    largest = (
        [] if WANTED else [("B", code, "mpi" if "mpi" in models else models[0], 2) for code, models in MODELS.items()]
    )
    return found + largest


@pytest.mark.timeout(LONGEST + 60)
@pytest.mark.parametrize(("letter", "code", "model", "workers"), points())
def test_a_class_agrees_with_the_published_values(
    letter: str, code: str, model: str, workers: int, here: Machine
) -> None:
    with Asked(here, code) as ask:
        answer = ask(model, workers, seconds=LONGEST, **{"class": letter})
    assert "error" not in answer, answer["error"]
    assert answer["check"]["passed"], answer["check"]["detail"]
    speed = answer["work"]["operations"] / answer["samples"][0] / 1e6
    print(f"{code} {model} {letter} {workers}: {answer['samples'][0]:.3f} s, {speed:.1f} Mop/s")


@pytest.mark.parametrize("code", ["cg", "lu"])
def test_sixteen_ranks_that_take_turns_verify(code: str, here: Machine) -> None:
    with Asked(here, code) as ask:
        answer = ask("mpi", 16, seconds=600)
    assert "error" not in answer, answer["error"]
    assert answer["check"]["passed"], answer["check"]["detail"]
    assert len(answer["surroundings"]["ranks"]["hosts"]) == 16
