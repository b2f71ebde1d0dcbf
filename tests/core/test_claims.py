"""All that is said of the same sides agrees: the screen, JSON, the pages Comparison and Verdict, the exit code, equal time."""

import contextlib
import random
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from planted_sides import imported, latency, peak, program, side, stream
from steelyard.compare import equal_time
from steelyard.compare.compared_sides import SidesComparison, list_slower_machines
from steelyard.compare.published_side import make_side
from steelyard.compare.quantities import read
from steelyard.compare.side import Side
from steelyard.compare.sides import compare_sides
from steelyard.compare.standing import describe, find_standing
from steelyard.compare.verdict import conclude
from steelyard.compare.verdict.subject import MEMORY, RANDOM
from steelyard.errors import UsageError
from steelyard.measure.published.system_library import list_shipped
from steelyard.model.plain import to_plain
from steelyard.show.report import comparison_document, sides_screen
from steelyard.show.report.call_styles import name_call
from steelyard.show.report.lines import cut
from steelyard.show.report.pages import sides as page
from steelyard.show.report.sides_of_report import ReportSides

TURNED = {"FASTER": "SLOWER", "SLOWER": "FASTER"}
GOOD_FOR = {"triad": MEMORY, "latency": RANDOM}
WORKS = {"triad": "memory-bound programs", "latency": "programs with random accesses"}
Claims = dict[tuple[str, str], str]  # the call by quantity and side


def draw(chance: random.Random, number: int) -> Side:
    """A machine of a few of the quantities: of 1 to 256 cores, measured, imported or published."""
    if chance.random() < 0.25:
        return make_side(chance.choice(list_shipped()))
    cores = chance.choice([1, 2, 4, 16, 64, 256])
    speed = chance.choice([0.5, 0.8, 0.97, 1.0, 1.03, 1.3, 4.0])
    cases = [
        stream(cores, 1e10 * cores**0.8 * speed),
        latency(1e-7 * chance.choice([0.7, 0.98, 1.0, 1.5])),
        peak(cores, 4e10 * cores * chance.choice([0.5, 0.99, 1.0, 2.0])),
        program(cores, 10.0 / (cores * speed)),
    ]
    (run,) = side(f"m{number}", cores, chance.sample(cases, chance.choice([2, 3, 4, 4]))).runs
    made = Side(name=run.run, kind="run", runs=(replace(run, facts={"machine": {"host": run.run}}),))
    return imported(made) if chance.random() < 0.25 else made


def draw_sets(count: int) -> list[list[Side]]:
    chance = random.Random(49)
    sets = [[draw(chance, n) for n in range(chance.choice([2, 2, 3, 5]))] for _ in range(count)]
    return [list({one.name: one for one in of}.values()) for of in sets]


def read_engine(compared: SidesComparison) -> Claims:
    names = {one.letter: one.name for one in compared.sides}
    return {
        (f.title, names[c.letter]): c.call
        for f in compared.machines if not f.is_program for c in f.cells[1:] if c.call and c.speed
    }  # fmt: skip


def read_json(compared: SidesComparison) -> Claims:
    plain = to_plain(compared)
    names = {one["letter"]: one["name"] for one in plain["sides"]}
    return {
        (f["title"], names[c["letter"]]): c["call"]
        for f in plain["machines"] if not f["is_program"] for c in f["cells"][1:] if c["call"] and c["speed"]
    }  # fmt: skip


