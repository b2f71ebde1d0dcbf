"""What is read becomes one run for each machine and date, as far as files and folders say so, and no further."""

from collections.abc import Sequence
from dataclasses import replace

from steelyard.importing.collecting import ReadFile
from steelyard.importing.dates import read_date
from steelyard.importing.grouping import Group, counts_repetitions, group_files
from steelyard.importing.reading import Reading
from steelyard.importing.values import make
from steelyard.importing.write_runs import name_runs
from steelyard.model import ForeignValue


def value(kernel: str = "copy", host: str = "", started: str = "") -> ForeignValue:
    made = make("memory.stream", kernel, "bandwidth", 10, "GB/s", "best of 9", {"threads": 2})
    return replace(made, host=host, started=started, tool="STREAM")


def file(
    name: str, host: str = "", started: str = "", kernel: str = "copy", values: Sequence[ForeignValue] = ()
) -> ReadFile:
    given = tuple(replace(v, file=name) for v in values or (value(kernel),))
    reading = Reading(values=given, tools=("STREAM",), host=host, started=started)
    return ReadFile(name=name, digest=name, reading=reading)


def runs(groups: Sequence[Group]) -> dict[tuple[str, str], list[str]]:
    assert len({(group.host, group.date) for group in groups}) == len(groups)
    return {(group.host, group.date): sorted(group.files.values()) for group in groups}


def test_hosts_and_dates_in_files_make_runs() -> None:
    groups = group_files([
        file("a", "n1.cluster.org", "Fri May  3 09:25:44 2024"), file("b", "n1", "2024-05-03 22:00"),
        file("c", "n1", "2024-05-04"), file("d", "n2", "2024-05-03"), file("e"),
    ])  # fmt: skip
    assert runs(groups) == {
        ("n1", "2024-05-03"): ["a", "b"], ("n1", "2024-05-04"): ["c"], ("n2", "2024-05-03"): ["d"], ("", ""): ["e"],
    }  # fmt: skip
    assert groups[1].started == "2024-05-03T09:25:44"


def test_a_file_with_several_hosts_and_dates_is_divided() -> None:
    values = [
        value(host="n1", started="2024-05-03"),
        value(host="n2", started="2024-05-03"),
        value(started="2024-05-04"),
    ]
    groups = group_files([file("perflog", "n1", values=values)])
    assert [(g.host, g.date, len(g.values)) for g in groups] == [
        ("n1", "2024-05-03", 1), ("n1", "2024-05-04", 1), ("n2", "2024-05-03", 1),
    ]  # fmt: skip


def test_a_file_without_a_host_or_date_does_not_take_those_of_its_neighbours() -> None:
    groups = group_files([file("x/a", "n1", "2024-05-03"), file("x/b", kernel="add")])
    assert runs(groups) == {("n1", "2024-05-03"): ["x/a"], ("", ""): ["x/b"]}
    assert [group.placed for group in groups] == [0, 0]


def test_names_of_folders_are_hosts_and_dates_only_where_that_is_certain() -> None:
    assert runs(group_files([file("node01/2024-05-03/a")])) == {("node01", "2024-05-03"): ["node01/2024-05-03/a"]}
    assert runs(group_files([file("node2/20240503/a")])) == {("", ""): ["node2/20240503/a"]}
    assert runs(group_files([file("r7/a")], hosts=["r7"])) == {("r7", ""): ["r7/a"]}
    groups = group_files([file("r7/a"), file("b", "r7")])
    assert runs(groups) == {("r7", ""): ["b", "r7/a"]}
    assert groups[0].placed == 1
    assert runs(group_files([file("node01/node02/a")])) == {("", ""): ["node01/node02/a"]}


def test_a_given_date_is_that_of_files_without_one() -> None:
    groups = group_files([file("a", started="2024-05-03"), file("b/b")], date="2020-01-01")
    assert runs(groups) == {("", "2020-01-01"): ["b/b"], ("", "2024-05-03"): ["a"]}


def test_files_of_one_machine_keep_their_hosts_in_their_values() -> None:
    (group,) = group_files([file("a", "n1"), file("b", "n2")], one_machine=True)
    assert group.host == ""
    assert [(v.host, v.repetition, v.file) for v in group.values] == [("n1", 0, "a"), ("n2", 0, "b")]


def test_folders_of_different_conditions_are_not_mixed() -> None:
    groups = group_files([file("logs/ib/a"), file("logs/tcp/a"), file("logs/ib/b", kernel="add")])
    assert [(group.label, sorted(group.files.values())) for group in groups] == [
        ("ib", ["logs/ib/a", "logs/ib/b"]), ("tcp", ["logs/tcp/a"]),
    ]  # fmt: skip
    assert len(group_files([file("osu/a"), file("stream/a", kernel="add")])) == 1, "they have no case in common"


def test_numbered_folders_hold_repetitions() -> None:
    (group,) = group_files([file("run1/a"), file("run2/a"), file("run2/b")])
    assert [v.repetition for v in group.values] == [0, 1, 2]
    assert group.repeated == 1


def test_numbers_in_names_of_folders_count_only_where_that_is_likely() -> None:
    counting = ["run1 run2", "1234 99", "results-3 results-7", "x01 x02", "x0 x1 x2 x3"]
    others = ["gcc9 gcc12", "v1 v2", "ib tcp", "run1 ib1", "x1 x2 x4 x8"]
    assert [names for names in (*counting, *others) if counts_repetitions(names.split())] == counting


DATES = {
    "Fri May  3 09:25:44 2024": "2024-05-03T09:25:44",
    "Mon May  3 10:00:00 CEST 2021": "2021-05-03T10:00:00",
    "Wed Oct  7 05:11:36 PM 2020": "2020-10-07",
    "Mon 03 May 2021 11:22:33 AM UTC": "2021-05-03",
    "2021-05-03T10:11:12.5+02:00": "2021-05-03T10:11:12",
    "2024.05.03-09.25.44": "2024-05-03",
    "20210503-101112": "2021-05-03T10:11:12",
    "May 3, 2021": "2021-05-03",
    "1620036672": "2021-05-03T10:11:12+00:00",
    "05/03/2021": "",
    "Tue Feb 30 10:00:00 2021": "",
    "run 12345678": "",
    "0001-01-01": "",
    "99999999999999": "",
    "": "",
}


def test_a_date_is_read_if_it_is_certain() -> None:
    assert {printed: read_date(printed) for printed in DATES} == DATES


def test_runs_are_named_after_host_date_and_folders() -> None:
    groups = [Group(host="n1", date="2024-05-03", label="ib"), Group(host="", date=""), Group(host="ü/..", date="")]
    assert name_runs(groups, "", None) == ["n1-20240503-ib", "imported", "ü"]
    assert name_runs(groups, "old", None) == ["old-n1-20240503-ib", "old", "old-ü"]
    assert name_runs(groups[:1], "old", None) == ["old"]
