"""A run on one screen of 80 columns and 50 lines: verdict, main figures, the most important findings, the report's path."""

import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from steelyard import findings
from steelyard.machine.mpi_settings import NONE
from steelyard.model import Evaluation, Finding, Level
from steelyard.plan.refusal import left_out
from steelyard.report import condition, screen_tables, values
from steelyard.report.lines import COLUMNS, brief, cut, fold, listed, one_line, pad, shorten_advice
from steelyard.report.summary import Figure, RunEnergy, Summary, summarised
from steelyard.report.verdict_marks import COLOURS, LAMPS, LEGEND, SIGNS
from steelyard.statistics.validity.trust import is_marked
from steelyard.telemetry.coverage import words
from steelyard.words import plural

MARKS = {"serious": ("✕", "red"), "notice": ("!", "yellow"), "good": ("●", "green")}
MOST_LINES = 50
LENGTHS = ((findings.MOST, True), (4, True), (3, True), (3, False))  # findings, and whether with their advice
BESIDE_TABLES = ((findings.MOST, True), (3, True))
MAIN = "Main figures"
VALUE, INTERVAL, LIMIT, TITLE = 13, 23, 10, 20  # columns, and the least room for a title
BEST, TYPICAL, LATER, SEEN = "at its best", "typical", "at another hour", "(best seen)"  # headings
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
    top = [Text(), *_top(run, width)]
    end = _end(run, report)
    room = MOST_LINES - len(top) - _rows(end, width)
    wanted = list(figures) if figures is not None else _answer(run, width, None)
    for most, advice in BESIDE_TABLES if run.tables and figures is None else LENGTHS:
        middle = matters(run.findings, width, advice, most)
        if len(wanted) + len(middle) <= room:
            break
    left = max(0, room - len(middle))
    shown = wanted if figures is not None or len(wanted) <= left else _answer(run, width, left)
    return [*top[: MOST_LINES - len(middle) - _rows(end, width)], *shown[:left], *middle, *end]


def _answer(run: Summary, width: int, room: int | None) -> list[Text]:
    """Returns the main figures and, of a run of few benchmarks, their tables, in `room` lines or as many as they need.

    If all the tables find room, they replace the figures that stand in for benchmarks without a main figure.
    """
    room = sys.maxsize if room is None else room
    tabled = {table.benchmark for table in run.tables}
    known = [(n, given[0]) for n, given in (("toolchain", run.toolchains), ("mpi", run.mpis)) if len(given) == 1]
    own = _figures(run, [f for f in run.figures if f.name != f.benchmark or f.benchmark not in tabled], width)
    if run.tables and (tables := screen_tables.tables(run.tables, width, room - len(own), known, whole=True)):
        return [*own, *tables]
    every = _figures(run, run.figures, width)
    return [*every, *screen_tables.tables(run.tables, width, room - len(every), known)]


def _figures(run: Summary, figures: Sequence[Figure], width: int) -> list[Text]:
    """Returns the main figures: first those with a column for each compiler, MPI or variant, then the others and the energy."""
    beside = [f for f in figures if f.alternatives]
    others = main_figures([f for f in figures if not f.alternatives], width, "Other main figures" if beside else MAIN)
    return [
        *screen_tables.compared(beside, width, run.variants),
        *others,
        *_energy(run.energy, width, _columns(figures)),
    ]


def heading(words: str) -> list[Text]:
    """A heading after an empty line."""
    return [Text(), Text(words, style="bold")]


# --------------------------------------------------------------------------- the verdict


