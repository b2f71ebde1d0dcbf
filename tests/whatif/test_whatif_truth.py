"""Answers to planted traces whose numbers follow from a formula."""

import contextlib
import random
from pathlib import Path

import pytest

from replays import answered, points, stencil, this_machine, ti
from steelyard import whatif
from steelyard.errors import UsageError
from steelyard.model.units import significant
from steelyard.whatif import Answer, engine, prediction_page, question, sensitivity, sentences, slowdowns
from steelyard.whatif.prediction_page import sweep_figures
from steelyard.whatif.prediction_page.timeline_figures import draw_timelines
from steelyard.whatif.prediction_part import Part, make_table

HOP = ["compute 1000000", "send 1 0 8", "recv 1 0 8"], ["recv 0 0 8", "compute 1000000", "send 0 0 8"]


def _answer(trace: Path, *settings: str, repeats: int = 64) -> Answer:
    with engine.start(trace, this_machine(), 1e9) as running:
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
            with engine.start(_random_goal(tmp_path / f"{seed}.goal", seed), this_machine(), 1e9) as running:
                found = whatif.answer(running, asked, detail="words")
        except UsageError:  # ranks that wait for each other
            continue
        assert found.shares is not None
        assert all(0 < share <= 1 + 1e-9 for share in vars(found.shares).values()), (seed, found.shares)
        assert not any("−" in line or "-" in line for line in sentences.describe(found)), seed


def test_a_cost_whose_removal_takes_longer_has_no_negative_gain() -> None:
    cost = sensitivity.Sensitivity("latency", (), tenth=0.02, most=-0.2, enough=1.0)
    assert sentences._describe_gain(cost, 1.0) == "10 % less latency saves 2.0 % of the time."


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
    assert not any("95 %" in line or "repeats" in line for line in sentences.describe(found))


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
    for told in (sentences.describe_undisturbed(lossy, noisy), sentences.describe_undisturbed(noisy, lossy)):
        assert any(line.startswith("The largest gain is here: without the noise") for line in told)


def test_times_of_zero_divide_nothing(tmp_path: Path) -> None:
    trace = ti(tmp_path, [["compute 0", "send 1 0 8"], ["recv 0 0 8"]])
    losses = "loss=probability=0.0001%,rto=10ms:20ms"
    found = _answer(trace, "network.latency=0:2us", losses, "noise=probability=1%,duration=1us")
    assert any(line.startswith("With interruptions of 1.00 µs") for line in sentences.describe(found))


def test_the_load_balance_denies_no_gain_from_the_network(tmp_path: Path) -> None:
    found, *_ = answered(ti(tmp_path, [["compute 30000", "send 1 0 1"], ["compute 10000", "recv 0 0 1"]]), "L=10us")
    told = sentences.describe(found)
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
    (line,) = [line for line in sentences.describe(found) if line.startswith("The critical path")]
    assert "visits 2 ranks: 0 % computing, 0 % message overhead, 100 % the network." in line
    assert "most time on rank" not in line


def test_a_small_share_is_not_none(tmp_path: Path) -> None:
    found, *_ = answered(ti(tmp_path, [["compute 1", "send 1 0 1"], ["compute 1", "recv 0 0 1"]]), "L=2us")
    assert sentences.describe(found)[0].startswith("The ranks compute during less than 1 % of the time.")


