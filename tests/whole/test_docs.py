"""The documentation says what the program does: nothing drifts or is left out, and every example works."""

import dataclasses
import re
import shlex
import shutil
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from folders import ROOT
from steelyard import model
from steelyard.measure import build, plan
from steelyard.measure.launch import local
from steelyard.measure.launch.program import Program
from steelyard.measure.plan import catalogue
from steelyard.measure.plan.refusal import GENERAL
from steelyard.measure.published import system_library
from steelyard.measure.run import selfcheck
from steelyard.measure.run.asking import line, record_of
from steelyard.measure.screen import Screen
from steelyard.model import Benchmark, Case, Launch, Machine, Record, Sampling
from steelyard.model.observed import Part
from steelyard.show.command_line.cli import app
from steelyard.statistics.results.result import results

DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))
import generate  # noqa: E402
from sources.benchmarks import example_machine  # noqa: E402

PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
COMMANDS: dict[str, Any] = typing.cast(Any, typer.main.get_command(app)).commands
SHORT = Sampling(width=0.5, seconds=0.05, least=3, most=20)


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of that language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def named(page: str) -> set[str]:
    """What the page has in the typewriter's letters."""
    return set(re.findall(r"`([^`\n]+)`", (DOCS / page).read_text(encoding="utf-8")))


# --------------------------------------------------------------------------- nothing has drifted


@pytest.fixture(scope="module")
def generated(benchmarks: dict[str, Benchmark]) -> dict[str, str]:
    """The generated pages of all benchmarks, made once."""
    return generate.pages(benchmarks)


