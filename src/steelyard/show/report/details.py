"""All that Steelyard knows of the main figures and of the condition of a run, for `show --all`: nothing is left out."""

from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from rich.text import Text

from steelyard.compare.standing import Standing
from steelyard.model import Level
from steelyard.model.left_out import left_out
from steelyard.model.mpi_settings import NONE
from steelyard.model.scope import words
from steelyard.model.words import plural
from steelyard.show.report import condition, screen_tables, values
from steelyard.show.report.lines import COLUMNS, cut, dimmed, fold, listed, pad
from steelyard.show.report.summary import Figure, RunEnergy, Summary, find_standings
from steelyard.show.report.verdict_marks import COLOURS, LAMPS, LEGEND, SIGNS
from steelyard.statistics.validity.trust import is_marked

QUALITY = {"poor": "yellow", "normal": "", "good": "green"}
MAIN = "Main figures"
VALUE, INTERVAL, TITLE = 13, 23, 20  # columns, and the least room for a title
GOOD, UNSURE = "  is that good?", " (?: unsure)"
BEST, TYPICAL, LATER, SEEN = "at its best", "typical", "at another hour", "(best seen)"  # headings
TOGETHER = 5  # reasons that are reported beside the verdict


def list_details(run: Summary, width: int) -> list[Text]:
    """Returns the main figures with both ranges, conditions and energies, and the verdicts with their reasons."""
    return [*_write_top(run, width), *list_figures(run, run.figures, width), *_verdict(run, width)]


def _write_top(run: Summary, width: int) -> list[Text]:
    started = run.started.replace("T", " ")[:16] or "at an unknown time"
    about = ", ".join([f"Run {run.run}", f"preset {run.preset}", started, *run.toolchains, *run.mpis])
    return dimmed(fold(about, width))


def _verdict(run: Summary, width: int) -> list[Text]:
    total = sum(run.verdicts.values())
    if not total:
        return [Text(), *(Text(line, style="bold") for line in fold(values.NO_RESULT, width))]
    lamps = Text()
    levels = {k: n for k, n in run.verdicts.items() if n} if run.condition.foreign else run.verdicts
    for level, count in levels.items():
        lamps.append(f"  {SIGNS[level]} {count} {level}", COLOURS[level] if count else "dim")
    told = run.condition.causes or total == run.known["unknown"]  # beside the condition of the machine
    known = "" if told else condition.describe_known(run.known)
    top = [Text(line) for line in fold(known, width) if known]
    whole = Text.assemble(("Verdicts:" if known else f"{plural(total, 'case')}:", "bold" if not known else ""))
    if run.left_out and run.finished:
        counts = {name: sum(levels.values()) for name, levels in run.benchmarks.items()}
        top += [Text(line) for line in fold(left_out(counts, run.left_out, run.budget, run.preset), width)]
    # Thousands of each level are too long for one line.
    lines = [whole.append(" ").append_text(lamps)] if whole.cell_len + 1 + lamps.cell_len <= width else [whole, lamps]
    legend = ", ".join(f"{SIGNS[level]} {words}" for level, words in LEGEND.items() if run.verdicts.get(level))
    lines += dimmed(cut(legend, width, 1)) if legend else []
    if run.mpi_settings != NONE:
        lines += dimmed(fold(f"Settings of the user for the MPI: {run.mpi_settings}.", width))
    texts = (
        # The condition of the machine already states what concerns most results.
        "" if run.condition.causes else _explain_verdict(run, "DISTURBED", "Reasons for DISTURBED: {}."),
        "" if run.condition.causes else _explain_verdict(run, "UNSETTLED", "Reasons for UNSETTLED: {}."),
        "" if run.finished else describe_unfinished(total, total + sum(run.left_out.values())),
    )
    sentence = " ".join(filter(None, texts))
    return [Text(), *top, *lines, *dimmed(fold(sentence, width))]


def describe_unfinished(measured: int, planned: int) -> str:
    """Returns a sentence on what a run that was ended early lacks."""
    if measured < planned:
        return f"The run is not finished: {measured} of {plural(planned, 'case')} are measured."
    return "The run was ended early: each case has a value, but launches may be missing."


def _explain_verdict(run: Summary, level: Level, sentence: str) -> str:
    """Returns a sentence with the most frequent reasons for that verdict; "" if no result has it."""
    common = list(run.reasons.get(level, {}).items())[:TOGETHER]
    return sentence.format(", ".join(f"{reason} ({count})" for reason, count in common)) if common else ""


def main_figures(
    chosen: Sequence[Figure], width: int, title: str = MAIN, answers: Mapping[str, Text] | None = None, asked: str = ""
) -> list[Text]:
    """Returns one to four lines per figure: title, value, interval; whether it is good; conditions and energy."""
    if not chosen:
        return []
    columns, answers = _columns(chosen), answers or {}
    left = width - sum(columns.values())
    names = "".join(pad(name, size, right=True) for name, size in columns.items())
    lines = [Text(), Text.assemble((pad(title, left), "bold"), (names, "dim"))]
    under = {BEST: SEEN} if BEST in columns and any(map(_is_only_seen, chosen)) else {}
    under |= {values.RANGE: LATER} if values.RANGE in columns and any(map(_may_widen, chosen)) else {}
    if under or asked:
        cells = (pad(under.get(name, ""), size, right=True) for name, size in columns.items())
        first = asked if len(asked) < left else GOOD
        lines.append(Text((pad(first, left) + "".join(cells)).rstrip(), style="dim"))
    return lines + [line for figure in chosen for line in _figure(figure, answers.get(figure.name), left, columns)]


