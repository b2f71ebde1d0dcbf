"""What loss costs in words: it costs, it does not, or it cannot be said; and an interval that lies where the mean can be."""

import random
import statistics
from collections.abc import Sequence

import pytest

from replays import points
from steelyard.whatif import Answer, Prediction, slowdowns
from steelyard.whatif.answer import estimate_interval

BASE = 0.1  # s, undisturbed


def asked(loss: str, draws: dict[tuple[float, float], Sequence[float]]) -> Answer:
    """An answer with these draws, as times the undisturbed time, by probability and time-out."""
    sweep = points("network=L=1us", f"loss={loss}")
    found = []
    for point in sweep:
        times = tuple(BASE * x for x in draws[point.loss.probability, point.loss.rto])
        low, high = estimate_interval(times, point.loss.rto)
        mean = statistics.fmean(times)
        found.append(Prediction(point=point, time=mean, low=low, high=high, times=times, seconds=0.0))
    undisturbed = tuple(
        Prediction(point=p.undisturbed, time=BASE, low=None, high=None, times=(BASE,), seconds=0.0) for p in sweep
    )
    return Answer(
        predictions=tuple(found),
        undisturbed=undisturbed,
        unchanged=undisturbed,
        as_traced=tuple(found),
        without=dict.fromkeys(sweep, (BASE, BASE)),
        shares=None,
        account=None,
        path=None,
        sensitivities=(),
        seconds=0.0,
    )


def said(loss: str, **draws: Sequence[float]) -> list[str]:
    """The sentences; the draws are named by per mille and ms: `p10_200`."""
    named = {
        (float(name[1:].split("_")[0]) / 1000, float(name.split("_")[1]) / 1000): times for name, times in draws.items()
    }
    return list(slowdowns.describe(asked(loss, named), 4))


ALL_LATE = [1.3, 1.4, 1.5, 1.4] * 16
HARDLY = [1.0, 1.01, 1.02, 1.01] * 16
ONE_LATE = [1.0] * 63 + [162.0]  # 3.5 times in the mean
NONE_LATE = [1.0] * 64


def test_the_first_sentence_answers_what_was_asked() -> None:
    first, *_ = said("probability=1%,rto=5ms:200ms", p10_5=HARDLY, p10_200=ALL_LATE)
    assert first == "With 1 % loss, the time is multiplied by 1.4 with a time-out of 200 ms, by 1.01 with 5 ms."


def test_each_line_of_a_sweep_costs_or_does_not_cost_or_cannot_be_said() -> None:
    lines = said("probability=0.1%:1%,rto=5ms:200ms", p1_5=HARDLY, p10_5=HARDLY, p1_200=NONE_LATE, p10_200=ONE_LATE)
    assert lines[0].startswith(
        "With 1 % loss, the time is multiplied by 3.52 with a time-out of 200 ms (95 % interval: 1 to "
    )
    assert lines[1].startswith("With 0.1 % loss, the time is multiplied by ")
    assert (
        "With a smallest time-out of 5.00 ms, the time grows by less than 10 %, even with a loss of 1 % (1.01 times)."
        in lines
    )
    (unsure,) = [line for line in lines if line.startswith("With a smallest time-out of 200 ms")]
    assert "64 random replays are too few to decide whether the time grows by 10 % with a loss of 1 %" in unsure
    assert "(95 % interval: 1 to " in unsure
    assert "Use --set repeats=" in unsure
    assert not any("no loss" in line for line in lines)


def test_a_sure_cost_is_named_with_an_uncertain_one() -> None:
    lines = said("probability=0.1%:1%,rto=200ms", p1_200=ONE_LATE, p10_200=ALL_LATE)
    assert lines[-1] == (
        "With a smallest time-out of 200 ms, the time grows by more than 10 % from a loss of 1 % on (1.4 times), perhaps from "
        "a loss of 0.1 % on."
    )


def test_draws_without_a_loss_do_not_prove_that_losses_are_free() -> None:
    """A loss in up to 5.6 % of all runs would have shown in none of 64: of 2 s it costs more than 10 %, of 5 ms not."""
    assert (
        "64 random replays are too few" in said("probability=0.1%:1%,rto=2s", p1_2000=NONE_LATE, p10_2000=NONE_LATE)[-1]
    )
    assert "less than 10 %" in said("probability=0.1%:1%,rto=5ms", p1_5=NONE_LATE, p10_5=NONE_LATE)[-1]


@pytest.mark.parametrize("late", [0, 1, 3, 20, 64])
def test_no_interval_begins_below_the_least_draw(late: int) -> None:
    times = [1.0] * (64 - late) + [5.0] * late
    low, high = estimate_interval(times, 4.0)
    assert 1.0 <= low <= statistics.fmean(times) <= high
    assert high > statistics.fmean(times) or late == 64


@pytest.mark.parametrize("share", [0.01, 0.05, 0.3])
def test_an_interval_holds_the_mean_where_delays_are_rare(share: float) -> None:
    """Student's interval alone holds it in 47 of 100 cases at 1 %; less than 90 of 100 here fails with this seed."""
    source = random.Random(7)
    mean, held = 1 + 4 * share, 0
    for _ in range(300):
        low, high = estimate_interval([5.0 if source.random() < share else 1.0 for _ in range(64)], 4.0)
        held += low <= mean <= high
    assert held >= 270


def test_more_repeats_are_so_many_that_they_suffice() -> None:
    (line,) = [
        line
        for line in said("probability=0.1%:1%,rto=200ms", p1_200=NONE_LATE, p10_200=[1.0, 1.25] * 32)
        if "Use" in line
    ]
    assert int(line.rpartition("=")[2].rstrip(".")) >= 256