def _top(run: Summary, width: int) -> list[Text]:
    machine = brief(run.machine_sentence, width, 2)
    started = run.started.replace("T", " ")[:16]
    started = started or "at an unknown time"
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
    levels = {k: n for k, n in run.verdicts.items() if n} if run.condition.foreign else run.verdicts
    for level, count in levels.items():
        lamps.append(f"  {SIGNS[level]} {count} {level}", COLOURS[level] if count else "dim")
    described = condition.describe(run.condition, run.verdicts["DISTURBED"])
    top = [Text(line, style="bold") for line in brief(" ".join(described), width, 4)] if described else []
    known = condition.describe_known(run.known) if total > run.known["unknown"] else ""
    top += [Text(line) for line in fold(known, width) if known]
    whole = Text.assemble(("Verdicts:" if known else f"{plural(total, 'case')}:", "bold" if not known else ""))
    if run.budget is not None and run.left_out and run.finished:
        counts = {name: sum(levels.values()) for name, levels in run.benchmarks.items()}
        top += [Text(line) for line in brief(left_out(counts, run.left_out, run.budget), width, 3)]
    # Thousands of each level are too long for one line.
    lines = [whole.append(" ").append_text(lamps)] if whole.cell_len + 1 + lamps.cell_len <= width else [whole, lamps]
    legend = ", ".join(f"{SIGNS[level]} {words}" for level, words in LEGEND.items() if run.verdicts.get(level))
    lines += [Text(line, style="dim") for line in cut(legend, width, 1)] if legend else []
    if run.mpi_settings != NONE:
        settings = brief(f"Settings of the user for the MPI: {run.mpi_settings}.", width, 2)
        lines += [Text(line, style="dim") for line in settings]
    texts = (
        # What concerns most results, the condition of the machine says already.
        "" if run.condition.causes else _why(run, "DISTURBED", "Reasons for DISTURBED: {}."),
        "" if run.condition.causes else _why(run, "UNSETTLED", "Reasons for UNSETTLED: {}."),
        "" if run.finished else _unfinished(total, total + sum(run.left_out.values())),
    )
    sentence = " ".join(filter(None, texts))
    return [*top, *lines, *(Text(text, style="dim") for text in (brief(sentence, width, 2) if sentence else ()))]


def _unfinished(measured: int, planned: int) -> str:
    if measured < planned:
        return f"The run is not finished: {measured} of {plural(planned, 'case')} are measured."
    return "The run was ended early: each case has a value, but launches may be missing."


def _why(run: Summary, level: Level, sentence: str) -> str:
    """Returns a sentence with the most frequent reasons for that verdict; "" if no result has it."""
    common = list(run.reasons.get(level, {}).items())[:TOGETHER]
    return sentence.format(", ".join(f"{reason} ({count})" for reason, count in common)) if common else ""


# --------------------------------------------------------------------------- the figures


def main_figures(chosen: Sequence[Figure], width: int, title: str = MAIN) -> list[Text]:
    """Returns one to three lines per figure: title, conditions, value, interval, share of the limit, energy."""
    if not chosen:
        return []
    columns = _columns(chosen)
    left = width - sum(columns.values())
    names = "".join(pad(name, size, right=True) for name, size in columns.items())
    lines = [Text(), Text.assemble((pad(title, left), "bold"), (names, "dim"))]
    under = {BEST: SEEN} if BEST in columns and any(map(_is_only_seen, chosen)) else {}
    under |= {values.RANGE: LATER} if values.RANGE in columns and any(map(_differs, chosen)) else {}
    if under:
        cells = (pad(under.get(name, ""), size, right=True) for name, size in columns.items())
        lines.append(Text((pad("", left) + "".join(cells)).rstrip(), style="dim"))
    return lines + [line for figure in chosen for line in _figure(figure, left, columns)]


def _columns(figures: Sequence[Figure]) -> dict[str, int]:
    """Returns the columns with their widths: one value if all three are one, as on a dedicated machine."""
    several = any(figure.shown.several for figure in figures)
    first = {BEST: 15, TYPICAL: 13} if several else {"value": VALUE}
    last = {"of limit": LIMIT - several} if _limited(figures) else {}
    # A range that is cut has no unit.
    longest = 2 + max((cell_len(figure.shown.range) for figure in figures), default=0)
    room = COLUMNS - TITLE - sum((*first.values(), *last.values()))
    size = max(INTERVAL - 2 * several, min(longest, room))
    return first | {values.range_heading(f.shown for f in figures): size} | last


def _until(columns: Mapping[str, int], name: str) -> int:
    """Returns the width of the columns up to that one."""
    names = list(columns)
    return sum(columns[n] for n in names[: names.index(name) + 1])


def _differs(figure: Figure) -> bool:
    """Returns whether another hour may give a wider range."""
    return bool(figure.shown.later) and figure.shown.later != figure.shown.now


def _is_only_seen(figure: Figure) -> bool:
    """Returns whether the value at its best is not proven, and the best sample is shown in its place."""
    return not figure.shown.best and bool(figure.shown.best_seen)


def _limited(figures: Iterable[Figure]) -> bool:
    return any(figure.shown.share is not None for figure in figures)


