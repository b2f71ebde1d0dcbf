"""The whole machines of a comparison, each at its best use, in a table for a screen of 80 columns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import geometric_mean

from rich.text import Text

from steelyard.compare.compared_sides import NOT_JUDGED, MachineCell, MachineFigure
from steelyard.compare.verdict.subject import in_sentence
from steelyard.model.scope import words
from steelyard.model.units import grouped, quantity
from steelyard.model.words import joined, plural
from steelyard.show.report.call_styles import NOW, STYLE, name_call, name_machine_call
from steelyard.show.report.changes import write_factor
from steelyard.show.report.lines import column, cut, pad
from steelyard.show.report.positions import count_place
from steelyard.show.report.ratios import and_interval, with_interval
from steelyard.show.report.sides_totals import write_letters
from steelyard.statistics.validity.trust import is_marked

TITLE = "Whole machines, each with its best settings"
MOST = 2  # sides beside the baseline whose values stand in columns
VALUE, SPEED, CORE, CALL, SIDE = 13, 20, 9, 9, 22  # columns
NOTE = "speed: relative to a{}; above 1 is faster, also for times. Each value is the best of all numbers of threads and ranks."
INTERVAL, LATER = ", with its 95 % interval", " for runs at another hour"
PER_CORE = " per core: the speed of a core{}."
TO = "to"  # between the ends of an interval
UNSURE, MAY_EQUAL = "?", " ?: the cores may be equally fast."
NO_CALL = " –: not judged, since a value has no interval or is above its physical limit."
IN_THESE_RUNS = f" {NOW}: in these runs, where both measured the same case; another hour may differ."
SIGNS = {"UNCLEAR": "?", "SAME": "=", NOT_JUDGED: "–"}  # after the speed, where columns have no room for the call
SIGNED = {"?": "unclear", "=": "the same", "–": "not judged", NOW: "certain in these runs only"}
BY_CHANCE = " unclear beside an interval without 1: among {}, one may lie so far from 1 by chance."
POWER, LESS = "linpack_power", " A power is compared by its inverse: above 1 is less."
MARKED = " *: the value was disturbed, or did not settle."


def list_machines(figures: Sequence[MachineFigure], width: int, with_conditions: bool = False) -> list[Text]:
    """Returns the table; no lines without figures. `with_conditions` adds those of each value, and each program."""
    if not figures:
        return []
    two = len(figures[0].cells) == 2
    shown = [f for f in figures if with_conditions or not f.is_program]
    lines = [Text(), Text(TITLE, style="bold")]
    if two:
        left = width - 2 * VALUE - SPEED - CORE - CALL
        head = f"{pad('a', VALUE, True)}{pad('b', VALUE, True)}{pad('speed, b / a', SPEED, True)}"
        lines.append(Text(f"{pad('', left)}{head}{pad('per core', CORE, True)}  b is", "dim"))
    elif len(figures[0].cells) <= MOST + 1:
        of = [cell.letter for cell in figures[0].cells]
        head = pad(of[0], VALUE, True) + "".join(pad(f"{letter}, speed / a", SIDE, True) for letter in of[1:])
        lines.append(Text(pad(head, width, True), "dim"))
    for figure in shown:
        lines += _write_pair(figure, left) if two else _write_sides(figure, width)
        if with_conditions:
            letters: dict[str, list[str]] = {}
            for cell in figure.cells:
                letters.setdefault(cell.condition, []).append(cell.letter)
            conditions = "; ".join(f"{write_letters(of)}: {text}" for text, of in letters.items() if text)
            lines += (Text(f"  {line}", "dim") for line in cut(conditions, width - 2, 9) if line)
    if not with_conditions:
        sides = figures[0].cells
        texts = [_sum_up_programs(figures, n, cell.letter, "a") for n, cell in enumerate(sides)]
        texts = [_sum_up_many(figures)] if len(sides) > MOST + 1 else texts
        lines += (Text(line) for text in texts if text for line in cut(text, width, 2))
    lines += (Text(line) for text in _name_nodes(shown) for line in cut(text, width, 2))
    lines += (Text(line) for text in sum_up_prices(figures) for line in cut(text, width, 3))
    cells = [cell for figure in shown for cell in figure.cells]
    counts = [f"{count:g} ({letter})" for letter, count in {c.letter: c.cores for c in cells if c.cores}.items()]
    span = INTERVAL + LATER * any(cell.value and cell.value.later for cell in cells)
    note = NOTE.format(span if two and any(cell.low is not None for cell in cells) else "") + (
        PER_CORE.format(f", of {' and '.join(counts)}") if two and any(cell.per_core for cell in cells) else ""
    )
    if 2 < len(figures[0].cells) <= MOST + 1:
        signs = {sign for cell in cells for sign in _sign(cell)}
        signed = ", ".join(f"{sign}: {words}" for sign, words in SIGNED.items() if sign in signs)
        note += f" {signed}." if signed else ""
    note += LESS if any(figure.name == POWER for figure in shown) else ""
    note += MAY_EQUAL if two and any(map(_may_equal, cells)) else ""
    note += NO_CALL if two and any(cell.call == NOT_JUDGED and not cell.now for cell in cells) else ""
    note += IN_THESE_RUNS if two and any(cell.now for cell in cells) else ""
    note += BY_CHANCE.format(plural(len(figures), "value")) if two and any(map(_may_be_chance, cells)) else ""
    note += MARKED if any(is_marked(cell.level) for cell in cells) else ""
    return [*lines, *(Text(line, style="dim") for line in cut(note, width, 5))]


def describe_speeds(figures: Sequence[MachineFigure], place: int, name: str, baseline: str) -> tuple[str, str]:
    """Returns in sentences at what the side of this place is faster or slower than the baseline, and what is not certain."""
    found: dict[str, list[str]] = {}
    for figure in figures:
        cell = figure.cells[place]
        if cell.speed and not figure.is_program:
            found.setdefault(f"now {cell.now}" if cell.now else cell.call or "", []).append(_name_speed(figure, cell))
    certain = {"FASTER": f"{name} is faster than {baseline} at", "SLOWER": f"{name} is slower than {baseline} at"}
    certain |= {f"now {call}": f"In these runs, {beginning}" for call, beginning in certain.items()}
    others = {
        "SAME": "Whole machines are equally fast at",
        "now SAME": "In these runs, whole machines are equally fast at",
        "UNCLEAR": "Whole machines have no certain difference at",
        NOT_JUDGED: "Without an interval, whole machines are not judged at",
    }
    texts = [
        [f"{beginning} {joined(found[call])}." for call, beginning in beginnings.items() if call in found]
        for beginnings in (certain, others)
    ]
    return " ".join(filter(None, [*texts[0], _sum_up_programs(figures, place, name, baseline)])), " ".join(texts[1])


def _name_speed(figure: MachineFigure, cell: MachineCell) -> str:
    if cell.now:
        return in_sentence(figure.title) + (f" (× {write_factor(cell.speed or 0.0)})" if cell.now != "SAME" else "")
    if cell.call in ("SAME", "UNCLEAR"):
        return in_sentence(figure.title)
    return f"{in_sentence(figure.title)} (× {and_interval(cell.speed or 0.0, cell.low, cell.high, TO, write_factor)})"


def are_first(figures: Sequence[MachineFigure], calls: Iterable[str]) -> bool:
    """Returns whether whole machines stand before matching cases: not if only the `calls` of these are certain."""
    of_machines = {cell.now or cell.call for figure in figures for cell in figure.cells}
    return bool({"FASTER", "SLOWER"} & of_machines) or not {"FASTER", "SLOWER"} & {*calls}


def head_differences(machines: Sequence[MachineFigure], certain: bool) -> str:
    """Returns the heading of the differences. Beside whole machines, it says that cases are compared."""
    if machines:
        first = "What differs most" if certain else "No certain difference"
        return f"{first} over matching cases (the notes name settings that differ)"
    return "What differs most" if certain else "No certain difference"


def _write_pair(figure: MachineFigure, left: int) -> Iterator[Text]:
    a, b = figure.cells
    title, *rest = cut(figure.title, left - 1, 3)
    text = Text(pad(title, left))
    text.append(f"{column(_write_value(a), VALUE)}{column(_write_value(b), VALUE)}", "bold")
    text.append(f" {pad(write_speed(b), SPEED - 1, True)}")
    text.append(
        pad("" if b.per_core is None else f"{write_factor(b.per_core)}{UNSURE if _may_equal(b) else ''}", CORE, True)
    )
    call = f"{name_call(b.now)}{NOW}" if b.now else "–" if b.call == NOT_JUDGED else name_call(b.call)
    yield text.append(f"  {call}", STYLE.get(b.now or b.call or "", "dim"))
    yield from map(Text, rest)


def _may_be_chance(cell: MachineCell) -> bool:
    """Returns whether the call counts the other values of the pair, and the interval does not."""
    return cell.call == "UNCLEAR" and not cell.now and cell.low is not None and not cell.low <= 1 <= (cell.high or 1)


def _may_equal(cell: MachineCell) -> bool:
    """Returns whether the cores of both machines may be equally fast."""
    ends = cell.span_of(cell.per_core) if cell.per_core else None
    return ends is not None and ends[0] <= 1 <= ends[1]


def _write_sides(figure: MachineFigure, width: int) -> Iterator[Text]:
    """Yields a line with the value of each side; of many sides, the slowest and the fastest of the others."""
    base, *others = figure.cells
    if len(others) > MOST:
        having = sorted((cell for cell in others if cell.speed), key=lambda cell: cell.speed or 0.0)
        ends = [having[0], having[-1]] if len(having) > 1 else having
        words = ("the others from " if len(having) > 2 else "") + " to ".join(map(_describe, ends))
        place = f", {count_place(figure)}" if count_place(figure) else ""
        yield from (Text(line) for line in cut(f"{figure.title}: a {_write_value(base)}{place}; {words}", width, 3))
        return
    left = width - VALUE - SIDE * len(others)
    title, *rest = cut(figure.title, left - 1, 2)
    text = Text(pad(title, left))
    text.append(column(_write_value(base), VALUE), "bold")
    for cell in others:
        sides = f"{_write_value(cell)}{_write_times(cell)}{_sign(cell)}"
        text.append(column(sides, SIDE), STYLE.get(cell.now or cell.call or "", ""))
    yield text
    yield from map(Text, rest)


def _name_nodes(figures: Sequence[MachineFigure]) -> Iterator[str]:
    """Yields for each quantity the nodes of its values, if their numbers differ."""
    for figure in figures:
        cells = [cell for cell in figure.cells if cell.value]
        if len({cell.nodes for cell in cells}) > 1:
            nodes = (f"{grouped(c.nodes)} {'nodes' if c.nodes > 1 else 'node'} ({c.letter})" for c in cells)
            yield f"The {in_sentence(figure.title)} is that of {joined(nodes)}."


def _sum_up_programs(figures: Sequence[MachineFigure], place: int, name: str, baseline: str) -> str:
    """Returns the range of the speeds of the side's programs, and their geometric mean; "" without programs."""
    speeds = [speed for figure in figures if figure.is_program and (speed := figure.cells[place].speed)]
    if not speeds:
        return ""
    least, mean, most = (write_factor(f(speeds)) for f in (min, geometric_mean, max))
    span = f" (geometric mean; from {least} to {most} for single programs)" if len(speeds) > 1 else ""
    calls = {figure.cells[place].call for figure in figures if figure.is_program and figure.cells[place].speed}
    unsure = " No single program differs certainly." if calls <= {"UNCLEAR", "SAME"} else ""
    return f"In {plural(len(speeds), 'program')}, {name} has {mean} times the speed of {baseline}{span}.{unsure}"


