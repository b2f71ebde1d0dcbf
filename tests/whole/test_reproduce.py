"""The page of the five evaluations: all their tables and figures are there, and each command is accepted and plans cases."""

import re
import shlex
import typing
from dataclasses import replace
from typing import Any

import pytest
import typer

from folders import ROOT
from steelyard import plan
from steelyard.command_line import request
from steelyard.command_line.cli import app
from steelyard.launch import site
from steelyard.model import Benchmark, Machine, NumaNode
from steelyard.plan import catalogue, sweep

PAGE = (ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8")
COMMANDS: dict[str, Any] = typing.cast(Any, typer.main.get_command(app)).commands

# What the documents number.
NUMBERED = {
    "000": [*(f"Table {n}" for n in (1, 2, 3)), *(f"Figure {n}" for n in range(1, 12))],
    "001": ["Table 1", *(f"Figure {n}" for n in range(1, 7))],
    "002": ["Table", "Figure"],
    "003": [*(f"Table {n}" for n in (1, 2, 3, 4)), "Figures 1, 2, 3, 4", *(f"Figure {n}" for n in range(5, 14))],
    "004": ["Table 1", "Figure 1", "Figure 2", "Figure 3"],
}
MISSING = {"Figure 13"}  # of 003: nothing makes it yet


def rows() -> list[tuple[str, str, str, str]]:
    """(document, its table or figure, command, where) of each line of the page's tables."""
    found = []
    for part in PAGE.split("\n## ")[1:]:
        for line in part.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("| ") else []
            if len(cells) == 4 and cells[0] not in ("original", "---"):
                found.append((part[:3], cells[0], cells[2].strip("`"), cells[3]))
    return found


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
    there = {theirs: (command, where) for name, theirs, command, where in rows() if name == document}
    assert [n for n in NUMBERED[document] if n not in there] == []
    for theirs, (command, where) in there.items():
        to_come = document == "003" and theirs in MISSING
        assert bool(command) != to_come, theirs
        assert ("still to come" in where) or not to_come
        assert where


@pytest.mark.parametrize("told", commands())
def test_each_command_is_accepted_and_plans_cases(
    told: str, four_nodes: Machine, benchmarks: dict[str, Benchmark]
) -> None:
    words = shlex.split(told)
    context = COMMANDS[words[1]].make_context(words[1], words[2:])
    given = context.params
    if words[1] not in ("run", "scale"):
        assert words[1] in ("compare", "report", "whatif")
        return
    here = replace(four_nodes, hosts=site.hosts(given["hosts"]))
    settings: plan.Settings = request.read_settings(given["settings"] or [])
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


def test_the_figures_that_are_named_exist(four_nodes: Machine, benchmarks: dict[str, Benchmark]) -> None:
    sources = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "src" / "steelyard").rglob("*.py"))
    titles = {figure.title for b in benchmarks.values() for figure in b.figures((), four_nodes)}
    for _, theirs, _, where in rows():
        for title in re.findall(r'"([^"]+)"', where):
            parts = title.split()
            known = title in titles or any(" ".join(parts[i : i + 3]) in sources for i in range(len(parts) - 2))
            assert known, f"{theirs}: {title}"
        benchmark = re.match(r"[a-z]+\.[a-z_]+", where)
        assert benchmark is None or benchmark.group() in benchmarks


def test_the_page_is_linked() -> None:
    assert "(docs/reproduce.md)" in (ROOT / "README.md").read_text(encoding="utf-8").partition("## Further")[2]
    assert "(reproduce.md)" in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
