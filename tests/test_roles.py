"""What a benchmark plays for a whole run: one from outside is a main figure and a roof as ours are."""

from dataclasses import replace
from pathlib import Path

import pytest

import builders
from steelyard.errors import UsageError
from steelyard.model import Benchmark
from steelyard.plan import catalogue
from steelyard.report import headline
from steelyard.statistics.roofline import rooflines

PUMP = '''"""Bandwidth of a pump

Words are pumped.

Reading: r.

Caution: c.

Source: s.
"""

from steelyard.model import Metric
from steelyard.model.roles import Bandwidth, Headline


def axes(machine, effort):
    return ()


metrics = (Metric("bandwidth", "B/s", "higher", "bandwidth", lambda seconds, record: record.work["bytes"] / seconds),)
roles = (Headline("pump", "Words pumped", "B/s", 5, kernel="lift", most=("threads",)), Bandwidth("lift"))


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


def test_a_benchmark_from_outside_is_a_main_figure_and_a_roof(pump: Benchmark) -> None:
    lifted = replace(builders.triad(18e9, threads=1), benchmark="well.pump", kernel="lift")
    lifted = replace(lifted, records=tuple(replace(r, work={"bytes": 1e9}) for r in lifted.records))
    peak = replace(builders.triad(1e9, threads=1), benchmark="core.peak", kernel="peak")
    peak = replace(peak, metrics={"flops": replace(peak.metrics["bandwidth"], value=1e10, unit="flop/s")})
    of = builders.evaluation([lifted, peak])
    of = replace(of, benchmarks={**of.benchmarks, "well.pump": pump})
    first, *_ = headline.headlines(of)
    assert (first.title, first.shown.value) == ("Words pumped", "18.0 GB/s")
    (line, *_) = rooflines(of)
    assert [(roof.name, roof.value, roof.result.benchmark) for roof in line.roofs if roof.kind == "bandwidth"] == [
        ("memory", 18e9, "well.pump")
    ]


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
