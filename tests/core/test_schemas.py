"""Every JSON that a command prints, and every file of a run, follows a JSON Schema that is a part of the package."""

import copy
import json
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from damage import powered, renewed, unpack
from folders import GOLDEN, ROOT
from output_schemas import expect_valid, find_errors, read_output
from steelyard.errors import UsageError
from steelyard.show import schemas
from steelyard.show.command_line import cli
from steelyard.show.report.json_output import FORMAT

OUTPUTS = [
    ("show", "show run --json"),
    ("export", "export run"),
    ("list", "list --json"),
    ("plan", "plan --preset quick --json"),
    ("judge", "judge run again --json"),
    ("verify", "verify run again --json"),
    ("cite", "cite run Fugaku --json"),
    ("figure", "figure --list run --json"),
    ("query", "query 'from metrics limit 3' --json"),
    ("compare", "compare run again Fugaku --json"),
    ("systems", "systems --json"),
    ("machine", "machine --json"),
    ("doctor", "doctor --json"),
    ("mpi-list", "mpi list --json"),
]
FURTHER = [
    ("show", "show run --json --samples"),
    ("show", "show again --json"),
    ("export", "export run --only memory.stream"),
    ("list", "list memory.stream --json"),
    ("compare", "compare run again --json"),
    ("compare", "compare run Fugaku --json"),
    ("systems", "systems Fugaku --json"),
]
FILES = ("run.json", "finished.json", "records.jsonl", "results.jsonl", "attempts.jsonl", "summary.json")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with two equal runs in the form of this version, judged, and nothing else in the user's cache."""
    folder = tmp_path_factory.mktemp("schemas")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEELYARD_CACHE", str(folder / "cache"))
        patch.chdir(folder)
        run = renewed(unpack(folder / "runs"))
        shutil.copytree(run, run.with_name("again"))
        yield folder / "runs"


WITHOUT_RUNS = ("machine", "doctor", "mpi", "systems", "plan")


