"""`steelyard machine`: the machine as text and as JSON."""

import json
from dataclasses import replace

import pytest

from steelyard.measure.machine import describe
from steelyard.model import Machine
from steelyard.model.plain import to_plain
from steelyard.show.command_line import cli
from steelyard.show.report import machine_text
from steelyard.show.report.pages.machine import page


def test_the_text_has_topology_caches_and_limits(two_sockets: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine_text.show(page(replace(two_sockets, cpus=(0, 1, 2))))
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert "└── memory node 1: 8 GiB" in lines
    assert "        └── core 3*: hardware threads 3; L2 1 MiB, L1d 32 KiB" in lines
    assert "* This process is not allowed to use these cores." in lines
    assert any(line.split()[:4] == ["L3", "unified", "2", "8"] for line in lines)


def test_the_command_shows_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run_and_explain(lambda: cli.app(["machine", "--json"])) == 0
    assert json.loads(capsys.readouterr().out)["cores"] == to_plain(describe().cores)
