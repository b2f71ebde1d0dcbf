"""The comparisons at equal time and at equal ranks in words and cells, the same on the screen and on the page."""

import math

from rich.text import Text

from steelyard.compare.equal_time import EqualRanks, EqualTime, EqualTimes, Mean
from steelyard.compare.needs import JOULES_PER_KWH, Needs
from steelyard.model import Value
from steelyard.model.units import percent, significant
from steelyard.model.words import plural
from steelyard.show.report import ratios
from steelyard.show.report.json_output import print_json
from steelyard.show.report.lines import column, console, cut, fold, pad
from steelyard.show.report.screen import printed
from steelyard.show.report.verdict_marks import SIGNS
from steelyard.statistics.models.scaling_models import REACH, Estimate
from steelyard.statistics.validity import trust

DIGITS = 4
WH = JOULES_PER_KWH / 1000
COLUMNS = {"ranks": 7, "nodes": 7, "time": 10, "power": 9, "energy": 10, "rack units": 11}
MOST_ROWS, MOST_NOTES = 6, 8
USUAL = "the usual difference between launches"
FEWER = "Fewer would be enough, but were not measured."
FEWER_BY_EFFICIENCY = "{} would be enough, unless fewer are less efficient. They were not measured."
LAWS = {"Amdahl": "Amdahl's law", "USL": "the universal scalability law"}
ORDER = ("equal", "interpolated", "extrapolated", "fewer", "more")


def sentence(row: EqualTime) -> str:
    """Returns the answer in one or two sentences: 'To match 1 node of a (7.000 s), b needs 5.7 (5.5 to 5.9) nodes, …'."""
    base = f"{counted(_base_count(row), row.unit)} of {row.base.side}"
    caution = "".join(dict.fromkeys(trust.caution(n.level) for n in (row.base, row.other) if n.level != "FOREIGN"))
    energy = f", with {with_interval(row.energy)} times the energy" if row.energy else ""
    many = f"{counted(row.reached.count, row.unit)} of {row.other.side} ({_times(row, significant(row.counts.value))})"
    are, need = ("is", "it needs") if row.reached.count == 1 else ("are", "they need")
    time, how = f"{with_interval(row.time)} times the time of {base}{energy}.", row.reached.how
    if how == "equal":
        return f"Equal within {'the intervals' if row.time.low else USUAL}: {many} {need.split()[1]} {time}{caution}"
    if how == "fewer":
        most = math.ceil(row.reached.high or row.reached.count * row.time.value)
        enough = FEWER_BY_EFFICIENCY.format(counted(most, row.unit)) if most < row.reached.count else FEWER
        return f"{many} {are} faster: {need} {time} {enough}{caution}"
    if how == "more":
        return f"{many} {are} slower: {need} {time} {_explain_unreached(row)}{caution}"
    solved = f"{row.other.side} needs {_span(row)}, {_times(row, with_interval(row.counts))}"
    text = f"To match {base} ({seconds(row.base.time)}), {solved}{energy}."
    if how == "extrapolated":
        text += f" This is extrapolated by {LAWS[row.reached.law]}: at most {max(row.measured)} were measured."
    return text + caution


def mean_sentence(mean: Mean) -> str:
    """Returns a sentence on all programs at equal ranks: the time and the energy of the other side."""
    of = f"(geometric mean of {plural(mean.programs, 'program')})"
    if mean.time.low and not _is_certain(mean.time):
        ratio = with_interval(mean.time)
        text = f"At equal ranks, {mean.other} and {mean.base} may be equal: the ratio of the times is {ratio} {of}"
    else:
        text = f"At equal ranks, {mean.other} needs {with_interval(mean.time)} times the time of {mean.base} on average {of}"
    if mean.energy is None:
        return f"{text}. The energy of both sides is known for no program."
    known = f" for {mean.energies} of them" if mean.energies < mean.programs else ""
    change = mean.energy.value - 1
    amount = f"{percent(abs(change))} {'less' if change < 0 else 'more'} energy"
    if mean.energy.low and not _is_certain(mean.energy):
        amount = f"{with_interval(mean.energy)} times the energy, which is no certain difference"
    return f"{text}. {mean.other} needs {amount}{known}."


