"""The results of a run as tables for documents: Markdown for notes and tickets, LaTeX for papers."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from steelyard.model import Evaluation
from steelyard.show.report import sentences, values
from steelyard.show.report.citation import reference
from steelyard.show.report.headline import headlines
from steelyard.show.report.latex_letters import escaped
from steelyard.show.report.names import grouped, slug
from steelyard.show.report.pages import benchmark
from steelyard.show.report.verdict_marks import MEANINGS
from steelyard.statistics.validity.trust import ORDER

VERDICT = "verdict"
ACROSS, BETWEEN = 80, 3  # letters of a table as wide as a page in LaTeX, and of the room between columns
LEAST = 12  # letters of the narrowest column that breaks its texts
RANGES = {
    values.INTERVAL: "The interval is the 95 % confidence interval of the value over the launches of this run.",
    values.RANGE: "The value of another run right after this one lies in the range with 95 %. If the range is unknown, the "
    "95 % interval of this run stands there.",
    values.STATISTIC: "The statistic is that of the tool which measured the value.",
}


@dataclass(frozen=True, kw_only=True)
class Table:
    """Results of one benchmark with the same main metric, or the main figures. `about` holds facts that apply to all rows."""

    title: str
    name: str
    metric: str
    about: str
    headings: tuple[str, ...]
    right: tuple[bool, ...]  # whether the column is of numbers
    rows: tuple[tuple[str, ...], ...]


def tables(evaluation: Evaluation) -> Iterator[Table]:
    """Returns the tables of the benchmarks in the order of the report: parameters, metric, interval, share of limit, verdict."""
    for names in grouped(evaluation.benchmarks).values():
        for name in names:
            page = benchmark.data(evaluation, name)
            yield from (_table(page, table) for table in page.tables)


def _table(page: benchmark.BenchmarkPage, table: benchmark.Table) -> Table:
    limited = bool(table.limit) or table.limits_differ
    about = [f"In every row: {', '.join(f'{name} {text}' for name, text in table.constant)}."] if table.constant else []
    about += [f"Limit: {table.limit} ({table.limit_source})."] if table.limit else []
    shares = (table.unit_of_share,) if limited else ()
    return Table(
        title=page.title,
        name=page.name,
        metric=table.metric,
        about=" ".join(about),
        headings=(
            *table.parameters,
            table.metric,
            values.range_heading(row.shown for row in table.rows),
            *shares,
            VERDICT,
        ),
        right=(*(False for _ in table.parameters), True, True, *(True for _ in shares), False),
        rows=tuple(_row(row, limited) for row in table.rows),
    )


def main_figures(evaluation: Evaluation) -> Iterator[Table]:
    """Yields one table of the main figures of the run; nothing without any."""
    chosen = headlines(evaluation)
    if not chosen:
        return
    limited = any(one.shown.share is not None for one in chosen)
    headings = ("figure", "conditions", "value", values.range_heading(one.shown for one in chosen))
    yield Table(
        title="Main figures",
        name="main",
        metric="",
        about="",
        headings=(*headings, *(("of limit",) if limited else ()), VERDICT),
        right=(False, False, True, True, *((True,) if limited else ()), False),
        rows=tuple(
            (
                one.title,
                one.conditions or "–",
                one.shown.value or "–",
                one.shown.range or "–",
                *((values.percent(one.shown.share) or "–",) if limited else ()),
                one.shown.level,
            )
            for one in chosen
        ),
    )


def legend(shown: Iterable[Table]) -> tuple[str, ...]:
    """Returns sentences that explain the ranges and the verdicts of the tables."""
    shown = list(shown)
    headings = {heading for table in shown for heading in table.headings}
    levels = {row[-1] for table in shown for row in table.rows}
    ranges = (sentence for heading, sentence in RANGES.items() if heading in headings)
    return (*ranges, *(f"{level}: {MEANINGS[level]}" for level in ORDER if level in levels))


def _row(row: benchmark.Row, limited: bool) -> tuple[str, ...]:
    value, interval = (row.shown.value, row.shown.range) if row.shown else ("", "")
    cells = (value or "–", interval or "–", *((row.share or "–",) if limited else ()))
    return (*(cell.text for cell in row.parameters), *cells, row.level)


def _facts(evaluation: Evaluation) -> tuple[str, ...]:
    run = evaluation.run
    by = f"{'Imported' if run.imported else 'Measured'} by Steelyard {run.versions.get('steelyard', '')}".strip()
    made = f"{', '.join(filter(None, (by, reference(run.id, run.path), run.started)))}."
    return (sentences.machine(evaluation), sentences.trust(evaluation), made)


# --------------------------------------------------------------------------- Markdown


def markdown(evaluation: Evaluation, main: bool = False) -> str:
    """Returns the tables in GitHub's Markdown, each below the heading of its benchmark; `main`: that of the main figures."""
    parts = [f"# {mark(evaluation.run.machine.host)}", *map(mark, _facts(evaluation))]
    shown = ""
    chosen = tuple(main_figures(evaluation) if main else tables(evaluation))
    for table in chosen:
        if table.name != shown:
            name = "" if main else f" (`{table.name.replace('`', '')}`)"
            parts.append(f"## {mark(table.title)}{name}")
            shown = table.name
        parts += [mark(table.about)] if table.about else []
        parts.append(write_table(table.headings, table.rows, table.right))
    parts.append("\n".join(f"- {mark(sentence)}" for sentence in legend(chosen)))
    return "\n\n".join(filter(None, parts)) + "\n"