def read_lead(texts: Sequence[str], compared: SidesComparison, titles: Sequence[str]) -> Claims:
    """Returns the claims of the first sentences of the page Comparison."""
    claims: Claims = {}
    others, base = [side.name for side in compared.sides[1:]], re.escape(compared.baseline.name)
    for text in texts:
        claimed = text
        if group := re.match(rf"{base} beside (.+?): ((?:no|whole|without).*)", text):
            named = [name for name in others if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", group[1])]
            claimed = f"{group[2][0].upper()}{group[2][1:]}"
        else:
            named = [
                name
                for name in others
                if re.match(rf"(Over matching cases, |In \d+ programs?, )?{re.escape(name)} (is|has) ", text)
            ]
        beginnings = {
            "FASTER": f"{named[0]} is faster than ",
            "SLOWER": f"{named[0]} is slower than ",
            "SAME": "Whole machines are equally fast at ",
            "UNCLEAR": "Whole machines have no certain difference at ",
            "NOT JUDGED": "Without an interval, whole machines are not judged at ",
        }
        for part in re.split(
            "|".join(f"(?={re.escape(start)})" for start in (*beginnings.values(), "In ", "With equal ")), claimed
        ):
            found = next((call for call, start in beginnings.items() if part.startswith(start)), None)
            claims |= {(title, name): found for title in titles if found and title[1:] in part for name in named}
    return claims


def read_screen(compared: SidesComparison, titles: Sequence[str]) -> Claims:
    """Returns the claims of the screen of two sides, whose calls stand at the ends of lines."""
    lines = [line.plain for line in sides_screen.screen(compared, 80)]
    ends = {"–": "NOT JUDGED"}
    return {
        (title, compared.sides[1].name): ends.get(last, last.upper())
        for title in titles for line in lines
        if line[:16].rstrip() == cut(title, 15, 3)[0] and (last := line.rstrip().rsplit("  ", 1)[-1].strip())
    }  # fmt: skip


def read_columns(compared: SidesComparison, titles: Sequence[str]) -> Claims:
    """Returns the claims of the screen of three sides, where signs stand for the calls that are not certain."""
    lines = [line.plain for line in sides_screen.screen(compared, 80)]
    calls = {"?": "UNCLEAR", "=": "SAME", "–": "NOT JUDGED"}
    claims: Claims = {}
    for title in titles:
        (line,) = [line for line in lines if line[:23].rstrip() == cut(title, 22, 2)[0]]
        for place, one in ((58, compared.sides[1]), (80, compared.sides[2])):
            cell = line[place - 22 : place].strip()
            if found := re.search(r"×([\d.e+-]+)(\D?)$", cell):
                certain = "FASTER" if float(found[1]) > 1 else "SLOWER"
                claims |= {(title, one.name): calls.get(found[2], certain)}
    return claims


def read_document(compared: SidesComparison, titles: Sequence[str]) -> Claims:
    """Returns the claims of the tables in Markdown; each row of a table has as many cells as its head."""
    claims, width = {}, 0
    calls = {name_call(call): call for call in ("FASTER", "SLOWER", "SAME", "UNCLEAR", "NOT JUDGED")}
    names, columns = {one.name for one in compared.sides[1:]}, []
    for line in comparison_document.markdown(compared).splitlines():
        cells = re.split(r"(?<!\\)\|", line)[1:-1]
        width = 0 if not cells else width or len(cells)
        assert len(cells) == width
        first, *rest = [cell.strip() for cell in cells] or [""]
        if first in ("Quantity", "Side"):  # many sides stand below each other
            columns = rest
        for column, cell in zip(columns if first in {*titles, *names} else (), rest, strict=False):
            of = (first, column) if first in titles else (column, first)
            if of[0] in titles and of[1] in names:
                call = next((calls[word] for word in calls if f" {word};" in f"{cell};"), "")
                claims |= {of: call} if call else {}
    return claims


@pytest.fixture(scope="module", params=[80, pytest.param(200, marks=pytest.mark.long)])
def sets(request: pytest.FixtureRequest) -> list[tuple[list[Side], SidesComparison]]:
    return [(of, compare_sides(of)) for of in draw_sets(request.param) if len(of) > 1]


Sets = list[tuple[list[Side], SidesComparison]]


def test_screen_pages_json_and_exit_code_say_the_same(sets: Sets) -> None:
    claims = 0
    for of, compared in sets:
        engine = read_engine(compared)
        titles = [f.title for f in compared.machines if not f.is_program]
        assert read_json(compared) == engine
        shown = page.data(None, ReportSides(sides=tuple(of), own=None, figures=None, read_node=lambda _: None))  # type: ignore[arg-type,return-value]
        assert read_lead(shown.speeds, compared, titles) == engine, shown.speeds
        cells = {
            (row.title, name): cell.call.upper()
            for row in shown.machines if row.title in titles
            for name, cell in zip([one.name for one in of][1:], row.cells[1:], strict=True) if cell.speed
        }  # fmt: skip
        assert cells == engine
        assert read_document(compared, titles) == engine
        if len(of) == 2:
            assert read_screen(compared, titles) == engine
        if len(of) == 3:
            assert read_columns(compared, titles) == engine
        slower = {title for _, title in list_slower_machines(compared.machines)}
        assert slower >= {title for (title, _), call in engine.items() if call == "SLOWER"}
        claims += len(engine)
    assert claims > 1.5 * len(sets)


@pytest.mark.long
def test_the_verdict_chooses_no_side_that_another_is_faster_than(sets: Sets) -> None:
    choices = 0
    for of, _ in sets[:60]:
        sentences = [s.text for reader in conclude(of).choices.values() for s in reader]
        for name, work in WORKS.items():
            found = [re.search(rf"{work},? choose ([^:]+):", text) for text in sentences]
            for chosen in [one for match in found if match for one in of if one.name in match[1].split(" or ")]:
                for other in of:
                    if other is not chosen:
                        cells = [f.cells[1] for f in compare_sides([chosen, other]).machines if f.name == name]
                        assert not any(cell.call == "FASTER" for cell in cells), (work, chosen.name, other.name)
                        choices += 1
    assert choices > len(sets[:60]) / 4


def test_the_verdict_calls_a_side_good_for_nothing_whose_figure_is_poor(sets: Sets) -> None:
    poor = 0
    for one in {one.name + str(n): one for n, (of, _) in enumerate(sets[:60]) for one in of}.values():
        machine, readings = one.runs[-1].machine, read(one)
        for name, work in GOOD_FOR.items():
            standing = find_standing(readings[name], describe(machine)) if machine and name in readings else None
            if standing and standing.call == "poor":
                (verdict,) = conclude([one]).sides
                assert work not in verdict.good, (one.name, name, verdict.good)
                poor += 1
    assert poor > len(sets[:60]) / 6


def test_neither_the_order_of_sides_nor_a_further_side_changes_a_call(sets: Sets) -> None:
    for of, compared in sets:
        engine = read_engine(compared)
        if len(of) > 2:
            assert read_engine(compare_sides([of[0], *reversed(of[1:])])) == engine
        for other in of[1:]:
            alone = read_engine(compare_sides([of[0], other]))
            assert alone == {key: call for key, call in engine.items() if key[1] == other.name}
            turned = read_engine(compare_sides([other, of[0]]))
            assert turned == {(title, of[0].name): TURNED.get(call, call) for (title, _), call in alone.items()}


def test_equal_copies_have_no_call(sets: Sets) -> None:
    for of, _ in sets:
        for one in of:
            facts = [replace(run, facts={"machine": {"cores": "another"}}) for run in one.runs]
            copy = replace(one, name="copy", runs=tuple(facts))
            assert not {"FASTER", "SLOWER"} & set(read_engine(compare_sides([one, copy])).values())


def test_equal_time_agrees_with_the_call_of_the_same_case(sets: Sets) -> None:
    judged = 0
    for of, compared in sets:
        for other, end in zip(of[1:], compared.sides[1:], strict=True):
            calls = {
                r.parameters["threads"]: c.call
                for r in compared.rows
                if r.kernel == "ft"
                for c in r.cells
                if c.letter == end.letter
            }
            with contextlib.suppress(UsageError):
                for row in equal_time.compare_sides([of[0], other]).ranks:
                    if row.time.low is not None and row.time.high is not None:
                        judged += 1
                        assert not (row.time.high < 1 and calls.get(row.count) == "SLOWER")
                        assert not (row.time.low > 1 and calls.get(row.count) == "FASTER")
    assert judged > len(sets) / 20
