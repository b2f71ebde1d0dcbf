"""Steelyard from Python: measure, compare, and have the results as rows and data frames, with findings and main figures.

import steelyard
triad = steelyard.open("runs").frame(benchmark="memory.stream", kernel="triad", metric="bandwidth")
triad.plot.scatter(x="threads", y="value")
"""

import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from functools import cached_property
from glob import escape
from importlib import import_module
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from steelyard.errors import UsageError
from steelyard.measure import records
from steelyard.model import Evaluation, Finding, Machine
from steelyard.show.command_line.evaluated_run import find_summary, read
from steelyard.show.report.columns import metric_rows, sample_lists
from steelyard.show.report.summary import figures_as_json

Table = Literal["metrics", "samples"]
Row = dict[str, Any]
BESIDE = "parameter_"  # before the name of a parameter that a column of the table has already
PACKAGES = ("pandas", "polars")  # that make data frames
# Columns of a row that, with the parameters, name its case.
CASE = ("run", "benchmark", "kernel")


@dataclass(frozen=True)
class Results:
    """The results of one run or several. `paths` are their folders, the oldest first."""

    paths: tuple[Path, ...]

    def __len__(self) -> int:
        return len(self.paths)

    @cached_property
    def _evaluations(self) -> tuple[Evaluation, ...]:
        return tuple(read(path, ()) for path in self.paths)

    @property
    def machine(self) -> Machine:
        """The machine of the newest run."""
        return self._evaluations[-1].run.machine

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of the newest run, the most serious first."""
        return self._evaluations[-1].findings

    @property
    def figures(self) -> list[Row]:
        """The main figures of the newest run, as `steelyard show --json` prints them."""
        return figures_as_json(find_summary(self.paths[-1], ()))

    def rows(self, table: Table = "metrics", **chosen: Any) -> list[Row]:
        """Returns a row for each metric of each case, or for each sample; parameters of cases are columns.

        `chosen` keeps the rows whose columns have these values, such as kernel="triad" or threads=[1, 2]. Values are in SI
        units. UsageError for a table or column that does not exist.
        """
        found = [row for evaluation in self._evaluations for row in _list_rows(evaluation, table)]
        known = {name for row in found for name in row}
        if unknown := sorted(chosen.keys() - known):
            raise UsageError(f"There is no column '{unknown[0]}'. Known are: {', '.join(sorted(known))}.")
        wanted = {name: value if isinstance(value, list | tuple | set) else [value] for name, value in chosen.items()}
        return [row for row in found if all(row.get(name) in values for name, values in wanted.items())]

    def samples(self, case: Row | None = None, **chosen: Any) -> list[Row]:
        """Returns a row for each sample, in the order of time: the table "samples" of `rows`.

        `case` is a row of `rows()`, whose samples are returned. UsageError for something else.
        """
        if case is not None:
            if not isinstance(case, dict) or not case.keys() >= {*CASE}:
                raise UsageError(
                    f"{case!r:.80} is not a case. Give a row of rows(), or conditions such as kernel='triad'."
                )
            others = metric_rows(self._evaluations[-1])[0].keys() - {*CASE}
            chosen = {name: value for name, value in case.items() if name not in others} | chosen
        return self.rows("samples", **chosen)

    def frame(self, table: Table = "metrics", **chosen: Any) -> Any:
        """Returns `rows` as a DataFrame of pandas, or of polars without it. UsageError if neither is installed."""
        package = next((name for name in PACKAGES if find_spec(name)), "")
        if not package:
            raise UsageError("A data frame needs pandas or polars. Do: pip install pandas. Without them: rows()")
        loose = {"strict": False} if package == "polars" else {}  # a parameter may be a number here and a word there
        return import_module(package).DataFrame(_fill(self.rows(table, **chosen)), **loose)

    def __repr__(self) -> str:
        return f"<steelyard.Results: {', '.join(path.name for path in self.paths)}>"


def open_runs(run: "str | PathLike[str] | None" = None, runs: "str | PathLike[str]" = "runs") -> Results:
    """Opens a run by its id or folder, or all runs in a folder; without one, the newest run in `runs`. SteelyardError."""
    name = None if run is None else fspath(run)
    if name and not (Path(name) / "run.json").is_file() and (inside := records.all_runs(Path(name))):
        return Results(tuple(inside))
    path = records.find(Path(runs), name)
    if not (path / "run.json").is_file():
        raise UsageError(f"'{path}' is neither a run nor a folder with runs. A run has the file run.json.")
    return Results((path,))


def run(
    *benchmarks: str,
    only: str | Sequence[str] = (),
    preset: Literal["quick", "standard", "full"] = "quick",
    budget: str = "",
    runs: "str | PathLike[str]" = "runs",
    **settings: Any,
) -> Results:
    """Measures this machine as `steelyard run` does, and returns the results. SteelyardError.

    `benchmarks`, or `only`: benchmarks or groups, all by default. `budget`: the length, such as "60s". `settings`: values of
    parameters, such as threads=[1, 2].
    """
    words = ["run", "--quiet", "--preset", preset, "--runs", str(runs), *(["--budget", budget] if budget else [])]
    chosen = (*benchmarks, *([only] if isinstance(only, str) else only))
    words += [word for name in chosen for word in ("--only", name)]
    for name, value in settings.items():
        values = value if isinstance(value, list | tuple | set) else [value]
        words += ["--set", f"{name}={','.join(map(str, values))}"]
    before = {*records.all_runs(Path(runs))}
    _call(words)
    return Results(tuple(path for path in records.all_runs(Path(runs)) if path not in before))


def compare_runs(*sides: "Results | str | PathLike[str]") -> Row:
    """Compares runs, groups of runs or published systems, and returns what `steelyard compare --json` prints. SteelyardError.

    Results of several runs are one side each, as --group makes it.
    """
    words: list[str] = []
    for number, side in enumerate(sides, 1):
        if isinstance(side, Results) and len(side) > 1:
            words += ["--group", f"side {number}={','.join(escape(str(path)) for path in side.paths)}"]
            words += ["--baseline", "side 1"] if number == 1 else []  # groups would stand behind the others
        else:
            words.append(str(side.paths[0]) if isinstance(side, Results) else fspath(side))
    answer: Row = json.loads(_call(["compare", "--json", *words]))
    return answer


class _Comparison(ModuleType):
    """The package steelyard.compare, which is also the function of this name."""

    __call__ = staticmethod(compare_runs)


import_module("steelyard.compare").__class__ = _Comparison


def _call(words: list[str]) -> str:
    """Returns what a command prints. Its exit code only says whether a finding is serious, or a part could not be measured."""
    from steelyard.show.command_line import cli

    printed = io.StringIO()
    with redirect_stdout(printed), suppress(SystemExit):
        cli.app(words)
    return printed.getvalue()


def _list_rows(evaluation: Evaluation, table: str) -> Iterator[Row]:
    makers: dict[str, Callable[[], Sequence[Row] | Iterator[Row]]] = {
        "metrics": lambda: metric_rows(evaluation),
        "samples": lambda: _list_samples(evaluation),
    }
    if table not in makers:
        raise UsageError(f"There is no table '{table}'. Known are: metrics, samples.")
    for row in makers[table]():
        parameters = json.loads(row.pop("parameters"))
        yield row | {f"{BESIDE}{name}" if name in row else name: value for name, value in parameters.items()}


def _list_samples(evaluation: Evaluation) -> Iterator[Row]:
    for row in sample_lists(evaluation):
        first, seconds, aside = (row.pop(name) for name in ("first", "seconds", "aside"))
        for number, (time, is_aside) in enumerate(zip(seconds, aside, strict=True), first):
            yield row | {"sample": number, "seconds": time, "aside": is_aside}


def _fill(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Returns the columns of the rows; None where a case lacks a parameter."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}
