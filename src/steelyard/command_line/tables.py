"""Tables for the terminal: plans, benchmarks and runs, advice, answers of queries. With `as_json` for other programs."""

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

from steelyard.benchmarks.texts import Listed
from steelyard.command_line import streams
from steelyard.errors import SteelyardError, spelled
from steelyard.model import Plan
from steelyard.model.plain import to_plain
from steelyard.report.verdict_marks import SIGNS
from steelyard.units import duration

AT_ONCE = 1000  # rows of an answer
LEAST = 12  # letters of a column's width, where later rows may have longer words than the first
LEVEL_STYLE = {"serious": "bold red", "notice": "yellow", "fine": "green", "unknown": "dim"}


def plan(made: Plan, as_json: bool) -> None:
    """What would run: cases by benchmark and kernel, launches, expected time."""
    if as_json:
        print(json.dumps(to_plain(made), indent=1))
        return
    table_ = Table(title=f"Plan ({made.preset}, seed {made.seed})")
    for column in ("benchmark", "kernels", "toolchain"):
        table_.add_column(column)
    for column in ("cases", "launches"):
        table_.add_column(column, justify="right")
    for (name, toolchain), launches in sorted(Counter((x.benchmark, x.toolchain) for x in made.launches).items()):
        cases = next(x for x in made.launches if (x.benchmark, x.toolchain) == (name, toolchain)).cases
        kernels = ", ".join(f"{k} ({n})" for k, n in Counter(c.kernel for c in cases).items())
        table_.add_row(escape(name), escape(kernels), escape(toolchain), str(len(cases)), str(launches))
    console = Console()
    console.print(table_)
    console.print(f"Expected time: about {duration(made.seconds)}, and a minute or two to build at the first run.")


def everything(benchmarks: Sequence[Listed], runs: Sequence[Path], as_json: bool) -> None:
    """Benchmarks, published systems and runs."""
    from steelyard import published

    found = [_run(path) for path in runs]
    if as_json:
        listed = [dataclasses.asdict(b) for b in benchmarks]
        print(json.dumps({"benchmarks": listed, "runs": found, "systems": published.systems()}, indent=1))
        return
    console = Console()
    known = Table(title="Benchmarks")
    known.add_column("name", style="bold")
    known.add_column("what it measures")
    for b in benchmarks:
        known.add_row(escape(b.name), escape(b.title))
    console.print(known)
    console.print("Published systems, for steelyard compare: " + ", ".join(map(escape, published.systems())) + ".\n")
    if not found:
        console.print("No runs yet. Make one with: steelyard run")
        return
    made = Table(title="Runs")
    made.add_column("run", style="bold", no_wrap=True)
    made.add_column("what was measured")
    for row in found:
        made.add_row(escape(row["run"]), escape("\n".join(_lines(row))))
    console.print(made)


def _run(path: Path) -> dict[str, Any]:
    """What the list says of a run. A finished run is judged once; the verdicts of an unfinished one are not known."""
    from steelyard import records
    from steelyard.command_line import stored_tables
    from steelyard.report.summary import figures_as_json

    try:
        of = stored_tables.kept_summary(path)
        if of is None and (path / "finished.json").is_file():
            of = stored_tables.summary(path, [])
        if of is None:
            run, done = records.head(path), records.finished_cases(path)
            planned = sum(len(x.cases) for x in run.plan.launches)
            facts = run.id, run.started, run.machine.system, run.plan.preset, planned, done, run.finished
        else:
            facts = of.run, of.started, of.machine.system, of.preset, of.cases, of.measured, of.finished
    except SteelyardError as error:
        return {"run": spelled(path.name), "error": error.shown()}
    names = ("run", "started", "system", "preset", "cases", "done", "finished")
    judged = {"verdicts": dict(of.verdicts), "figure": next(iter(figures_as_json(of)), None)} if of else {}
    return {**dict(zip(names, facts, strict=True)), "verdicts": None, "figure": None, **judged}


def _lines(run: Mapping[str, Any]) -> Iterator[str]:
    if "error" in run:
        yield run["error"]
        return
    state = "finished" if run["finished"] else f"interrupted: steelyard resume {run['run']}"
    started = run["started"].replace("T", " ")[:16]
    yield f"{run['system']}, preset {run['preset']}, {started}, {run['done']}/{run['cases']} cases, {state}"
    if run["verdicts"]:
        yield "  ".join(f"{SIGNS[level]} {count} {level}" for level, count in run["verdicts"].items() if count)
    if figure := run["figure"]:
        yield f"{figure['title']}: {figure['text']}"


def advice(found: Iterable[Any], as_json: bool) -> None:
    """The doctor's words, the gravest first."""
    listed = list(found)
    if as_json:
        print(json.dumps(to_plain(listed), indent=1))
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


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], as_json: bool) -> None:
    """An answer of a query, printed as it comes."""
    source = iter(rows)
    parts: Iterator[list[Sequence[Any]]] = iter(lambda: list(islice(source, AT_ONCE)), [])
    if as_json:
        _objects(columns, parts)
        return
    cells = [_cells(row) for row in next(parts, [])]
    # The same for all parts, where there are several.
    several = len(cells) == AT_ONCE
    widths = [max(LEAST, *map(cell_len, c)) for c in zip(columns, *cells, strict=True)] if several else None
    first = True
    while (first or cells) and not streams.left():
        following = [_cells(row) for row in next(parts, [])]
        _part(columns, cells, widths, first, last=not following)
        cells, first = following, False


def _objects(columns: Sequence[str], parts: Iterable[Sequence[Sequence[Any]]]) -> None:
    before = "["
    for part in parts:
        if streams.left():
            return
        for row in part:
            text = json.dumps(dict(zip(columns, row, strict=True)), indent=1, default=str)
            print(before, indent(text, " "), sep="\n", end="")
            before = ","
    print("[]" if before == "[" else "\n]")


def _cells(row: Sequence[Any]) -> list[str]:
    return ["" if v is None else f"{v:.6g}" if isinstance(v, float) else spelled(str(v)) for v in row]


def _part(
    columns: Sequence[str], cells: Sequence[Sequence[str]], widths: Sequence[int] | None, first: bool, last: bool
) -> None:
    """Some rows of a table: with its head where they are the first, and its lower edge where they are the last."""
    out, console = Table(show_header=first), Console()
    for place, column in enumerate(columns):
        out.add_column(escape(column), width=widths[place] if widths else None, overflow="fold")
    for row in cells:
        out.add_row(*map(escape, row))
    with console.capture() as captured:
        console.print(out)
    lines = captured.get().splitlines(keepends=True)
    print("".join(lines[0 if first else 1 : None if last else -1]), end="")


def narrow(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Many columns on a terminal of 80: without lines between them, numbers to the right, none broken but the first ones."""
    out = Table(title=escape(title), title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for place, column in enumerate(columns):
        later = place > 0
        justify: Literal["left", "right"] = "right" if later else "left"
        out.add_column(escape(column), justify=justify, no_wrap=later, overflow="fold", min_width=0 if later else 10)
    for row in rows:
        out.add_row(*(escape(str(value)) for value in row))
    Console().print(out)