@pytest.mark.parametrize(
    ("key", "others"),
    [
        ("network.latency=1us:2us", ()),
        ("network.overhead=1us:2us", ()),
        ("network.gap=1us:2us", ()),
        ("network.time_per_byte=1ns/B:2ns/B", ()),
        ("network.overhead_per_byte=1ns/B:2ns/B", ()),
        ("network.eager=0:64k", ()),
        ("network.receive=whole:stream", ()),
        ("network.within.latency=1us:2us", ()),
        ("network.socket.overhead=1us:2us", ()),
        ("network.cache.gap=0:2us", ()),
        ("tree.nodes=1:2", ()),
        ("tree.switches=1:2", ("tree.nodes=1",)),
        ("tree.hop=1us:2us", ("tree.nodes=1",)),
        ("tree.uplink=1Gbit/s:10Gbit/s", ("tree.nodes=1",)),
        ("tree.hop2=1us:2us", ("tree.nodes=1", "tree.switches=1")),
        ("loss.probability=0.0001%:0.0002%", ()),
        ("loss.rto=5ms:200ms", ("loss.probability=1%",)),
        ("loss.mss=0:1448", ("loss.probability=1%",)),
        ("loss.backoff=on:off", ("loss.probability=1%",)),
        ("loss.fast=on:off", ("loss.probability=1%",)),
        ("loss.probe=on:off", ("loss.probability=1%",)),
        ("loss.once=on:off", ("loss.probability=1%",)),
        ("loss.tick=0:4ms", ("loss.probability=1%",)),
        ("noise.period=5ms:10ms", ("noise.duration=1ms",)),
        ("noise.duration=1ms:2ms", ("noise.period=10ms",)),
        ("noise.probability=0.0001%:0.0002%", ("noise.duration=1ms",)),
        ("noise.together=on:off", ("noise.period=10ms", "noise.duration=1ms")),
        ("core=1:2", ()),
        ("core=1:2@rank=1", ()),
        ("affected=50%:100%", ("loss.probability=1%",)),
        ("ranks_per_node=1:2", ()),
        ("places.cache=1:2", ()),
    ],
)
def test_the_points_of_a_sweep_differ_in_the_table_and_in_sentences(
    tmp_path: Path, key: str, others: tuple[str, ...]
) -> None:
    network = () if key.startswith("network.latency") else ("network.latency=2us",)
    found = _answer(ti(tmp_path, [rank * 5 for rank in HOP]), key, *network, *others, repeats=4)
    headings, rows = make_table(found, 2)
    conditions = {tuple(row[: headings.index("time")]) for row in rows}
    assert len(conditions) == len(found.predictions) == 2
    told = [line.partition("the time")[0] for line in slowdowns.describe(found, 2) if line.startswith("With ")]
    assert len(told) == len(set(told))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (("noise.probability=10%",), "need a duration"),
        (("noise.period=10ms",), "need a duration"),
        (("noise.duration=1ms",), "add 'period' or 'probability'"),
        (("noise=period=1ms,duration=2ms",), "shorter than its period"),
        (("loss.rto=1e7s",), "at most 53 days"),
        (("network.latency=1e300s",), "at most 53 days"),
    ],
)
def test_a_disturbance_without_effect_is_refused(settings: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        points(*settings, *["network.overhead=1us"] * (settings[0][:7] != "network"))


def test_a_sweep_of_noise_can_begin_with_none() -> None:
    none, some = points("network=L=2us", "noise=probability=0:10%,duration=1ms")
    assert (none.noise.any, some.noise.any) == (False, True)


@pytest.mark.parametrize(
    ("core", "refused"), [("2@rank=2", True), ("2@rank=1-", False), ("2@node=1", True), ("2@region=0", True)]
)
def test_cores_that_the_trace_does_not_have_are_refused(core: str, refused: bool) -> None:
    asked = points("network=L=2us", f"core={core}", "ranks_per_node=2")
    with pytest.raises(UsageError, match="Its .* are") if refused else contextlib.nullcontext():
        question.expect_places(asked, 2, has_regions=False)


@pytest.mark.parametrize(
    ("settings", "text"), [("loss=probability=1%:2%", "the mean of several"), ("core=1:2", "one replay")]
)
def test_a_figure_has_means_of_random_replays_alone(tmp_path: Path, settings: str, text: str) -> None:
    found = _answer(ti(tmp_path, HOP), "network=L=2us", settings, repeats=4)
    (figure,) = sweep_figures.draw_sweep(found, 2, "sweep")
    assert text in figure.caption


def test_the_page_names_the_rule_and_no_network_of_several(tmp_path: Path) -> None:
    asked = whatif.Question(points("network=L=1us:2us,receive=stream"))
    with engine.start(ti(tmp_path, HOP), this_machine(), 1e9) as running:
        made = prediction_page.make_page([Part(asked, whatif.answer(running, asked), {})], running.trace, "hop")
    facts = dict(made.facts)
    assert facts["Mode"] == "receive=stream"
    assert facts["Network"] == "several (see the predictions)"


@pytest.mark.parametrize("mode", ["dataflow", "event"])
def test_a_path_without_queues_says_so(tmp_path: Path, mode: str) -> None:
    # Eight messages of 50 µs to one node: 10 + 2 + 50 µs without queues, and 10 + 2 + 8 · 50 µs with them.
    senders = [["compute 10000", "send 0 0 50000"]] * 8
    trace = ti(tmp_path, [[f"recv {rank} 0 50000" for rank in range(1, 9)], *senders])
    asked = whatif.Question(points("network=L=2us,G=1ns/B"), mode="event" if mode == "event" else "dataflow")
    with engine.start(trace, this_machine(), 1e9) as running:
        found = whatif.answer(running, asked, detail="words")
    assert found.predictions[0].time == pytest.approx(412e-6 if mode == "event" else 62e-6, rel=1e-3)
    (line,) = [line for line in sentences.describe(found) if line.startswith("The critical path")]
    assert line.endswith("it is 62.0 µs long, the replay 412 µs.") is (mode == "event")


def test_each_number_of_a_chain_follows_from_a_formula(tmp_path: Path) -> None:
    # Each of 20 steps is a computation and a message in turn, all one after the other. A certain interruption precedes each
    # computation, and each message is lost once: nothing overlaps, and nothing is random.
    chance = random.Random(7)
    for _ in range(12):
        work, size, core = (
            chance.choice((20_000, 1_000_000, 5_000_000)),
            chance.choice((1, 1000, 60000)),
            chance.choice((1, 2, 4)),
        )
        latency, overhead, rto, length = (chance.choice((1, 10, 100, 1000)) * 1e-6 for _ in range(4))
        hop = (
            [f"compute {work}", f"send 1 0 {size}", f"recv 1 0 {size}"],
            [f"recv 0 0 {size}", f"compute {work}", f"send 0 0 {size}"],
        )
        network = f"network=L={latency!r}s,o={overhead!r}s,G=1ns/B"
        disturbed = (f"loss=probability=1,once=on,rto={rto!r}s", f"noise=probability=1,duration={length!r}s")
        found = _answer(ti(tmp_path, [rank * 10 for rank in hop]), network, f"core={core}", *disturbed, repeats=4)
        costs = {
            "latency": latency,
            "bandwidth": (size - 1) * 1e-9,
            "overhead of messages": 2 * overhead,
            "cores": work * 1e-9 / core,
        }
        plain = sum(costs.values())
        step = plain + rto + length
        (one,) = found.predictions
        assert (one.time, one.low, one.high) == (pytest.approx(20 * step, rel=1e-6),) * 3
        assert found.undisturbed[0].time == pytest.approx(20 * plain, rel=1e-6)
        assert found.without[one.point] == (
            pytest.approx(20 * (step - rto), rel=1e-6),
            pytest.approx(20 * (step - length), rel=1e-6),
        )
        for cost in found.gains:
            assert (cost.tenth, cost.most) == (
                pytest.approx(0.1 * costs[cost.name] / step, abs=1e-5),
                pytest.approx(costs[cost.name] / step, abs=1e-5),
            )
        told = sentences.describe(found)
        assert any(
            f"the time is multiplied by {slowdowns._times(step / (step - rto))} with a time-out" in line
            for line in told
        )
        assert any(
            f"computations, the time is multiplied by {significant(step / (step - length))}." in line for line in told
        )
        gains = {"without the losses": rto / step, "without the noise": length / step}
        gains |= {f"10 % less {sentences._name_cost(cost)}": 0.1 * costs[cost.name] / step for cost in found.gains}
        largest = max(gains, key=lambda name: gains[name])
        (line,) = [line for line in told if line.startswith("The largest gain is here: ")]
        assert gains[next(name for name in gains if name in line)] == pytest.approx(gains[largest], rel=1e-6)


def test_a_factor_of_one_changes_no_cores(tmp_path: Path) -> None:
    found = _answer(ti(tmp_path, HOP), "network=L=2us", "core=1:2@rank=1")
    assert found.predictions[0].point == found.unchanged[0].point
    assert sum(line.startswith("With cores") for line in sentences.describe(found)) == 1


def test_few_draws_of_one_affected_rank_have_an_interval(tmp_path: Path) -> None:
    ring = [
        ["compute 1000000", f"isend {(r + 1) % 16} 0 8", f"irecv {(r - 1) % 16} 0 8", "waitall"] * 10 for r in range(16)
    ]
    found = _answer(ti(tmp_path, ring), "network=L=2us", "loss=probability=0.2%", "affected=6.25%:100%", repeats=32)
    (line,) = [line for line in slowdowns.describe(found, 16) if line.startswith("One affected rank")]
    assert " % (95 % interval: " in line


def test_a_timeline_names_the_condition_of_its_replay(tmp_path: Path) -> None:
    asked = whatif.Question(points("network=L=1us:1ms", "loss=probability=10%,rto=1ms"), repeats=4)
    with engine.start(ti(tmp_path, HOP), this_machine(), 1e9) as running:
        found = whatif.answer(running, asked)
    assert found.timelines is not None
    first, _ = draw_timelines(found.timelines, "part-1", asked.points)
    latency = "1.00 µs" if found.timelines.disturbed.point.network.across[0].L < 1e-4 else "1.00 ms"
    assert f"(L {latency}). It takes " in first.caption


@pytest.mark.parametrize("core", ["1", "2", "0.001", "4@rank=0", "0.5,8@rank=1-2"])
def test_a_path_is_as_long_as_the_replay_with_its_cores(tmp_path: Path, core: str) -> None:
    trace = ti(tmp_path, stencil(2, 20, 1_000_000, 1000))
    found = _answer(trace, "network=L=200us,o=2us,G=1ns/B", f"core={core}")
    assert found.path is not None
    assert found.path.time == pytest.approx(found.predictions[0].time, rel=1e-9)
    assert min(found.path.computing, found.path.talking, found.path.network) >= 0
    slowest = {"1": 1.0, "2": 2.0, "0.001": 0.001, "4@rank=0": 1.0, "0.5,8@rank=1-2": 0.5}[core]
    assert found.path.computing == pytest.approx(0.02 / slowest)
