"""A run on its first screen, in about a hundred words: what it is, how fast, whether that is good, what is wrong, what to do."""

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from steelyard.compare.standing import Standing
from steelyard.judge import findings
from steelyard.judge.findings.remedies import write_command
from steelyard.model import Evaluation, Finding, Level, Machine, Remedy, units
from steelyard.model.cores import usable_cores
from steelyard.model.words import plural
from steelyard.show.report import condition, details, screen_tables, usable, values
from steelyard.show.report.lines import cut, fit, fold, heading, one_line, pad
from steelyard.show.report.summary import Figure, Summary, find_standings
from steelyard.show.report.verdict_marks import COLOURS, SIGNS
from steelyard.statistics.validity.trust import ORDER, caution, doubtful, is_marked

MARKS = {"serious": ("✕", "red"), "notice": ("!", "yellow"), "good": ("●", "green")}
MOST_LINES = 50
MOST_MEASURED = 2  # benchmarks that a command names; for more, it measures all
MOST_WRONG, MOST_TABLED = 2, 2  # the last: benchmarks with tables beside the figures
PER_CORE = ("triad", "peak", "application.hpl")  # figures of which a machine of more cores has more
WANTED = 0.05  # what everybody wants it to be
PRESETS = {"quick": "standard"}  # the next longer one
COLUMNS = {"this machine": 15, "normal is": 13, "rated": 9, "a core": 7, "sure to": 8, "next run": 13}
LEVELS: dict[Level, str] = {"UNSETTLED": "unsettled", "DISTURBED": "disturbed", "INVALID": "failed"}


def show(judged: Evaluation | Summary, console: Console, report: Path | None, earlier: str = "") -> None:
    """Prints the screen. `report` is the path of the run's report, or None without one; `earlier` is about earlier runs."""
    printed(screen(judged, console.width, report, earlier=earlier), console)


def printed(screen_: Iterable[Text], console: Console) -> None:
    """Prints lines that are already folded."""
    for line in screen_:
        console.print(line, soft_wrap=True)


def screen(
    judged: Evaluation | Summary,
    width: int,
    report: Path | None,
    figures: Sequence[Text] | None = None,
    earlier: str = "",
) -> list[Text]:
    """Returns the lines of the screen. `figures` replace the main figures, for a run of another kind."""
    run = judged if isinstance(judged, Summary) else summarise(judged)
    top = [Text(), *(Text(line, style="bold") for line in fit(_name_run(run), width, 2))]
    rest = [*_list_use(run, width), *_list_wrong(run, width), *_list_last_lines(run, report, earlier)]
    room = max(0, MOST_LINES - len(top) - _rows(rest, width))
    shown = list(figures) if figures is not None else _answer(run, width, room)
    return [*top, *shown[:room], *rest]


def summarise(evaluation: Evaluation) -> Summary:
    """Returns the summary of an evaluation."""
    from steelyard.show.report.summarised_run import summarised  # with all that judges, which a summary does not need

    return summarised(evaluation)


def _name_run(run: Summary) -> list[str]:
    """Returns what was measured, on how large a machine and when; shorter each time."""
    here, about = run.machine, f"{run.preset}, {run.started.replace('T', ' ')[:10] or 'date unknown'}"
    if run.condition.foreign:
        return [f"{run.machine_sentence} {run.started[:10]}", run.machine_sentence]
    hosts = max((figure.hosts for figure in run.figures), default=0)
    processor = here.processor.replace("(R)", "").replace("(TM)", "").replace("(tm)", "") or "unnamed processor"
    cores = usable_cores(here)
    size = [f"{cores:g} {'core' if cores == 1 else 'cores'} of {processor}"]
    size += [units.binary_size(here.memory)] if here.memory else []
    size += ["virtual"] if here.is_virtual else []
    container = here.setting("container").value not in (None, "none")
    size += ["in a container"] if container else []
    size += sorted({device.name for device in here.devices if device.kind != "CPU"})
    name = f"{here.host}, one of {hosts} nodes" if hosts > 1 else here.host
    return [f"{name}: {', '.join(size)}; {about}", f"{name}: {', '.join(size)}", f"{name}: {size[0]}"]


# --------------------------------------------------------------------------- the figures


