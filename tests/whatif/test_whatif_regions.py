"""Regions of a trace: cores that are faster in some of them, and the replay of a part of it."""

from pathlib import Path
from typing import Any

import pytest

from replays import Parameters, asked, points, sets, ti
from steelyard import whatif
from steelyard.errors import UsageError
from steelyard.show.command_line import cli
from steelyard.whatif import engine
from traces import FINALIZE, by_hand, folded, rank_file, record

P = Parameters(L=1_000_000, o=100_000, g=50_000, O=3, G=100)
FREE = Parameters().word()


def level(number: int, gap: int = 0) -> bytes:
    return record(24, gap, 0, folded(number))


def send(gap: int, to: int, size: int = 1000, tag: int = 1) -> bytes:
    return record(2, gap, 0, folded(to), folded(tag), size)


def receive(gap: int, source: int, tag: int = 1) -> bytes:
    return record(4, gap, 0, folded(source), folded(tag))


def made(folder: Path, *ranks: list[bytes]) -> Path:
    return by_hand(folder / "trace", [rank_file(r, len(ranks), [*rank, FINALIZE]) for r, rank in enumerate(ranks)])


def times(trace: Path, *words: str, part: tuple[str, ...] = ()) -> list[int]:
    """ps, of both modes, which must agree."""
    about, *found = asked(trace, *(f"{w} mode={m}" for w in words for m in ("dataflow", "event")), part=part)
    assert "error" not in about, about
    flow, event = ([x["time"][0] for x in found[first::2]] for first in (0, 1))
    assert flow == event
    return flow


def test_factors_of_ranks_nodes_and_regions_multiply(tmp_path: Path) -> None:
    # Rank r computes 1000 · (r + 1) ns outside of regions, and as much in region 2.
    trace = made(tmp_path, *([level(2, 1000 * (r + 1)), level(0, 1000 * (r + 1))] for r in range(4)))

    def expected(factor: Any) -> int:
        return max(round(1_000_000 * (r + 1) * (1 / factor(r, 0) + 1 / factor(r, 2))) for r in range(4))

    words = {
        "core=2": lambda r, region: 2,
        "speeds=0,8,3,3": lambda r, region: 8 if r == 3 else 1,
        "speeds=1,4,1,1 ranks_per_node=2": lambda r, region: 4 if r >= 2 else 1,
        "speeds=2,5,1,2": lambda r, region: 5 if region else 1,
        "core=2 speeds=2,5,2,2,0,2,3,3": lambda r, region: 2 * (5 if region else 1) * (2 if r == 3 else 1),
        "speeds=2,2,0,0": lambda r, region: 1 if region else 2,
    }
    assert times(trace, *(f"{FREE} {w}" for w in words)) == [expected(f) for f in words.values()]


def test_points_with_and_without_faster_regions_are_replayed_at_once(tmp_path: Path) -> None:
    trace = made(tmp_path, [level(1, 1000), level(0, 4000)])
    (found,) = asked(trace, f"{FREE} speeds=0,1,0,0;2,2,1,1;2,4,1,1,2,0.5,0,0")[1:]
    assert found["time"] == [5_000_000, 3_000_000, 3_000_000]


def test_a_region_alone_takes_what_the_same_written_by_hand_takes(tmp_path: Path) -> None:
    def rank(own: int) -> list[bytes]:
        other = 1 - own
        pair = [send(10 * (own + 1), other), receive(5, other)]
        return [*pair, level(1, 300), *pair, level(2, 40), *pair, record(9, 7, 9, 0, 0, 0), level(0, 20), *pair]

    trace = made(tmp_path, rank(0), rank(1))
    alike = [[f"compute {10 * (r + 1)}", f"send {1 - r} 0 1000", "compute 5", f"recv {1 - r} 0 1000"] for r in (0, 1)]
    rest = ["compute 7", "barrier", "compute 20"]
    for part, same in (
        (("-", "1", "1"), [[*r, "compute 40"] for r in alike]),
        (("-", "2", "2"), [[*r, *rest] for r in alike]),
        (("-", "1", "2"), [[*r, "compute 40", *r, *rest] for r in alike]),
    ):
        assert times(trace, P.word(), part=part) == times(ti(tmp_path, same), P.word())
    assert asked(trace, part=("-", "1", "1"))[0]["crossing"] == 0