def _sum_up_many(figures: Sequence[MachineFigure]) -> str:
    """Returns the sides whose programs have the least and the greatest mean speed; "" without programs."""
    columns = zip(*(figure.cells for figure in figures if figure.is_program), strict=True)
    means = sorted(
        (geometric_mean(speeds), of[0].letter) for of in columns if (speeds := [c.speed for c in of if c.speed])
    )
    if not means:
        return ""
    least, most = (f"{write_factor(mean)} ({letter})" for mean, letter in (means[0], means[-1]))
    return f"In their common programs, the others have from {least} to {most} times the speed of a (geometric means)."


def sum_up_prices(figures: Sequence[MachineFigure], names: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yields what each side with a price gives for the same money; of many sides, the least and the most.

    `names`: those of the sides by their letters (None: the letters).
    """
    sides = figures[0].cells if figures else ()
    called = names or {side.letter: side.letter for side in sides}
    if len(sides) > MOST + 1:
        parts = [_write_ends(figure, called) for figure in figures if any(cell.per_price for cell in figure.cells[1:])]
        if parts:
            yield f"Compared with {called[sides[0].letter]} for the same money, the others have {joined(parts)}."
        return
    for place, other in enumerate(sides[1:], 1):
        groups: dict[str, list[tuple[MachineFigure, MachineCell]]] = {}
        for figure in figures:
            if (cell := figure.cells[place]).per_price:
                groups.setdefault(_write_prices(figure.cells[0], cell, called), []).append((figure, cell))
        for prices, priced in groups.items():
            parts = [f"{write_price(cell)} times the {in_sentence(f.title)}" for f, cell in priced if not f.is_program]
            if programs := [cell.per_price for figure, cell in priced if figure.is_program and cell.per_price]:
                mean = write_factor(geometric_mean(programs))
                parts.append(f"{mean} times the speed of {plural(len(programs), 'program')}")
            name, base = called[other.letter], called[sides[0].letter]
            yield f"Compared with {base} for the same money ({prices}), {name} has {joined(parts)}."


def _write_ends(figure: MachineFigure, names: Mapping[str, str]) -> str:
    """Returns the least and the most that the sides have for the same money."""
    priced = sorted((cell.per_price, names[cell.letter]) for cell in figure.cells[1:] if cell.per_price)
    ends = " to ".join(f"{write_factor(ratio)} ({name})" for ratio, name in dict.fromkeys((priced[0], priced[-1])))
    return f"{ends} times the {'speed of ' * figure.is_program}{in_sentence(figure.title)}"


def _write_prices(base: MachineCell, cell: MachineCell, names: Mapping[str, str]) -> str:
    """Returns the prices that count, and whose energy: "a: 0.1, b: 0.8 a node and hour; 0.3 a kWh of the processors"."""

    def write(first: float | None, other: float | None, unit: str) -> str:
        pair = f"{first:g}" if first == other else f"{names[base.letter]}: {first:g}, {names[cell.letter]}: {other:g}"
        return f"{pair} {unit}"

    hours = write(base.price, cell.price, "a node and hour") if cell.price else ""
    scope = words(cell.power.scope) if cell.power else ""
    energy = write(base.price_per_kwh, cell.price_per_kwh, f"a kWh of the {scope}") if cell.price_per_kwh else ""
    return "; ".join(filter(None, (hours, energy)))


def write_price(cell: MachineCell) -> str:
    """Returns the speed for the same money with its interval: "0.50 (0.47 to 0.54)"."""
    return with_interval(cell.per_price or 0.0, cell.price_low, cell.price_high, TO, write_factor)


def write_derived(cell: MachineCell, ratio: float) -> str:
    """Returns a ratio that follows from the speed with its interval, such as that for each core: "0.46 (0.23 to 1.0)"."""
    low, high = cell.span_of(ratio) or (None, None)
    return with_interval(ratio, low, high, TO, write_factor)


def _write_value(cell: MachineCell) -> str:
    if cell.value is None:
        return "–"
    return f"{quantity(cell.value.value, cell.value.unit)}{'*' if is_marked(cell.level) else ''}"


def _describe(cell: MachineCell) -> str:
    """Returns a side in a sentence: "b (105 GB/s, × 0.29, not judged)"."""
    return f"{cell.letter} ({_write_value(cell)},{_write_times(cell).replace('×', '× ')}, {name_machine_call(cell)})"


def _sign(cell: MachineCell) -> str:
    return f"{SIGNS.get(cell.now, '')}{NOW}" if cell.now else SIGNS.get(cell.call or "", "")


def _write_times(cell: MachineCell) -> str:
    return f" ×{write_factor(cell.speed)}" if cell.speed else ""


def write_speed(cell: MachineCell) -> str:
    """Returns the speed relative to the baseline with its interval: "3.6 (1.8 to 8.4)"."""
    return "–" if cell.speed is None else write_derived(cell, cell.speed)
