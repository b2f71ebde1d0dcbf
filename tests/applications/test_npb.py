"""What holds of every NAS Parallel Benchmark in every programming model: it verifies, plants are found, misuse is refused."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from _pytest.mark import ParameterSet

from npb_runs import MARKS, MODELS, Answer, Asked
from steelyard.model import Machine


@dataclass(frozen=True)
class Verified:
    """How many values are compared at S and at W, the relative error that NPB lets pass, and the one that ours stay below."""

    values: tuple[int, int]
    allowed: float
    reached: float


VERIFIED = {
    "cg": Verified((1, 1), 1e-10, 1e-12),
    "lu": Verified((11, 11), 1e-8, 1e-10),
    "ua": Verified((1, 1), 1e-8, 1e-11),
    "ep": Verified((8, 2), 1e-8, 1e-12),
    "mg": Verified((1, 1), 1e-8, 1e-11),
    "ft": Verified((12, 12), 1e-12, 1e-12),
    "is": Verified((51, 51), 0, 0),
}
# Which numbers of workers can be used, in the words of the refusal; of a code that is not here all can.
USABLE = {
    "cg": "a power of two: 1, 2, 4, 8, 16, 32, ...",
    "lu": "1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 20, 25",
    "mg": "a power of two: 1, 2, 4, 8, 16, 32, 64",
    "ft": "a power of two: 1, 2, 4, 8, 16, 32, 64",
    "is": "a power of two: 1, 2, 4, 8, 16, 32, 64, 128, 256, 512",
}
PHASES = {
    "cg": "SpMV, exchange of vectors, sums over all, vector updates",
    "lu": "residual, forward sweep, backward sweep, exchanges",
    "ua": "adaptation, convection, initial guess, operator, mortar sums, new temperature",
    "ep": "pairs, sums",
    "mg": "first residual, grid 2, grid 4, grid 8, grid 16, grid 32, exchanges",
    "ft": "tables, start, lines, planes",
    "ft, mpi": "tables, start, lines, exchange, planes, sums",
    "is": "counts, sums, ranks",
    "is, mpi": "buckets, counts, exchange, ranks",
}
ALL_LAST = ("cg", "ep", "lu", "ua")  # codes each of whose phases takes a time that the clock shows
EVERY = [(code, model) for code, models in MODELS.items() for model in models]


def cases(pairs: list[tuple[str, str]]) -> list[ParameterSet]:
    """Codes and models as cases."""
    return [pytest.param(*pair, id="-".join(pair), marks=MARKS.get(pair[1], [])) for pair in pairs]


# LU cuts its grid into blocks among threads, too.
CHOOSY = [(code, model) for code, model in EVERY if code in USABLE and (model != "threads" or code == "lu")]
INDIFFERENT = [pair for pair in EVERY if pair not in CHOOSY]
GROWN = [pair for pair in EVERY if pair[0] != "ua"]  # `scale` multiplies their classes


@dataclass(frozen=True)
class Ask:
    """Asks one benchmark in one model."""

    asked: Asked
    code: str
    model: str

    def __call__(self, workers: int, **more: str) -> Answer:
        return self.asked(self.model, workers, **more)


@pytest.fixture(scope="module", params=[pytest.param(p.values, id=p.id, marks=p.marks) for p in cases(EVERY)])
def ask(request: pytest.FixtureRequest, here: Machine) -> Iterator[Ask]:
    """What all tests ask of one benchmark in one model comes before the next is started."""
    with Asked(here, request.param[0]) as asked:
        yield Ask(asked, *request.param)


def verify(answer: Answer) -> None:
    assert "error" not in answer, answer["error"]
    assert answer["check"]["passed"], answer["check"]["detail"]
    wanted, details = VERIFIED[answer["kernel"]], answer["surroundings"]["details"]
    found = details["verification"]
    assert found["tolerance"] == wanted.allowed
    assert len(found["quantities"]) == wanted.values["SW".index(details["class"])]
    assert max(q["error"] for q in found["quantities"]) <= wanted.reached


@pytest.mark.sampled(5)
@pytest.mark.parametrize("letter", ["S", pytest.param("W", marks=pytest.mark.long)])
@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.long), 4])  # 2: test_half_as_much_work_again…
def test_the_published_values_are_found(ask: Ask, workers: int, letter: str) -> None:
    verify(ask(workers, **{"class": letter}))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("code", "model"), cases(INDIFFERENT))
def test_three_workers_are_as_good_as_two(here: Machine, code: str, model: str) -> None:
    with Asked(here, code) as ask:
        verify(ask(model, 3))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("code", "model"), cases(CHOOSY))
def test_a_number_of_workers_that_cannot_be_used_is_named_with_those_that_can(
    here: Machine, code: str, model: str
) -> None:
    workers, called = 7 if code == "lu" else 3, "threads" if model == "threads" else "ranks"
    with Asked(here, code) as ask:
        error = ask(model, workers)["error"]
    assert f"{called}='{workers}' cannot be used by {code.upper()}" in error
    assert USABLE[code] in error


@pytest.mark.sampled(7)
def test_half_as_much_work_again_is_done_and_verifies(ask: Ask) -> None:
    answer = ask(2, plant="work:0.5")
    assert answer["operations"] == 2  # whole runs: half of two is one more
    verify(answer)


def test_phases_are_parts_of_the_time_and_told_only_when_they_are_asked_for(ask: Ask) -> None:
    answer = ask(2, phases="on")
    phases = answer["surroundings"]["details"]["phases"]
    assert ", ".join(phases) == PHASES.get(f"{ask.code}, {ask.model}", PHASES[ask.code])
    assert 0 < sum(phases.values()) <= answer["samples"][-1] * 1.001
    assert min(phases.values()) > 0 or ask.code not in ALL_LAST
    assert "phases" not in ask(2, plant="work:0.5")["surroundings"]["details"]


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param((code, model), id=f"{code}-{model}", marks=[pytest.mark.long] * (model != "threads"))
        for code, model in EVERY
    ],
    indirect=True,
)
def test_too_little_memory_is_said_before_it_is_taken(ask: Ask) -> None:
    error = ask(2, memory="1000")["error"]
    assert "not enough memory: class S needs" in error
    assert "0 MiB may be used" in error


def test_a_class_that_does_not_exist_is_refused_with_those_that_do(ask: Ask) -> None:
    assert "class='X' must be one of: S, W, A, B, C, D" in ask(2, **{"class": "X"})["error"]


@pytest.mark.parametrize("ask", [pytest.param(p.values, id=p.id, marks=p.marks) for p in cases(GROWN)], indirect=True)
@pytest.mark.parametrize("plant", ["skip", "wrong"])
def test_a_planted_error_fails_the_invariants_of_a_larger_problem(ask: Ask, plant: str) -> None:
    assert ask(2, scale="2", plant=plant)["check"]["passed"] is False


@pytest.mark.parametrize(
    ("code", "scale", "sentence"),
    [
        ("cg", 10**6, "it gives a matrix of more than 1e9 rows"),
        ("ep", 600_000, "the random numbers begin again after 2^43 pairs"),
        ("is", 2**16, "it gives more than 2^31 keys"),
        ("is", 3, "expected a power of two"),
        ("mg", 3, "scale='3' cannot be used: expected a power of two from 1 to"),
        ("ft", 3, "scale='3' cannot be used: expected a power of two from 1 to"),
    ],
)
def test_a_size_that_a_problem_cannot_have_gets_a_sentence(here: Machine, code: str, scale: int, sentence: str) -> None:
    with Asked(here, code) as ask:
        assert sentence in ask("threads", 1, scale=str(scale))["error"]
