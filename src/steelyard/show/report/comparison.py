"""Comparisons on the terminal, as tables or as JSON."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from steelyard.compare.matching import is_same_by_default
from steelyard.compare.published_figures import Beside
from steelyard.compare.runs import Lone, Row, RunComparison
from steelyard.compare.wholes import Whole
from steelyard.model import Value
from steelyard.model.plain import to_plain
from steelyard.model.units import quantity, significant
from steelyard.model.words import in_words, plural
from steelyard.show.report import equal_time_rows
from steelyard.show.report.call_styles import STYLE
from steelyard.show.report.changes import write_smallest
from steelyard.show.report.json_output import print_json
from steelyard.show.report.machine_table import list_machines
from steelyard.statistics.results import cases
from steelyard.statistics.validity import trust

FEW = 12  # lone cases that are listed; the rest are counted


def runs(comparison: RunComparison, as_json: bool) -> None:
    """Prints the conditions that differ, the benchmarks as a whole, every case, and the cases that only one run has."""
    if as_json:
        plain = to_plain(comparison)
        plain["notes"] += plain.pop("counts")
        print_json(plain)
        return
    console = Console()
    console.print(f"[bold]{escape(comparison.a)}[/] (a) and [bold]{escape(comparison.b)}[/] (b)")
    _differences(console, comparison)
    for line in list_machines(comparison.machines, console.width, with_conditions=True):
        console.print(line)
    for title, wholes in (("Classes of benchmarks", comparison.classes), ("Benchmarks as a whole", comparison.wholes)):
        if wholes:
            _wholes(console, title, wholes)
    for name in dict.fromkeys(row.benchmark for row in comparison.rows):
        _rows(console, name, [row for row in comparison.rows if row.benchmark == name])
    for replaced in comparison.replacements:
        console.print(escape(f"{equal_time_rows.name_of(replaced)}: {equal_time_rows.sentence(replaced)}"))
    _print_lone(console, comparison.a, comparison.only_a)
    _print_lone(console, comparison.b, comparison.only_b)
    for note in (*comparison.notes, *comparison.counts):
        console.print(escape(note), style="dim")


def beside(published: Beside, as_json: bool) -> None:
    """Prints the numbers of a published system with those of a run."""
    if as_json:
        print_json(published)
        return
    console = Console()
    table = _table(
        f"{published.run} beside {published.system}",
        ("benchmark", "what", "under"),
        ("published", "this run", "this / published"),
    )
    for line in published.lines:
        ratio = "" if line.ratio is None else f"{line.ratio:.3g}"
        none = "no counterpart" if line.reason else "not measured"
        ours = quantity(line.ours.value, line.ours.unit) if line.ours else none
        words = map(escape, (line.benchmark, line.metric, line.conditions, line.printed))
        table.add_row(*words, ours + trust.write_if_doubtful(line.level), ratio)
    console.print(table)
    for note in published.notes:
        console.print(escape(note), style="dim")


def _differences(console: Console, comparison: RunComparison) -> None:
    if not comparison.differences:
        console.print("The conditions of both runs are the same, as far as they are known.")
        return
    table = _table("Conditions that differ", ("", "name", "a", "b"), ())
    for d in comparison.differences:
        table.add_row(*(escape(text) for text in (d.group, d.name.replace("_", " "), d.a, d.b)))
    console.print(table)


def _wholes(console: Console, title: str, wholes: Sequence[Whole]) -> None:
    table = _table(title, ("benchmarks",), ("cases", "time, b / a", "mix", "finds"))
    table.add_column("b is")
    for w in wholes:
        call = _call(w.call) + (" [yellow](disturbed)[/]" if w.disturbed else "")
        call += f"\n{escape(w.unclear.text)}" if w.unclear and w.unclear.kind != "too wide" else ""
        span = f"{w.ratio:.3f} ({w.low:.3f} – {w.high:.3f})"
        mix = f"{w.mix.ratio:.3f} ({w.mix.low:.3f} – {w.mix.high:.3f})" if w.mix else ""
        table.add_row(escape(w.name), str(w.cases), span, mix, write_smallest(w.smallest), call)
    console.print(table)


def _rows(console: Console, name: str, rows: Sequence[Row]) -> None:
    table = _table(name, ("case", "metric"), ("a", "b", "b / a"))
    table.add_column("b is")
    constant = _constant(rows)
    for row in rows:
        span = "" if row.ratio is None else f"{row.ratio:.3f} ({row.low:.3f} – {row.high:.3f})"
        mark = f" [yellow](disturbed in {', '.join(row.disturbed)})[/]" if row.disturbed else ""
        mark += f" [magenta](unsettled in {', '.join(row.unsettled)})[/]" if row.unsettled else ""
        call = _call(row.call) + mark + (f"\n{escape(row.detail)}" if row.ratio is None else "")
        table.add_row(escape(_case(row, constant)), escape(row.metric), _value(row.a), _value(row.b), span, call)
    console.print(table)


def _case(row: Row, constant: set[str]) -> str:
    conditions = [in_words(k, v) for k, v in row.parameters.items() if k not in constant and cases.USUAL.get(k) != v]
    conditions += [
        f"{in_words(k, x)} / {in_words(k, y)}" for k, x, y in row.differing if not is_same_by_default(k, x, y)
    ]
    return f"{row.kernel} ({', '.join(conditions)})" if conditions else row.kernel


def _constant(rows: Sequence[Row]) -> set[str]:
    """Returns the parameters that are the same in all rows of the table."""
    names = {name for row in rows for name in row.parameters}
    return {n for n in names if len({str(row.parameters.get(n)) for row in rows}) == 1}


def _print_lone(console: Console, run: str, lone: Sequence[Lone]) -> None:
    if not lone:
        return
    console.print(f"Only in {escape(run)}: {plural(len(lone), 'case')}.")
    for case in lone[:FEW]:
        conditions = ", ".join(in_words(k, v) for k, v in case.parameters.items() if cases.USUAL.get(k) != v)
        console.print(f"  {escape(case.benchmark)} {escape(case.kernel)} ({escape(conditions)})", style="dim")
    if len(lone) > FEW:
        console.print(f"  and {len(lone) - FEW} more", style="dim")


def _table(title: str, left: Iterable[str], right: Iterable[str]) -> Table:
    table = Table(title=escape(title), title_justify="left")
    for name in left:
        table.add_column(name, overflow="fold")
    for name in right:
        table.add_column(name, justify="right")
    return table


def _call(call: str) -> str:
    return f"[{STYLE[call]}]{call}[/]"


def _value(value: Value | None) -> str:
    return "" if value is None else quantity(value.value, value.unit) if value.unit else significant(value.value)
