"""An import goes on after a file that takes too long, has too much, or is there twice."""

import gzip
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from import_fixture import hpl, imported, osu, tar, write
from steelyard.importing import collecting, reading
from steelyard.importing.grouping import Group
from steelyard.importing.write_runs import name_runs

pytestmark = pytest.mark.attack

SLOW = """
TOOL = "slow"
MARKS = ("slowly",)
def read(text):
    text.find(r"(?=slowly (x+x+)+y)")
    yield from ()
"""


@pytest.fixture(autouse=True)
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, where nothing has been imported."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_pattern_that_takes_too_long_ends_and_the_next_file_is_read(
    capsys: Any, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "LEAST", 0.2)
    write(there, {"formats/slow.py": SLOW, "logs/a.txt": f"slowly {'x' * 60}\n", "logs/b.txt": osu()})
    result = imported(capsys, "logs", "--path", "formats")
    assert [row["file"] for row in result["unread"]] == ["logs/a.txt"]
    assert result["unread"][0]["reason"].startswith("reading it took longer than 0.3 s of processor time")
    assert result["runs"][0]["files"] == ["logs/b.txt"]


def test_slow_files_share_the_time_of_all_files(capsys: Any, there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "LEAST", 0.5)
    texts = {f"logs/{at}.txt": f"slowly {'x' * 60}{at}\n" for at in range(3)}
    write(there, {"formats/slow.py": SLOW, "logs/z.txt": osu(), **texts})
    result = imported(capsys, "logs", "--path", "formats")
    limits = [float(row["reason"].split()[5]) for row in result["unread"]]
    assert limits[0] == 0.6
    assert sum(limits) <= 1.0, "0.5 s for all files, and 0.1 s for each"
    assert result["runs"][0]["files"] == ["logs/z.txt"]


def test_an_import_with_too_many_values_leaves_out_the_next_file(
    capsys: Any, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "MOST_VALUES", 1)
    write(there, {"logs/a.txt": osu(), "logs/b.txt": hpl()})
    result = imported(capsys, "logs")
    assert [row["file"] for row in result["unread"]] == ["logs/b.txt"]
    assert result["unread"][0]["reason"] == collecting.TOO_MANY


def test_a_file_with_too_many_values_keeps_the_first_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST", 1)
    result = reading.read(osu().encode(), reading.find_formats())
    assert len(result.values) == 1
    assert result.problems == (f"OSU micro-benchmarks: {reading.TOO_MANY}",)


def test_equal_contents_are_read_once(capsys: Any, there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contents = list[bytes]()
    read = reading.read
    monkeypatch.setattr(reading, "read", lambda data, *rest: (contents.append(data), read(data, *rest))[1])
    inner = tar({"o.txt": osu(), "o2.txt": osu(), "none.txt": "nothing"})
    outer = tar({"a.tar": inner, "b.tar": inner, "none2.txt": "nothing"})
    write(
        there,
        {"1.tar.gz": gzip.compress(outer), "2.tar.gz": gzip.compress(outer, mtime=1), "3.tar.gz": gzip.compress(outer)},
    )
    (there / "3.tar.gz").write_bytes((there / "1.tar.gz").read_bytes())
    result = imported(capsys, "1.tar.gz", "2.tar.gz", "3.tar.gz")
    assert len(contents) == len(set(contents)) == 2
    equal = {row["file"]: row["same_as"] for row in result["equal"]}
    assert equal == {
        "1.tar.gz/a.tar/o2.txt": "1.tar.gz/a.tar/o.txt",
        "1.tar.gz/b.tar": "1.tar.gz/a.tar",
        "2.tar.gz/a.tar": "1.tar.gz/a.tar",
        "2.tar.gz/b.tar": "1.tar.gz/a.tar",
        "3.tar.gz": "1.tar.gz",
    }


@pytest.mark.parametrize("words", [("import", "-"), ("remove", "a-run"), ("list",)])
def test_a_closed_standard_stream_is_no_traceback(words: tuple[str, ...], there: Path) -> None:
    line = f"{sys.executable} -P -m steelyard {' '.join(words)}"
    for closed in ("<&-", "<&- >&-"):
        done = subprocess.run(
            ["sh", "-c", f"{line} {closed}"], check=False, capture_output=True, text=True, cwd=there, timeout=60
        )
        assert "Traceback" not in done.stderr
        assert done.returncode == (0 if words[0] == "list" else 2)


def test_a_name_in_an_archive_stays_in_its_line(there: Path, capsys: Any) -> None:
    names = ("a\nb.txt", "c\x1b[2Jd.txt", "e\u2028f.txt", "g\tand h.txt", "i\u202ej.txt", "k\x85l.txt")
    write(there, {"a.tar": tar({name: f"no tool {name}" for name in names} | {"n\no.txt": osu()})})
    result = imported(capsys, "a.tar")
    files = [row["file"] for row in result["unread"]] + result["runs"][0]["files"]
    assert len(files) == 7
    assert all(name.isprintable() for name in files)


@pytest.mark.parametrize("label", ["узел", "超级计算机", "हिन्दी", "κόμβος", "노드"])
def test_a_run_keeps_the_letters_of_any_script(label: str) -> None:
    groups = [Group(system=f"{label} {at}") for at in range(3)]
    assert name_runs(groups, "", None) == [f"{label}-{at}" for at in range(3)]
    long = name_runs([Group(system=label * 50)], "", None)[0]
    assert label in long
    assert 60 < len(long.encode()) <= 80


def test_the_name_of_a_run_has_no_path_and_nothing_that_acts_on_a_terminal() -> None:
    names = name_runs([Group(system="../../x\n\x1b[2J\u202e/..")], "", None)
    assert names == ["x-2J"]
