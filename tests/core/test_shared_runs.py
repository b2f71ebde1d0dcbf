"""Runs in one file: bit for bit what was measured, anonymous where asked, and refused where anything is wrong."""

import hashlib
import io
import json
import random
import re
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copied_runs import measure_small
from damage import renewed, unpack
from steelyard.measure.records import anonymous, shared, sums
from steelyard.show.command_line import cli

Members = dict[str, bytes]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a small case."""
    return measure_small(tmp_path_factory.mktemp("shared") / "runs", 1) / "b0"


@pytest.fixture(scope="module")
def packed(measured: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run as a shared file."""
    file = tmp_path_factory.mktemp("packed") / "b0.zip"
    share(str(measured), "-o", str(file))
    return file


def share(*words: str, code: int = 0) -> None:
    assert cli.run_and_explain(lambda: cli.app(["share", *words])) == code


def members_of(file: Path) -> Members:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_shared_run_is_bit_for_bit_the_same(measured: Path, packed: Path, tmp_path: Path) -> None:
    (taken,) = shared.take(packed, tmp_path / "runs")
    assert taken.new
    for name in ("run.json", "records.jsonl", "finished.json", sums.SUMS):
        assert (taken.folder / name).read_bytes() == (measured / name).read_bytes()
    assert not set(shared.MADE) & {file.name for file in taken.folder.iterdir()}
    assert taken.digest == sums.find_digest(measured)
    (again,) = shared.take(packed, tmp_path / "runs")
    assert not again.new
    assert again.folder == taken.folder
    assert [file.name for file in (tmp_path / "runs").iterdir()] == ["b0"]


def test_a_shared_file_has_the_report_and_the_results(packed: Path) -> None:
    members = members_of(packed)
    assert members["b0/report.html"].startswith(b"<!doctype html>")
    assert len(members["b0/results.jsonl"].splitlines()) > 1


def test_the_same_runs_make_the_same_file(measured: Path) -> None:
    made = []
    for _ in range(2):
        file = io.BytesIO()
        shared.write([measured], file)
        made.append(file.getvalue())
    assert made[0] == made[1]


def test_another_run_of_the_same_name_gets_a_further_name(packed: Path, measured: Path, tmp_path: Path) -> None:
    members = members_of(packed)
    members["b0/finished.json"] = b'{"seconds": 2.0}'
    (first,) = shared.take(packed, tmp_path / "runs")
    (second,) = shared.take(archive(tmp_path, rewritten(members)), tmp_path / "runs")
    assert (first.folder.name, second.folder.name) == ("b0", "b0-2")


def test_a_dry_run_writes_nothing(packed: Path, tmp_path: Path) -> None:
    (taken,) = shared.take(packed, tmp_path / "runs", written=False)
    assert taken.folder == tmp_path / "runs" / "b0"
    assert list(tmp_path.iterdir()) == []


# --------------------------------------------------------------------------- what is refused


def archive(folder: Path, members: Members, change: Callable[[zipfile.ZipInfo], None] = lambda _: None) -> Path:
    file = folder / "made.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            about = zipfile.ZipInfo(name)
            about.compress_type = zipfile.ZIP_DEFLATED
            change(about)
            made.writestr(about, content)
    return file


def rewritten(members: Members) -> Members:
    """The same with checksums that fit: whoever writes a hostile file does that, too."""
    runs = {name.partition("/")[0] for name in members}
    for run in runs:
        names = sorted(name for name in sums.FILES if f"{run}/{name}" in members)
        lines = [f"{hashlib.sha256(members[f'{run}/{name}']).hexdigest()}  {name}\n" for name in names]
        members[f"{run}/{sums.SUMS}"] = "".join(lines).encode()
    return members


NAMES = (
    "../b0/run.json", "/etc/passwd", "b0/../../x", "b0/sub/run.json", "b0\\..\\run.json", ".ssh/authorized_keys", "b0/",
    "b0/run.json\0", "b0/setup.py", "b0/.hidden", "-rf/run.json", "b0//run.json", "C:/run.json", "b0/sitecustomize.py",
)  # fmt: skip
Change = Callable[[zipfile.ZipInfo], None]


def add_foreign_name(members: Members, name: str, chance: random.Random) -> None:
    members[chance.choice(NAMES)] = b"x"


