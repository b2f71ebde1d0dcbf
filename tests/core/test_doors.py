"""A wing is a package with parts behind doors: a made-up one is installed, and each of its parts is found."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import report_fixture
from steelyard import doors
from steelyard.errors import UsageError
from steelyard.judge import findings
from steelyard.measure.plan import catalogue
from steelyard.results.basis import find_rules
from steelyard.show import report
from steelyard.show.command_line import cli
from steelyard.show.command_line.request import find_program

Install = Callable[[dict[str, str]], None]

COMMAND = '''"""`steelyard weather`."""

PLACE = 25


def command(town: str = "Ulm") -> None:
    """Print the weather of a town.

    Examples: **steelyard weather --town Ulm**
    """
    print(f"It rains in {town}.")
'''
FINDING = '''"""Rule: rain"""

from steelyard.model import Finding


def find(evaluation):
    return [Finding("rain", "notice", "It rains.", (), "Clouds.", "Wait.", reach="machine")]
'''
PAGE = '''"""The weather over the run."""

PLACE, TITLE = 25, "Weather"


def data(evaluation):
    return {"town": "Ulm"}
'''
BENCHMARK = '''"""Drops of rain

Counts drops.

Reading: More is wetter.

Caution: None.

Source: Made up.
"""

from steelyard.model import Axes, Metric


def axes(machine, effort):
    return (Axes({"kernel": ("drops",), "threads": (1,)}),)


metrics = (Metric("drops", "1/s", "higher", "drops each second", lambda seconds, record: 1 / seconds),)
limit = lambda metric, result, machine: None
figures = lambda results, machine: ()
'''
PROGRAMS = '''"""Door: programs that a file NAME.rain describes."""

SUFFIX = ".rain"


def is_described(path):
    return path.suffix == SUFFIX


def shipped():
    return {}


def start(path, site, machine, launch, pace_reader):
    raise NotImplementedError


def benchmark_of(path):
    from steelyard.model import Benchmark, Source

    nothing = lambda *given: ()
    return Benchmark(
        name=f"weather.{path.stem}", title="Rain", summary="", reading="", caution="", source="",
        sources=(Source(str(path), False, foreign=True),), axes=nothing, metrics=(), limit=nothing, figures=nothing,
    )
'''
TRACES = '''"""Door: traces of clouds."""

FORMATS = {"drops": False}


def is_trace(path):
    return path.suffix == ".cloud"


def factors(trace, machine):
    raise NotImplementedError


def export(trace, form, output, machine):
    from types import SimpleNamespace

    output.write_text(form)
    return SimpleNamespace(apart=0)
'''
WING = {
    "commands/weather.py": COMMAND,
    "findings/rain.py": FINDING,
    "pages/weather.py": PAGE,
    "pages/weather.html": "<p>It rains in {{ page.town }}.</p>",
    "benchmarks/weather/drops.py": BENCHMARK,
    "benchmarks/weather/drops.cpp": "",
    "programs.py": PROGRAMS,
    "traces.py": TRACES,
}


@pytest.fixture
def wing(install_wing: Install) -> None:
    """The made-up wing, installed."""
    install_wing(WING)


def test_a_command_runs_and_stands_in_its_place_of_the_help(wing: None, capsys: pytest.CaptureFixture[str]) -> None:
    cli.run_words(["weather", "--town", "Bonn"])
    assert capsys.readouterr().out == "It rains in Bonn.\n"
    cli.run_and_explain(lambda: cli.app(["--help"]))
    text = capsys.readouterr().out
    assert text.index("\n  scale ") < text.index("\n  weather ") < text.index("\n  resume ")
    assert "Print the weather of a town." in text


def test_a_finding_is_judged(wing: None) -> None:
    judged = findings.judge(report_fixture.evaluation())
    assert [f.seen for f in judged.findings if f.rule == "rain"] == ["It rains."]
    assert (findings.load_rule("rain").__doc__ or "").startswith("Rule: rain")


def test_a_page_is_in_the_report(wing: None) -> None:
    assert "<p>It rains in Ulm.</p>" in report.render(report_fixture.evaluation())


def test_a_benchmark_is_listed(wing: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert catalogue.find()["weather.drops"].title == "Drops of rain"
    cli.run_words(["list", "--json"])
    assert "weather.drops" in {b["name"] for b in json.loads(capsys.readouterr().out)["benchmarks"]}


def test_a_program_runner_takes_files_of_its_own(wing: None, tmp_path: Path) -> None:
    path = tmp_path / "storm.rain"
    path.write_text("")
    assert find_program(str(path)) == path
    assert "weather.storm" in catalogue.find([path])
    with pytest.raises(UsageError, match=r"NAME\.rain"):
        find_program("nothing")


def test_a_trace_reader_exports(wing: None, tmp_path: Path) -> None:
    (tmp_path / "a.cloud").write_text("")
    cli.run_words(["export", str(tmp_path / "a.cloud"), "--format", "drops", "-o", str(tmp_path / "out")])
    assert (tmp_path / "out").read_text() == "drops"


def test_each_trace_is_read_by_the_reader_that_knows_it(wing: None, tmp_path: Path) -> None:
    assert doors.trace_reader(tmp_path / "a.cloud").FORMATS == {"drops": False}
    reader = doors.trace_reader(tmp_path / "a.sun")
    assert reader is None or reader.__name__.startswith("steelyard.")


def test_a_run_is_judged_anew_when_an_installed_rule_changes(install_wing: Install) -> None:
    keys = [find_rules({})]
    for rule in (FINDING, f"{FINDING}# changed"):
        install_wing({"findings/rain.py": rule})
        keys.append(find_rules({}))
    assert len(set(keys)) == 3


def test_a_wing_that_cannot_be_imported_is_left_out(install_wing: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install_wing({"commands/weather.py": COMMAND, "__init__.py": "raise ImportError('no clouds')"})
    assert cli.run_and_explain(lambda: cli.app(["--help"])) == 0
    captured = capsys.readouterr()
    assert "\n  weather " not in captured.out
    assert "\n  scale " in captured.out
    assert "ImportError: no clouds. The fault is in " in captured.err


@pytest.mark.parametrize(
    ("file", "old", "new", "mistake"),
    [
        (
            "pages/weather.py",
            "TITLE = 25",
            "TITEL = 25",
            "it does not declare TITLE. Perhaps TITEL is a misspelling of TITLE.",
        ),
        (
            "pages/weather.py",
            "PLACE, TITLE = 25,",
            'PLACE, TITLE = "25",',
            "its PLACE must be of type int, but it is '25'.",
        ),
        ("pages/weather.py", "data(evaluation)", "data()", "its function data must take these arguments: evaluation."),
        ("pages/weather.py", "\n\ndef data", "\nIMPORTD = True\n\ndef data", "Did you mean IMPORTED? The fault"),
        (
            "findings/rain.py",
            "def find(",
            "def finds(",
            "it does not declare find. Perhaps finds is a misspelling of find.",
        ),
        (
            "findings/rain.py",
            "\n\ndef find",
            "\nEVERY_VARIANTS = True\n\ndef find",
            "Did you mean EVERY_VARIANT? The fault",
        ),
        (
            "commands/weather.py",
            "def command(",
            "def comand(",
            "it does not declare command. Perhaps comand is a misspelling of command.",
        ),
        (
            "benchmarks/weather/drops.py",
            "\nlimit =",
            "\nlimits =",
            "it declares limits, which Steelyard does not know. Did you mean limit?",
        ),
        ("commands/weather.py", "def command(", "command = 5\n\n\ndef _c(", "its command must be a function."),
        ("programs.py", "SUFFIX =", "SUFIX =", "it does not declare SUFFIX. Perhaps SUFIX is a misspelling of SUFFIX."),
        ("traces.py", 'FORMATS = {"drops": False}', "FORMATS = 5", "its FORMATS must be of type Mapping, but it is 5."),
    ],
)
def test_a_wrong_or_misspelt_member_is_named_with_its_file(
    install_wing: Install, tmp_path: Path, file: str, old: str, new: str, mistake: str
) -> None:
    assert old in WING[file]
    install_wing(WING | {file: WING[file].replace(old, new)})
    (path,) = tmp_path.rglob(file)
    kinds = {"commands": "command", "findings": "rule", "pages": "page", "benchmarks": "benchmark"}
    kind = kinds.get(file.partition("/")[0]) or {"programs.py": "program runner", "traces.py": "trace reader"}[file]
    with pytest.raises(doors.PartFailed) as failure:
        doors.load(doors.Part(kind, path, ".".join(path.relative_to(tmp_path).with_suffix("").parts)))
    assert mistake in str(failure.value)
    assert str(failure.value).endswith(f"The fault is in {path}.")


def test_the_help_lists_other_commands_beside_one_that_is_no_function(
    install_wing: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    for source in ("command = 5\n", "app = 5\n", "def command(towns: dict) -> None:\n    pass\n"):
        install_wing(WING | {"commands/weather.py": source})
        assert cli.run_and_explain(lambda: cli.app(["--help"])) == 0
        assert "\n  scale " in capsys.readouterr().out
        assert cli.run_and_explain(lambda: cli.app(["weather"])) == 4
        assert "The command 'weather' failed: " in capsys.readouterr().err


def test_a_wing_cannot_take_the_name_of_a_part_of_the_core(
    install_wing: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    before = findings.list_rules()["efficiency"]
    own = {
        "findings/efficiency.py": FINDING,
        "commands/show.py": COMMAND,
        "pages/overview.py": WING["pages/weather.py"],
    }
    install_wing(WING | own)
    assert findings.list_rules()["efficiency"] == before
    assert "<p>It rains in Ulm.</p>" in report.render(report_fixture.evaluation())
    cli.run_and_explain(lambda: cli.app(["--help"]))
    shown = capsys.readouterr()
    assert shown.out.count("Print the weather of a town.") == 1
    for kind, name in (("rule", "efficiency"), ("command", "show"), ("page", "overview")):
        assert f"The {kind} '{name}' in " in shown.err
        assert f"/{name}" in shown.err
    assert shown.err.count("has this name. Rename the file.") == 3


def test_a_folder_of_parts_needs_no_init_file(
    install_wing: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install_wing(WING)
    for file in tmp_path.rglob("*/commands/__init__.py"):
        file.unlink()
    doors.forget()
    strange = tmp_path / "strange"
    strange.mkdir()
    (strange / "malice.py").write_text("raise SystemExit(9)\n")
    monkeypatch.chdir(strange)
    cli.run_and_explain(lambda: cli.app(["--help"]))
    shown = capsys.readouterr().out
    assert "malice" not in shown
    assert "\n  weather " in shown


def test_what_a_part_prints_at_its_import_is_no_output(
    install_wing: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install_wing(WING | {"commands/weather.py": f"print('noise')\n{COMMAND}"})
    cli.run_words(["weather", "--town", "Bonn"])
    shown = capsys.readouterr()
    assert shown.out == "It rains in Bonn.\n"
    assert shown.err == "noise\n"


def test_a_field_that_no_table_can_hold_costs_its_rule_only(install_wing: Install) -> None:
    lazy = FINDING.replace('"It rains.", ()', '"It rains.", (drop for drop in ())')
    assert lazy != FINDING
    install_wing(WING | {"findings/rain.py": lazy})
    (finding,) = [f for f in findings.judge(report_fixture.evaluation()).findings if f.rule == "rain"]
    assert finding.seen.startswith("The rule 'rain' failed: ")


def test_a_fault_in_a_helper_module_of_a_wing_is_placed_there(install_wing: Install, tmp_path: Path) -> None:
    helper = "def count():\n    return 1 // 0\n"
    called = FINDING.replace("def find(evaluation):\n", "def find(evaluation):\n    counting.count()\n")
    assert called != FINDING
    install_wing(WING | {"counting.py": helper, "findings/rain.py": f"from .. import counting\n{called}"})
    (finding,) = [f for f in findings.judge(report_fixture.evaluation()).findings if f.rule == "rain"]
    assert finding.seen.endswith("/counting.py, line 2.")


def test_a_run_is_judged_anew_when_a_helper_module_of_a_wing_changes(install_wing: Install) -> None:
    keys = []
    for helper in ("LEAST = 1\n", "LEAST = 2  # drops\n"):
        install_wing(WING | {"counting.py": helper})
        keys.append(find_rules({}))
    assert keys[0] != keys[1]


@pytest.mark.parametrize("text", ["[1, 2]", "{", '{"defs": {}}', "\xff"])
def test_a_schema_that_cannot_be_read_costs_only_itself(
    install_wing: Install, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    install_wing(WING | {"schemas/outputs.json": text, "schemas/__init__.py": ""})
    assert cli.run_and_explain(lambda: cli.app(["schema", "weather"])) == 2
    shown = capsys.readouterr().err
    assert "The schema 'outputs' failed: " in shown
    assert "There is no schema 'weather'." in shown


def test_a_rule_with_a_wrong_level_is_named_with_the_level(install_wing: Install) -> None:
    install_wing(WING | {"findings/rain.py": FINDING.replace('"notice"', '"bad"')})
    (finding,) = [f for f in findings.judge(report_fixture.evaluation()).findings if f.rule == "rain"]
    assert "failed: a finding has a field of a wrong type or value (tuple: Invalid enum value 'bad'" in finding.seen
    assert finding.seen.endswith("rain.py.")


def test_a_page_without_its_template_is_named_with_the_template(install_wing: Install) -> None:
    install_wing({path: text for path, text in WING.items() if path != "pages/weather.html"})
    said = "The page &#39;weather&#39; failed: the template weather.html is not in the folder of the page. The fault is in "
    assert said in report.render(report_fixture.evaluation())


def test_a_syntax_error_is_placed_in_the_file_that_has_it(tmp_path: Path) -> None:
    broken, rule = tmp_path / "broken.py", tmp_path / "rule.py"
    rule.write_text(f"compile('def (', {str(broken)!r}, 'exec')\n", encoding="utf-8")
    with pytest.raises(doors.PartFailed) as failure:
        doors.load(doors.Part("rule", rule))
    assert (
        str(failure.value) == f"The rule 'rule' failed: SyntaxError: invalid syntax. The fault is in {broken}, line 1."
    )


def test_every_part_of_the_package_fits_its_door() -> None:
    pages = [part for part in doors.parts("page", doors.inside("pages")) if part.name != "benchmark"]
    commands = doors.parts("command", doors.inside("commands"))
    for part in (*pages, *commands, *findings.list_rules().values()):
        doors.load(part)
    assert catalogue.find()
    assert len(pages) > 10


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError, GeneratorExit])
def test_a_signal_and_a_lack_of_memory_are_no_fault_of_a_part(
    install_wing: Install, error: type[BaseException]
) -> None:
    install_wing({"findings/rain.py": FINDING.replace("    return", f"    raise {error.__name__}\n    return")})
    with pytest.raises(error):
        findings.judge(report_fixture.evaluation())


def test_a_command_of_ours_does_not_look_for_installed_wings(monkeypatch: pytest.MonkeyPatch) -> None:
    doors.forget()
    monkeypatch.setattr(doors, "_installed_wings", lambda: pytest.fail("it looked"))
    assert cli.run_and_explain(lambda: cli.app(["list", "--help"])) == 0
