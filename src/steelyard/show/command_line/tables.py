"""Tables for the terminal: plans, benchmarks and runs, advice, results of queries. `as_json` prints JSON for programs."""

import dataclasses
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from textwrap import indent
from typing import Any, Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from steelyard.errors import SteelyardError, one_line
from steelyard.measure import build
from steelyard.measure.benchmarks.texts import Listed
from steelyard.model import Launch, Plan
from steelyard.model.units import duration
from steelyard.model.words import plural
from steelyard.show.command_line import streams
from steelyard.show.report.json_output import print_json
from steelyard.show.report.verdict_marks import SIGNS

AT_ONCE = 1000  # rows that are printed together
LEAST = 12  # letters: the least width of a column, since later rows may have longer words than the first ones
LEVEL_STYLE = {"serious": "bold red", "notice": "yellow", "fine": "green", "unknown": "dim"}


def print_plan(
    planned: Plan, budget: float | None, building: build.Progress, meanings: Mapping[str, str], as_json: bool
) -> None:
    """Prints a plan: cases by benchmark and kernel, launches, and the expected time of the run and of the missing builds.

    `meanings` has what each variant changes, by its name.
    """
    if as_json:
        print_json(planned)
        return
    varied = any("variant" in x.cases[0].parameters for x in planned.launches)
    table_ = Table(title=f"Plan ({planned.preset}, seed {planned.seed})")
    for column in ("benchmark", "kernels", "toolchain", *(["variant"] if varied else [])):
        table_.add_column(column)
    for column in ("cases", "launches"):
        table_.add_column(column, justify="right")
    groups: dict[tuple[str, ...], list[Launch]] = {}
    for launch in planned.launches:
        variant = [str(launch.cases[0].parameters.get("variant", ""))] if varied else []
        groups.setdefault((launch.benchmark, launch.toolchain, *variant), []).append(launch)
    for (name, *words), launches in sorted(groups.items()):
        cases = [c for x in launches if x.repetition == 1 for c in x.cases]
        kernels = ", ".join(f"{k} ({n})" for k, n in Counter(c.kernel for c in cases).items())
        table_.add_row(*map(escape, (name, kernels, *words)), str(len(cases)), str(len(launches)))
    console = Console()
    console.print(table_)
    for name, text in meanings.items():
        console.print(escape(f"Variant {name}: {text}"), soft_wrap=True)
    from steelyard.measure.plan import length  # slow to import, and few commands print a plan

    quiet, shared = (duration(length.whole(planned, free, budget)) for free in (1.0, 0.0))
    either = "" if quiet == shared else f" on a quiet machine, about {shared} if others use it"
    console.print(f"{plural(length.cases(planned), 'case')}. Expected time: about {quiet}{either}.")
    if building.total:
        seconds = f"about {duration(building.seconds_left)}" if building.seconds_left else "some time"
        console.print(f"{plural(building.total, 'program')} will be built first, which takes {seconds}.")


def print_lists(benchmarks: Sequence[Listed], runs: Sequence[Path], as_json: bool) -> None:
    """Prints the benchmarks, the published systems and the runs."""
    from steelyard.measure.published.system_library import system_names

    rows = [_describe_run(path) for path in runs]
    if as_json:
        listed = [dataclasses.asdict(b) for b in benchmarks]
        print_json({"benchmarks": listed, "runs": rows, "systems": system_names()})
        return
    console = Console()
    benchmark_table = Table(title="Benchmarks")
    benchmark_table.add_column("name", style="bold")
    benchmark_table.add_column("what it measures")
    for b in benchmarks:
        benchmark_table.add_row(escape(b.name), escape(b.title))
    console.print(benchmark_table)
    console.print(
        f"steelyard compare also takes {len(system_names())} published systems. List them with: steelyard systems\n"
    )
    if not rows:
        console.print("There are no runs yet. Start one with: steelyard run")
        return
    run_table = Table(title="Runs")
    run_table.add_column("run", style="bold", no_wrap=True)
    run_table.add_column("what was measured")
    for row in rows:
        run_table.add_row(escape(row["run"]), escape("\n".join(_format_run(row))))
    console.print(run_table)


