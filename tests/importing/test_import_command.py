"""The command `steelyard import`: files, folders, archives and standard input become runs, and nothing is read twice."""

import gzip
import io
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from foreign_outputs import OUTPUTS
from import_fixture import hpl, imported, osu, tar, write, zipped
from steelyard import doors
from steelyard.importing import collecting, reading, sources, write_runs
from steelyard.importing.collecting import Collection
from steelyard.measure import records
from steelyard.show.command_line import cli
from steelyard.show.command_line.evaluated_run import find_summary
from steelyard.show.report.summary import figures_as_json


@pytest.fixture(autouse=True)
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, where nothing has been imported."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(capsys: Any, *words: str) -> str:
    assert cli.run_and_explain(lambda: cli.app(["import", *words])) == 2
    return str(capsys.readouterr().err)


def test_a_folder_becomes_runs_with_all_values(capsys: Any) -> None:
    result = imported(capsys, OUTPUTS)
    values = [v for run in result["runs"] for v in records.read(Path(run["run"])).imported.values]
    assert len(values) == sum(run["values"] for run in result["runs"]) > 2000
    assert {value.tool for value in values} == set(result["tools"]) >= {"STREAM", "HPL"}
    files = {file for run in result["runs"] for file in run["files"]}
    assert {value.file for value in values} == files
    named = {row["file"] for kind in ("unread", "known", "equal") for row in result[kind]} | files
    assert named == {str(path) for path in OUTPUTS.iterdir()}, "each file is in the answer"


@pytest.mark.parametrize("pack", [tar, zipped])
def test_an_archive_gives_the_values_of_its_files(capsys: Any, there: Path, pack: Any) -> None:
    write(
        there,
        {"a.bin": pack({"logs/osu.txt": osu(), "logs/hpl.txt": hpl()}), "b.txt.gz": gzip.compress(osu(2).encode())},
    )
    result = imported(capsys, "a.bin", "b.txt.gz")
    files = [file for run in result["runs"] for file in run["files"]]
    assert sorted(files) == ["a.bin/logs/hpl.txt", "a.bin/logs/osu.txt", "b.txt.gz"]
    assert not list(there.rglob("*.txt")), "nothing was unpacked to the disk"


def test_standard_input_is_read(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(tar({"osu.txt": osu()}))))
    assert imported(capsys, "-")["runs"][0]["files"] == ["standard input/osu.txt"]


def test_a_content_is_imported_once_whatever_its_name(capsys: Any, there: Path) -> None:
    write(there, {"a/osu.txt": osu(), "b/copy.log": osu(), "c.tgz": tar({"x/osu.txt": osu(), "hpl.txt": hpl()})})
    first = imported(capsys, "a", "b")
    assert first["equal"] == [{"file": "b/copy.log", "same_as": "a/osu.txt"}]
    second = imported(capsys, "a", "b", "c.tgz")
    assert {row["file"] for row in second["known"]} == {"a/osu.txt", "b/copy.log", "c.tgz/x/osu.txt"}
    assert [run["files"] for run in second["runs"]] == [["c.tgz/hpl.txt"]]
    before = records.all_runs(Path("runs"))
    assert not imported(capsys, "a", "b", "c.tgz")["runs"]
    assert records.all_runs(Path("runs")) == before
    cli.run_words(["import", "a"])
    assert "1 file added nothing: already imported. First: a/osu.txt, in the run" in capsys.readouterr().out


def test_a_dry_run_writes_nothing(capsys: Any, there: Path) -> None:
    write(there, {"osu.txt": osu()})
    result = imported(capsys, "osu.txt", "--dry-run")
    assert result["runs"][0]["values"] == 2
    assert not result["written"]
    assert sorted(path.name for path in there.iterdir()) == ["osu.txt"]