def _is_certain(ratio: Estimate) -> bool:
    """Returns whether the interval excludes 1."""
    return bool((ratio.low and ratio.low > 1) or (ratio.high and ratio.high < 1))


def with_interval(estimate: Estimate) -> str:
    """Returns '0.96 (0.94 to 0.99)', without an interval if both ends are unknown."""
    return ratios.with_interval(estimate.value, estimate.low, estimate.high, "to")


def cells(needs: Needs) -> tuple[str, ...]:
    """Returns ranks, nodes, time, power, energy and rack units."""
    return (
        _count(needs.ranks),
        _count(needs.nodes),
        seconds(needs.time),
        f"{significant(needs.power.value, DIGITS if needs.power.value >= 1000 else 3)} W" if needs.power else "–",
        f"{significant(needs.energy.value / WH, DIGITS)} Wh" if needs.energy else "–",
        "–" if needs.rack_units is None else f"{needs.rack_units:g}",
    )


def prices(needs: Needs) -> str:
    """Returns '14000 EUR for the nodes, 0.0052 EUR for the energy of one run'; "" without a price."""
    known = ((needs.price, "for the nodes"), (needs.energy_price, "for the energy of one run"))
    return ", ".join(f"{significant(p, DIGITS)} {needs.currency} {what}" for p, what in known if p is not None)


def seconds(time: Value) -> str:
    """Returns '70.72 s'; times are not given a prefix, so that they can be compared in a column."""
    return f"{significant(time.value, DIGITS)} s"


def name_of(row: EqualTime | EqualRanks) -> str:
    """Returns the program with its input: 'npb_cg (class B)'."""
    return f"{row.program} ({row.case})" if row.case else row.program


def list_further(compared: EqualTimes) -> list[EqualRanks]:
    """Returns the rows at equal ranks that are not also rows at equal time."""
    said = {(r.program, r.case, r.other.side, r.other.ranks) for r in compared.rows if r.base.ranks == r.other.ranks}
    return [r for r in compared.ranks if (r.program, r.case, r.other.side, r.count) not in said]


def ordered(rows: tuple[EqualTime, ...]) -> list[EqualTime]:
    """Returns the rows by program, the answers before those without one, and small counts first."""
    programs = list(dict.fromkeys(map(name_of, rows)))
    return sorted(rows, key=lambda r: (programs.index(name_of(r)), ORDER.index(r.reached.how), _base_count(r)))


# --------------------------------------------------------------------------- the screen


def show(compared: EqualTimes, as_json: bool, whole: bool) -> None:
    """Prints the comparison as a table or as JSON; `whole`: all rows."""
    if as_json:
        print_json(compared)
        return
    on = console()
    printed(screen(compared, on.width, whole), on)


def screen(compared: EqualTimes, width: int, whole: bool = False) -> list[Text]:
    """Returns the lines of the screen: what each side needs for each program, then the programs at equal ranks, then notes."""
    others = dict.fromkeys(needs.side for needs in [r.other for r in compared.rows] + [r.other for r in compared.ranks])
    lines = [Text(), *_styled(f"{', '.join(others)} at equal time with {compared.base}", width, "bold")]
    rows = ordered(compared.rows)
    shown = rows if whole else _select_first_rows(rows)
    lines += _head(width) if shown else []
    for row in shown:
        lines += _styled(name_of(row), width, "bold")
        for needs in (row.base, row.other):
            lines.append(Text(_line(needs, width)))
            lines += _styled(prices(needs), width, "dim", "    ")
        lines += _styled(sentence(row), width, "", "  ")
    lines += _count_more_rows(len(rows) - len(shown))
    lines += _ranks(compared, width, whole)
    for note in compared.notes if whole else compared.notes[:MOST_NOTES]:
        lines += [Text(line, style="dim") for line in cut(note, width, 3)]
    return lines


