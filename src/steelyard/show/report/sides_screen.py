"""Any number of sides on one screen: the greatest differences, and the calls of classes and benchmarks for each side."""

import math
from collections.abc import Iterator, Sequence

from rich.text import Text

from steelyard.compare.compared_sides import NOT_JUDGED, CaseDifference, OtherSide, SidesComparison, SideTitle, Total
from steelyard.compare.measuring_again import write_command
from steelyard.model.units import duration
from steelyard.model.words import joined, plural
from steelyard.show.report.call_styles import STYLE
from steelyard.show.report.changes import state_smallest
from steelyard.show.report.full_node_tables import list_full_nodes
from steelyard.show.report.lines import console, cut, heading, pad
from steelyard.show.report.machine_table import are_first, head_differences, list_machines
from steelyard.show.report.screen import MOST_LINES, printed
from steelyard.show.report.sides_totals import CALLS, MOST_SIDES, list_totals, measure_effect, write_letters
from steelyard.show.report.whole_table import (
    name_total,
    number_differences,
    select_certain,
    write_difference,
    write_lines,
    write_parameters,
)

MOST_DIFFERENCES, MOST_CONDITIONS, MOST_NOTES = 5, 5, 3
# The subject and the call, and each side with its difference.
_Found = tuple[tuple[str, str], list[tuple[str, Total | CaseDifference]]]
MOST_TOTALS = 10  # lines that the totals keep beside the table of full nodes
COUNTED = 8  # sides with the numbers of their calls on the screen; of more sides it lists the names in columns
MOST_ROWS, MOST_NAMED = 10, 4  # lines of the names of many sides; sides with their names in a sentence
NUMBERS = (("cases", 7), ("slower", 8), ("faster", 8), ("same", 7), ("unclear", 9))
KINDS = {"group": "runs", "published": "published", "imported": "imported"}


def show(comparison: SidesComparison) -> None:
    """Prints the screen of a comparison."""
    on = console()
    printed(screen(comparison, on.width), on)


def screen(comparison: SidesComparison, width: int) -> list[Text]:
    """Returns at most `MOST_LINES` lines: sides, conditions, the greatest differences, and as much of the tables as fits."""
    calls = [call for o in comparison.others for call in o.counts if o.counts[call]]
    calls += [total.call for o in comparison.others for total in (*o.classes, *o.benchmarks)]
    machines = list_machines(comparison.machines, width)
    rest = [*list_conditions(comparison, width, MOST_CONDITIONS), *list_differences(comparison, width)]
    parts = [machines, rest] if are_first(comparison.machines, calls) else [rest, machines]
    top = [*list_sides(comparison, width, MOST_ROWS), *(line for part in parts for line in part)]
    end = [*list_command(comparison, width), Text()]
    end.append(Text("For every case, condition and note: the same command with --all", style="dim"))
    room = MOST_LINES - len(top) - len(end)
    nodes = list_full_nodes(comparison, width, room - MOST_TOTALS)
    return [*top, *nodes, *list_totals(comparison, width, room - len(nodes)), *end]


# --------------------------------------------------------------------------- sides


def name_side(side: SideTitle) -> str:
    """Returns the name of a side, with the number of its runs."""
    if side.kind == "group":
        return f"{side.name} ({plural(len(side.runs), 'run')})"
    return f"{side.name} ({side.kind})" if side.is_foreign else side.name


def list_sides(comparison: SidesComparison, width: int, most: int | None) -> list[Text]:
    """Returns the sides with their letters, and how many of their cases have which call; many sides only with their names.

    `most`: lines of these names (None: all sides with their calls).
    """
    base, others = name_side(comparison.baseline), comparison.others
    letter = max(len(o.letter) for o in others) + 1
    title = f"{plural(len(others), 'side')} compared with {base} (a)"
    lines = [Text(), *(Text(line, style="bold") for line in cut(title, width, 2)), Text()]
    if most and len(others) > COUNTED:
        return [*lines, *_list_names(comparison, letter, width, most)]
    left = width - letter - sum(columns for _, columns in NUMBERS)
    head = "".join(pad(name, columns, True) for name, columns in NUMBERS)
    lines.append(Text(f"{pad('', letter)}{pad('side', left)}{head}", style="dim"))
    return [*lines, *(_count_calls(comparison, other, letter, left) for other in others)]