def test_the_screen_groups_reasons_and_names_the_next_command(capsys: Any, there: Path) -> None:
    write(
        there, {f"logs/{i}.sh": f"echo {i}" for i in range(9)} | {"logs/osu.txt": osu(), "logs/program": b"\x7fELF\0"}
    )
    cli.run_words(["import", "logs", "--name", "old"])
    screen = capsys.readouterr().out
    assert "1 of 11 files has new values: 2." in screen
    assert "  9: no known tool wrote it\n     logs/0.sh\n     logs/1.sh\n     logs/2.sh\n     …\n" in screen
    assert "  1: it is a binary file\n     logs/program\n" in screen
    assert "steelyard report runs/old" in screen
    listed = (there / "runs" / "old" / "unread.txt").read_text().splitlines()
    assert "logs/8.sh\tno known tool wrote it" in listed
    assert len(listed) == 10


def test_a_host_with_unlike_values_is_named(capsys: Any, there: Path) -> None:
    write(there, {f"logs/node0{n}/osu.txt": osu(3 if n == 4 else 1 + n / 100).encode() for n in range(1, 8)})
    cli.app(["import", "logs", "--dry-run"], standalone_mode=False)
    screen = capsys.readouterr().out
    assert "In network.pingpong, node04 is slower than the median of 7 hosts, by up to" in " ".join(screen.split())
    assert ["node04" in row["seen"] for row in imported(capsys, "logs")["outliers"]] == [True]


def test_a_folder_is_read_without_links_hidden_folders_and_runs(capsys: Any, there: Path) -> None:
    write(there, {"logs/deep/er/osu.txt": osu(), "logs/.git/osu.txt": osu(2), "secret.txt": osu(3)})
    cli.run_words(["import", "secret.txt", "--runs", "logs/runs"])
    capsys.readouterr()
    (there / "logs" / "out").symlink_to(there / "secret.txt")
    (there / "logs" / "circle").symlink_to(there / "logs")
    os.mkfifo(there / "logs" / "pipe")
    result = imported(capsys, "logs")
    assert [run["files"] for run in result["runs"]] == [["logs/deep/er/osu.txt"]]
    assert {row["file"]: row["reason"] for row in result["unread"]} == {
        "logs/.git": sources.HIDDEN,
        "logs/out": sources.OUTSIDE,
        "logs/pipe": sources.NOT_ORDINARY,
        "logs/runs/imported": sources.BY_STEELYARD,
    }


def test_one_tool_can_be_chosen(capsys: Any, there: Path) -> None:
    write(there, {"osu.txt": osu(), "hpl.txt": hpl()})
    for word in ("hpl", "HPL"):
        assert list(imported(capsys, "osu.txt", "hpl.txt", "--tool", word, "--dry-run")["tools"]) == ["HPL"]
    assert "Did you mean 'stream'?" in refused(capsys, "osu.txt", "--tool", "steam")


def test_a_tool_is_chosen_with_all_its_formats() -> None:
    for word in ("ior", "IOR"):
        chosen = collecting.choose_formats([word], [])
        assert [form.read.__name__ for form in chosen] == ["read_text", "read_csv", "read_json"]


def test_a_folder_may_have_descriptions_of_logs_only(there: Path) -> None:
    log = 'name = "heat"\ntool = "Heat"\ntitle = "A log."\nsource = "here"\nmarks = ["SOLVER OF HEAT"]\n'
    write(there, {"formats/heat.toml": log})
    (chosen,) = collecting.choose_formats(["heat"], [Path("formats")])
    assert chosen.tool == "Heat"


FORMAT = '''"""A tool of this site."""
from steelyard.importing.values import make
TOOL, MARKS = "Ours", ("OUR TOOL",)
def read(text):
    for row, _ in text.match(r"speed (\\S+) (\\S+)"):
        yield make("ours.copy", "copy", "bandwidth", row[1], row[2], "mean")
    {more}
'''


