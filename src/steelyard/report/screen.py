"""A run on one screen of 80 columns and 50 lines: verdict, main figures, the most important findings, the report's path."""

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from steelyard import findings
from steelyard.model import Evaluation, Finding, Level
from steelyard.report import values
from steelyard.report.lines import brief, cut, first_clause, fold, one_line, pad
from steelyard.report.summary import Figure, Summary, summarised
from steelyard.report.verdict_marks import COLOURS, LAMPS, SIGNS
from steelyard.words import plural

MARKS = {"serious": ("✕", "red"), "notice": ("▲", "yellow"), "good": ("●", "green")}
MOST_LINES = 50
MOST_FINDINGS = 5
VALUE, INTERVAL, LIMIT = 13, 23, 10  # columns
TOGETHER = 5  # reasons that are reported beside the verdict


def show(judged: Evaluation | Summary, console: Console, report: Path | None) -> None:
    """Prints the screen. `report` is the path of the run's report, or None without a report."""
    printed(screen(judged, console.width, report), console)


def printed(screen_: Iterable[Text], console: Console) -> None:
    """Prints lines that are already folded."""
    for line in screen_:
        console.print(line, soft_wrap=True)


def screen(
    judged: Evaluation | Summary, width: int, report: Path | None, figures: Sequence[Text] | None = None
) -> list[Text]:
    """Returns the lines of the screen. `figures` replace the main figures, for a run of another kind."""
    run = judged if isinstance(judged, Summary) else summarised(judged)
    shown = main_figures(run.figures, width) if figures is None else figures
    top = [Text(), *_top(run, width), *shown]
    end = _end(run, report)
    room = MOST_LINES - _rows(end, width)
    for advice in (True, False):
        middle = matters(run.findings, width, advice)
        if len(top) + len(middle) <= room:
            break
    return [*top[: max(0, room - len(middle))], *middle, *end]


def heading(words: str) -> list[Text]:
    """A heading after an empty line."""
    return [Text(), Text(words, style="bold")]


# --------------------------------------------------------------------------- the verdict


def _top(run: Summary, width: int) -> list[Text]:
    machine = brief(run.machine_sentence, width, 2)
    started = run.started.replace("T", " ")[:16]
    about = ", ".join([f"Run {run.run}", f"preset {run.preset}", started, *run.toolchains, *run.mpis])
    return [
        *map(Text, machine),
        *(Text(line, style="dim") for line in cut(about, width, 1)),
        Text(),
        *_verdict(run, width),
    ]


def _verdict(run: Summary, width: int) -> list[Text]:
    total = sum(run.verdicts.values())
    if not total:
        return [Text(line, style="bold") for line in fold(values.NO_RESULT, width)]
    lamps = Text()
    for level, count in run.verdicts.items():
        lamps.append(f"  {SIGNS[level]} {count} {level}", COLOURS[level] if count else "dim")
    whole = Text.assemble((f"{plural(total, 'case')}:", "bold"))
    # Thousands of each level are too long for one line.
    lines = [whole.append(" ").append_text(lamps)] if whole.cell_len + 1 + lamps.cell_len <= width else [whole, lamps]
    texts = (
        _why(run, "DISTURBED", "Reasons for DISTURBED: {}."),
        _why(run, "UNSETTLED", "Reasons for UNSETTLED: {}."),
        "" if run.finished else "The run is not finished.",
    )
    sentence = " ".join(filter(None, texts))
    return [*lines, *(Text(text, style="dim") for text in brief(sentence, width, 2))] if sentence else lines


def _why(run: Summary, level: Level, sentence: str) -> str:
    """Returns a sentence with the most frequent reasons for that verdict; "" if no result has it."""
    common = list(run.reasons.get(level, {}).items())[:TOGETHER]
    return sentence.format(", ".join(f"{reason} ({count})" for reason, count in common)) if common else ""


# --------------------------------------------------------------------------- the figures


