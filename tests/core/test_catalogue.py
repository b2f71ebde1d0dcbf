"""Adding a benchmark is two files and no edit: it is listed, run, reported and documented."""

import contextlib
import json
from pathlib import Path

import pytest

from folders import GOLDEN
from output_schemas import read_output
from steelyard.errors import UsageError
from steelyard.measure.plan import catalogue
from steelyard.show.command_line.cli import run_words

SOURCE = """// Adds one number after the other: the smallest benchmark there is.
#include "kernel.h"
using namespace steelyard;
struct Sum {
  std::size_t n;
  double sum = 0;
  Sum(Params& p, Team&) : n(p.count("length", 1000)) {}
  void run(Worker, std::size_t operations) {
    for (std::size_t i = 0; i < operations * n; ++i) { sum += 1; keep(sum); }
  }
  Work work() const { return {{"flops", static_cast<double>(n)}}; }
  Check check() { return {sum > 0, "sum " + std::to_string(sum)}; }
  void corrupt() { sum = 0; }
};
int main() { return serve({kernel<Sum>("sum")}); }
"""

DECLARATION = '''"""How fast numbers are added one by one

A chain of additions.

Reading: Higher is faster; the chain's latency is what is measured.

Caution: It is an example, and says little about a machine.

Source: Our own.
"""

from steelyard.measure.benchmarks.figures import against
from steelyard.model.figure import Axis, Figure
from steelyard.model import Axes, Metric, Sampling


def axes(machine, effort):
    return (Axes({"kernel": ("sum",), "threads": (1,), "length": (100, 1000)}, Sampling(0.1, 0.05, 5, 40)),)


metrics = (Metric("rate", "flop/s", "higher", "rate", lambda seconds, record: record.work["flops"] / seconds),)


def limit(metric, result, machine):
    return None


def figures(results, machine):
    lines = against("length", "rate", results)
    return (Figure("rate", "Rate of additions", "lines", Axis("length"), Axis("rate", "flop/s"), lines),)
'''


@pytest.fixture
def added(tmp_path: Path) -> Path:
    folder = tmp_path / "mine" / "example"
    folder.mkdir(parents=True)
    (folder / "adding.cpp").write_text(SOURCE)
    (folder / "adding.py").write_text(DECLARATION)
    return tmp_path / "mine"


def test_two_files_make_a_benchmark_that_is_listed_run_and_reported(
    added: Path, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_words(["list", "--path", str(added), "--json"])
    listed = {b["name"] for b in json.loads(capsys.readouterr().out)["benchmarks"]}
    assert "example.adding" in listed
    assert "memory.stream" in listed
    try:
        run_words(["run", "--path", str(added), "--only", "example", "--quiet", "--json"])
    except SystemExit as end:  # a serious finding, as when this machine is busy
        assert end.code == 1
    run = read_output("run", capsys.readouterr().out)
    assert {(r["kernel"], r["parameters"]["length"]) for r in run["results"]} == {("sum", 100), ("sum", 1000)}
    assert all(r["metrics"]["rate"]["value"] > 0 for r in run["results"])
    report = next(elsewhere.glob("runs/*/report.html")).read_text()
    assert "How fast numbers are added one by one" in report
    assert "It is an example, and says little about a machine." in report


def test_a_folder_with_a_source_for_each_model_is_one_benchmark(
    tmp_path: Path, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mine" / "example" / "adding"
    folder.mkdir(parents=True)
    for model in ("plain", "other"):
        reads = f'{{ p.choice("model", "{model}", {{"{model}"}}); }}'  # refuses a case of the other's
        (folder / f"{model}.cpp").write_text(SOURCE.replace("1000)) {}", f"1000)) {reads}"))
    blocks = '"model": ("plain", "other"), "threads"'
    (folder / "__init__.py").write_text(DECLARATION.replace('"threads"', blocks))
    found = catalogue.find([tmp_path / "mine"])["example.adding"]
    assert [(s.model, s.parallel) for s in found.sources] == [("other", False), ("plain", False)]
    with contextlib.suppress(SystemExit):  # a serious finding, as when this machine is busy
        run_words(
            ["run", "--path", str(tmp_path / "mine"), "--only", "example", "--set", "length=100", "--json", "--quiet"]
        )
    run = json.loads(capsys.readouterr().out)
    assert {r["parameters"]["model"] for r in run["results"]} == {"plain", "other"}


def test_a_declaration_that_lacks_something_says_what(added: Path) -> None:
    path = added / "example" / "adding.py"
    path.write_text(DECLARATION.replace("def figures", "def drawings"))
    with pytest.raises(UsageError, match="does not declare figures"):
        catalogue.find([added])
    path.write_text(DECLARATION.replace("Caution:", "Beware:"))
    with pytest.raises(UsageError, match="lacks Caution"):
        catalogue.find([added])
    path.write_text("raise RuntimeError('no')")
    with pytest.raises(UsageError, match="RuntimeError: no"):
        catalogue.find([added])


def test_a_path_without_benchmarks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="contains no benchmark"):
        catalogue.find([tmp_path])
    with pytest.raises(UsageError, match="not a folder"):
        catalogue.find([tmp_path / "missing"])


def test_a_group_a_full_name_and_a_last_word_choose(benchmarks: dict) -> None:
    assert set(catalogue.choose(benchmarks, ["memory"])) == {n for n in benchmarks if n.startswith("memory.")}
    assert set(catalogue.choose(benchmarks, ["memory.stream"])) == {"memory.stream"}
    with pytest.raises(UsageError, match=r"no benchmark 'stream'.*Did you mean 'cluster\.stream' or 'device\.stream'"):
        catalogue.choose(benchmarks, ["stream"])
    with pytest.raises(UsageError, match=r"Did you mean 'memory\.stream'"):
        catalogue.choose(benchmarks, ["memory.steam"])


@pytest.mark.wings
def test_every_metric_has_its_golden_unit_and_direction() -> None:
    """A changed line here changes what `query`, `export` and every comparison say: it needs a line in CHANGELOG.md, too."""
    lines = [
        f"{name} {metric.name} [{metric.unit}] {metric.better}"
        for name, benchmark in sorted(catalogue.find().items())
        for metric in benchmark.metrics
    ]
    assert lines == (GOLDEN / "metrics.txt").read_text(encoding="utf-8").splitlines()