def write_table(headings: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[bool]) -> str:
    """Returns a table in GitHub's Markdown; the columns that are `right` are aligned there."""
    lines = [headings, *rows]
    first, *body = (f"| {' | '.join(map(mark, line))} |" for line in lines)
    return "\n".join([first, f"| {' | '.join('---:' if at_right else '---' for at_right in right)} |", *body])


def mark(text: str) -> str:
    """Returns the text on one line, with escapes for Markdown."""
    return re.sub(r"([\\`*_{}\[\]<>|#~&])", r"\\\1", " ".join(text.split()))


# --------------------------------------------------------------------------- LaTeX


LATEX_HEAD = r"% Read this file with \input. The document needs \usepackage{booktabs} and \usepackage{longtable}."


def latex(evaluation: Evaluation, main: bool = False) -> str:
    """The tables as a part of a document, to be read by \\input: each a longtable with rules of booktabs."""
    head = [LATEX_HEAD, *(f"% {' '.join(sentence.split())}" for sentence in _facts(evaluation))]
    labels: dict[str, int] = {}
    chosen = main_figures(evaluation) if main else tables(evaluation)
    return "\n".join([*head, *(f"\n{_longtable(table, labels)}" for table in chosen)]) + "\n"


def _longtable(table: Table, labels: dict[str, int]) -> str:
    label = f"tab:{slug(table.name)}"
    labels[label] = labels.get(label, 0) + 1
    label += f"-{labels[label]}" if labels[label] > 1 else ""
    about = f"{': '.join(filter(None, (table.title, table.metric)))}. {table.about}".strip()
    caption = rf"\caption{{{escaped(about)}}}\label{{{label}}}\\"
    return write_longtable(caption, " ".join(legend([table])), table.headings, table.rows, table.right)


def write_longtable(
    caption: str, note: str, headings: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[bool]
) -> str:
    """Returns a longtable. `caption` is a command of LaTeX; "" without one. `note` stands below the table."""
    rows = [*rows]
    columns = _choose_columns([headings, *rows], right)
    heading = _line([heading[:1].upper() + heading[1:] for heading in headings])
    below = rf"\multicolumn{{{len(headings)}}}{{p{{0.9\linewidth}}}}{{\footnotesize {escaped(note)}}}\\"
    return "\n".join(
        [
            r"\begingroup\small",
            rf"\begin{{longtable}}{{{' '.join(columns)}}}",
            *([caption] if caption else []),
            r"\toprule", heading, r"\midrule", r"\endfirsthead",
            r"\toprule", heading, r"\midrule", r"\endhead",
            r"\bottomrule", *([below] if note else []), r"\endlastfoot",
            *map(_line, rows),
            r"\end{longtable}",
            r"\endgroup",
        ]
    )  # fmt: skip


def _choose_columns(rows: Sequence[Sequence[str]], right: Sequence[bool]) -> list[str]:
    """Returns the columns of a longtable. In one that is too wide for a page, the longest texts break into lines."""
    lengths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    room = ACROSS - sum(lengths) - BETWEEN * len(lengths)
    texts = [0 if at_right else length for length, at_right in zip(lengths, right, strict=True)]
    most = next((n for n in range(max(texts), LEAST, -1) if room + sum(max(0, text - n) for text in texts) >= 0), LEAST)
    return [
        "r" if at_right else rf"p{{{most / ACROSS:.2f}\linewidth}}" if length > most else "l"
        for length, at_right in zip(texts, right, strict=True)
    ]


def _line(cells: Sequence[str]) -> str:
    line = " & ".join(map(escaped, cells)) + r" \\"
    return "{}" + line if line.startswith(("[", "*")) else line  # which would else belong to the line before


WRITERS: Mapping[str, Callable[[Evaluation, bool], str]] = {"markdown": markdown, "latex": latex}