def _columns(figures: Sequence[Figure]) -> dict[str, int]:
    """Returns the columns with their widths: one value if all three are one, as on a dedicated machine."""
    several = any(f.shown.several or (f.shown.now and _is_only_seen(f)) for f in figures)
    first = {BEST: 15, TYPICAL: 13} if several else {"value": VALUE}
    # A range that is cut has no unit.
    longest = 2 + max((cell_len(figure.shown.range) for figure in figures), default=0)
    room = COLUMNS - TITLE - sum(first.values())
    size = max(INTERVAL - 2 * several, min(longest, room))
    return first | {values.range_heading(f.shown for f in figures): size}


def _until(columns: Mapping[str, int], name: str) -> int:
    """Returns the width of the columns up to that one."""
    names = list(columns)
    return sum(columns[n] for n in names[: names.index(name) + 1])


def _may_widen(figure: Figure) -> bool:
    """Returns whether another hour may give a wider range."""
    return bool(figure.shown.later) and figure.shown.later != figure.shown.now


def _is_only_seen(figure: Figure) -> bool:
    """Returns whether the value at its best is not proven, and the best sample is shown in its place."""
    return not figure.shown.best and bool(figure.shown.best_seen)


def _figure(figure: Figure, answer: Text | None, left: int, columns: Mapping[str, int]) -> list[Text]:
    shown = figure.shown
    texts = {
        BEST: shown.best or (f"({shown.best_seen})" if shown.best_seen else ""),
        TYPICAL: shown.typical or shown.value,
        values.RANGE: shown.range,
    }
    texts |= {"value": shown.value, values.INTERVAL: shown.range, values.STATISTIC: shown.statistic}
    cells = [(texts[name] or "–", size) for name, size in columns.items()]
    right = "".join(pad(cut(text, size - 1, 1)[0], size, right=True) for text, size in cells)
    lines = [Text.assemble(pad(cut(figure.title, left - 1, 1)[0], left), (right, "bold"))]
    # The range of another hour stands below that of now, so it ends a line that has room for it.
    width = left + sum(columns.values())
    later = f"  {shown.later}" if _may_widen(figure) and values.RANGE in columns else ""
    end = left + _until(columns, values.RANGE) if later else width
    line, energies = _describe_case(figure, width)
    if answer and answer.cell_len + line.cell_len + len(later) <= end:
        answer, line = Text.assemble(answer, line), Text()
    if answer and answer.cell_len + len(later) <= end:
        below = [_end_with(answer, later, end), line]
    else:
        line, energies = _describe_case(figure, end - len(later))
        below = [_end_with(line, later, end), *(Text(text) for text in cut(answer.plain if answer else "", width, 1))]
    return [*lines, *filter(None, below), *(Text(f"  {part}") for part in cut(energies, width - 2, 2) if part)]


def _end_with(line: Text, ending: str, width: int) -> Text:
    return Text.assemble(line, " " * (width - line.cell_len - len(ending)), (ending, "dim")) if ending else line


def _describe_case(figure: Figure, width: int) -> tuple[Text, str]:
    """Returns the verdict and the conditions, with the energies if there is room; else these as well."""
    shown = figure.shown
    marked = f"{LAMPS[shown.level][0]}{f' ({figure.why})' if figure.why else ''}" if is_marked(shown.level) else ""
    doubt = "▲ ABOVE ITS LIMIT" if shown.above else "▲ IN DOUBT, see below" if figure.doubted else ""
    if shown.undisturbed and shown.several:
        marked = f"{SIGNS['CLEAN']} range if nothing disturbs"
    line = Text()
    if marked := ", ".join(filter(None, (marked, doubt))):
        line.append(f"  {marked}", style=COLOURS[shown.level] if is_marked(shown.level) else "yellow")
    room = width - line.cell_len - 2
    if figure.conditions and room > len("threads"):
        line.append(f"  {listed(figure.conditions, room)}", style="dim")
    energies = values.energies(figure.energy)
    if energies and line.cell_len + 2 + len(energies) <= width:
        return line.append(f"  {energies}"), ""
    return line, energies


def _answer_quality(figure: Figure, found: Standing | None) -> Text | None:
    """Returns whether the value is good and beside what, if it has a limit or published values."""
    if found:
        return Text.assemble("  ", (found.marked, QUALITY[found.call]), f"  {found.reason}")
    share = figure.shown.share
    return None if share is None else Text(f"  {values.percent(share)} of its limit")


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
    below = (*cut(note, width - 2, 2), *cut(spent.uncovered, width - 2, 2), *cut(spent.doubt, width - 2, 4))
    return [first, *dimmed(f"  {line}" for line in below if line)]


def list_figures(run: Summary, figures: Sequence[Figure], width: int) -> list[Text]:
    """Returns the main figures: first those with a column for each compiler, MPI or variant, then the others and the energy."""
    standings = find_standings(figures, run.machine)
    answers = {f.name: text for f, found in zip(figures, standings, strict=True) if (text := _answer_quality(f, found))}
    asked = (GOOD if any(standings) else "") + (UNSURE if any(s and not s.certain for s in standings) else "")
    beside = [f for f in figures if f.alternatives]
    others = [f for f in figures if not f.alternatives]
    return [
        *screen_tables.compared(beside, width, run.variants, answers),
        *main_figures(others, width, "Other main figures" if beside else MAIN, answers, asked),
        *_energy(run.energy, width, _columns(figures)),
    ]
