"""The file that describes somebody else's program: its formulas, its schema, and what it says where something is wrong."""

import math
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folders import ROOT
from steelyard.applications import foreign
from steelyard.applications.foreign import formula, output
from steelyard.applications.foreign.benchmark import Unfit, prepare_case
from steelyard.applications.foreign.pace_readings import summarise_slowest
from steelyard.errors import UsageError
from steelyard.model import Machine
from steelyard.model.settings_file import line_of, lines_of_keys
from steelyard.show.command_line import request

WHOLE = """name = "mine"
title = "t"
summary = "s"
reading = "r"
caution = "c"
source = "o"
tried = "untried"
command = ["program", "{{n}}"]
parallel = false

[axes]
n = [4, 8]

[[figures]]
name = "speed"
title = "speed"
unit = "Gflop/s"
pattern = 'speed (\\S+)'

[[checks]]
title = "residual"
pattern = 'residual (\\S+)'
most = 1.0
"""


def refused(tmp_path: Path, text: str) -> str:
    """What is said of a file with this text."""
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as error:
        foreign.read(file)
    return str(error.value).replace(str(file), "FILE")


def described(tmp_path: Path, text: str = WHOLE) -> foreign.Description:
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    return foreign.read(file)


@given(st.integers(-1000, 1000), st.integers(-1000, 1000), st.integers(1, 1000))
def test_a_formula_comes_to_what_arithmetic_says(a: int, b: int, c: int) -> None:
    known = {"a": a, "b": b, "c": c}
    assert formula.evaluate("a + b * c - a // c", known) == a + b * c - a // c
    assert formula.evaluate("floor(sqrt(c)) ** 2 + min(a, b) % c", known) == math.isqrt(c) ** 2 + min(a, b) % c
    assert formula.evaluate("-a / c", known) == -a / c


@given(st.text(max_size=60))
def test_no_text_is_executed_or_crashes(text: str) -> None:
    try:
        assert isinstance(formula.evaluate(text, {"n": 3}), int | float)
    except ValueError as error:
        assert str(error)


@pytest.mark.parametrize(
    "text",
    ["__import__('os')", "n.real", "[n][0]", "'a' * 9", "n if n else 1", "9 ** 9 ** 9", "1 / 0", "(-8) ** 0.5", "sqrt(-1)",
     "lambda: 1", "m + 1", "n" * 2000, "sqrt()", "max(n, key=n)", "True"],
)  # fmt: skip
def test_what_is_no_formula_is_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w+ \w+"):
        formula.evaluate(text, {"n": 3})


@given(st.integers(1, 5000))
def test_ranks_make_a_grid(ranks: int) -> None:
    rows = formula.evaluate("divisor(ranks, sqrt(ranks))", {"ranks": ranks})
    assert ranks % rows == 0
    assert rows * rows <= ranks
    assert not any(ranks % d == 0 for d in range(int(rows) + 1, math.isqrt(ranks) + 1))