def change_a_bit(members: Members, name: str, chance: random.Random) -> None:
    at = chance.randrange(len(members[name]))
    members[name] = (
        members[name][:at] + bytes([members[name][at] ^ (1 << chance.randrange(8))]) + members[name][at + 1 :]
    )


def damage_sums(members: Members, name: str, chance: random.Random) -> None:
    members["b0/SHA256SUMS"] = chance.choice([b"", b"\xff\xfe", b"0" * 64 + b"  run.json\n", b"x  ../../y\n"])


def change_types(members: Members, name: str, chance: random.Random) -> None:
    about = json.loads(members["b0/run.json"])
    place: Any = about
    key = chance.choice(sorted(place))
    while isinstance(place[key], dict) and place[key] and chance.random() < 0.8:
        place = place[key]
        key = chance.choice(sorted(place))
    place[key] = chance.choice([[[[1]]], {"x": {"y": 1}}, -1.5e300])
    about["plan"] = chance.choice([None, [], 7])
    members["b0/run.json"] = json.dumps(about).encode()
    rewritten(members)


def tear_records(members: Members, name: str, chance: random.Random) -> None:
    members["b0/records.jsonl"] = members["b0/records.jsonl"][: -chance.randrange(2, 2000)]
    rewritten(members)


def add_a_bomb(members: Members, name: str, chance: random.Random) -> None:
    members["b0/power.jsonl"] = b"\n" * (8 << 20)
    rewritten(members)


def leave_one_out(members: Members, name: str, chance: random.Random) -> None:
    del members[chance.choice(["b0/SHA256SUMS", name])]


def make_special(chance: random.Random) -> Change:
    mode = chance.choice([0o120777, 0o010644, 0o020644, 0o060644])  # link, pipe, devices
    return lambda about: setattr(about, "external_attr", mode << 16)


def pack_in_an_unknown_way(chance: random.Random) -> Change:
    return lambda about: setattr(about, "compress_type", zipfile.ZIP_LZMA)


def cut(content: bytearray, chance: random.Random) -> bytearray:
    return content[: chance.randrange(len(content) - 1)]


def change_list(content: bytearray, chance: random.Random) -> bytearray:
    start = content.rfind(b"PK\x01\x02")
    for _ in range(4):
        content[chance.randrange(start, start + 24)] ^= 1 << chance.randrange(8)
    return content


def lie_about_size(content: bytearray, chance: random.Random) -> bytearray:
    at = content.find(b"PK\x01\x02")
    struct.pack_into("<I", content, at + 24, chance.choice([1, 0x7FFFFFFF, 0xFFFFFFF0]))
    return content


OF_MEMBERS = (
    add_foreign_name, change_a_bit, damage_sums, change_types, tear_records, add_a_bomb, leave_one_out,
)  # fmt: skip
OF_ONE = (make_special, pack_in_an_unknown_way)
OF_BYTES = (cut, change_list, lie_about_size)


def hostile(good: Members, seed: int, folder: Path) -> tuple[Callable[..., Any], Path]:
    """A shared file that is wrong in one of many ways, and this way."""
    chance = random.Random(seed)
    members, way = dict(good), chance.choice([*OF_MEMBERS, *OF_ONE, *OF_BYTES])
    name = chance.choice(["b0/run.json", "b0/records.jsonl", "b0/finished.json"])
    if way in OF_MEMBERS:
        way(members, name, chance)
    change = way(chance) if way in OF_ONE else None
    file = archive(folder, members, lambda about: change(about) if change and about.filename == name else None)
    if way in OF_BYTES:
        file.write_bytes(way(bytearray(file.read_bytes()), chance))
    return way, file


@pytest.mark.parametrize("part", range(10))
@pytest.mark.sampled(1)
def test_a_thousand_hostile_files_are_refused_and_nothing_is_written(part: int, packed: Path, tmp_path: Path) -> None:
    good, runs = members_of(packed), tmp_path / "a" / "runs"
    good.pop("b0/report.html")  # large, and not taken
    ways = set()
    for seed in range(100 * part, 100 * part + 100):
        way, file = hostile(good, seed, tmp_path)
        ways.add(way)
        try:
            taken = shared.take(file, runs)
        except ValueError as error:
            assert 5 < len(str(error)) < 1000
        else:  # bits of a list of files that mean nothing, such as the time of a file
            assert way is change_list, (way, seed)
            assert [one.digest for one in taken] == [digest(good)]
        assert {path.name for path in tmp_path.iterdir()} <= {"made.zip", "a"}
        assert [path.name for path in (tmp_path / "a").iterdir()] == ["runs"]
        assert {path.name for path in runs.iterdir()} <= {"b0"}
    assert len(ways) > 8


