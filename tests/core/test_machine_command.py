"""`steelyard machine`: the machine as text, as a drawing and as JSON."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

import builders
from steelyard.command_line import cli
from steelyard.machine import describe
from steelyard.model import Machine
from steelyard.model.plain import to_plain
from steelyard.report import machine_drawing, machine_text
from steelyard.report.pages.machine import page

SVG = "{http://www.w3.org/2000/svg}"


def rectangles(machine: Machine) -> list[tuple[float, ...]]:
    """Left, top, right and bottom of each box of the drawing."""
    root = ET.fromstring(machine_drawing.draw(page(machine)))
    assert root.tag == f"{SVG}svg"
    found = []
    for box in root.iter(f"{SVG}rect"):
        if "x" in box.attrib:
            x, y, width, height = (float(box.attrib[name]) for name in ("x", "y", "width", "height"))
            found.append((x, y, x + width, y + height))
    return found


@pytest.mark.parametrize(("nodes", "cores"), [(1, 2), (2, 8), (4, 64)])
def test_the_drawing_has_a_box_for_each_part_and_none_overlap(nodes: int, cores: int) -> None:
    boxes = rectangles(builders.machine(nodes=nodes, cores=cores))
    assert len(boxes) == 3 * nodes + cores  # socket, memory node and cache of each node
    for a in boxes:
        for b in boxes:
            apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
            within = all(p >= q for p, q in zip(a[:2], b[:2], strict=True)) and a[2] <= b[2] and a[3] <= b[3]
            holds = all(p <= q for p, q in zip(a[:2], b[:2], strict=True)) and a[2] >= b[2] and a[3] >= b[3]
            assert apart or within or holds, (a, b)


def test_names_with_markup_are_drawn_as_they_are(two_sockets: Machine) -> None:
    text = machine_drawing.draw(page(replace(two_sockets, processor="<A & B>")))
    assert ET.fromstring(text).findtext(f"{SVG}title") == "by-hand: <A & B> (Test, x86_64)"


def test_the_text_has_topology_caches_and_limits(two_sockets: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine_text.show(page(replace(two_sockets, cpus=(0, 1, 2))))
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert "└── memory node 1: 8 GiB" in lines
    assert "        └── core 3*: hardware threads 3; L2 1 MiB, L1d 32 KiB" in lines
    assert "* This process is not allowed to use these cores." in lines
    assert any(line.split()[:4] == ["L3", "unified", "2", "8"] for line in lines)


def test_the_command_shows_this_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawing = tmp_path / "node.svg"
    assert cli.run_and_explain(lambda: cli.app(["machine", "--json", "--svg", str(drawing)])) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["cores"] == to_plain(describe().cores)
    assert len(ET.parse(drawing).findall(f"{SVG}rect")) > len(shown["cores"])
    assert cli.run_and_explain(lambda: cli.app(["machine", "--svg", str(tmp_path / "none" / "x.svg")])) == 2