def _figure(figure: Figure, left: int, columns: Mapping[str, int]) -> list[Text]:
    shown = figure.shown
    texts = {
        BEST: shown.best or (f"({shown.best_seen})" if shown.best_seen else ""),
        TYPICAL: shown.typical,
        values.RANGE: shown.range,
        "of limit": values.percent(shown.share),
    }
    texts |= {"value": shown.value, values.INTERVAL: shown.range, values.STATISTIC: shown.statistic}
    cells = [(texts[name] or "–", size) for name, size in columns.items()]
    marked = f"{LAMPS[shown.level][0]}{f' ({figure.why})' if figure.why else ''}" if is_marked(shown.level) else ""
    doubt = "▲ ABOVE ITS LIMIT" if shown.above else "▲ IN DOUBT, see below" if figure.doubted else ""
    if shown.undisturbed and shown.several:
        marked = f"{SIGNS['CLEAN']} range if nothing disturbs"
    marked = ", ".join(filter(None, (marked, doubt)))
    right = "".join(pad(cut(text, size - 1, 1)[0], size, right=True) for text, size in cells)
    lines = [Text.assemble(pad(cut(figure.title, left - 1, 1)[0], left), (right, "bold"))]
    # The conditions go under the title, up to the range of another hour: they may be many.
    later = f"  {shown.later}" if _differs(figure) and values.RANGE in columns else ""
    width = left + (_until(columns, values.RANGE) - len(later) if later else sum(columns.values()))
    line = Text()
    if marked:
        line.append(f"  {marked}", style=COLOURS[shown.level] if is_marked(shown.level) else "yellow")
    room = width - line.cell_len - 2
    if figure.conditions and room > len("threads"):
        line.append(f"  {listed(figure.conditions, room)}", style="dim")
    energies = values.energies(figure.energy)
    if energies and line.cell_len + 2 + len(energies) <= width:
        line.append(f"  {energies}")
        energies = ""
    if later:
        line = Text.assemble(line, " " * (width - line.cell_len), (later, "dim"))
    lines += [line] if line else []
    return [*lines, *(Text(f"  {part}") for part in cut(energies, width - 2, 2) if part)]


def _energy(spent: RunEnergy | None, width: int, columns: Mapping[str, int]) -> list[Text]:
    """Returns two lines on the energy of the run; nothing if no sensor was read."""
    if spent is None:
        return []
    # It is one value, and stands before its interval.
    names = list(columns)
    at = next(i for i, name in enumerate(names) if name in (values.RANGE, values.INTERVAL, values.STATISTIC))
    value, interval = values.quantity(spent.energy.value, "J"), values.interval(spent.energy)
    right = pad(value, sum(columns[n] for n in names[:at]), right=True) + pad(interval, columns[names[at]], right=True)
    title = "Energy of the run (modelled)" if spent.modelled else "Energy of the run"
    idle = f", idle {values.quantity(spent.idle, 'W')}" if spent.idle is not None else ""
    without = f" (without {spent.absent})" if spent.absent else ""
    scope = f"{words(spent.energy.scope)}{without}"
    note = f"{scope}: mean power {values.quantity(spent.power, 'W')}{idle}, source: {spent.source}"
    first = Text.assemble(pad(title, width - sum(columns.values())), (right, "bold"))
    return [
        first,
        *(
            Text(f"  {line}", style="dim")
            for line in (*cut(note, width - 2, 2), *cut(spent.uncovered, width - 2, 2))
            if line
        ),
    ]


# --------------------------------------------------------------------------- the findings


def matters(all_findings: Sequence[Finding], width: int, advice: bool, most: int = findings.MOST) -> list[Text]:
    """Returns the most important findings, one of each kind. `advice` adds the remedy."""
    chosen, unanswered = findings.foremost(all_findings)[:most], findings.unanswered(all_findings)
    if not chosen:
        lines = [*heading("Findings"), Text("There are no findings for this run.")]
        return [*lines, *(Text(f"  {line}", style="dim") for line in brief(unanswered, width - 2, 2))]
    lines = heading("What matters most")
    more = len(findings.decided(all_findings)) - sum(1 + kind.others for kind in chosen)
    for number, kind in enumerate(chosen, 1):
        mark, colour = MARKS[kind.finding.level]
        others = f" [and {kind.others} more of this kind]" if kind.others else ""
        first, *rest = _statement(kind.finding, width - 4, others) or [""]
        lines.append(Text.assemble(f"{number} ", (f"{mark} ", colour), first))
        lines += [Text(f"    {line}") for line in rest]
        remedy = shorten_advice(kind.finding.remedy, width - 6) if advice else []
        lines += [Text(f"    {' ' if n else '→'} {line}", style="dim") for n, line in enumerate(remedy)]
    lines += [Text(f"  and {plural(more, 'more finding')}", style="dim")] if more else []
    return [*lines, *(Text(f"  {line}", style="dim") for line in brief(unanswered, width - 2, 2))]


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
