"""What is read becomes one run for each system, as far as files and folders say so, and no further."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from steelyard.importing.collecting import ReadFile
from steelyard.importing.dates import read_date
from steelyard.importing.grouping import Group, group_files, list_hosts
from steelyard.importing.identity import identify
from steelyard.importing.name_facts import counts_repetitions
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


def grouped(files: Sequence[ReadFile], hosts: Sequence[str] = (), **options: Any) -> list[Group]:
    identities, _ = identify(files, {*hosts, *list_hosts(files)})
    return group_files(files, identities, **options)


def runs(groups: Sequence[Group]) -> dict[tuple[str, str], list[str]]:
    assert len({(group.name, group.date) for group in groups}) == len(groups)
    return {(group.name, group.date): sorted(group.files.values()) for group in groups}


def test_a_run_is_a_system_and_the_date_belongs_to_the_value() -> None:
    groups = grouped([
        file("run1", "n1.cluster.org", "Fri May  3 09:25:44 2024"), file("run2", "n1", "2024-05-03 22:00"),
        file("run3", "n1", "2024-05-04"), file("d", "other", "2024-05-03"), file("e"),
    ])  # fmt: skip
    assert runs(groups) == {("n1", ""): ["run1", "run2", "run3"], ("other", "2024-05-03"): ["d"], ("", ""): ["e"]}
    (n1,) = (group for group in groups if group.name == "n1")
    assert (n1.started, n1.last) == ("2024-05-03T09:25:44", "2024-05-04")
    assert [v.started for v in n1.values] == ["2024-05-03T09:25:44", "2024-05-03T22:00:00", "2024-05-04"]
    assert [v.repetition for v in n1.values] == [0, 1, 2]


def test_hosts_whose_names_differ_in_numbers_are_nodes_of_one_system() -> None:
    (group,) = grouped([file("a", "nid01"), file("b", "nid02"), file("c", "nid02", kernel="add")])
    assert (group.name, group.host) == ("nid01-to-nid02", "")
    assert [(v.kernel, v.parameters.get("host")) for v in group.values] == [
        ("copy", "nid01"), ("copy", "nid02"), ("add", None),
    ], "the host is a parameter of a case that several have"  # fmt: skip
    assert len(grouped([file("a", "ip-172-31-1-2"), file("b", "ip-172-31-9-8")])) == 2, "rented machines of any kind"


def test_a_run_holds_a_host_or_a_day_if_that_is_asked() -> None:
    files = [
        file("run1", "nid01", "2024-05-03"),
        file("run2", "nid02", "2024-05-03"),
        file("run3", "nid02", "2024-05-04"),
    ]
    assert list(runs(grouped(files, each="host"))) == [("nid01", "2024-05-03"), ("nid02", "")]
    assert [group.date for group in grouped(files, each="date")] == ["2024-05-03", "2024-05-04"]


@pytest.mark.parametrize("given", [{"nodes": 2}, {"ranks": 512, "threads": 6}, {"ranks": 64, "ranks_per_node": 32}])
def test_a_job_on_several_nodes_belongs_to_the_system_whichever_node_it_names(given: dict[str, int]) -> None:
    two = replace(value(), parameters=given)
    (group,) = grouped([file("run1", "nid01", values=[two]), file("run2", "nid02", values=[two])])
    assert [(v.parameters, v.repetition) for v in group.values] == [(given, 0), (given, 1)]


def test_a_file_with_several_hosts_and_dates_is_divided() -> None:
    values = [
        value(host="n1", started="2024-05-03"),
        value(host="other", started="2024-05-03"),
        value(started="2024-05-04"),
    ]
    groups = grouped([file("perflog", "n1", values=values)])
    assert [(g.name, g.date, len(g.values)) for g in groups] == [("n1", "", 2), ("other", "2024-05-03", 1)]


def test_a_file_without_a_host_or_date_does_not_take_those_of_its_neighbours() -> None:
    groups = grouped([file("x/a", "n1", "2024-05-03"), file("x/b", kernel="add")])
    assert runs(groups) == {("n1", "2024-05-03"): ["x/a"], ("", ""): ["x/b"]}
    assert [group.placed for group in groups] == [0, 0]


def test_names_of_folders_are_hosts_and_dates_only_where_that_is_certain() -> None:
    assert runs(grouped([file("node01/2024-05-03/a")])) == {("node01", "2024-05-03"): ["node01/2024-05-03/a"]}
    assert runs(grouped([file("node2/20240503/a")])) == {("", "2024-05-03"): ["node2/20240503/a"]}
    assert runs(grouped([file("x/03052024/a"), file("x/12-03-2019/b")])) == {
        ("", ""): ["x/03052024/a", "x/12-03-2019/b"]
    }
    assert runs(grouped([file("r7/a")], hosts=["r7"])) == {("r7", ""): ["r7/a"]}
    groups = grouped([file("r7/a"), file("b", "r7")])
    assert runs(groups) == {("r7", ""): ["b", "r7/a"]}
    assert groups[0].placed == 1
    assert runs(grouped([file("node01/node02/a")])) == {("", ""): ["node01/node02/a"]}


def test_a_given_date_is_that_of_files_without_one() -> None:
    (group,) = grouped([file("a", started="2024-05-03"), file("b/b")], date="2020-01-01")
    assert [(v.file, v.started) for v in group.values] == [("a", "2024-05-03"), ("b/b", "2020-01-01")]


def test_files_of_one_machine_keep_their_hosts_in_their_values() -> None:
    (group,) = grouped([file("a", "n1"), file("b", "other")], one_machine=True)
    assert group.host == ""
    assert [(v.host, v.repetition, v.file) for v in group.values] == [("n1", 0, "a"), ("other", 0, "b")]


def test_folders_of_different_conditions_are_not_mixed() -> None:
    groups = grouped([file("logs/ib/a"), file("logs/tcp/a"), file("logs/ib/b", kernel="add")])
    assert [(group.name, sorted(group.files.values())) for group in groups] == [
        ("ib", ["logs/ib/a", "logs/ib/b"]), ("tcp", ["logs/tcp/a"]),
    ]  # fmt: skip
    assert len(grouped([file("osu/a"), file("stream/a", kernel="add")])) == 1, "they have no case in common"


def test_numbered_folders_hold_repetitions() -> None:
    (group,) = grouped([file("run1/a"), file("run2/a"), file("run2/b", kernel="add")])
    assert [v.repetition for v in group.values] == [0, 1, 0]
    assert group.repeated == 1


def test_the_best_of_more_passes_is_another_case() -> None:
    many = replace(value(), statistic="best of 199")
    (group,) = grouped([file("run1/a"), file("run2/a", values=[many])])
    assert [v.parameters["passes"] for v in group.values] == [9, 199]


def test_numbers_in_names_of_folders_count_only_where_that_is_likely() -> None:
    counting = ["run1 run2", "results-3 results-7", "x01 x02", "x0 x1 x2 x3"]
    others = [
        "out1 out4",
        "opt1 opt2 opt3",
        "n001 n002",
        "0002 0004",
        "gcc9 gcc12",
        "v1 v2",
        "ib tcp",
        "run1 ib1",
        "x1 x2 x4 x8",
        "1234 99",
    ]
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


def test_runs_are_named_after_system_or_host_and_date() -> None:
    groups = [
        Group(system="ib", host="n1", started="2024-05-03T10:00:00", last="2024-05-03"),
        Group(),
        Group(host="ü/.."),
    ]
    assert name_runs(groups, "", None) == ["ib-20240503", "imported", "ü"]
    assert name_runs(groups, "old", None) == ["old-ib-20240503", "old", "old-ü"]
    assert name_runs(groups[:1], "old", None) == ["old"]
