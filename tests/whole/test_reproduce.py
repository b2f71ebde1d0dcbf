"""The page of the five evaluations: all their tables and figures are there, and each command is accepted and plans cases."""

import re
import shlex
import typing
from dataclasses import replace
from typing import Any

import pytest
import typer

from folders import ROOT
from planted import PAGE, rows
from steelyard.measure import plan
from steelyard.measure.launch import site
from steelyard.measure.plan import catalogue, possible, sweep
from steelyard.model import Benchmark, Machine, NumaNode
from steelyard.show.command_line import request
from steelyard.show.command_line.cli import app

COMMANDS: dict[str, Any] = typing.cast(Any, typer.main.get_command(app)).commands

# What the documents number.
NUMBERED = {
    "000": [*(f"Table {n}" for n in (1, 2, 3)), *(f"Figure {n}" for n in range(1, 12))],
    "001": ["Table 1", *(f"Figure {n}" for n in range(1, 7))],
    "002": ["Table", "Figure"],
    "003": [*(f"Table {n}" for n in (1, 2, 3, 4)), "Figures 1, 2, 3, 4", *(f"Figure {n}" for n in range(5, 14))],
    "004": ["Table 1", "Figure 1", "Figure 2", "Figure 3"],
}


def commands() -> list[str]:
    """Those of the tables, of the last column, too."""
    return list(dict.fromkeys(re.findall(r"`(steelyard [^`]+)`", PAGE)))


@pytest.fixture
def four_nodes(two_sockets: Machine) -> Machine:
    """Two sockets with two memory nodes each, and memory for every class that the page asks for."""
    nodes = tuple(
        NumaNode(n, (n,), 64 << 30, tuple(10 if n == m else 12 if n // 2 == m // 2 else 21 for m in range(4)))
        for n in range(4)
    )
    cores = tuple(replace(c, node=c.number) for c in two_sockets.cores)
    return replace(two_sockets, cores=cores, nodes=nodes, memory=256 << 30, memory_available=250 << 30)


@pytest.mark.parametrize("document", sorted(NUMBERED))
def test_every_table_and_figure_of_the_documents_is_on_the_page(document: str) -> None:
    there = {theirs: (command, where) for name, theirs, _, command, where in rows() if name == document}
    assert [n for n in NUMBERED[document] if n not in there] == []
    for theirs, (command, where) in there.items():
        assert command, theirs
        assert where, theirs


@pytest.mark.parametrize("told", commands())
def test_each_command_is_accepted_and_plans_cases(
    told: str, four_nodes: Machine, benchmarks: dict[str, Benchmark]
) -> None:
    words = shlex.split(told)
    context = COMMANDS[words[1]].make_context(words[1], words[2:])
    given = context.params
    if words[1] not in ("run", "scale"):
        assert words[1] in ("compare", "machine", "report", "systems", "whatif")
        return
    here = replace(four_nodes, hosts=site.hosts(given["hosts"]))
    settings: possible.Settings = request.read_settings(given["settings"] or [])
    chosen = catalogue.choose(benchmarks, [given["benchmark"]] if words[1] == "scale" else given["only"])
    effort = plan.EFFORTS[given["preset"]]
    if words[1] == "scale":
        wanted = sweep.wanted(given["benchmark"], given["over"], given["counts"], given["weak"], [])
        chosen, settings = sweep.shape(wanted)(chosen, here, effort, settings)
    made = plan.make(chosen, here, effort, settings, given["toolchains"] or ["gcc"], mpis=["any"])
    cases = [c for launch in made.launches for c in launch.cases]
    assert cases
    if here.hosts:
        assert max(int(c.parameters["ranks"]) for c in cases) >= 2
    if len(here.hosts) == 8:
        ranks = {int(c.parameters["ranks"]) for c in cases}
        assert 8 in ranks


# Rows that other tests plant: (document, original, a part of the content) → file and test.
ELSEWHERE = {
    (
        "002",
        "Text",
        "before and after",
    ): "core/test_compare_runs.py::test_placements_of_another_number_of_memory_nodes_are_paired_by_their_names",
    (
        "003",
        "Figure 8",
        "",
    ): "core/test_variants.py::test_figure_8_is_one_overlay_with_a_line_for_each_driver_and_protocol",
    ("003", "Figure 10", ""): "whatif/test_whatif_timelines.py::test_lost_messages_are_longer_on_their_way",
    ("003", "Figure 11", ""): "whatif/test_whatif_growth.py::test_one_node_pays_and_all_pay",
    ("003", "Figure 12", ""): "whatif/test_whatif_phases.py::test_planted_outliers_of_long_phases_are_all_found",
    ("003", "Figure 13", ""): "core/test_equal_time.py::test_figure_13_has_its_slowdown_and_energy_at_equal_ranks",
    ("003", "Table 4", ""): "core/test_equal_time.py::test_table_4_comes_out_of_planted_runs",
}


def test_each_row_of_the_page_is_planted_by_one_test() -> None:
    declared = [
        found
        for path in sorted((ROOT / "tests" / "whole").glob("test_reproduce_*.py"))
        for found in re.findall(r'^@row\("(\w+)", "([^"]+)"(?:, "([^"]+)")?\)$', path.read_text(encoding="utf-8"), re.M)
    ]
    for document, original, content, command, _ in rows():
        assert "(needs " in content or not {"--hosts", "--power"} & set(command.split()), (document, original)
        tests = [t for t in (*declared, *ELSEWHERE) if t[:2] == (document, original) and t[2] in content]
        assert len(tests) == 1, (document, original, content, tests)
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "benchmarks").glob("*.md"))
    for document, original, content, _, where in rows():
        if "in the terminal" not in where and (document, original, "") in ELSEWHERE:
            assert [t for t in re.findall(r'"([^"]+)"', where) if f"- {t}\n" not in pages] == [], content
    for name in ELSEWHERE.values():
        path, _, test = name.partition("::")
        assert f"\ndef {test}(" in (ROOT / "tests" / path).read_text(encoding="utf-8"), name


def test_the_page_is_linked() -> None:
    assert "(docs/reproduce.md)" in (ROOT / "README.md").read_text(encoding="utf-8").partition("## Further")[2]
    assert "(reproduce.md)" in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