def test_a_site_adds_a_format_by_a_folder(capsys: Any, there: Path) -> None:
    write(there, {"mine/ours.py": FORMAT.format(more=""), "out.txt": "OUR TOOL\nspeed 12.5 GB/s\n"})
    assert imported(capsys, "out.txt", "--path", "mine", "--dry-run")["tools"] == {"Ours": {"files": 1, "values": 1}}
    assert "GB/s" not in refused(capsys, "out.txt", "--dry-run")
    assert "has no format" in refused(capsys, "out.txt", "--path", "runs")


def test_a_mistake_in_a_format_of_a_site_costs_no_other_file(capsys: Any, there: Path) -> None:
    write(there, {"mine/ours.py": FORMAT.format(more="unknown_name"), "logs/out.txt": "OUR TOOL\nspeed 12.5 GB/s\n"})
    write(there, {"logs/osu.txt": osu()})
    result = imported(capsys, "logs", "--path", "mine", "--dry-run")
    assert set(result["tools"]) == {"Ours", "OSU micro-benchmarks"}
    reason = result["partly"][0]["reason"]
    assert "The format 'ours' failed: NameError" in reason
    assert f"The fault is in {there / 'mine' / 'ours.py'}, line 7." in reason


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('("OUR TOOL",)', "(1,)", "its MARKS must have texts only, but it is (1,)"),
        ('"bandwidth"', "5", "TypeError: a value has 5 where a text was expected"),
        ('"ours.copy"', "None", "a value has None where a text was expected"),
    ],
)
def test_a_format_with_a_member_of_a_wrong_type_writes_no_run(
    capsys: Any, there: Path, old: str, new: str, said: str
) -> None:
    form = FORMAT.format(more="")
    assert old in form
    write(there, {"mine/ours.py": form.replace(old, new), "logs/out.txt": "OUR TOOL\nspeed 12.5 GB/s\n"})
    write(there, {"logs/osu.txt": osu()})
    doors.forget()
    cli.run_and_explain(lambda: cli.app(["import", "logs", "--path", "mine", "--dry-run", "--json"]))
    shown = capsys.readouterr()
    assert said in shown.out + shown.err
    assert set(json.loads(shown.out)["tools"]) == {"OSU micro-benchmarks"}


def test_the_facts_of_a_system_file_are_those_of_the_run(capsys: Any, there: Path) -> None:
    write(there, {"n1/osu.txt": osu(), "big.toml": 'name = "Big"\nmemory_bandwidth = 2e11\n'})
    (run,) = imported(capsys, "n1", "--system", "big.toml", "--date", "2024-05-03")["runs"]
    written = records.head(Path(run["run"]))
    assert (written.machine.system, written.started, written.id) == ("Big", "2024-05-03", "Big-20240503")
    assert written.machine.limits["memory_bandwidth"].value == 2e11


@pytest.mark.parametrize(
    ("machine", "call"), [("1x Ampere Altra Max M96-28", "poor"), ("Ampere Altra Max M96-28", None)]
)
def test_the_name_of_a_machine_says_what_its_values_are_worth(
    capsys: Any, there: Path, machine: str, call: str | None
) -> None:
    text = "HPLinpack 2.3\nT/V  N  NB  P  Q  Time  Gflops\nWR11C2R4  50000  256  8  12  85.2  9.8e+02\n"
    write(there, {"hpl.txt": text})
    (run,) = imported(capsys, "hpl.txt", "--machine", machine)["runs"]
    (figure,) = figures_as_json(find_summary(Path(run["run"]), ()))
    assert figure["text"] == "980 Gflop/s"
    assert (figure["standing"] or {}).get("call") == call


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("osu.txt", "--system", "x.toml", "--machine", "x"), "Give --machine or --system"),
        (("nosuch",), "'nosuch' cannot be imported: No such file"),
        (("",), "'' cannot be imported"),
        (("a\0b",), "the name is not possible"),
        (("/dev/null",), "it is not an ordinary file"),
        (("osu.txt", "--date", "05/03/2021"), "Write it as 2024-05-03"),
        (("osu.txt", "--name", "a/b"), "is not a valid name"),
        (("osu.txt", "--system", "nosuch"), "There is no system file"),
        (("readme.txt",), "No file has a value"),
        (("broken.py", "--path", "broken"), "it does not declare MARKS"),
        (("osu.txt", "nosuch"), "nosuch"),
    ],
)
def test_a_mistake_is_a_sentence_and_writes_nothing(
    capsys: Any, there: Path, words: tuple[str, ...], expected: str
) -> None:
    write(there, {"osu.txt": osu(), "readme.txt": "Read me.", "broken.py": "x", "broken/x.py": "TOOL = 'x'\n"})
    assert expected in refused(capsys, *words)
    assert not (there / "runs").exists()