def _select_first_rows(rows: list[EqualTime]) -> list[EqualTime]:
    """Returns for each program and side the first row, at most `MOST_ROWS`."""
    first: dict[tuple[str, str], EqualTime] = {}
    for row in rows:
        first.setdefault((name_of(row), row.other.side), row)
    return list(first.values())[:MOST_ROWS]


def _ranks(compared: EqualTimes, width: int, whole: bool) -> list[Text]:
    if not compared.ranks:
        return []
    lines = [Text(), Text("At equal ranks", style="bold")]
    for mean in compared.means:
        lines += _styled(mean_sentence(mean), width)
    further = list_further(compared)
    shown = further if whole else further[:MOST_ROWS]
    for row in shown:
        energy = f", {with_interval(row.energy)} times the energy" if row.energy else ""
        case = f"{name_of(row)}, {counted(row.count, row.unit)}"
        text = f"{case}: {row.other.side} needs {with_interval(row.time)} times the time{energy}."
        lines += _styled(text, width, "", "  ")
    return [*lines, *_count_more_rows(len(further) - len(shown))]


def _head(width: int) -> list[Text]:
    names = "".join(pad(name, size, True) for name, size in COLUMNS.items())
    return [Text(), Text(f"{pad('Program', width - sum(COLUMNS.values()))}{names}", style="dim")]


def _line(needs: Needs, width: int) -> str:
    left = width - sum(COLUMNS.values())
    mark = f" {SIGNS[needs.level]}" if needs.level != "FOREIGN" and trust.doubtful(needs.level) else ""
    row = "".join(column(cell, size) for cell, size in zip(cells(needs), COLUMNS.values(), strict=True))
    return f"  {pad(cut(f'{needs.side}{mark}', left - 3, 1)[0], left - 2)}{row}"


def _styled(text: str, width: int, style: str = "", indent: str = "") -> list[Text]:
    return [Text(f"{indent}{line}", style=style) for line in fold(text, width - len(indent))]


def _count_more_rows(count: int) -> list[Text]:
    return [Text(f"  and {count} more with --all", style="dim")] if count > 0 else []


# --------------------------------------------------------------------------- counts


def _base_count(row: EqualTime) -> float:
    return row.reached.count / row.counts.value


def counted(count: float, unit: str) -> str:
    """Returns '4 nodes', '5.7 nodes' or '1 rank'."""
    return plural(round(count), unit.removesuffix("s")) if _is_whole(count) else f"{_count(count)} {unit}"


def _is_whole(count: float) -> bool:
    return abs(count - round(count)) < 1e-6 * max(count, 1)


def _times(row: EqualTime, factor: str) -> str:
    """Returns 'the same number', or '30.0 times as many, 3.75 times the ranks'."""
    if significant(row.counts.value) == "1.00":
        return "the same number"
    ranks = row.other.ranks / row.base.ranks if row.base.ranks and row.other.ranks else row.counts.value
    further = f", {significant(ranks)} times the ranks" if significant(ranks) != significant(row.counts.value) else ""
    further = ", with as many ranks" if further and significant(ranks) == "1.00" else further
    return f"{factor} times as many{further}"


def _span(row: EqualTime) -> str:
    """Returns '5.7 (5.5 to 5.9) nodes'; '5.7 nodes' without an interval."""
    digits = 3 if row.reached.count >= 10 else 2
    if row.reached.low is None and row.reached.high is None:
        return f"{significant(row.reached.count, digits)} {row.unit}"
    low, high = ("…" if end is None else significant(end, digits) for end in (row.reached.low, row.reached.high))
    return f"{significant(row.reached.count, digits)} ({low} to {high}) {row.unit}"


def _count(count: float | None) -> str:
    if count is None:
        return "–"
    return str(round(count)) if _is_whole(count) else significant(count, 3 if count >= 10 else 2)


def _explain_unreached(row: EqualTime) -> str:
    if len(row.measured) == 1:
        return "Other numbers were not measured."
    most = max(row.measured)
    return f"No measured number is fast enough, and no law of scaling predicts one up to {REACH * most:g} {row.unit}."
