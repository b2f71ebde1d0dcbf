"""Formats are recognised by their content: what is no trace is named, with what to do, and lists of files are found."""

import struct
from pathlib import Path

import pytest

from replays import Parameters, asked

BOOK = Parameters(L=1_000_000, o=0, g=0, G=1000).word()
READ = "Readable traces: folders of 'steelyard trace', their Parquet tables, OTF2, GOAL"

# The first bytes that each format has by its description.
FOREIGN = {
    b"#Paraver (01/01/2026 at 10:00):1000_ns:1(2):2:2(1:1,1:2),1\nc:1:2:1:2\n": "a trace of Paraver (.prv)",
    b"DEFAULT_OPTIONS\n\nLEVEL               THREAD\n": "the labels of a trace of Paraver (.pcf)",
    b"LEVEL CPU SIZE 2\n1.node\n": "the names of the rows of a trace of Paraver (.row)",
    b'#DIMEMAS:"x.dim":1,0:4(1,1,1,1)\n': "a trace of Dimemas (.dim)",
    b"/home/u/TRACE@node.0000001234000000000000.mpit named\n": "a list of Extrae's intermediate files (.mpits)",
    b"#This file was generated using SimGrid\n%EventDef PajeDefineContainerType 0\n": "a trace of Pajé",
    b'{"traceEvents": []}': "a trace for Chrome or Perfetto (JSON)",
    b'{"schemaVersion": 1}': "JSON",
    b"<?xml version='1.0'?>\n<x/>": "XML or HTML",
    b"# htor's PMPI Tracer 1.0 Output File\n# time: Sat\n\nMPI_Init:-:140:148:1000\n": "a trace of Liballprof",
    b"/* CTF 1.8 */\ntypealias": "the description of a trace of CTF (LTTng)",
    struct.pack("<QI", 4223, 4): "a binary GOAL file, as txt2bin makes it",
    b"OTF2\x01\x00\x00\x00": "a part of an OTF2 archive",
    b"STLYTRC1" + bytes(200): "the file of one rank of 'steelyard trace'",
    b"PAR1\x15\x04": "a Parquet file",
    b"CLOG-02.44is_big_endian=false": "a trace of MPE (CLOG)",
    b"\x00\x0aSLOG 2.0.6": "a trace of Jumpshot (SLOG)",
    b"\x1f\x8b\x08\x00": "compressed (gzip)",
    b"\xfd7zXZ\x00": "compressed (xz)",
    b"PK\x03\x04": "a zip archive",
    b"trace.0".ljust(257, b"\0") + b"ustar\x0000": "a tar archive",
    b"\x7fELF\x02\x01": "a program, or a library",
    b"SQLite format 3\x00": "a database (SQLite), as Nsight Systems writes it",
    b"\x89HDF\r\n\x1a\n": "an HDF5 file",
    b"\xff\xfen\x00u\x00m\x00": "text in UTF-16",
}  # fmt: skip


@pytest.mark.parametrize(("content", "what"), FOREIGN.items(), ids=FOREIGN.values())
def test_a_file_of_another_format_is_named(tmp_path: Path, content: bytes, what: str) -> None:
    path = tmp_path / "trace"
    path.write_bytes(content)
    (about,) = asked(path)
    assert f"The file '{path}' is {what}, which Steelyard cannot read as a trace. " in about["error"]
    assert READ in about["error"]


@pytest.mark.parametrize("text", ["time,rank,call\n0,1,MPI_Send\n", "hello world\n", "\x00\x01\x02 x\n"])
def test_text_of_an_unknown_format_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "trace"
    path.write_text(text, encoding="utf-8")
    (about,) = asked(path)
    assert "has an unknown format" in about["error"] or "looks like a list of files" in about["error"]
    assert READ in about["error"]


def test_a_folder_without_a_trace_says_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "x.prv").write_text("#Paraver (01/01/2026 at 10:00):1000_ns\n", encoding="utf-8")
    (about,) = asked(tmp_path)
    assert "Its file 'x.prv' is a trace of Paraver (.prv). " + READ in about["error"]
    (tmp_path / "pmpi-trace-rank-0.txt").write_text("MPI_Init_thread:-:140:148:0:64:1000\n", encoding="utf-8")
    (about,) = asked(tmp_path)
    assert "Its file 'pmpi-trace-rank-0.txt' is a trace of Liballprof. " + READ in about["error"]
    (tmp_path / "a.goal").write_text("// Schedgen\nnum_ranks 1\n", encoding="utf-8")
    (about,) = asked(tmp_path)
    assert f"Name the file: '{tmp_path}/a.goal'" in about["error"]