def test_ctrl_c_keeps_what_was_read(capsys: Any, there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(there, {f"logs/{i}.txt": osu(i + 1) for i in range(5)})
    real, count = reading.read, iter(range(9))

    def read(*words: Any) -> Any:
        if next(count) == 3:
            signal.raise_signal(signal.SIGINT)
        return real(*words)

    monkeypatch.setattr(reading, "read", read)
    assert cli.run_and_explain(lambda: cli.app(["import", "logs", "--json"])) == 130
    captured = capsys.readouterr()
    (run,) = json.loads(captured.out)["runs"]
    assert run["files"] == ["logs/0.txt", "logs/1.txt", "logs/2.txt"]
    assert "Run the same command again to read the rest." in captured.err
    (rest,) = imported(capsys, "logs")["runs"]
    assert rest["files"] == ["logs/3.txt", "logs/4.txt"]


@pytest.mark.parametrize("interrupted", [True, False])
def test_runs_are_written_all_or_none(
    capsys: Any, there: Path, monkeypatch: pytest.MonkeyPatch, interrupted: bool
) -> None:
    write(there, {"ib/a.txt": osu(1), "tcp/a.txt": osu(2)})
    real = write_runs.write_run

    def failing(*words: Any) -> Path:
        if interrupted:
            signal.raise_signal(signal.SIGINT)
        elif "tcp" in words:
            raise OSError(28, "No space left on device")
        return real(*words)

    monkeypatch.setattr(write_runs, "write_run", failing)
    code = cli.run_and_explain(lambda: cli.app(["import", "."]))
    assert code == (130 if interrupted else 4)
    assert not list((there / "runs").iterdir()), "no run stays"


def test_names_that_act_on_a_terminal_or_are_no_text_are_printed_safely(capsys: Any, there: Path) -> None:
    folder = write(there / "logs", {"a\x1b[31m\nb.txt": osu(1), "c.txt": osu(2), "d.sh\n": "x"})
    os.rename(bytes(folder / "c.txt"), bytes(folder) + b"/c\xff.txt")
    (run,) = imported(capsys, "logs", "--runs", "other")["runs"]
    assert run["files"] == [r"logs/a\x1b[31m\nb.txt", "logs/c\ufffd.txt"]
    assert (there / "other" / "imported" / "unread.txt").read_text() == "logs/d.sh\\n\tno known tool wrote it\n"
    cli.run_words(["import", "logs", "--runs", "other"])
    assert "\x1b" not in capsys.readouterr().out


def test_a_damaged_run_does_not_stop_an_import(capsys: Any, there: Path) -> None:
    write(there, {"osu.txt": osu(), "runs/x/run.json": "{", "runs/x/values.jsonl": ""})
    assert imported(capsys, "osu.txt")["runs"]


def test_a_file_that_cannot_be_opened_is_named(monkeypatch: pytest.MonkeyPatch, there: Path) -> None:
    write(there, {"osu.txt": osu()})
    found, _ = sources.find_sources(["osu.txt"])
    (there / "osu.txt").unlink()
    collection = collecting.collect(
        found, collecting.choose_formats([], []), collecting.Known(), lambda words, left: None
    )
    assert isinstance(collection, Collection)
    assert [row.reason for row in collection.unread] == ["No such file or directory"]