def _answer(run: Summary, width: int, room: int) -> list[Text]:
    """Returns the main figures and, of a run of few benchmarks, their tables, in `room` lines.

    If all the tables find room, they replace the figures that stand in for benchmarks without a main figure.
    """
    tabled = {table.benchmark for table in run.tables}
    known = [(n, given[0]) for n, given in (("toolchain", run.toolchains), ("mpi", run.mpis)) if len(given) == 1]
    if any(figure.alternatives for figure in run.figures):
        own = every = details.list_figures(run, run.figures, width)
    else:
        own = _table(run, [f for f in run.figures if f.name != f.benchmark or f.benchmark not in tabled], width)
        every = _table(run, run.figures, width)
    if not tabled or len(tabled) > (1 if run.condition.foreign else MOST_TABLED):
        return every
    if tables := screen_tables.tables(run.tables, width, room - len(own), known, whole=True):
        return [*own, *tables]
    return [*every, *screen_tables.tables(run.tables, width, room - len(every), known)]


def _table(run: Summary, figures: Sequence[Figure], width: int) -> list[Text]:
    """Returns a line for each figure: its value, that of a core, what is normal, and how sure it is."""
    chosen = usable.choose(figures)
    left = width - sum(COLUMNS.values())
    if not chosen:
        return _list_energy(run, left)
    standings = find_standings(chosen, run.machine)
    legend = [f"{SIGNS[level]} {word}" for level, word in LEVELS.items() if any(f.shown.level == level for f in chosen)]
    legend += ["?: unsure"] if any(one and not one.certain for one in standings) else []
    names = dict(COLUMNS)
    if all(f.shown.statistic for f in chosen):
        names = {name: size for name, size in names.items() if name not in ("sure to", "next run")} | {
            values.STATISTIC: 21
        }
    labels = {} if any(f.shown.now for f in chosen) else {"next run": "95 % range"}
    head = "".join(pad(labels.get(name, name), size, right=True) for name, size in names.items())
    lines = [Text(), Text.assemble((pad("Main figures", left), "bold"), (head, "dim"))]
    for figure, standing in zip(chosen, standings, strict=True):
        cells = _fill_cells(figure, standing, run.machine)
        style = details.QUALITY[standing.call] if standing else ""
        title = usable.name_figure(figure)
        if len(title) > left:
            lines += map(Text, cut(title, width, 1))
            title = ""
        line = Text(pad(title, left))
        for name, size in names.items():
            text = pad("".join(cut(cells.get(name, ""), size - 1, 1)), size, right=True)
            line.append(text, "bold" if name == "this machine" else style if name == "rated" else "")
        lines.append(line)
    return [*lines, *_list_energy(run, left), *([Text(", ".join(legend), style="dim")] if legend else [])]


def _fill_cells(figure: Figure, standing: Standing | None, machine: Machine) -> dict[str, str]:
    """Returns the text of each column that a figure has. All numbers have the unit of the value."""
    shown, value = figure.shown, figure.value
    mark = SIGNS[shown.level] if is_marked(shown.level) else ""
    cells = {"this machine": f"{mark} {shown.value or 'INVALID'}".strip(), values.STATISTIC: shown.statistic}
    if value is None:
        return cells

    def number(x: float) -> str:
        return units.within(x, value.unit, value.value)

    cores = usable_cores(machine) if figure.name in PER_CORE and figure.hosts <= 1 else 0
    cells |= {"a core": number(value.value / cores)} if cores else {}
    if ends := usable.find_range(figure):
        cells |= {
            "sure to": f"± {units.percent(usable.half_range(figure) or 0)}",
            "next run": " – ".join(map(number, ends)),
        }
    if shown.above or figure.doubted:
        above = (
            {"rated": "▲ ABOVE", "normal is": f"≤ {number(figure.limit.value)}"} if shown.above and figure.limit else {}
        )
        return cells | {"rated": "▲ DOUBT"} | above
    cells["rated"] = "–"
    if standing:
        scale = value.value / standing.value.value
        limit = value.value / standing.ratio
        low, high = (end * scale for end in standing.normal) if standing.normal else (standing.least * limit, limit)
        cells |= {"rated": standing.marked, "normal is": f"{number(low)} – {number(high)}"}
    return cells


def _list_energy(run: Summary, left: int) -> list[Text]:
    """Returns a line with the energy of the run, if a sensor was read."""
    if run.energy is None:
        return []
    energy = values.quantity(run.energy.energy.value, "J")
    title = "Energy (model)" if run.energy.modelled else "Energy of run"
    return [Text.assemble(pad(title, left), (pad(energy, COLUMNS["this machine"], right=True), "bold"))]


# --------------------------------------------------------------------------- whether it can be used