def listed(folder: Path, name: str = "{}", files: int = 2) -> Path:
    """A list in `folder`/replay whose files hold a message of 1000 B; `name` of each, in the list."""
    (folder / "replay").mkdir()
    actions = ("send 1 0 1000", "recv 0 0 1000")
    texts = [f"{r} init\n{r} {action}\n{r} finalize\n" for r, action in enumerate(actions)]
    for number, text in enumerate(texts if files == 2 else ["".join(texts)]):
        (folder / f"replay/a{number}.txt").write_text(text, encoding="utf-8")
    path = folder / "replay/split"
    path.write_text("".join(name.format(f"a{r}.txt") + "\n" for r in range(files)), encoding="utf-8")
    return path


# Beside the list; from the folder in which smpirun was called; anywhere.
@pytest.mark.parametrize("name", ["{}", "./{}", "replay/{}", "FOLDER/replay/{}"])
def test_the_files_of_a_list_are_found(tmp_path: Path, name: str) -> None:
    about, answer = asked(listed(tmp_path, name.replace("FOLDER", str(tmp_path))), BOOK)
    assert (about["ranks"], answer["time"]) == (2, [1_999_000])


def test_a_list_names_files_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = listed(tmp_path)
    monkeypatch.chdir(tmp_path / "replay")
    moved = tmp_path / "split"
    moved.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    assert asked(moved, BOOK)[1]["time"] == [1_999_000]


def test_a_list_of_one_file_is_of_all_ranks(tmp_path: Path) -> None:
    about, answer = asked(listed(tmp_path, files=1), BOOK)
    assert (about["ranks"], answer["time"]) == (2, [1_999_000])


def test_a_missing_file_of_a_list_is_named(tmp_path: Path) -> None:
    path = listed(tmp_path, "elsewhere/{}")
    (about,) = asked(path)
    assert "its file 'elsewhere/a0.txt' cannot be read: No such file or directory, neither beside" in about["error"]


# By number, from the list in SimGrid's sources: MPI_UB and MPI_LB have no content.
@pytest.mark.parametrize(
    ("number", "size"), [(0, 8), (6, 1), (51, 1), (54, 32), (55, 0), (56, 0), (57, 1), (58, 8), (59, 8)]
)
def test_each_datatype_of_simgrid_has_its_size(tmp_path: Path, number: int, size: int) -> None:
    path = tmp_path / "trace"
    path.write_text(f"0 init\n0 send 1 0 100 {number}\n1 init\n1 recv 0 0 100 {number}\n", encoding="utf-8")
    assert asked(path)[0]["bytes"] == 100 * size


def test_a_mark_of_utf_8_and_ends_of_lines_of_windows_are_read(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_bytes(b"\xef\xbb\xbfnum_ranks 1\r\nrank 0 {\r\na: calc 1000\r\n}\r\n")
    assert asked(path, BOOK)[1]["time"] == [1_000_000]


# What LogGOPSim's txt2bin takes besides the usual form.
@pytest.mark.parametrize(
    "line",
    [
        "a: calc 1000 cpu 0",
        "a:calc 1000",
        "a : calc 1000",
        "\ta:\tcalc\t1000\t// as long as this",
        "/* two\nlines */ a: calc 1000",
        "calc 1000",
        "a: send 8b to 0\nb: recv 8 b from 0\nc: calc 1000",
        "a: calc 400\nb: calc 600\nb irequires a",
    ],
)
def test_each_form_of_goal_is_read(tmp_path: Path, line: str) -> None:
    path = tmp_path / "trace"
    path.write_text(f"num_ranks 1\n\nrank 0 {{\n{line}\n}}\n", encoding="utf-8")
    about, answer = asked(path, "across=0,0,0,0,0,0")
    assert answer["time"] == [1_000_000], about


@pytest.mark.parametrize(("option", "said"), [("-1", "from any rank"), ("0 tag -1", "with any tag")])
def test_a_goal_receive_from_anyone_is_refused(tmp_path: Path, option: str, said: str) -> None:
    path = tmp_path / "trace"
    path.write_text(f"num_ranks 1\nrank 0 {{\na: recv 8b from {option}\n}}\n", encoding="utf-8")
    assert f"trace, line 3: a receive {said}: the file does not name" in asked(path)[0]["error"]