@pytest.mark.parametrize("eager", [65535, 10])
def test_messages_across_a_border_are_counted_and_cost_nothing(tmp_path: Path, eager: int) -> None:
    word = Parameters(**{**vars(P), "eager": eager}).word()
    # Sent before the region and taken in it; sent in it and taken after it; and one that is within, posted before.
    first = [send(10, 1, tag=1), level(1, 10), send(100, 1, tag=2), send(50, 1, tag=3), level(0, 10)]
    second = [
        record(5, 0, 0, folded(0), folded(3), 2),
        level(1, 20),
        receive(500, 0, tag=1),
        record(7, 30, 0, 1, 2 << 2),
        level(0, 10),
        receive(10, 0, tag=2),
    ]
    trace = made(tmp_path, first, second)
    same = [["compute 150", "send 1 3 1000", "compute 10"], ["irecv 0 3 1000", "compute 530", "waitall", "compute 10"]]
    assert times(trace, word, part=("-", "1", "1")) == times(ti(tmp_path, same), word)
    assert asked(trace, part=("-", "1", "1"))[0]["crossing"] == 2
    about = asked(trace, part=("-", "0", "1"))[0]
    assert (about["crossing"], about["messages"]) == (0, 3)


def test_receives_that_end_together_are_those_of_the_region(tmp_path: Path) -> None:
    posts = [record(5, 0, 0, folded(0), folded(tag), tag) for tag in (1, 2, 3)]
    taken = record(7, 0, 0, 3, 1 << 2, 2 << 2, 3 << 2)
    for before, left in ((1, 2), (2, 1), (3, 0)):
        sends = [send(10, 1, tag=tag) for tag in (1, 2, 3)]
        sends.insert(before, level(1))
        (folder := tmp_path / str(before)).mkdir()
        trace = made(folder, sends, [*posts, level(1), taken])
        about, found = asked(trace, P.word(), part=("-", "1", "1"))
        assert (about["messages"], about["crossing"]) == (left, before)
        assert "time" in found


def test_a_collective_that_was_begun_before_the_region_is_not_of_it(tmp_path: Path) -> None:
    def rank() -> list[bytes]:
        begun = record(10, 10, 0, 0, 0, 0, 1)
        done = record(7, 10, 0, 1, 1 << 2)
        return [begun, level(1, 5), done, begun, level(0, 200), done]

    trace = made(tmp_path, rank(), rank())
    about, found = asked(trace, P.word(), part=("-", "1", "1"))
    assert (about["messages"], about["crossing"]) == (2, 0)  # the second's, of which it is
    assert found["time"][0] >= 220_000
    assert asked(trace, part=("-", "0", "1"))[0]["messages"] == 4


def test_iterations_are_begun_by_a_collective(tmp_path: Path) -> None:
    rounds = [record(9, 100 * (i + 1), 0, 3, 0, 8) for i in range(5)]
    other = record(9, 1000, 0, 0, 0, 0, communicator=1)
    trace = made(tmp_path, [other, *rounds, level(7)])
    # One rank: its allreduces take nothing. What is computed before the n-th call is of the iteration before.
    part = ("allreduce", "2", "3")
    assert times(trace, FREE, part=part) == [(300 + 400) * 1000]
    assert times(trace, FREE, part=("allreduce", "0", "0")) == [1_100_000]
    assert times(trace, f"{FREE} speeds=2,2,1,1", part=("allreduce",)) == [(2500 - 100) * 1000]
    (about,) = asked(trace, part=("barrier", "2", "2"))
    assert "no region from 2 to 2. The greatest region is 0" in about["error"]


def test_speeds_and_parts_in_words() -> None:
    found = points("network=L=1us", "core=1:2,4:8@region=2,0.5@node=0-1")
    assert [(x.core, *map(str, x.speeds)) for x in found] == [
        (all_, "× 0.5 node 0-1", f"× {gpu} region 2") for all_ in (1, 2) for gpu in (4, 8)
    ]
    assert engine.part(whatif.read_scenario(None, ["region=10-"]).whole).regions == (10, (1 << 53) - 1)
    assert engine.part({}) == engine.WHOLE
    for text in ("1,2", "2@", "2@core=1", "2@rank=", "2@rank=a", "2@rank=3-1", "2@rank=-1", "2@rank=1-x", "0@rank=1"):
        with pytest.raises(UsageError, match="--set core"):
            whatif.read_scenario(None, [f"core={text}"])
    for text in ("region=x", "region=1:2", "iterations=allreduced", "region=-3", "region=99999999999999999999"):
        with pytest.raises(UsageError, match="--set (region|iterations): "):
            whatif.read_scenario(None, [text])


def test_the_command_replays_a_part_with_a_faster_phase(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = made(
        tmp_path, [level(1, 100), send(1000, 1), level(0, 2000)], [level(1, 100), level(0, 3000), receive(5, 0)]
    )
    cli.run_words(["whatif", str(trace), *sets("network=L=1us", "region=1", "core=1:2@region=1")])
    shown = " ".join(capsys.readouterr().out.split())
    assert "× 2 region 1" in shown
    assert "1 message that were sent" in shown
    assert "1.500 µs" in shown
    assert "3.000 µs" in shown
    assert "all ranks begin the region at the same time" in shown
    with pytest.raises(UsageError, match="only traces of steelyard trace have regions"):
        cli.run_words(["whatif", str(ti(tmp_path, [["compute 5"]])), *sets("network=L=1us", "region=1")])