def _list_use(run: Summary, width: int) -> list[Text]:
    """Returns whether the run can be used and for what, and how many of its values are not disturbed."""
    total = sum(run.verdicts.values())
    if not total:
        return [Text(), *(Text(line, style="bold") for line in fold(values.NO_RESULT, width))]
    if run.condition.foreign or condition.none_is_valid(run.verdicts):
        described = " ".join(condition.describe(run.condition, run.verdicts))
        return [Text(), *(Text(line, style="bold") for line in fold(described, width))]
    sentence = usable.describe(run.figures, run.findings)
    counted = Text.assemble(
        (SIGNS["CLEAN"], COLOURS["CLEAN"]), f" {run.verdicts.get('CLEAN', 0)} of {total} values CLEAN"
    )
    for level, n in run.verdicts.items():
        if level in LEVELS and n:
            counted.append_text(Text.assemble(", ", (SIGNS[level], COLOURS[level]), f" {n} {LEVELS[level]}"))
    lines = [Text(), *(Text(line, style="bold") for line in cut(sentence, width, 3))]
    lines += [counted] if counted.cell_len <= width else map(Text, fold(counted.plain, width))
    if not run.finished:
        missing = sum(run.left_out.values())
        lines.append(Text(f"The run was ended early{f', with {total} of {total + missing} cases' if missing else ''}."))
    elif run.left_out:
        lines.append(Text(f"There was time for {total} of {total + sum(run.left_out.values())} cases."))
    return lines


# --------------------------------------------------------------------------- what is wrong


def _list_wrong(run: Summary, width: int) -> list[Text]:
    """Returns the condition of the machine and the most important findings, each with what to do."""
    cause = "" if condition.none_is_valid(run.verdicts) else condition.describe_briefly(run.condition)
    kinds = findings.select_wrong(run.findings)
    chosen = [kind for kind in kinds if not cause or kind.finding.about == "machine" or kind.finding.level == "serious"]
    if not cause and not chosen:
        return [Text(), Text("Nothing important is wrong.")]
    lines = heading("What is wrong")
    lines += [Text(line) for line in fold(cause, width) if cause]
    for number, kind in enumerate(chosen[:MOST_WRONG], 1):
        mark, colour = MARKS[kind.finding.level]
        first, *rest = _statement(kind.finding, width - 4, f" [and {kind.others} more]" if kind.others else "")
        lines.append(Text.assemble(f"{number} ", (f"{mark} ", colour), first))
        lines += [Text(f"    {line}") for line in rest]
        lines += [Text(f"    {line}", style="dim") for line in _list_actions(kind.finding, width - 4)]
    return lines


def _statement(finding: Finding, width: int, ending: str) -> list[str]:
    """Returns a finding in few words, with the sign of the verdict that makes it doubtful; in all its words without these."""
    if finding.brief:
        doubt = "".join(f" {SIGNS[x]}" for x in ORDER if doubtful(x) and finding.seen.endswith(caution(x)))
        return fold(f"{finding.brief}{doubt}{ending}", width)
    return cut(finding.seen, width, 5 if finding.rule == "failed" else 3, ending) or [""]


def _list_actions(finding: Finding, width: int) -> list[str]:
    """Returns what to do, with its whole command, in at most two lines."""
    remedy = finding.remedy
    if finding.action or not isinstance(remedy, Remedy):
        return cut(f"→ {finding.action or remedy}", width, 2) if finding.action or remedy else []
    return fold(f"→ {write_command(remedy)}", width)


# --------------------------------------------------------------------------- the end


def _list_last_lines(run: Summary, report: Path | None, earlier: str) -> list[Text]:
    """Returns commands and paths that are whole, however long, since a broken or shortened one cannot be copied."""
    path = shlex.quote(one_line(run.path))
    unsure = [
        f for f in run.figures if f.hosts <= 1 and (is_marked(f.shown.level) or (usable.half_range(f) or 0.0) > WANTED)
    ]
    names = [*dict.fromkeys(f.benchmark for f in unsure)]
    only = [f"--only {name} " for name in names] if len(names) <= MOST_MEASURED else []
    better = f"steelyard run --preset {PRESETS.get(run.preset, 'full')} {''.join(only)}--wait 30m"
    number = len(findings.select_decided(run.findings))
    rows = {
        "Earlier runs: ": earlier,
        "Narrower ranges: ": better if unsure and not run.condition.foreign else "",
        "Compare: ": f"steelyard compare {path} OTHER" if run.figures else "",
        f"All figures, {plural(number, 'finding')}: ": f"steelyard show --all {path}",
        "The report: ": one_line(str(report)) if report is not None else "",
    }
    return [Text(), *(Text.assemble((title, "dim"), text) for title, text in rows.items() if text)]


def _rows(lines: Iterable[Text], width: int) -> int:
    """Returns the number of rows on a terminal, which folds longer lines."""
    return sum(max(1, -(-line.cell_len // width)) for line in lines)
