"""Answers to planted traces whose numbers follow from a formula."""

import random
from pathlib import Path

import pytest

from replays import answered, points, stencil, this_machine, ti
from steelyard import whatif
from steelyard.errors import UsageError
from steelyard.whatif import Answer, engine, sensitivity, sentences

HOP = ["compute 1000000", "send 1 0 8", "recv 1 0 8"], ["recv 0 0 8", "compute 1000000", "send 0 0 8"]


def _answer(trace: Path, *settings: str, repeats: int = 64) -> Answer:
    with engine.engine(trace, this_machine(), 1e9) as running:
        return whatif.answer(running, whatif.Question(points(*settings), repeats=repeats), detail="words")


def _random_goal(path: Path, seed: int) -> Path:
    """Two or three ranks, each with two processors and some messages and computations in a random partial order."""
    chance = random.Random(seed)
    count = chance.randint(2, 3)
    ranks: list[list[str]] = [[] for _ in range(count)]
    for tag in range(chance.randint(2, 6)):
        first, second = chance.sample(range(count), 2)
        ranks[first].append(f"send 8b to {second} tag {tag}")
        ranks[second].append(f"recv 8b from {first} tag {tag}")
    lines = [f"num_ranks {count}"]
    for rank, actions in enumerate(ranks):
        actions += [f"calc {chance.choice((1000, 10000, 50000))} cpu {chance.randint(0, 1)}" for _ in range(3)]
        chance.shuffle(actions)
        lines += [f"rank {rank} {{", *(f"l{number}: {action}" for number, action in enumerate(actions))]
        lines += [f"l{i} requires l{chance.randrange(i)}" for i in range(1, len(actions)) if chance.random() < 0.5]
        lines.append("}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("receive", ["whole", "stream"])
def test_the_factors_of_any_partial_order_are_shares(tmp_path: Path, receive: str) -> None:
    # Compared with an ideal network that keeps the order of the file, a stream had a transfer of up to 180 %.
    asked = whatif.Question(points(f"network=L=20us,o=1us,receive={receive}"))
    for seed in range(40):
        try:
            with engine.engine(_random_goal(tmp_path / f"{seed}.goal", seed), this_machine(), 1e9) as running:
                found = whatif.answer(running, asked, detail="words")
        except UsageError:  # ranks that wait for each other
            continue
        assert found.shares is not None
        assert all(0 < share <= 1 + 1e-9 for share in vars(found.shares).values()), (seed, found.shares)
        assert not any("−" in line or "-" in line for line in sentences.sentences(found)), seed


def test_a_cost_whose_removal_takes_longer_has_no_negative_gain() -> None:
    cost = sensitivity.Sensitivity("latency", (), tenth=0.02, most=-0.2, enough=1.0)
    assert sentences._gain(cost, 1.0) == "10 % less latency saves 2.0 % of the time."


@pytest.mark.parametrize(
    "settings",
    [
        ("ranks_per_node=2", "loss=probability=1%"),
        ("affected=1%", "loss=probability=1%"),
        ("affected=1%", "noise=probability=1%,duration=10ms"),
    ],
)
def test_what_nothing_can_disturb_has_no_doubt(tmp_path: Path, settings: tuple[str, ...]) -> None:
    found = _answer(ti(tmp_path, [rank * 3 for rank in HOP]), "network=L=2us", *settings)
    (one,) = found.predictions
    assert (one.low, one.high) == (one.time, one.time)
    assert not any("95 %" in line or "repeats" in line for line in sentences.sentences(found))


def test_a_trace_without_messages_loses_none(tmp_path: Path) -> None:
    (one,) = _answer(ti(tmp_path, [["compute 1000000"]] * 2), "network=L=2us", "loss=probability=1%").predictions
    assert (one.low, one.high) == (pytest.approx(1e-3), pytest.approx(1e-3))


def test_what_is_not_lost_by_chance_stays_doubtful(tmp_path: Path) -> None:
    (one,) = _answer(ti(tmp_path, HOP), "network=L=2us", "loss=probability=0.0001%").predictions
    assert one.high is not None
    assert one.high == pytest.approx(one.time + 0.056 * 0.2, rel=0.01)  # Clopper and Pearson: 5.6 % of 64 draws


def test_the_gains_of_rare_losses_add_up(tmp_path: Path) -> None:
    # The first draws have no loss, and a few later ones have long time-outs: computing cannot take all the time.
    trace = ti(tmp_path, stencil(2, 50, 1_000_000, 1000))
    found = _answer(trace, "network=L=2us", "loss=probability=0.002%,rto=10s", repeats=256)
    (worst,) = found.predictions
    base = found.undisturbed[0].time
    assert worst.time > 1.2 * base
    cores = next(s for s in found.gains if s.name == "cores")
    assert cores.most == pytest.approx(0.05 / worst.time, rel=0.01)
    assert cores.tenth == pytest.approx(0.005 / worst.time, rel=0.01)
    assert cores.most + 1 - found.without[worst.point][0] / worst.time <= 1


def test_the_slowest_prediction_is_that_of_all_sections(tmp_path: Path) -> None:
    trace = ti(tmp_path, stencil(2, 50, 1_000_000, 1000))
    lossy = _answer(trace, "network=L=2us", "loss=probability=0.1%,rto=5ms")
    noisy = _answer(trace, "network=L=2us", "noise=probability=10%,duration=10ms")
    assert lossy.predictions[0].time < noisy.predictions[0].time
    for told in (sentences.undisturbed(lossy, noisy), sentences.undisturbed(noisy, lossy)):
        assert any(line.startswith("The largest gain is here: without the noise") for line in told)


def test_times_of_zero_divide_nothing(tmp_path: Path) -> None:
    trace = ti(tmp_path, [["compute 0", "send 1 0 8"], ["recv 0 0 8"]])
    losses = "loss=probability=0.0001%,rto=10ms:20ms"
    found = _answer(trace, "network.latency=0:2us", losses, "noise=probability=1%,duration=1us")
    assert any(line.startswith("With interruptions of 1.00 µs") for line in sentences.sentences(found))


def test_the_load_balance_denies_no_gain_from_the_network(tmp_path: Path) -> None:
    found, *_ = answered(ti(tmp_path, [["compute 30000", "send 1 0 1"], ["compute 10000", "recv 0 0 1"]]), "L=10us")
    told = sentences.sentences(found)
    assert (
        "The main loss is the load balance: some ranks compute longer than others. A faster network does not reduce it."
        in told
    )
    assert "10 % less latency saves 2.5 % of the time. Without this cost, the program takes 25 % less time." in told


def test_a_path_visits_ranks_that_only_pass_messages_on(tmp_path: Path) -> None:
    # 20 messages of no work: each rank is on the path, for no time.
    pairs = ti(tmp_path, [["send 1 0 1", "recv 1 0 1"] * 10, ["recv 0 0 1", "send 0 0 1"] * 10])
    found, *_ = answered(pairs, "L=2us")
    assert found.path is not None
    assert (found.path.messages, found.path.visited) == (20, 2)
    (line,) = [line for line in sentences.sentences(found) if line.startswith("The critical path")]
    assert "visits 2 ranks: 0 % computing, 0 % message overhead, 100 % the network." in line
    assert "most time on rank" not in line


def test_a_small_share_is_not_none(tmp_path: Path) -> None:
    found, *_ = answered(ti(tmp_path, [["compute 1", "send 1 0 1"], ["compute 1", "recv 0 0 1"]]), "L=2us")
    assert sentences.sentences(found)[0].startswith("The ranks compute during less than 1 % of the time.")