def _list_names(comparison: SidesComparison, letter: int, width: int, most: int) -> list[Text]:
    """Returns the names of the sides in as many columns as fit, two at least."""
    names = {other.letter: name_side(comparison.title(other.letter)) for other in comparison.others}
    columns = max(2, width // (letter + max(map(len, names.values())) + 2))
    shown, left = list(names)[: columns * most], width // columns
    lines = [Text() for _ in range(math.ceil(len(shown) / columns))]
    for place, side in enumerate(shown):
        name = cut(names[side], left - letter - 2, 1)[0]
        lines[place % len(lines)].append(pad(side, letter), "bold").append(pad(name, left - letter))
    for text in lines:
        text.rstrip()
    more = len(names) - len(shown)
    return [*lines, Text(f"and {plural(more, 'more side')} with --all", style="dim")] if more else lines


def _count_calls(comparison: SidesComparison, other: OtherSide, letter: int, left: int) -> Text:
    name = cut(name_side(comparison.title(other.letter)), left - 1, 1)[0]
    text = Text.assemble((pad(other.letter, letter), "bold"), pad(name, left))
    numbers = [sum(other.counts.values()), *(other.counts.get(call) for call in CALLS[:4])]
    for number, call, (_, columns) in zip(numbers, ("", *CALLS[:4]), NUMBERS, strict=True):
        style = STYLE.get(call, "") if number else "dim"
        text.append(pad("–" if number is None else str(number), columns, True), style)
    return text


# --------------------------------------------------------------------------- conditions


def list_conditions(comparison: SidesComparison, width: int, most: int | None) -> list[Text]:
    """Returns the conditions that differ, each with its values and the sides that have them, and the notes."""
    texts = _differing(comparison)
    sentences = [*_causes(comparison), *dict.fromkeys(s for o in comparison.others for s in o.conditions)]
    sentences += comparison.notes
    lines: list[Text] = []
    if texts:
        lines = heading("Conditions that differ")
        for text in texts[:most]:
            lines += (Text(f"  {line}") for line in cut(text, width - 2, 1 if most else 9))
        more = len(texts) - len(texts[:most])
        lines += [Text(f"  and {more} more with --all", style="dim")] if more else []
    elif not any(s.is_foreign for s in comparison.sides):
        lines = [Text(), Text("No condition differs that matters for what the sides measured.", style="dim")]
    shown = sentences[: MOST_NOTES if most else None]
    lines += [Text()] if shown else []
    lines += (Text(line, style="dim") for s in shown for line in cut(s, width, 3 if most else 9))
    more = len(sentences) - len(shown)
    return [*lines, Text(f"and {plural(more, 'more note')} with --all", style="dim")] if more else lines


def _differing(comparison: SidesComparison) -> list[str]:
    """Returns each factor with its values and the sides that have them."""
    values: dict[str, dict[str, list[str]]] = {}
    for other in comparison.others:
        for f in other.cause.factors:
            values.setdefault(f.name, {f.a: ["a"]}).setdefault(f.b, []).append(other.letter)
    compared = [o.letter for o in comparison.others if not comparison.title(o.letter).is_foreign]
    texts = []
    for name, of in values.items():
        differing = {letter for letters in of.values() for letter in letters}
        first = next(iter(of))
        of[first] += [letter for letter in compared if letter not in differing]
        texts.append(f"{name}: {', '.join(f'{text} ({write_letters(letters)})' for text, letters in of.items())}")
    return texts


def _causes(comparison: SidesComparison) -> Iterator[str]:
    """Yields a sentence on the cause for all sides in which the same factors differ from the baseline."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for other in comparison.others:
        if other.cause.kind in ("one", "confounded"):
            alike.setdefault(tuple(f.name for f in other.cause.factors), []).append(other.letter)
    for names, letters in alike.items():
        factors = joined(f"the {name}" for name in names)
        whom = f"a and {write_letters(letters)}"
        if len(names) == 1:
            yield f"Between {whom}, only one known condition differs: {factors}."
        else:
            yield f"Between {whom} the effects of {factors} are confounded."
    remedies = [(o.letter, o.cause.remedy) for o in comparison.others if o.cause.remedy]
    if len(remedies) == 1:
        yield remedies[0][1]


# --------------------------------------------------------------------------- the greatest differences


def list_differences(comparison: SidesComparison, width: int) -> list[Text]:
    """Returns at most `MOST_DIFFERENCES` differences that are certain, the largest first: classes, benchmarks, single cases.

    A difference names the side with the largest effect, and the other sides with the same call.
    """
    found: dict[tuple[str, str], list[tuple[str, Total | CaseDifference]]] = {}
    for other in comparison.others:
        totals = select_certain((*other.classes, *other.benchmarks))
        differences: tuple[Total | CaseDifference, ...] = (*totals, *other.cases)
        for d in differences:
            found.setdefault((_subject(d), d.call), []).append((other.letter, d))
    if not found and all(NOT_JUDGED in o.counts for o in comparison.others):
        return []
    if not found:
        sentence = cut(_could_find(comparison), width, 2)
        return [*heading(head_differences(comparison.machines, False)), *map(Text, sentence)]
    ordered = sorted(found.items(), key=lambda item: -max(measure_effect(d) for _, d in item[1]))
    chosen = _choose_for_all_sides(ordered)
    said = []
    for (subject, call), having in chosen:
        letter, d = max(having, key=lambda one: measure_effect(one[1]))
        words = write_difference(d.call, d.ratio, d.low or 1.0, d.high or 1.0)
        more = [other for other, _ in having if other != letter]
        ending = f" [and {plural(d.further, 'more case')}]" if isinstance(d, CaseDifference) and d.further else ""
        many = len(comparison.others) > COUNTED
        name, *names = [f"{of} ({comparison.title(of).name})" if many else of for of in (letter, *more)]
        ending += (
            f" Also {call.lower()}: {joined(names) if len(more) <= MOST_NAMED else write_letters(more)}."
            if more
            else ""
        )
        briefly = subject.partition(" (")[0]
        said.append((d.call, [f"{of}: {name} is {words}.{ending}" for of in (subject, briefly)]))
    head = heading(head_differences(comparison.machines, True))
    return [*head, *number_differences(said, len(ordered) - len(chosen), width)]


def _choose_for_all_sides(ordered: Sequence[_Found]) -> list[_Found]:
    """Returns the largest differences, with the largest one of each side: a side that differs much hides no other side."""
    covered: set[str] = set()
    first = []
    for found in ordered:
        letters = {letter for letter, _ in found[1]}
        if not letters <= covered:
            first.append(found)
            covered |= letters
    rest = [found for found in ordered if found not in first]
    chosen = [*first[:MOST_SIDES], *rest[: max(0, MOST_DIFFERENCES - len(first))]]
    return [found for found in ordered if found in chosen]


def _subject(d: Total | CaseDifference) -> str:
    if isinstance(d, Total):
        return name_total(d)
    mark, conditions = ", disturbed" if d.disturbed else "", write_parameters(d.parameters)
    return f"{d.benchmark} {d.kernel}" + (f" ({conditions}{mark})" if conditions or mark else "")


def _could_find(comparison: SidesComparison) -> str:
    totals = [t for o in comparison.others for t in (o.classes or o.benchmarks)]
    ends = [t.smallest for t in totals if t.smallest is not None]
    if not ends:
        return "The sides have no case in common whose launches were measured."
    return state_smallest(ends, "side and the class or benchmark")


# --------------------------------------------------------------------------- what would decide


def list_command(comparison: SidesComparison, width: int) -> list[Text]:
    """Returns what decides the UNCLEAR benchmark with the largest effect: a command and its duration, or more runs."""
    unclear = [(o, t) for o in comparison.others for t in o.benchmarks if t.call == "UNCLEAR"]
    in_turn = [(o, t) for o, t in unclear if o.again and t.seconds]
    affordable = in_turn or [(o, t) for o, t in unclear if t.runs]
    if not affordable:
        return []
    other, first = max(affordable, key=lambda one: measure_effect(one[1]))
    words = f"To decide {first.name} of {other.letter}, measure "
    if not in_turn:
        words += f"{plural(first.runs or 2, 'run')} of each side and give them as groups (--group)."
        return [Text(), *(Text(line) for line in cut(words, width, 3))]
    words += f"both in turn ({duration(round(first.seconds or 0))} on a quiet machine)."
    of_side = [t for o, t in in_turn if o is other]
    if len(of_side) > 1:
        total = duration(60 * math.ceil(sum(t.seconds or 0.0 for t in of_side) / 60))
        words += f" All {len(of_side)} benchmarks of {other.letter} that are UNCLEAR take {total}."
    command = write_command(other.again[0], other.again[1], [first.name], first.rounds)
    return [Text(), *(Text(line) for line in cut(words, width, 3)), *write_lines(command, width)]