def printed(runs: Path, words: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints; it reads the folder of runs if it takes one."""
    first, *others = shlex.split(words)
    where = [] if first in WITHOUT_RUNS else ["--runs", str(runs)]
    assert cli.run_and_explain(lambda: cli.app([first, *others, *where])) in (0, 1), capsys.readouterr().err
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "words"),
    [*OUTPUTS, *(pytest.param(*words, marks=pytest.mark.long) for words in FURTHER)],
    ids=lambda text: text,
)
def test_what_a_command_prints_follows_its_schema(
    runs: Path, name: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    value = read_output(name, printed(runs, words, capsys))
    assert value, "an empty list follows any schema"
    objects = value if isinstance(value, list) else [value]
    assert name == "query" or {item["format"] for item in objects} == {FORMAT}


def test_every_file_of_a_run_follows_its_schema(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed(runs, "show run", capsys)
    for name in FILES:
        text = (runs / "run" / name).read_text(encoding="utf-8")
        values = list(map(json.loads, text.splitlines())) if name.endswith("jsonl") else [json.loads(text)]
        assert values
        for value in values:
            expect_valid(name, value)


def test_readings_follow_their_schema(kept_run: Path) -> None:
    lines = (powered(kept_run) / "power.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) > 2
    for line in lines:
        read_output("power.jsonl", line)


@pytest.mark.parametrize("run", ["run-format-1", "run-format-2"])
def test_files_of_earlier_formats_and_versions_follow_the_schemas(run: str) -> None:
    for name in ("run.json", "finished.json"):
        assert find_errors(name, json.loads((GOLDEN / run / name).read_text(encoding="utf-8"))) == []
    for line in (GOLDEN / run / "records.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if run == "run-format-1":  # evidence in sentences was the difference to format 2
            record["verdict"]["evidence"] = []
        assert find_errors("records.jsonl", record) == []


def test_every_command_that_prints_json_has_a_schema() -> None:
    root: Any = typer.main.get_command(cli.app)

    def walk(command: Any, name: str) -> Iterator[str]:
        for inner, member in getattr(command, "commands", {}).items():
            yield from walk(member, f"{name}-{inner}" if name else inner)
        if any("--json" in parameter.opts for parameter in command.params):
            yield name

    commands = set(walk(root, ""))
    assert len(commands) > 10
    assert commands - set(schemas.list_names()) == set()


def test_each_schema_is_named_in_the_documentation() -> None:
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    section = text.partition("## Schemas, versions and deprecation")[2].partition("\n## ")[0]
    assert [name for name in schemas.list_names() if f"`{name}`" not in section] == []


def _drop(value: dict[str, Any], key: str) -> None:
    del value[key]


def _rename(value: dict[str, Any], key: str) -> None:
    value[f"{key}_"] = value.pop(key)


def _retype(value: dict[str, Any], key: str) -> None:
    value[key] = [] if isinstance(value[key], dict) else {}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("change", [_drop, _rename, _retype])
def test_a_lost_renamed_or_retyped_field_is_found(
    runs: Path, change: Callable[[dict[str, Any], str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    shown = read_output("show", printed(runs, "show run --json", capsys))
    shown = {key: value[:1] if isinstance(value, list) else value for key, value in shown.items()}
    places: list[Callable[[Any], dict[str, Any]]] = [
        lambda v: v,
        lambda v: v["figures"][0],
        lambda v: v["figures"][0]["value"],
        lambda v: v["findings"][0],
        lambda v: v["condition"],
    ]
    for find_place in places:
        for key in find_place(shown):
            changed = copy.deepcopy(shown)
            change(find_place(changed), key)
            assert find_errors("show", changed), key


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        (("show", "show run --json"), "format", FORMAT + 1),
        (("show", "show run --json"), "verdicts", {"PERFECT": 3}),
        (("show", "show run --json"), "started", "yesterday"),
        (("machine", "machine --json"), "format", "1"),
        (("export", "export run"), "format", None),
    ],
)
def test_a_value_outside_its_bounds_is_found(
    runs: Path, words: tuple[str, str], field: str, value: object, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = json.loads(printed(runs, words[1], capsys))
    assert find_errors(words[0], whole) == []
    assert find_errors(words[0], {**whole, field: value})


def test_units_and_verdicts_have_known_forms(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exported = json.loads(printed(runs, "export run", capsys))
    exported = {**exported, "results": exported["results"][:1], "records": []}
    assert find_errors("export", exported) == []
    for place, wrong in (("unit", "bytes in each second"), ("better", "larger")):
        changed = copy.deepcopy(exported)
        next(iter(changed["results"][0]["metrics"].values()))[place] = wrong
        assert find_errors("export", changed)
    exported["results"][0]["verdict"]["level"] = "PERFECT"
    assert find_errors("export", exported)


def test_a_schema_is_printed_with_all_that_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    cli.run_words(["schema", "doctor"])
    schema = json.loads(capsys.readouterr().out)
    assert schema["$ref"] == "#/$defs/doctor"
    assert set(schema["$defs"]) == {"doctor", "Numbered", "Advice"}
    cli.run_words(["schema"])
    assert set(FILES) < set(capsys.readouterr().out.split())
    with pytest.raises(UsageError, match="Did you mean 'doctor'"):
        cli.run_words(["schema", "doktor"])


@pytest.mark.parametrize(
    "words",
    [
        "show new", "show new --json", "show new --all", "report new", "export new", "export new --format csv", "judge new",
        "compare new run", "compare run new --json", "compare run again new", "resume new",
    ],
)  # fmt: skip
def test_a_run_of_a_newer_format_is_refused_by_every_reader(
    runs: Path, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(runs, tmp_path / "runs")
    about = make_newer(shutil.copytree(runs / "run", tmp_path / "runs" / "new"))
    assert cli.run_and_explain(lambda: cli.app([*words.split(), "--runs", str(tmp_path / "runs")])) == 4
    out, err = capsys.readouterr()
    assert "a newer Steelyard wrote it in format 3, and this Steelyard reads formats up to 2" in " ".join(err.split())
    assert out == ""
    assert (tmp_path / "runs" / "new" / "run.json").read_bytes() == about


def make_newer(run: Path) -> bytes:
    """Increases the format of a run by one; returns the content of its run.json."""
    about = json.loads((run / "run.json").read_text(encoding="utf-8"))
    (run / "run.json").write_text(json.dumps({**about, "format": about["format"] + 1, "news": {"of": "tomorrow"}}))
    return (run / "run.json").read_bytes()


def test_a_run_of_a_newer_format_does_not_hide_the_others(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(runs, tmp_path / "runs")
    make_newer(tmp_path / "runs" / "again")
    listed = read_output("list", printed(tmp_path / "runs", "list --json", capsys))["runs"]
    assert sorted("newer Steelyard" in run.get("error", "") for run in listed) == [False, True]
    words = ["query", "select distinct run from metrics", "--json", "--runs", str(tmp_path / "runs")]
    assert cli.run_and_explain(lambda: cli.app(words)) == 0
    out, err = capsys.readouterr()
    assert len(json.loads(out)) == 1
    assert "left out: " in err
    assert "newer Steelyard" in " ".join(err.split())