def digest(members: Members) -> str:
    return hashlib.sha256(members["b0/SHA256SUMS"]).hexdigest()[: sums.SHORT]


def test_too_many_runs_and_too_large_ones_are_refused(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = members_of(packed)
    many = {name.replace("b0/", f"b{n}/"): content for n in range(6) for name, content in good.items()}
    assert len(shared.take(archive(tmp_path, many), tmp_path / "runs")) == 6
    monkeypatch.setattr(shared, "MOST_RUNS", 5)
    with pytest.raises(ValueError, match="more than 5 runs"):
        shared.take(archive(tmp_path, many), tmp_path / "others")
    monkeypatch.setattr(shared, "LARGEST", 1000)
    with pytest.raises(ValueError, match="unpacks to too many bytes"):
        shared.take(archive(tmp_path, good), tmp_path / "others")
    assert list((tmp_path / "others").iterdir()) == []


# --------------------------------------------------------------------------- without names


SECRETS = {
    "host": "frodo17", "user": "mgamgee", "system": "Barad-dur", "domain": "frodo17.shire.example", "mail": "sam@shire.example",
    "address": "10.20.30.40", "mac": "52:54:00:ab:cd:ef", "six": "fe80::5054:ff:feab:cdef",
    "number": "GPU-5c1b3f6e-1d2c-4b5a-9e8f-0a1b2c3d4e5f", "path": "/scratch/mordor/project/solver", "page": "https://git.shire.example/x",
}  # fmt: skip


def planted(run: Path) -> None:
    """Writes the secrets into the places of a run where they stand in real ones."""
    about = json.loads((run / "run.json").read_text())
    about["machine"] |= {"host": SECRETS["host"], "system": SECRETS["system"]}
    for network in about["machine"]["networks"]:
        network["hosts"] = [SECRETS["domain"]]
    words = [
        "--app",
        f"/home/{SECRETS['user']}/solver.toml",
        "--hosts",
        f"{SECRETS['host']}:4",
        "--system",
        SECRETS["path"],
    ]
    about["command"] += [*words, *SECRETS.values()]
    about["machine"]["notes"].append("; ".join(f"{name} is {secret}" for name, secret in SECRETS.items()))
    about |= {"id": "sams-run", "job": "slurm 4711", "paths": [SECRETS["path"]]}
    about["command"] += ["--name", "sams-run"]
    about["machine"]["notes"].append(f"/proc/sys/{SECRETS['host']}/x and /dev/shm/{SECRETS['user']}/y")
    about["shown"]["best"] |= {
        "core_clock gcc-12.2.0 secret.solver step 1": 3e9,
        "core_clock gcc /dev/shm/mgamgee/a x 1": 3e9,
    }
    (run / "run.json").write_text(json.dumps(about))
    records = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    for record in records:
        record["check"]["detail"] = f"compared with {SECRETS['path']} on {SECRETS['domain']} by {SECRETS['user']}"
    (run / "records.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))


def test_an_anonymous_file_names_nobody_and_measures_the_same(
    measured: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "source"
    run.mkdir()
    for name in sums.FILES:
        if (measured / name).is_file():
            (run / name).write_bytes((measured / name).read_bytes())
    planted(run)
    share(str(run), "--anonymous", "-o", str(tmp_path / "x.zip"))
    assert re.search(r"Replaced: .*host.*address.*look at the file", capsys.readouterr().out)
    for name, content in members_of(tmp_path / "x.zip").items():
        for secret in (*SECRETS.values(), "mordor", "shire", "slurm 4711", "sams-run", "secret.solver"):
            text = content.replace(f"/proc/sys/{SECRETS['host']}/x".encode(), b"")
            assert secret.encode() not in text, (name, secret)
    (taken,) = shared.take(tmp_path / "x.zip", tmp_path / "runs")
    assert taken.folder.name == "anonymous"
    before, after = (
        [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
        for folder in (run, taken.folder)
    )
    for old, new in zip(before, after, strict=True):
        assert old.pop("check") != new.pop("check")
        assert old == new
    about = json.loads((taken.folder / "run.json").read_text())
    assert about["machine"]["host"] == "host1"
    assert about["job"] == "slurm"
    assert f"/proc/sys/{SECRETS['host']}/x" in json.dumps(about), "a path of the system is not changed"
    kept = json.loads((measured / "run.json").read_text())["shown"]["best"]
    assert {key: kept[key] for key in about["shown"]["best"]} == about["shown"]["best"]
    assert about["toolchains"] == json.loads((run / "run.json").read_text())["toolchains"]  # /usr/bin names nobody


def test_a_run_with_a_damaged_line_is_shared_without_it_or_not_at_all(
    measured: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "killed"
    sums.copy(measured, run)
    with (run / "records.jsonl").open("a") as file:
        file.write('{"benchmark": "memory.str')
    share(str(run), "-o", str(tmp_path / "x.zip"), code=2)
    assert (
        "Readers would refuse the run killed: the last line of records.jsonl is incomplete" in capsys.readouterr().err
    )
    assert not (tmp_path / "x.zip").exists()
    share(str(run), "--anonymous", "-o", str(tmp_path / "x.zip"))
    (taken,) = shared.take(tmp_path / "x.zip", tmp_path / "runs")
    assert len((taken.folder / "records.jsonl").read_text().splitlines()) == len(
        (measured / "records.jsonl").read_text().splitlines()
    )


def test_a_host_that_is_called_as_a_field_or_a_kernel_changes_only_where_it_stands(
    measured: Path, tmp_path: Path
) -> None:
    for word in ("triad", "host", "CLEAN", "memory.stream", "samples", "12.2", "1"):
        run = tmp_path / f"of {word}"
        run.mkdir()
        for name in ("run.json", "records.jsonl", "finished.json"):
            (run / name).write_bytes((measured / name).read_bytes())
        about = json.loads((run / "run.json").read_text())
        about["machine"] |= {"host": word, "system": word}
        (run / "run.json").write_text(json.dumps(about))
        hidden = anonymous.Anonymous(run)
        hidden.copy(run, run / "copy")
        assert [json.loads(line) for line in (run / "copy" / "records.jsonl").read_text().splitlines()] == [
            json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()
        ]
        assert json.loads((run / "copy" / "run.json").read_text())["machine"]["host"] == "host1"


def test_a_whole_run_can_be_shared_without_names_and_keeps_its_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = renewed(unpack(tmp_path / "runs"))
    share(str(run), "--anonymous", "-o", str(tmp_path / "x.zip"))
    (taken,) = shared.take(tmp_path / "x.zip", tmp_path / "others")
    capsys.readouterr()
    shown = []
    for folder in (run, taken.folder):
        assert cli.run_and_explain(lambda folder=folder: cli.app(["export", str(folder), "--format", "csv"])) == 0
        text = re.sub(r"^[^,]*,[^,]*,", "", capsys.readouterr().out, flags=re.MULTILINE)
        shown.append(re.sub(r"\bon (?:vm|host\d)\b", "on a host", text))
    assert shown[0] == shown[1]


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("see https://x.example/a?b=c.", "see <address>."),
        ("PATH=/home/a/bin:/usr/bin", "PATH=/<path>:/usr/bin"),
        ("node1:4,10.0.0.7:9000", "node1:4,<address>"),
        ("~/x (eve@host.example)", "/<path> (<address>)"),
        ("fe80::1 ::1 12:30 12:30:45", "<address> <address> 12:30 12:30:45"),
        ("/home/eve/a.txt.", "/<path>."),
        ("/ a/b", "/ a/b"),
        ("0:1:2:3 1:2", "0:1:2:3 1:2"),
    ],
)
def test_paths_addresses_and_their_neighbours(text: str, hidden: str) -> None:
    assert anonymous.hide(text, lambda kind, found: f"<{kind}>") == hidden


@given(
    st.lists(
        st.sampled_from(
            ["GB/s", "flop/s", "4.1.4", "12:30:45", "2/3", "1.2.3", "/usr/bin/g++", "/proc/cpuinfo", "std::sort"]
        )
    )
)
def test_units_versions_times_and_common_paths_stay(words: list[str]) -> None:
    text = " ".join(words)
    assert anonymous.hide(text, lambda kind, found: "!") == text