def main_figures(chosen: Sequence[Figure], width: int) -> list[Text]:
    """Returns one or two lines per figure: title, conditions, value, interval, share of the limit."""
    if not chosen:
        return []
    limited = any(h.shown.share is not None for h in chosen)
    left = width - VALUE - INTERVAL - (LIMIT if limited else 0)
    columns = [("value", VALUE), ("95 % interval", INTERVAL), *([("of limit", LIMIT)] if limited else [])]
    names = "".join(pad(name, size, right=True) for name, size in columns)
    lines = [Text(), Text.assemble((pad("Main figures", left), "bold"), (names, "dim"))]
    return lines + [line for figure in chosen for line in _figure(figure, left, limited)]


def _figure(figure: Figure, left: int, limited: bool) -> list[Text]:
    shown = figure.shown
    cells = [(shown.value or "–", VALUE), (shown.interval or "–", INTERVAL)]
    cells += [(values.percent(shown.share) or "–", LIMIT)] if limited else []
    marked = f"{LAMPS[shown.level][0]}{f' ({figure.why})' if figure.why else ''}" if shown.level != "CLEAN" else ""
    marked = ", ".join(filter(None, (marked, "▲ IN DOUBT, see below" if figure.doubted else "")))
    right = "".join(pad(cut(text, size - 1, 1)[0], size, right=True) for text, size in cells)
    lines = [Text.assemble(pad(cut(figure.title, left - 1, 1)[0], left), (right, "bold"))]
    # The conditions go under the title, as wide as the screen: they may be many.
    width = left + sum(size for _, size in cells)
    line = Text()
    if marked:
        line.append(f"  {marked}", style=COLOURS[shown.level] if shown.level != "CLEAN" else "yellow")
    room = width - line.cell_len - 2
    if figure.conditions and room > len("threads"):
        line.append(f"  {_listed(figure.conditions, room)}", style="dim")
    return [*lines, line] if line else lines


def _listed(conditions: str, room: int) -> str:
    """Returns as many whole conditions as fit."""
    parts = conditions.split(", ")
    for count in range(len(parts), 0, -1):
        text = ", ".join(parts[:count]) + (", …" if count < len(parts) else "")
        if len(fold(text, room)) == 1:
            return text
    return cut(conditions, room, 1)[0]


# --------------------------------------------------------------------------- the findings


def matters(all_findings: Sequence[Finding], width: int, advice: bool) -> list[Text]:
    """Returns the most important findings, one of each kind. `advice` adds the remedy if it fits a line."""
    chosen = findings.kinds(all_findings)[:MOST_FINDINGS]
    if not chosen:
        return [*heading("Findings"), Text("There are no findings for this run.")]
    lines = heading("What matters most")
    more = len(all_findings) - sum(1 + kind.others for kind in chosen)
    for number, kind in enumerate(chosen, 1):
        mark, colour = MARKS[kind.finding.level]
        others = f" [and {kind.others} more of this kind]" if kind.others else ""
        first, *rest = _statement(kind.finding, width - 4, others) or [""]
        lines.append(Text.assemble(f"{number} ", (f"{mark} ", colour), first))
        lines += [Text(f"    {line}") for line in rest]
        if advice and (remedy := first_clause(kind.finding.remedy, width - 6)):
            lines.append(Text(f"    → {remedy[:1].upper()}{remedy[1:]}", style="dim"))
    return [*lines, Text(f"  and {plural(more, 'more finding')}", style="dim")] if more else lines


def _statement(finding: Finding, width: int, ending: str) -> list[str]:
    """Returns two lines of a finding; more if nothing was measured, since then the reason is the only result."""
    if finding.rule == "failed":
        return cut(finding.seen, width, 5, ending)
    return brief(finding.seen, width, 2, ending)


# --------------------------------------------------------------------------- the end


def _end(run: Summary, report: Path | None) -> list[Text]:
    """Returns lines with whole paths, however long, since a broken or shortened path cannot be copied."""
    whole = f"steelyard show --all {shlex.quote(one_line(run.path))}"
    lines = [Text(), Text.assemble(("All findings and tables: ", "dim"), whole)]
    return [*lines, Text.assemble(("The report: ", "dim"), one_line(str(report)))] if report is not None else lines


def _rows(lines: Iterable[Text], width: int) -> int:
    """Rows of a terminal, which folds what is longer."""
    return sum(max(1, -(-line.cell_len // width)) for line in lines)
