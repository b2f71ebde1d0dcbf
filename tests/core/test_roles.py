"""What a benchmark plays for a whole run: one from outside is a main figure and a roof as ours are."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

import builders
from builders import measured
from folders import ROOT
from steelyard.compare.runs import compare
from steelyard.errors import UsageError
from steelyard.judge import findings
from steelyard.judge.findings.noise import _waiting_losses
from steelyard.measure.benchmarks.memory.nodes import placements
from steelyard.measure.plan import catalogue
from steelyard.model import Benchmark, Evaluation, Finding, Machine, Result, roles
from steelyard.show.report import headline
from steelyard.statistics.models.detours import Detours
from steelyard.statistics.results.roofline import rooflines

PUMP = '''"""Bandwidth of a pump

Words are pumped.

Reading: r.

Caution: c.

Source: s.
"""

from steelyard.model import Metric
from steelyard.model.roles import (
    Bandwidth, Headline, Messages, PairsPoint, Placed, TolerancePoint, Waiting, Witness,
)


def axes(machine, effort):
    return ()


metrics = (Metric("bandwidth", "B/s", "higher", "bandwidth", lambda seconds, record: record.work["bytes"] / seconds),)
roles = (
    Headline("pump", "Words pumped", "B/s", 5, kernel="lift", most=("threads",)),
    Bandwidth("lift"),
    TolerancePoint("P", "a stroke of the pump", 5, "lift", "The threads share one well.", remedy="Dig {threads} wells."),
    PairsPoint("pass", "bucket rate"),
    Witness("haul"),
    Waiting("gather"),
    Messages("send", 4, "buckets"),
    Placed("lift", whole=True),
)


def limit(metric, result, machine):
    return None


def figures(results, machine):
    return ()
'''


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "well"
    folder.mkdir()
    (folder / "pump.py").write_text(PUMP)
    (folder / "pump.cpp").write_text("")
    return tmp_path


@pytest.fixture
def pump(outside: Path) -> Benchmark:
    return catalogue.find([outside])["well.pump"]


def with_pump(pump: Benchmark, results: Sequence[Result], where: Machine | None = None) -> Evaluation:
    """A run that knows the pump as it declares itself."""
    of = builders.evaluation(results, where)
    return replace(of, benchmarks={**of.benchmarks, "well.pump": pump})


def lift(rate: float, **changed: Any) -> Result:
    """So many bytes lifted a second; other parameters by name."""
    lifted = replace(builders.triad(rate, **changed), benchmark="well.pump", kernel="lift")
    return measured(lifted, records=tuple(replace(r, benchmark="well.pump", kernel="lift") for r in lifted.records))


def told(rule: str, of: Evaluation) -> Finding:
    (finding,) = findings.load_rule(rule).find(of)
    return finding


def sent(seconds: float, size: int, kernel: str = "send", **changed: Any) -> Result:
    return builders.message(seconds, size, benchmark="well.pump", kernel=kernel, **changed)


def test_a_benchmark_from_outside_is_a_main_figure_and_a_roof(pump: Benchmark) -> None:
    lifted = lift(18e9)
    lifted = measured(lifted, records=tuple(replace(r, work={"bytes": 1e9}) for r in lifted.records))
    peak = replace(builders.triad(1e9, threads=1), benchmark="core.peak", kernel="peak")
    peak = replace(peak, metrics={"flops": replace(peak.metrics["bandwidth"], value=1e10, unit="flop/s")})
    of = with_pump(pump, [lifted, peak])
    first, *_ = headline.headlines(of)
    assert (first.title, first.shown.value) == ("Words pumped", "18.0 GB/s")
    (line, *_) = rooflines(of)
    assert [(roof.name, roof.value, roof.result.benchmark) for roof in line.roofs if roof.kind == "bandwidth"] == [
        ("memory", 18e9, "well.pump")
    ]


def test_its_cost_may_fall_with_threads(pump: Benchmark) -> None:
    finding = told("tolerance", with_pump(pump, [lift(10e9), lift(11e9, threads=4)]))
    assert (
        "Threads hardly hide the latency of a stroke of the pump: 4 threads are 1.10 times as fast as one"
        in finding.seen
    )
    assert (finding.cause, finding.remedy) == ("The threads share one well.", "Dig 4 wells.")
    assert finding.benchmark == "well.pump"


def test_its_pairs_may_hide_the_latency_of_the_network(pump: Benchmark) -> None:
    hosts = ("a",) * 4 + ("b",) * 4
    rows = [sent(1e-5 / n, size, "pass", hosts=hosts, pairs=n) for size in (8, 1 << 20) for n in (1, 2, 4)]
    assert "hide the latency of the network" in told("network_tolerance", with_pump(pump, rows)).seen
    assert "(bucket rate;" in told("network_tolerance", with_pump(pump, rows)).seen


def test_a_slow_node_shows_where_its_ranks_all_do_the_same(pump: Benchmark) -> None:
    hosts = [f"n{i}" for i in range(6)]
    one = sent(5e-3, 1 << 20, "haul", hosts=hosts, ranks=6, cpus=[0] * 6)
    records = []
    for r in one.records:
        seconds = [[s * (1.5 if rank == 4 else 1) * (1 + 1e-3 * rank) for s in r.samples] for rank in range(6)]
        records.append(
            replace(
                r,
                surroundings=builders.seen(r.surroundings, ranks={**r.surroundings.ranks.given(), "seconds": seconds}),
            )
        )
    finding = told("slow_node", with_pump(pump, [measured(one, records=tuple(records))]))
    assert finding.level == "serious"
    assert "Node n4 (rank 4) is slow" in finding.seen


def test_noise_shows_where_its_ranks_wait_for_each_other(pump: Benchmark) -> None:
    quiet = Detours(
        base=1e-4,
        threshold=2e-4,
        lost=0.0,
        lost_in_detours=0.0,
        count=0,
        durations=(),
        greatest=None,
        indices=(),
        seconds=1.0,
    )
    (loss,) = _waiting_losses.rank_losses(
        with_pump(pump, [sent(1e-5, 8, "gather", ranks=4), sent(1e-5, 1 << 20, "gather")]), quiet
    )
    assert (loss.what, loss.ranks, loss.burst) == ("well.pump gather of 4 ranks", 4, pytest.approx(2e-5, rel=0.01))


def test_its_messages_may_come_from_a_cache(pump: Benchmark) -> None:
    sizes = [1024 << k for k in range(13)]
    reused = [sent(n / (12e9 if 4 * n < 1 << 20 else 4e9), n) for n in sizes]
    finding = told("message_cache", with_pump(pump, [*reused, *(sent(n / 4e9, n, buffers="fresh") for n in sizes)]))
    assert finding.benchmark == "well.pump"
    assert any("1 KiB to 128 KiB: the 4 buffers of a rank stay in the cache of its core" in e for e in finding.evidence)


def test_its_messages_may_show_the_protocol(pump: Benchmark) -> None:
    curve = [sent(1e-6 + n / 4e9 + 4e-6 * (n >= 8192), n, buffers="fresh") for n in (16 << k for k in range(20))]
    finding = told("protocol_switch", with_pump(pump, curve))
    assert "A message of 8 KiB takes 2.3 times as long" in finding.seen
    assert "(buckets, " in finding.seen


def test_its_placements_are_paired_and_found_by_their_names(pump: Benchmark) -> None:
    two = builders.machine(nodes=2, cores=8)
    four = builders.machine(nodes=4, cores=8)
    four = replace(four, cores=tuple(replace(c, socket=c.node // 2) for c in four.cores))
    a, b = (
        with_pump(pump, [lift(rate, threads=len(p.cpus), pinning=p.pinning, memory_policy=p.memory_policy)
                         for p in placements(where)], where)
        for where, rate in ((two, 1e9), (four, 2e9))
    )  # fmt: skip
    rows = compare(a, b).rows
    assert {row.parameters["placement"] for row in rows} == {"full system", "local socket"}


@pytest.mark.parametrize("role", get_args(roles.Role))
def test_every_role_is_played_here_and_described_to_contributors(role: type, pump: Benchmark) -> None:
    page = ROOT / "CONTRIBUTING.md"
    assert f"| `{role.__name__}(" in page.read_text(encoding="utf-8")
    assert role is roles.Peak or any(isinstance(own, role) for own in pump.roles)


def test_two_benchmarks_of_one_name_are_refused_and_both_named(outside: Path) -> None:
    own = Path(catalogue.find()["memory.stream"].sources[0].path)
    theirs = outside / "memory"
    (outside / "well").rename(theirs)
    for file in theirs.iterdir():
        file.rename(file.with_stem("stream"))
    with pytest.raises(UsageError) as told:
        catalogue.find([outside])
    assert f"two benchmarks 'memory.stream': {own}" in str(told.value)
    assert str(theirs / "stream.cpp") in str(told.value)


def test_a_folder_named_twice_is_one(outside: Path) -> None:
    assert "well.pump" in catalogue.find([outside, outside])
