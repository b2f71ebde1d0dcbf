"""`steelyard whatif`: its words, its answers, and the network that a run measured."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_network_models import trains
from typer.testing import CliRunner

from output_schemas import read_output
from replays import points, sets, stencil, this_machine, ti
from steelyard import whatif
from steelyard.errors import UsageError
from steelyard.model import Result
from steelyard.show.command_line.cli import app
from steelyard.whatif import network, question, wording

BOOK = "L=2500ns,o=1500ns,g=1000ns,G=6ns/B,O=0,S=65535"


@pytest.fixture(autouse=True)
def _described_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.measure.machine.describe", this_machine)


def said(*words: str) -> str:
    found = CliRunner().invoke(app, ["whatif", *words], env={"COLUMNS": "200"})
    assert found.exit_code == 0, found.output
    return found.stdout


def refused(*words: str) -> str:
    found = CliRunner().invoke(app, ["whatif", *words])
    assert isinstance(found.exception, UsageError)
    return found.exception.shown()


def test_one_question_is_one_object_and_a_sweep_a_list(tmp_path: Path) -> None:
    trace = str(ti(tmp_path, [["bcast 1024 0"]] * 8))
    one = read_output("whatif", said(trace, "--set", f"network={BOOK}", "--json"))
    assert one["time"] == pytest.approx(34.914e-6, rel=1e-12)
    assert (one["events"], one["seed"], one["draws"], one["slowdown"]) == (21, 1, 1, 1)
    assert one["seconds"] > 0
    several = read_output("whatif", said(trace, *sets("network=L=1us:2us,o=0:1us", "core=1:2"), "--json"))
    assert [(x["network"]["across"][0]["L"], x["network"]["across"][0]["o"], x["core"]) for x in several] == [
        (L, o, core) for L in (1e-6, 2e-6) for o in (0, 1e-6) for core in (1, 2)
    ]
    assert several[3]["time"] == pytest.approx(3 * 3e-6)


def test_the_same_seed_gives_the_same_figures_and_another_one_others(tmp_path: Path) -> None:
    trace = str(ti(tmp_path, stencil(4, 20, 100_000, 1000)))
    words = (trace, *sets(f"network={BOOK}", "loss=probability=1%,rto=5ms"), "--json", "--set", "repeats=9")

    def figures(*more: str) -> dict[str, object]:
        return {k: v for k, v in json.loads(said(*words, *more)).items() if k != "seconds"}

    assert figures() == figures()
    assert figures("--set", "seed=1") == figures()
    other = figures("--set", "seed=2")
    assert other["time"] != figures()["time"]
    assert other["low"] < other["time"] < other["high"]  # type: ignore[operator]


def test_a_table_shows_what_differs_and_what_was_drawn(tmp_path: Path) -> None:
    trace = str(ti(tmp_path, stencil(4, 20, 100_000, 1000)))
    shown = said(trace, *sets(f"network={BOOK}", "loss=probability=0.1%:1%,rto=5ms:200ms", "seed=3"))
    assert "16 ranks, 1280 messages" in shown
    assert "seed 3" in shown
    rows = [line for line in shown.splitlines() if "s – " in line]
    assert [tuple(x in row for x in ("0.1 %", " 1 %", "5.00 ms", "200 ms")) for row in rows] == [
        (loss == 0, loss == 1, rto == 0, rto == 1) for loss in (0, 1) for rto in (0, 1)
    ]
    assert "MSS" not in shown
    assert "load balance 100 %" in shown


def test_ten_per_cent_of_the_ranks_are_ten_per_cent(tmp_path: Path) -> None:
    # Nobody talks: the slowest rank is one that is interrupted, and the mean of a run shows nothing of how many are.
    trace = ti(tmp_path, [["compute 1000000"]] * 10)
    words = (str(trace), *sets("network=L=0", "noise=probability=100%,duration=1ms", "affected=0:10%:1"), "--json")
    nobody, one, everybody = json.loads(said(*words, "--set", "repeats=3"))
    assert nobody["times"] == [pytest.approx(1e-3)] * 3
    assert one["times"] == everybody["times"] == [pytest.approx(2e-3)] * 3


def test_half_a_rank_counts_as_one_on_the_screen_as_in_the_replay(tmp_path: Path) -> None:
    trace = ti(tmp_path, [["compute 1000000"]] * 2)
    settings = ("network=L=0", "noise=probability=100%,duration=1ms", "affected=20%:25%:100%")
    words = [str(trace), *(word for setting in settings for word in ("--set", setting))]
    assert [row["time"] for row in json.loads(said(*words, "--json"))] == pytest.approx([1e-3, 2e-3, 2e-3])
    shown = said(*words)
    assert all(text in shown for text in ("20 % (0 of 2 ranks)", "25 % (1 of 2 ranks)", "100 % (2 of 2 ranks)"))


@pytest.mark.parametrize(("rto", "tick", "wait"), [("200ms", "0", 0.2), ("200ms", "4ms", 0.206), ("5ms", "4ms", 0.01)])
def test_a_timer_that_counts_ticks_ends_with_one(tmp_path: Path, rto: str, tick: str, wait: float) -> None:
    trace = str(ti(tmp_path, [["send 1 0 1"], ["recv 0 0 1"]]))
    loss = f"probability=1%,rto={rto},tick={tick},sack=on"
    found = json.loads(said(trace, *sets("network=L=0", f"loss={loss}", "mode=event", "repeats=600"), "--json"))
    assert min(t for t in found["times"] if t) == pytest.approx(wait)


def test_a_message_that_is_sent_again_may_be_lost_once_more(tmp_path: Path) -> None:
    # The second message shows a round trip later that the first one was lost; its copy is lost with the same probability.
    trace = str(ti(tmp_path, [["send 1 0 1", "compute 1000", "send 1 0 1"], ["recv 0 0 1", "recv 0 0 1"]]))
    lost, repeats = 0.3, 4000
    words = sets("mode=event", "network=L=1ms", f"loss=probability={lost},rto=200ms,sack=on")
    times = json.loads(said(trace, *words, "--set", f"repeats={repeats}", "--json"))["times"]
    once, twice = (sum(abs(time - after) < 1e-4 for time in times) for after in (3e-3, 203e-3))
    assert once / repeats == pytest.approx(lost * (1 - lost) ** 2, abs=0.03)
    share = lost / (1 + lost)
    assert twice / (once + twice) == pytest.approx(share, abs=4 * (share * (1 - share) / (once + twice)) ** 0.5)


def test_a_loss_that_others_reveal_has_a_page_with_timelines(tmp_path: Path) -> None:
    trace = str(ti(tmp_path, stencil(2, 20, 100_000, 1000)))
    page = tmp_path / "page.html"
    words = (*sets("mode=event", f"network={BOOK}", "loss=probability=1%,sack=on"), "--report", str(page))
    assert "seed 1" in said(trace, *words)
    assert "timelines" in page.read_text()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ("network=L=2", "--set network.L: '2' is not a length of time such as 2500ns, 2.5us or 200ms."),
        ("network=l=2us", "--set network.l: there is no such key."),
        (
            "network=L=1us,L=2us",
            "--set network: 'L' is given twice. A sweep has colons between its values, such as 1:2.",
        ),
        ("network=L", "no run 'L'"),
        ("network=L=1us,G=fast", "--set network.G: 'fast' is not a time for each byte such as 0.08ns/B"),
        ("loss=probability=2", "--set loss.probability: '2' is not a share"),
        ("loss=probability=0.5", "--set loss: a probability of 0.5 is too high: expected less than 0.5, or once=on"),
        ("loss=fast=maybe", "--set loss.fast: 'maybe' is neither on nor off."),
        ("loss=probability=1%,sack=on", "sack=on needs mode event: only there the replay knows"),
        ("noise=period=1ms,duration=1ms", "--set noise: an interruption must be shorter than its period."),
        ("noise=period=1ms,duration=1us,probability=0.1", "--set noise: name a period or a probability, not both."),
        ("ranks_per_node=0", "--set ranks_per_node: '0' is not a whole number from 1 to 1073741824."),
        (f"network={BOOK} network=L=1us", "--set network: the key is given twice."),
        (f"network={BOOK} network.within=S=5", "--set network.within.S: there is no such key."),
        ("places=cach=2", "--set places.cach: there is no such key. Did you mean 'cache'?"),
        ("core=0", "--set core.all: '0' is not a factor: expected a number above 0."),
        ("tree=nodes=0", "--set tree.nodes: '0' is not a whole number from 1 to 1073741824."),
        ("tree=switches=2", "--set tree: 'switches' needs 'nodes'"),
        ("tree=mont-blank", "--set tree.name: 'mont-blank' is neither a file nor a name. Did you mean 'mont-blanc'?"),
        ("mode=fluid", "--set mode: 'fluid' is not allowed: expected dataflow or event."),
        ("flops=1:2", "--set flops: '1:2' is not a factor such as 1.1."),
    ],
)
def test_mistakes_get_a_sentence(tmp_path: Path, settings: str, sentence: str) -> None:
    given_ = sets(*([] if settings.startswith("network") else [f"network={BOOK}"]), *settings.split())
    trace = str(ti(tmp_path, [["compute 1"]]))
    if sentence.startswith("no run"):
        failed: Any = CliRunner().invoke(app, ["whatif", trace, *given_, "--runs", str(tmp_path)]).exception
        assert "'L'" in failed.shown()
    else:
        assert sentence in refused(trace, *given_)


def test_a_trace_that_is_none_gets_a_sentence(tmp_path: Path) -> None:
    assert "There is no trace '" in refused(str(tmp_path / "missing"), "--set", f"network={BOOK}")
    assert "has no trace: the file rank-0.trace" in refused(str(tmp_path), "--set", f"network={BOOK}")
    (tmp_path / "x").write_text("0 init\n0 jump\n", encoding="utf-8")
    assert "x, line 2: 'jump' is not a known action." in refused(str(tmp_path / "x"), "--set", f"network={BOOK}")


def test_a_run_gives_the_network_that_it_measured() -> None:
    found = whatif.read_network(trains(), "cluster")
    first, second = found.across
    assert found.name == "cluster"
    assert first.first == 0 < found.eager < second.first
    assert found.within is None


def test_a_run_gives_the_network_of_each_place_that_it_measured() -> None:
    def measured(**latencies: float) -> tuple[Result, ...]:
        return tuple(
            replace(one, parameters={**one.parameters, "placement": place.replace("_", " ")})
            for place, latency in latencies.items()
            for one in trains(latency=latency)
        )

    def latencies(found: whatif.Network) -> list[float | None]:
        each = (found.across, found.within, found.socket, found.cache)
        return [protocols and round(protocols[0].L * 1e6, 1) for protocols in each]

    places = {"other_node": 9e-6, "other_socket": 3e-6, "same_memory_node": 2e-6, "same_cache": 1e-6}
    all_of = latencies(whatif.read_network(measured(**places), "cluster"))
    assert all_of == sorted(all_of, reverse=True)  # type: ignore[type-var]
    assert len(set(all_of)) == 4
    across, within, *_ = all_of
    del places["other_socket"]  # then the farthest that there is stands for two ranks of a node
    assert latencies(whatif.read_network(measured(**places), "cluster")) == [across, all_of[2], None, all_of[3]]
    assert latencies(whatif.read_network(measured(other_node=9e-6, same_cache=1e-6), "x")) == [
        across,
        all_of[3],
        None,
        None,
    ]
    alone = latencies(whatif.read_network(measured(other_socket=3e-6, same_cache=1e-6), "one node"))
    assert alone == [within, None, None, all_of[3]]


def test_ranks_of_a_node_pay_for_the_place_in_which_they_lie(tmp_path: Path) -> None:
    chain = [["send 1 0 1"], *([f"recv {r - 1} 0 1", f"send {r + 1} 0 1"] for r in range(1, 7)), ["recv 6 0 1"]]
    near = (".within=L=1us", ".socket=L=100ns", ".cache=L=10ns")
    words = [word for text in ("=L=10us", *near) for word in ("--set", f"network{text}")]
    line = (str(ti(tmp_path, chain)), *words, *sets("ranks_per_node=4:8", "places=cache=2,socket=4"))
    found = json.loads(said(*line, "--json"))
    # Four pairs share a cache, two meet in a socket, the two halves in a node or between two.
    assert [row["time"] for row in found] == pytest.approx([10.24e-6, 1.24e-6], rel=1e-12)
    assert [row["places"] for row in found] == [{"cache": 2, "socket": 4}] * 2
    swept = said(*line[:-1], "places=cache=1:2:4")
    assert "1 per cache" in swept
    assert "4 per cache" in swept
    (plain,) = {row["time"] for row in json.loads(said(*line[:-4], "--set", "ranks_per_node=8:9", "--json"))}
    assert plain == pytest.approx(7e-6, rel=1e-12)


def test_a_run_without_that_benchmark_says_how_to_measure_it() -> None:
    with pytest.raises(UsageError, match=r"steelyard run --only network\.model"):
        whatif.read_network((), "laptop")


@pytest.mark.parametrize(
    ("text", "value"),
    [("6ns/B", 6e-9), ("0.08 ns/B", 8e-11), ("12.5GB/s", 8e-11), ("100Gbit/s", 8e-11), ("1 MB/s", 1e-6)],
)
def test_a_rate_is_a_time_for_each_byte(text: str, value: float) -> None:
    assert wording.parse_time_per_byte(text) == pytest.approx(value)


@given(st.floats(0, 1e6), st.sampled_from(["ns", "us", "µs", "ms", "s"]))
def test_times_are_read_as_they_are_written(number: float, unit: str) -> None:
    factor = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1}[unit]
    assert wording.parse_time(f"{number!r}{unit}") == pytest.approx(number * factor)


@given(st.text(max_size=30))
def test_no_words_end_in_another_error_than_a_sentence(text: str) -> None:
    for table in ("network", "loss", "noise", "core", "tree", "region"):
        try:
            whatif.read_scenario(None, [f"{table}={text}"])
        except UsageError as error:
            assert error.shown()


@pytest.mark.parametrize("mode", ["dataflow", "event"])
def test_a_sweep_over_ranks_on_a_node_pays_what_each_pair_of_them_does(tmp_path: Path, mode: str) -> None:
    chain = [["send 1 0 1"], *([f"recv {r - 1} 0 1", f"send {r + 1} 0 1"] for r in (1, 2)), ["recv 2 0 1"]]
    trace = str(ti(tmp_path, chain))
    words = (trace, *sets("network=L=10us", "network.within=L=1us:2us", "ranks_per_node=1:2:4", f"mode={mode}"))
    found = json.loads(said(*words, "--json"))
    assert [row["network"]["within"][0]["L"] for row in found[::3]] == [1e-6, 2e-6]
    assert [row["ranks_per_node"] for row in found] == [1, 2, 4] * 2
    # Three messages, one after the other.
    expected = [30e-6, 12e-6, 3e-6, 30e-6, 14e-6, 6e-6]
    assert [row["time"] for row in found] == pytest.approx(expected, rel=1e-12)
    shown = said(*words)
    assert "ranks per node" in shown
    assert "L 2.00 µs" in shown
    assert json.loads(said(*words[:5], "--json"))[0]["ranks_per_node"] == 1


def test_points_with_the_same_operations_share_a_line_of_the_engine() -> None:
    lines = list(question.group_points(question.Question(points("network=S=10:20,L=1us:2us"))))
    assert [len(part.points) for part, _ in lines] == [2, 2]
    assert "eager=10 " in lines[0][1]
    assert network.IDEAL.eager > 1 << 40


def test_the_mont_blanc_tree_has_enough_uplinks_for_its_blades(tmp_path: Path) -> None:
    far = [[f"send {(r + 30) % 60} 0 100000", f"recv {(r - 30) % 60} 0 100000"] for r in range(60)]
    words = (str(ti(tmp_path, far)), "--set", "network=L=30us,G=1Gbit/s,S=1m", "--json", "--set", "mode=event", "--set")
    alone, tree = (json.loads(said(*words, word))["time"] for word in ("tree=nodes=60", "tree=mont-blanc"))
    # 15 nodes of 1 Gbit/s share 20 Gbit/s: nobody waits. With one uplink of 10 Gbit/s a third would.
    assert tree == pytest.approx(alone, rel=0.1)
    assert json.loads(said(*words, "tree=nodes=15,switches=36,uplink=10Gbit/s"))["time"] > 1.3 * alone


def test_a_tree_may_stand_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "ours.toml"
    file.write_text('nodes = 2\nuplink = "1GB/s"\nhop = "1us"\n', encoding="utf-8")
    (found,) = (point.tree for point in points("network=L=1us", f"tree={file}"))
    assert (found.nodes, found.switches, found.uplinks[0].hop, found.name) == (2, 0, 1e-6, "ours")
    file.write_text("nodes = [", encoding="utf-8")
    with pytest.raises(UsageError, match="is not a valid TOML file"):
        points("network=L=1us", f"tree={file}")