@pytest.fixture
def made_once(generated: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The generator takes the pages that were made before: they take a second."""
    monkeypatch.setattr(generate, "pages", lambda benchmarks: dict(generated))


@pytest.mark.usefixtures("made_once")
def test_the_generated_pages_are_current(benchmarks: dict[str, Benchmark]) -> None:
    found = generate.differences(DOCS, benchmarks)
    assert not found, "\n\n".join([*found, "Write them anew with: make docs"])


@pytest.mark.usefixtures("made_once")
def test_a_page_that_is_stale_missing_or_left_over_is_named(tmp_path: Path, benchmarks: dict[str, Benchmark]) -> None:
    docs = tmp_path / "docs"
    shutil.copytree(DOCS, docs)
    generate.write(docs, benchmarks)
    assert generate.differences(docs, benchmarks) == []
    stale = docs / "commands.md"
    stale.write_text(stale.read_text().replace("steelyard resume", "steelyard restart"))
    field = docs / "formats.md"
    field.write_text(field.read_text().replace("| `samples` | list of numbers", "| `sample` | list of numbers"))
    (docs / "benchmarks" / "memory.stream.md").unlink()
    (docs / "benchmarks" / "memory.gone.md").write_text("# Gone\n")
    found = "\n".join(generate.differences(docs, benchmarks))
    assert "commands.md is stale" in found
    assert "+## steelyard resume" in found
    assert "formats.md is stale" in found
    assert "memory.stream.md is missing" in found
    assert "memory.gone.md is of no benchmark that exists" in found


@pytest.mark.usefixtures("made_once")
def test_the_check_ends_with_1_where_a_page_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(DOCS, tmp_path / "docs")
    monkeypatch.setattr(generate, "DOCS", tmp_path / "docs")
    assert generate.main([]) == 0
    assert generate.main(["--check"]) == 0
    (tmp_path / "docs" / "findings.md").write_text("# The findings\n")
    assert generate.main(["--check"]) == 1
    assert "findings.md is stale" in capsys.readouterr().out
    assert generate.main(["--chek"]) == 2


def test_a_page_without_the_marks_of_its_block_is_refused() -> None:
    with pytest.raises(ValueError, match="generated: presets"):
        generate.filled("# A page\n", {"presets": lambda: "a table"})


# --------------------------------------------------------------------------- nothing is left out


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_and_option_is_documented(name: str) -> None:
    text = (DOCS / "commands.md").read_text(encoding="utf-8")
    _, heading, rest = text.partition(f"## steelyard {name}\n")
    assert heading, f"docs/commands.md has no section for {name}"
    section = rest.partition("\n## ")[0]
    rows = {row.split(" | ")[0]: row for row in section.splitlines() if row.startswith("| `")}
    for parameter in (p for p in COMMANDS[name].params if not getattr(p, "hidden", False)):
        option = [o for o in parameter.opts if o.startswith("--")]
        word = option[0] if option else (parameter.metavar or parameter.name).strip("[].").upper()
        row = next((r for first, r in rows.items() if re.search(rf"`{word}\b", first)), "")
        assert row, f"docs/commands.md does not tell of {word} under {name}"
        assert len(row.rstrip(" |").split(" | ")) == 3, f"{word} of {name} has no meaning: {row}"


def test_every_benchmark_has_a_page_that_says_how_to_read_it(benchmarks: dict[str, Benchmark]) -> None:
    index = (DOCS / "benchmarks" / "index.md").read_text(encoding="utf-8")
    for name, benchmark in benchmarks.items():
        text = (DOCS / "benchmarks" / f"{name}.md").read_text(encoding="utf-8")
        assert f"({name}.md)" in index
        for told in (benchmark.title, benchmark.reading, benchmark.caution, benchmark.source):
            assert told in text
        assert all(f"`{metric.name}`" in text for metric in benchmark.metrics)


def stored(*roots: type) -> Iterator[type]:
    """The dataclasses and all that their fields hold, by the annotations as Python reads them."""
    seen: set[Any] = set()
    to_see: list[Any] = list(roots)
    while to_see:
        kind = to_see.pop()
        to_see += [a for a in typing.get_args(kind) if a not in seen]
        own = isinstance(kind, type) and issubclass(kind, Part)  # have tables of their own
        if dataclasses.is_dataclass(kind) and kind not in seen and not own:
            to_see += typing.get_type_hints(kind).values()
            yield typing.cast(type, kind)
        seen.add(kind)


def test_every_field_that_is_stored_is_documented() -> None:
    text = (DOCS / "formats.md").read_text(encoding="utf-8")
    kinds = set(stored(model.Machine, model.Plan, model.Record, model.Value, model.Finding))
    assert {k.__name__ for k in kinds} >= {
        "Machine",
        "Core",
        "Limit",
        "Plan",
        "Sampling",
        "Record",
        "Verdict",
    }
    for kind in kinds:
        section = text.partition(f"\n### {kind.__name__}\n")[2].partition("\n### ")[0]
        missing = [f.name for f in dataclasses.fields(kind) if f"| `{f.name}` |" not in section]
        assert not missing, f"docs/formats.md does not tell of {missing} of {kind.__name__}"


def leaves(value: Any, under: str = "") -> set[str]:
    """The names of all values in nested objects: {"clock": {"source": …}} → {"clock.source"}."""
    if not isinstance(value, dict):
        return {under.removesuffix(".")}
    return {name for key, inner in value.items() for name in leaves(inner, f"{under}{key}.")}


def test_what_the_surroundings_hold_is_documented_and_nothing_else(programs: dict[str, Path], here: Machine) -> None:
    case = Case("memory.stream", "triad", {"threads": 1, "elements": 1 << 20}, SHORT)
    seen = measured(programs["memory.stream"], here, case).surroundings
    assert seen.pages
    vars(seen.pages)["nodes"] = None  # an object by the number of the node, which is no name of a field
    section = (DOCS / "formats.md").read_text(encoding="utf-8").partition("### What `surroundings` hold\n")[2]
    told = set(re.findall(r"^\| `([^`]+)` \|", section.partition("\n## ")[0], re.MULTILINE))
    assert leaves(seen.given()) | {"processor_seconds.own"} == told, "only an external program has this time"


def test_every_field_of_run_json_is_documented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import json

    from steelyard.measure.plan import EFFORTS
    from steelyard.measure.run import session, setup

    monkeypatch.setattr(session, "_carry_out", lambda measurer, *_: measurer.folder.path)
    asked = setup.Request(effort=EFFORTS["quick"], only=["memory.cores"])
    if "memory.cores" not in {x.benchmark for x in setup.plan(asked)[0].launches}:
        pytest.skip("one processor has no pair of cores")
    about = json.loads((session.start(asked, tmp_path, Screen()) / "run.json").read_text())
    section = (DOCS / "formats.md").read_text(encoding="utf-8").partition("## run.json\n")[2].partition("\n## ")[0]
    told = set(re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE))
    assert set(about) | {"imported"} == told, "only an imported run has values of other tools"


def test_every_parameter_that_can_be_set_is_explained(benchmarks: dict[str, Benchmark]) -> None:
    told = named("settings.md")
    machine = example_machine()
    axes = [a for b in benchmarks.values() for e in plan.EFFORTS.values() for a in b.axes(machine, e)]
    assert {name for a in axes for name in a.values} | set(GENERAL) <= told


def test_every_check_of_the_selfcheck_and_every_variable_is_explained() -> None:
    assert set(selfcheck.CHECKS) <= named("guarantees.md")
    source = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "src").rglob("*.py"))
    assert set(re.findall(r"\bSTEELYARD_[A-Z]+\b", source)) <= named("settings.md")


def test_every_decision_is_in_the_list() -> None:
    listed = (DOCS / "decisions" / "index.md").read_text(encoding="utf-8")
    pages = [p.name for p in (DOCS / "decisions").glob("0*.md")]
    assert pages
    assert all(f"({name})" in listed for name in pages)
    for page in pages:
        text = (DOCS / "decisions" / page).read_text(encoding="utf-8")
        assert all(f"**{part}.**" in text for part in ("Context", "Decision", "Consequence")), page


def test_every_module_has_its_line_in_the_house() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Structure of the source\n")[2]
    told = set(re.findall(r"`(\w+(?:\.py|/))`", text.partition("\n## ")[0]))
    package = ROOT / "src" / "steelyard"
    files = {p.name for p in [*package.glob("*.py"), *package.glob("system/*.py")]} - {"__init__.py"}
    houses = (package, package / "measure", package / "judge", package / "show")
    folders = {f"{p.name}/" for house in houses for p in house.iterdir() if p.is_dir() and not p.name.startswith("_")}
    assert files | folders <= told


# --------------------------------------------------------------------------- every example works


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{page.relative_to(ROOT)} links to {target}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", there.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}
            assert anchor in slugs, f"{page.relative_to(ROOT)} links to {target}"


def shell_lines() -> list[tuple[str, str]]:
    return [
        (str(page.relative_to(ROOT)), told)
        for page in PAGES
        for block in blocks(page, "sh")
        for told in block.splitlines()
        if told.strip()
    ]


@pytest.mark.parametrize(("page", "told"), shell_lines())
def test_every_command_in_a_shell_block_exists(page: str, told: str) -> None:
    words = shlex.split(told, comments=True)
    if words[0] == "make":
        targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
        assert {w for w in words[1:] if "=" not in w} <= targets
    elif words[0] == "steelyard":
        command = COMMANDS[words[1]]
        known = {o for p in command.params for o in p.opts}
        own = words[2 : words.index("--")] if "--" in words else words[2:]  # behind it stand those of another command
        assert {w for w in own if w.startswith("-")} <= known
    else:
        assert words[:2] == ["git", "clone"]


def test_the_readme_and_the_makefile_name_the_same_targets() -> None:
    """Each target is in the README or, as the suites of tests are, in CONTRIBUTING.md. Neither page names another one."""
    targets = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("The targets of make:")[2]
    told = set(re.findall(r"`(?:make )?([a-z-]+)`", text.partition("\n\n")[0]))
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("\n## Tests\n")[2]
    suites = set(re.findall(r"`make ([a-z-]+)`", text.partition("\n## ")[0]))
    assert told | suites >= targets
    assert told <= targets | {"standard", "full"}
    assert suites <= targets


def test_the_readme_shows_every_command_but_the_small_ones() -> None:
    shown = {told.split()[1] for _, told in shell_lines() if told.startswith("steelyard ")}
    assert set(COMMANDS) - shown <= {"list", "report", "build", "remove", "machine", "judge", "schema"}


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The benchmark of CONTRIBUTING.md, written where it says."""
    folder = tmp_path_factory.mktemp("contributing")
    page = ROOT / "CONTRIBUTING.md"
    source, declaration = blocks(page, "cpp")[0], blocks(page, "python")[0]
    for name, text in (("mine/example/fill.cpp", source), ("mine/example/fill.py", declaration)):
        assert f"`{name}`" in page.read_text(encoding="utf-8")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder / "mine"


def measured(program: Path, here: Machine, case: Case) -> Record:
    launch = Launch(1, case.benchmark, "any", 1, (case,))
    running = Program([str(program)], local.environment(here))
    try:
        return record_of(launch, 0, case, 1, running.ask(line(here, launch, 0, case), 60))
    finally:
        running.close()


def test_the_example_of_contributing_is_a_whole_benchmark(example: Path, here: Machine) -> None:
    fill = catalogue.find([example])["example.fill"]
    program = build.build([fill], build.resolve(build.default(here), here))[fill.name]
    case = Case(fill.name, "fill", {"threads": 1, "elements": 1 << 16}, SHORT)
    record = measured(program, here, case)
    assert record.error is None
    assert record.check.passed, record.check.detail
    (value,) = (m.of(record.samples[0], record) for m in fill.metrics)
    assert value is not None
    assert value > 0
    for plant in ("skip", "wrong"):
        spoiled = measured(program, here, dataclasses.replace(case, parameters={**case.parameters, "plant": plant}))
        assert spoiled.error is None
        assert not spoiled.check.passed
    assert plan.make({fill.name: fill}, example_machine(), plan.EFFORTS["quick"], {}, ["any"]).launches
    (figure,) = fill.figures(results([record], {fill.name: fill}), here)
    assert figure.series


def test_a_benchmark_that_is_added_gets_its_page(example: Path) -> None:
    known = catalogue.find([example])
    pages = generate.pages({name: known[name] for name in ("example.fill", "memory.stream")})
    assert "# Bandwidth of writing" in pages["benchmarks/example.fill.md"]
    assert "[example.fill](example.fill.md)" in pages["benchmarks/index.md"]


def test_the_readme_counts_the_published_systems() -> None:
    count = len(system_library.list_shipped())
    assert f"A library holds {count} systems" in (ROOT / "README.md").read_text(encoding="utf-8")