@given(st.integers(0, 40), st.lists(st.sampled_from(["a", "b-c", "key2"]), unique=True, min_size=1))
def test_lines_are_found_whatever_stands_between(blank: int, keys: list[str]) -> None:
    lines = ['text = """', "[no.table]", "a = 1", '"""', *[""] * blank, "[[of]]", "x = 1", "[[of]]"]
    first = len(lines) + 1
    found = lines_of_keys("\n".join([*lines, *(f"{key} = 1" for key in keys)]))
    assert [line_of(("of", 1, key), found) for key in keys] == list(range(first, first + len(keys)))
    assert ("no", "table") not in found
    assert line_of(("of", 1, "missing"), found) == first - 1


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("summary =", "sumary =", "line 3, key 'sumary': there is no such key. Did you mean 'summary'?"),
        ('unit = "Gflop/s"\n', "", "line 14, key 'figures[1]': the pattern has no unit. Add the key unit"),
        ("pattern = 's", "patern = 's", "line 18, key 'figures[1].patern': there is no such key. Did you mean 'pattern'?"),
        ("Gflop/s", "Gigaflops", "line 17, key 'figures[1].unit': 'Gigaflops' is not a known unit"),
        ("speed (", "speed ((", "line 18, key 'figures[1].pattern': 'speed ((\\S+)' is not a valid regular expression"),
        ("speed (\\S+)", "speed \\S+", "line 18, key 'figures[1].pattern': 'speed \\S+' has no group"),
        ("most = 1.0", "most = 'x'", "line 23, key 'checks[1].most': expected 'float | null', got 'str'."),
        ("most = 1.0", "reference = 1.0", "line 20, key 'checks[1]': reference and tolerance belong together"),
        ("{{n}}", "{{m}}", "line 8, key 'command': the name 'm' in 'm' is unknown. Known are: cores, memory, n, nodes, threads."),
        ("{{n}}", "{{open('x')}}", "line 8, key 'command': 'open('x')' in 'open('x')' is not allowed"),
        ("n = [4, 8]", "n = []", "line 12, key 'axes.n': expected at least one value: a number, or a word without spaces"),
        ("n = [4, 8]", "ranks = [4]\nn = [4]", "line 12, key 'axes.ranks': a program that is not parallel has no ranks"),
        ('name = "mine"', 'name = "My App"', "line 1, key 'name': 'My App' is not a valid name"),
        ("[axes]", "[files]\n'../x' = ''\n[axes]", "line 12, key 'files.../x': '../x' lies outside the folder"),
        ("[axes]", "[axes", "is not a valid TOML file"),
        ('source = "o"\n', "", "line 1: the key 'source' is missing."),
    ],
)  # fmt: skip
def test_a_mistake_names_file_line_and_key(tmp_path: Path, old: str, new: str, said: str) -> None:
    described(tmp_path)  # the file is sound as it stands
    assert old in WHOLE
    assert said in refused(tmp_path, WHOLE.replace(old, new, 1))


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_in_a_sentence(text: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "x.toml"
        file.write_bytes((WHOLE[: len(text) * 3] + text).encode("utf-8", "replace"))
        try:
            foreign.read(file)
        except UsageError as error:
            assert str(file) in str(error)


EXAMPLES = {path.stem: path for path in (ROOT / "examples" / "applications").glob("*.toml")}


def test_descriptions_that_nobody_has_run_are_examples_and_are_not_shipped() -> None:
    tried = {name: foreign.read(path).tried for name, path in foreign.shipped().items()}
    assert not [name for name, words in tried.items() if words.startswith("untried")]
    assert {request.find_program(str(path)) for path in EXAMPLES.values()} == {
        path.resolve() for path in EXAMPLES.values()
    }
    assert {"bqcd", "comd", "minife"} <= set(EXAMPLES)


@pytest.mark.parametrize("name", sorted({**foreign.shipped(), **EXAMPLES}))
def test_each_description_is_sound_and_can_be_prepared(name: str, two_sockets: Machine) -> None:
    path = {**foreign.shipped(), **EXAMPLES}[name]
    read = foreign.read(path)
    assert read.name == name
    ranks = {"ranks": 4} if read.parallel else {}
    values = {n: (a if isinstance(a, list) else next(iter(a.values())))[0] for n, a in read.axes.items()}
    ready = prepare_case(read, {**values, **ranks}, two_sockets)
    assert not re.search(r"\{\{|\}\}", "".join([*ready.files.values(), *ready.command]))
    assert read.tried


def test_hpcc_gets_a_matrix_of_its_share_of_the_memory(two_sockets: Machine) -> None:
    read = foreign.read(foreign.shipped()["hpcc"])
    lines = prepare_case(read, {"share": 0.1, "ranks": 6}, two_sockets).files["hpccinf.txt"].splitlines()
    size, rows, columns = (int(lines[i].split()[0]) for i in (5, 10, 11))
    assert (rows, columns) == (2, 3)
    assert size % 80 == 0
    assert 0 <= 0.1 * two_sockets.memory - 8 * size**2 < 2 * 80 * 8 * (size + 80)


# Lines of the authors' reference output of the SMP case, revision 392.
BQCD = """ T%fa i_fa    e     PlaqEnergy  exp(-Delta_H) CGcalls CGitTot CGitMax
  %fa    0    1   0.2512245607   0.0000000000      11    1100     100
 d_xb                    0
 CG                     11    79.67     893.66   893.66   893.66      35.75
 clover_dsd             11    13.73
 clover_dsf             22    13.65
 HMC                     1   119.03
 TOTAL                   1   124.93
"""


def test_bqcds_own_reference_output_is_read_and_a_changed_digit_found() -> None:
    read = foreign.read(EXAMPLES["bqcd"])
    said = output.read(read, BQCD)
    assert (said.wrong, said.time, said.figures) == ("", 124.93, {"speed": 35.75e9})
    assert said.phases == {"conjugate_gradients": 79.67, "forces": 13.65}
    assert "plaquette" in output.read(read, BQCD.replace("0.2512245607", "0.2512245807")).wrong
    assert "iterations" in output.read(read, BQCD.replace("1100 ", "1099 ")).wrong


@pytest.mark.parametrize("ranks", [1, 2, 4, 6, 12, 16, 27, 36, 48, 64, 512])
def test_bqcds_lattice_is_divided_among_all_ranks_in_even_parts(ranks: int, two_sockets: Machine) -> None:
    read = foreign.read(EXAMPLES["bqcd"])
    text = prepare_case(read, {"edge": 24, "ranks": ranks}, replace(two_sockets, memory=10**12)).files["input.smp"]
    lattice, parts = (
        [int(word) for word in line.split()[1:]]
        for line in text.splitlines()
        if line.startswith(("lattice", "processes"))
    )
    assert math.prod(parts) == ranks
    assert all(points % (2 * count) == 0 for points, count in zip(lattice, parts, strict=True))


def test_a_size_that_ranks_cannot_divide_and_one_without_room_are_a_sentence_each(
    tmp_path: Path, two_sockets: Machine
) -> None:
    text = WHOLE.replace("parallel = false", "memory = 'n * 1e9'") + "\n[[divisible]]\nsize = 'n'\nby = 'ranks'\n"
    read = described(tmp_path, text)
    with pytest.raises(Unfit, match="n = 8 is not a multiple of ranks = 3") as indivisible:
        prepare_case(read, {"n": 8, "ranks": 3}, two_sockets)
    with pytest.raises(
        Unfit, match=r"needs 14.9 GiB of memory on each node, but only this much is available: 14.4 GiB"
    ) as small:
        prepare_case(read, {"n": 16, "ranks": 2}, two_sockets)
    assert (indivisible.value.kind, small.value.kind) == ("indivisible", "does not fit")
    assert prepare_case(read, {"n": 8, "ranks": 2}, replace(two_sockets, memory=10**12)).command == ("program", "8")


def test_a_look_is_that_of_the_slowest_processor() -> None:
    look = {"cpu": [0, 1, 0, 1, 0, 1], "issued": [4, 2, 4, 3, 1, 3], "chase": [1, 2, 1, 2, 9, 2], "stream": [None] * 6}
    assert summarise_slowest(look) == {"core_clock": None, "issued": 3, "chase": 2, "stream": None}
    assert summarise_slowest({}) == {}


def test_the_last_match_counts_in_si_and_fortrans_exponents_are_read(tmp_path: Path) -> None:
    said = output.read(described(tmp_path), "speed 1\nspeed 2.5D+00\nresidual 0.5")
    assert said.figures == {"speed": 2.5e9}
    assert said.wrong == ""
    assert "expected at most 1" in output.read(described(tmp_path), "speed 1\nresidual 3").wrong
    assert output.read(described(tmp_path), "speed 1\nresidual 0.5", spoiled=True).wrong
    for text in ("residual 1", "speed fast\nresidual 1", "speed nan\nresidual 1", ""):
        with pytest.raises(output.Unmatched, match="The pattern of figures 'speed'"):
            output.read(described(tmp_path), text)


@pytest.mark.parametrize("text", ["{{" * 500_000, "{{a}}" + "{{" * 500_000, "{" * 500_000 + "}}"])
def test_braces_without_an_end_are_searched_once(text: str) -> None:
    """For each of them the rest of the text was searched: a file of a megabyte took hours."""
    began = time.process_time()
    formula.list_formulas(text)
    assert time.process_time() - began < 5


def test_a_hole_with_braces_in_it_is_no_formula() -> None:
    assert formula.list_formulas("{{ {a} }} x {{b}}") == ["{a}", "b"]
