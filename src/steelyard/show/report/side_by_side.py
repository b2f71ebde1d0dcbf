"""Two runs, or a run and a published system, on one screen: certain differences, and the main figures of both."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from rich.text import Text

from steelyard.compare.equal_time import EqualTime
from steelyard.compare.published_figures import Beside, Line
from steelyard.compare.runs import Call, Row, RunComparison
from steelyard.model import Evaluation, Result, Scalar, Value
from steelyard.model.words import plural
from steelyard.show.report.call_styles import STYLE
from steelyard.show.report.changes import write_factor
from steelyard.show.report.equal_time_rows import name_of, sentence
from steelyard.show.report.headline import Headline, headlines
from steelyard.show.report.lines import console, cut, dimmed, heading, pad
from steelyard.show.report.machine_table import are_first, list_machines
from steelyard.show.report.ratios import with_interval
from steelyard.show.report.screen import MOST_LINES, printed
from steelyard.show.report.values import quantity
from steelyard.show.report.verdict_marks import LAMPS
from steelyard.show.report.whole_table import list_commands, list_differences, list_wholes, time_span
from steelyard.statistics.difference.compare import Why
from steelyard.statistics.validity.trust import doubtful

CALLS: tuple[Call, ...] = ("SLOWER", "FASTER", "SAME", "UNCLEAR", "NOT COMPARABLE")
MOST_DIFFERENCES, MOST_FIGURES, MOST_REASONS, MOST_NOTES = 6, 8, 3, 2
MOST_REPLACED = 3
SIDE, RATIO, CALL = 14, 20, 9  # columns


def show(a: Evaluation, b: Evaluation, comparison: RunComparison) -> None:
    """Prints the screen of a comparison."""
    on = console()
    printed(screen(a, b, comparison, on.width), on)


def screen(a: Evaluation, b: Evaluation, comparison: RunComparison, width: int) -> list[Text]:
    """Returns at most `MOST_LINES` lines: conditions, greatest differences, classes and benchmarks, and where the rest is.

    The main figures, nodes of equal time and reasons follow where there is room.
    """
    title = f"{comparison.a} (a) and {comparison.b} (b)"
    top = [Text(), *(Text(line, style="bold") for line in cut(title, width, 2))]
    machines, rest = list_machines(comparison.machines, width), _around(comparison, width)
    rest += [line for note in comparison.notes[:MOST_NOTES] for line in dimmed(cut(note, width, 3))]
    rest += list_differences(comparison, width) if comparison.rows else []
    calls = [*(w.call for w in (*comparison.classes, *comparison.wholes)), *(row.call for row in comparison.rows)]
    first = are_first(comparison.machines, calls)
    top += [*machines, *([Text()] if machines else []), *rest] if first else [*rest, *machines]
    end = [*list_commands(comparison, (a.run, b.run), width), *_write_verdict(comparison, width)]
    end += [Text(), Text("For every case and all differences: the same command with --all", style="dim")]
    room = MOST_LINES - len(top) - len(end)
    middle = list_wholes(comparison, width, room)
    further = (
        _replacements(comparison, width),
        _figures(a, b, comparison, width),
        _list_unclear_reasons(comparison.rows, width),
    )
    for part in further:
        if len(middle) + len(part) <= room:
            middle += part
    return [*top, *middle, *end]


def _around(comparison: RunComparison, width: int) -> list[Text]:
    """Returns the cause of the differences, or the conditions whose effects are confounded."""
    cause = comparison.cause
    if cause.kind in ("none", "unknown"):
        return dimmed(cut(cause.sentence, width, 2))
    texts = [Text(line) for line in cut(cause.sentence, width, 3)]
    if cause.kind == "confounded":
        for factor in cause.factors[:MOST_DIFFERENCES]:
            texts += dimmed(f"  {line}" for line in cut(f"{factor.name}: {factor.a} (a), {factor.b} (b)", width - 2, 1))
        more = len(cause.factors) - MOST_DIFFERENCES
        texts += dimmed([f"  and {more} more"]) if more > 0 else []
        texts += dimmed(cut(cause.remedy, width, 3))
    return texts


# --------------------------------------------------------------------------- the verdict


def _write_verdict(comparison: RunComparison, width: int) -> list[Text]:
    count = len(comparison.rows)
    counts = Counter(row.call for row in comparison.rows)
    texts = [Text(), Text.assemble((f"{plural(count, 'case')} in both: b is", "bold"))]
    for call in CALLS:
        if counts[call] or call in CALLS[:4]:
            texts[-1].append(f"  {counts[call]} {call}", STYLE[call] if counts[call] else "dim")
    disturbed = sum(1 for row in comparison.rows if row.disturbed)
    alone = [
        f"{len(lone)} only in {side}" for lone, side in ((comparison.only_a, "a"), (comparison.only_b, "b")) if lone
    ]
    unsettled = sum(1 for row in comparison.rows if row.unsettled)
    rest = [f"{disturbed} of the cases were disturbed in one run or both"] if disturbed else []
    rest += [f"UNSETTLED in one run or both: {unsettled}"] if unsettled else []
    rest += [f"further cases: {', '.join(alone)}"] if alone else []
    if rest:
        texts += dimmed(cut(f"{_capitalise('; '.join(rest))}.", width, 2))
    return texts


# --------------------------------------------------------------------------- the main figures


def _figures(a: Evaluation, b: Evaluation, comparison: RunComparison, width: int) -> list[Text]:
    """The main figures of a as they are in both: the value in each, the times b over a with their interval, the call."""
    chosen = [(h, row) for h in headlines(a) if (row := _row(h.result, comparison.rows)) is not None]
    if not chosen:
        return []
    best_of_b = {one.name: one for one in headlines(b)}
    title = "Main figures, equal cases" if comparison.machines else "Main figures"
    left = width - 2 * SIDE - RATIO - CALL
    names = f"{pad('a', SIDE, True)}{pad('b', SIDE, True)}{pad('time, b / a', RATIO, True)}"
    lines = [Text(), Text.assemble((pad(title, left), "bold"), (names, "dim"))]
    for headline, row in chosen[:MOST_FIGURES]:
        value_a, value_b = _find_both(headline, row, b)
        text = Text(pad(cut(headline.title, left - 1, 1)[0], left))
        text.append(f"{pad(_value(value_a), SIDE, True)}{pad(_value(value_b), SIDE, True)}", "bold")
        call = "–" if row.call == "NOT COMPARABLE" else row.call.lower()
        text.append(f" {pad(_span(row), RATIO - 1, True)}  ").append(call, STYLE[row.call])
        lines.append(text)
        best = best_of_b.get(headline.name)
        if best and best.value and best.value != value_b:
            told = f"with {headline.conditions}; the best of b: {_value(best.value)} with {best.conditions}"
            lines += dimmed(f"  {line}" for line in cut(told, width - 2, 2))
    return lines


def _replacements(comparison: RunComparison, width: int) -> list[Text]:
    """Returns lines on the nodes of one run that replace nodes of the other, for each problem the fewest."""
    first: dict[str, EqualTime] = {}
    for row in sorted(comparison.replacements, key=lambda row: row.reached.count / row.counts.value):
        first.setdefault(name_of(row), row)
    if not first:
        return []
    texts = [
        Text(line)
        for row in list(first.values())[:MOST_REPLACED]
        for line in cut(f"{name_of(row)}: {sentence(row)}", width, 3)
    ]
    more = len(comparison.replacements) - min(len(first), MOST_REPLACED)
    rest = [Text(f"  and {more} more with --all", style="dim")] if more else []
    return [Text(), Text("At equal time", style="bold"), *texts, *rest]


def _row(result: Result, rows: Iterable[Row]) -> Row | None:
    """Returns the row of that result of a."""
    for row in rows:
        if (row.benchmark, row.kernel) == (result.benchmark, result.kernel):
            parameters = {**row.parameters, **{name: x for name, x, _ in row.differing if x is not None}}
            if _has_parameters(result, parameters):
                return row
    return None


def _has_parameters(result: Result, parameters: Mapping[str, Scalar]) -> bool:
    """Returns whether these are its parameters; a comparison may have added the name of what others spell out."""
    return all(parameters.get(name) == value for name, value in result.parameters.items())


def _find_both(headline: Headline, row: Row, b: Evaluation) -> tuple[Value | None, Value | None]:
    """The values of the headline's metric in both runs; of the row's, where b has no such metric."""
    wanted = {**row.parameters, **{name: y for name, _, y in row.differing if y is not None}}
    name = next((n for n, value in headline.result.metrics.items() if value is headline.value), "")
    for result in b.results:
        same = (result.benchmark, result.kernel) == (row.benchmark, row.kernel) and _has_parameters(result, wanted)
        if same and name in result.metrics:
            return headline.value, result.metrics[name]
    return row.a, row.b


def _value(value: Value | None) -> str:
    return "–" if value is None else cut(quantity(value.value, value.unit), SIDE - 1, 1)[0]


def _span(row: Row) -> str:
    """Returns the ratio of the times for any metric: above 1, b is slower."""
    if row.time_ratio is None or not row.low or not row.high:
        return "–"
    return with_interval(row.time_ratio, *time_span(row), write=write_factor)


# --------------------------------------------------------------------------- what is not clear


def _list_unclear_reasons(rows: Sequence[Row], width: int) -> list[Text]:
    """The commonest kinds of reasons for cases that could not be determined, each with how often it stands and its first case."""
    kinds: dict[Why, list[str]] = {}
    for row in rows:
        if row.unclear:
            kinds.setdefault(row.unclear.kind, []).append(row.unclear.text)
    lines = heading("Why cases are UNCLEAR") if kinds else []
    for texts in sorted(kinds.values(), key=lambda texts: -len(texts))[:MOST_REASONS]:
        first, *rest = cut(_capitalise(texts[0]), width - 6, 3) or [""]
        lines += [Text(f"{len(texts):>4}  {first}"), *(Text(f"      {line}") for line in rest)]
    return lines


# --------------------------------------------------------------------------- a published system


def show_published(published_run: Beside) -> None:
    """Prints a run beside a published system: the figures that both have."""
    on = console()
    printed(published(published_run, on.width), on)


def published(published_run: Beside, width: int) -> list[Text]:
    """Returns at most `MOST_LINES` lines. Figures that the run did not measure are only counted."""
    both = [line for line in published_run.lines if line.ours is not None]
    top = [
        Text(),
        *(Text(line, style="bold") for line in cut(f"{published_run.run} beside {published_run.system}", width, 2)),
    ]
    if published_run.machines:
        letters = f"a: {published_run.system}, as published; b: {published_run.run}"
        top += [*dimmed(cut(letters, width, 2)), *list_machines(published_run.machines, width)]
    missing = len(published_run.lines) - len(both)
    count = f"With equal conditions, this run has {len(both)} of the {len(published_run.lines)} published figures."
    top += [Text(), Text(count)]
    notes = dict.fromkeys((*published_run.notes[:4], *published_run.notes[-2:]))  # the last ones have commands
    end = [line for note in notes for line in dimmed(cut(note, width, 3))]
    end += [Text(), *dimmed(["For all figures: the same command with --all"])] if missing else []
    room = MOST_LINES - len(top) - len(end) - 3
    left = width - 2 * SIDE - RATIO
    below = 2 * len(both) <= room  # conditions on a line of their own, where there is room for that
    rows = [text for line in both for text in _write_published(line, left, width, below)]
    names = f"{pad('published', SIDE, True)}{pad('this run', SIDE, True)}{pad('this / published', RATIO, True)}"
    table = [Text(), Text.assemble((pad("Figure", left), "bold"), (names, "dim")), *rows[:room]] if rows else []
    if len(rows) > room:
        table.append(Text(f"and {len(rows) - room} more", style="dim"))
    return [*top, *table, Text(), *end]


def _write_published(line: Line, left: int, width: int, below: bool) -> list[Text]:
    metric = line.metric
    name = f"{line.conditions}, {metric}" if line.conditions and not below else metric
    text = Text(pad(cut(name, left - 1, 1)[0], left))
    theirs = line.printed if len(line.printed) < SIDE else quantity(line.published, line.unit)
    text.append(f"{pad(theirs, SIDE, True)}{pad(_value(line.ours), SIDE, True)}", "bold")
    ratio = "–" if line.ratio is None else f"{line.ratio:.3g}"
    mark = f"{LAMPS[line.level][0]} " if doubtful(line.level) else ""
    text.append(pad(f"{mark}{ratio}", RATIO, True))
    conditions = cut(line.conditions, width - 2, 1) if below and line.conditions else ()
    return [text, *dimmed(f"  {part}" for part in conditions)]


def _capitalise(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"