def _describe_run(path: Path) -> dict[str, Any]:
    """Returns the facts of a run for the list. An unfinished run has no verdicts yet; a finished one is evaluated only once."""
    from steelyard.measure import records
    from steelyard.show.command_line.evaluated_run import find_summary
    from steelyard.show.report.summary import figures_as_json

    try:
        short = find_summary(path, []) if (path / "finished.json").is_file() else None
        if short is None:
            run, done = records.head(path), records.finished_cases(path)
            planned = sum(len(x.cases) for x in run.plan.launches)
            facts = run.id, run.started, run.machine.system, run.plan.preset, planned, done, run.finished
        else:
            counts = short.cases, short.measured, short.finished
            facts = (short.run, short.started, short.machine.system, short.preset, *counts)
    except SteelyardError as error:
        return {"run": one_line(path.name), "error": error.shown()}
    names = ("run", "started", "system", "preset", "cases", "done", "finished")
    judged = {"verdicts": dict(short.verdicts), "figure": next(iter(figures_as_json(short)), None)} if short else {}
    return {**dict(zip(names, facts, strict=True)), "verdicts": None, "figure": None, **judged}


def _format_run(run: Mapping[str, Any]) -> Iterator[str]:
    if "error" in run:
        yield run["error"]
        return
    state = "finished" if run["finished"] else f"interrupted: steelyard resume {run['run']}"
    facts = [run["system"], f"preset {run['preset']}", run["started"].replace("T", " ")[:16]]
    if run["cases"]:  # an imported run has none
        facts.append(f"{run['done']}/{run['cases']} measurements")
    yield ", ".join([*filter(None, facts), state])
    if run["verdicts"]:
        yield "  ".join(f"{SIGNS[level]} {count} {level}" for level, count in run["verdicts"].items() if count)
    if figure := run["figure"]:
        yield f"{figure['title']}: {figure['text']}"


def print_advice(items: Iterable[Any], as_json: bool) -> None:
    """Prints the advice of the doctor, the most serious first."""
    listed = list(items)
    if as_json:
        print_json(listed)
        return
    console = Console()
    for item in listed:
        console.print(
            f"[{LEVEL_STYLE[item.level]}]{item.level:>8}[/]  [bold]{escape(item.name)}[/]: {escape(item.seen)}"
        )
        if item.level in ("serious", "notice"):
            console.print(f"          {escape(item.why)}")
            for remedy in filter(None, (item.remedy, item.command)):
                console.print(f"          [bold]→[/] {escape(remedy)}")


def print_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]], as_json: bool) -> None:
    """Prints the rows of a query as they arrive."""
    source = iter(rows)
    parts: Iterator[list[Sequence[Any]]] = iter(lambda: list(islice(source, AT_ONCE)), [])
    if as_json:
        _print_objects(columns, parts)
        return
    cells = [_format_cells(row) for row in next(parts, [])]
    # All parts of a long table have the same widths.
    is_long = len(cells) == AT_ONCE
    widths = [max(LEAST, *map(cell_len, c)) for c in zip(columns, *cells, strict=True)] if is_long else None
    first = True
    while (first or cells) and not streams.is_reader_gone():
        following = [_format_cells(row) for row in next(parts, [])]
        _print_part(columns, cells, widths, first, last=not following)
        cells, first = following, False


def _print_objects(columns: Sequence[str], parts: Iterable[Sequence[Sequence[Any]]]) -> None:
    before = "["
    for part in parts:
        if streams.is_reader_gone():
            return
        for row in part:
            text = json.dumps(dict(zip(columns, row, strict=True)), indent=1, default=str)
            print(before, indent(text, " "), sep="\n", end="")
            before = ","
    print("[]" if before == "[" else "\n]")


def _format_cells(row: Sequence[Any]) -> list[str]:
    return ["" if v is None else f"{v:.6g}" if isinstance(v, float) else one_line(str(v)) for v in row]


def _print_part(
    columns: Sequence[str], cells: Sequence[Sequence[str]], widths: Sequence[int] | None, first: bool, last: bool
) -> None:
    """Prints some rows of a table: with the header if they are the first, and with the lower edge if they are the last."""
    out, console = Table(show_header=first), Console()
    for place, column in enumerate(columns):
        out.add_column(escape(column), width=widths[place] if widths else None, overflow="fold")
    for row in cells:
        out.add_row(*map(escape, row))
    with console.capture() as captured:
        console.print(out)
    lines = captured.get().splitlines(keepends=True)
    print("".join(lines[0 if first else 1 : None if last else -1]), end="")


def print_narrow_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Prints a table of many columns for 80 letters: no lines between columns, numbers to the right; the widest columns wrap."""
    out = Table(title=escape(title), title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for place, column in enumerate(columns):
        justify: Literal["left", "right"] = "right" if place else "left"
        out.add_column(escape(column), justify=justify, overflow="fold", min_width=0 if place else 10)
    for row in rows:
        out.add_row(*(escape(str(value)) for value in row))
    Console().print(out)
